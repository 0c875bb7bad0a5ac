"""Posting to addresses that somebody else has chosen: above all what is never connected to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.builtin.fetch_policy import FetchPolicy
from engine.posting import BadUrl, PostFailed, checked_url, posted
from tests.support.receiver import receiver
from tests.support.web_server import answer, certified, web_server

PUBLIC = FetchPolicy()
PRIVATE = FetchPolicy(private=True)


class Names:
    """A resolver whose answers the test gives, and which counts how often it is asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        """The next answer; the last one stays."""
        self.asked.append(host)
        if not self.answers:
            raise socket.gaierror(-2, "Name or service not known")
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def said_of(url: str, policy: FetchPolicy) -> str:
    """Why a post failed."""
    with pytest.raises(PostFailed) as info:
        await posted(url, b"{}", {}, policy)
    return str(info.value)


@pytest.mark.parametrize(
    "url",
    ["https://127.0.0.1/", "https://10.1.2.3/", "https://192.168.0.1:8443/x", "https://172.16.0.1", "https://[::1]/",
     "https://[fd00::1]/", "https://100.64.0.1/", "https://169.254.169.254/latest", "https://[fe80::1]/",
     "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://0.0.0.0/", "https://224.0.0.1/",
     "https://localhost/", "https://LOCALHOST:8443/", "https://a.localhost/", "https://localhost./"],
)  # fmt: skip
def test_an_address_that_is_not_public_is_refused_when_it_is_given(url: str) -> None:
    """Loopback, private, link-local, carriers' and mapped ones, in whatever form."""
    with pytest.raises(BadUrl, match="is not on the public internet"):
        checked_url(url, PUBLIC)


@pytest.mark.parametrize(
    "url",
    ["", "x", "ftp://example.com/", "http://example.com/", "https://", "https:///x", "https://user@example.com/",
     "https://user:password@example.com/", "https://example.com/#part", "https://127.1/", "https://0x7f000001/",
     "https://2130706433/", "https://exa mple.com/", "javascript:alert(1)", "//example.com", "https://ex\0ample.com/",
     "https://example.com/" + "x" * 2_000],
)  # fmt: skip
def test_what_is_no_https_url_is_refused_in_a_sentence(url: str) -> None:
    """Addresses in forms that only some resolvers take are no hosts."""
    with pytest.raises(BadUrl, match=r"\.$"):
        checked_url(url, PUBLIC)


@pytest.mark.parametrize("url", ["https://169.254.169.254/", "http://[fe80::1]/", "http://0.0.0.0/", "ftp://10.0.0.1/"])
def test_link_local_addresses_are_refused_whatever_the_deployment_allows(url: str) -> None:
    """That is where clouds hand out a machine's credentials."""
    with pytest.raises(BadUrl):
        checked_url(url, PRIVATE)


def test_a_deployment_may_allow_private_addresses_and_plain_http() -> None:
    """For development."""
    for url in ("http://127.0.0.1:9/hook", "http://localhost:9/hook", "https://10.0.0.1/hook"):
        assert str(checked_url(url, PRIVATE).url) == url
    assert checked_url("https://example.com/hook?a=1", PUBLIC).host == "example.com"


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["10.0.0.1"], ["93.184.216.34", "192.168.0.1"], ["fe80::1%eth0"]])
async def test_a_name_that_leads_to_a_private_address_is_not_connected_to(addresses: list[str]) -> None:
    """Not even where one of its addresses is public."""
    names = Names(addresses)
    said = await said_of("https://hook.example/", FetchPolicy(resolve=names))
    assert (said, names.asked) == ("hook.example is not on the public internet.", ["hook.example"])


async def test_a_name_is_looked_up_once(tmp_path: Path) -> None:
    """What a second look-up would have said is never asked: the connection goes to the address that was checked."""
    tls, trusted = certified(tmp_path, "hook.example")
    async with web_server({"/hook": answer("ok")}, tls=tls) as web:
        names = Names(["127.0.0.1"], ["10.255.255.1"])
        policy = FetchPolicy(private=True, resolve=names, tls=trusted)
        assert await posted(f"https://hook.example:{web.port}/hook", b"{}", {"X-A": "1"}, policy) == 200
        assert names.asked == ["hook.example"]
        assert web.names == ["hook.example"], "TLS is asked for by name"
        (request,) = web.requests
        assert request.startswith("POST /hook HTTP/1.1\r\n")
        assert f"host: hook.example:{web.port}\r\n" in request.lower()


async def test_a_server_that_can_t_prove_its_name_is_told_nothing(tmp_path: Path) -> None:
    """A certificate of another name, or of an authority that nobody knows."""
    tls, trusted = certified(tmp_path, "other.example")
    async with web_server({"/hook": answer("ok")}, tls=tls) as web:
        for policy in (FetchPolicy(private=True, resolve=Names(["127.0.0.1"]), tls=trusted), PRIVATE):
            host = "hook.example" if policy.tls else "127.0.0.1"
            said = await said_of(f"https://{host}:{web.port}/hook", policy)
            assert said == "It could not be connected to (ConnectError)."
        assert web.requests == []


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    """Wherever it leads."""
    async with receiver() as target, receiver() as endpoint:
        endpoint.answers = [f"HTTP/1.1 307 X\r\nLocation: {target.url}\r\nContent-Length: 0\r\n\r\n".encode()]
        assert await posted(endpoint.url, b"{}", {}, PRIVATE) == 307
        assert (len(endpoint.posts), target.posts) == (1, [])


async def test_what_the_server_says_beyond_its_status_is_not_read() -> None:
    """An answer without an end, or one that claims to be huge, holds nothing up."""
    async with receiver(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\nxx") as endpoint:
        async with asyncio.timeout(60):
            assert await posted(endpoint.url, b"{}", {}, PRIVATE) == 200


async def test_a_host_that_is_not_there_is_told() -> None:
    """By name, and where nobody listens."""
    assert await said_of("https://hook.example/", FetchPolicy(resolve=Names())) == "There is no host hook.example."
    async with receiver() as endpoint:
        url = endpoint.url
    assert await said_of(url, PRIVATE) == "It could not be connected to (ConnectError)."
