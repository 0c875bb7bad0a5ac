"""What a connection to a registered server connects to: addresses that were checked, at every request."""

from __future__ import annotations

from collections.abc import Sequence

import httpx2
import pytest

from engine.builtin.fetch_policy import FetchPolicy
from engine.remotes.guarded_http import MAX_BYTES, BadUrl, Refused, checked_url, guarded_client
from tests.support.web_server import answer, moved, web_server


class Names:
    """A resolver that gives a name's addresses one after the other, and remembers what it was asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        """The next addresses; the last ones again and again."""
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def test_a_name_is_resolved_once_a_request_and_goes_into_the_host_header() -> None:
    """The address that was checked is the one that is connected to."""
    names = Names(["127.0.0.1"])
    async with web_server({"/mcp": answer("hello")}) as server:
        async with guarded_client(FetchPolicy(private=True, resolve=names)) as client:
            url = f"http://mcp.test:{server.port}/mcp"
            assert (await client.get(url)).text == "hello"
        assert names.asked == ["mcp.test"]
        assert f"host: mcp.test:{server.port}" in server.requests[0].lower()
        assert "accept-encoding: identity" in server.requests[0].lower()


async def test_a_name_that_turns_private_later_is_refused_then() -> None:
    """Each request looks at the addresses anew, and one private address among several is enough."""
    for later in (["10.0.0.7"], ["93.184.216.34", "127.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"]):
        async with guarded_client(FetchPolicy(resolve=Names(later))) as client:
            with pytest.raises(Refused):
                await client.get("https://mcp.test/mcp")


async def test_a_redirect_goes_through_the_same_check() -> None:
    """Whoever follows it."""
    pages = {"/mcp": moved("http://169.254.169.254/latest", "307 Temporary Redirect")}
    policy = FetchPolicy(private=True, resolve=Names(["127.0.0.1"]))
    async with web_server(pages) as server, guarded_client(policy) as client:
        with pytest.raises(Refused):
            await client.get(f"http://mcp.test:{server.port}/mcp", follow_redirects=True)


async def test_an_answer_without_end_or_folded_up_is_not_read() -> None:
    """More than is read, and what came compressed although that was not asked for."""
    pages = {
        "/large": answer(b"x" * (MAX_BYTES + 1), kind="application/json"),
        "/folded": answer(b"\x1f\x8b\x08\x00" + b"x" * 50, kind="application/json", content_encoding="gzip"),
    }
    async with web_server(pages) as server, guarded_client(FetchPolicy(private=True)) as client:
        for path in pages:
            with pytest.raises(httpx2.ReadError):
                await client.get(f"http://127.0.0.1:{server.port}{path}")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mcp.test",
        "ftp://mcp.test/",
        "https://",
        "https://a:b@mcp.test/",
        "http://mcp.test/",
        "https://x/" + "x" * 2_000,
    ],
)
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    """In words."""
    with pytest.raises(BadUrl) as refused:
        checked_url(url, private=False)
    assert str(refused.value)


def test_plain_http_is_for_private_networks() -> None:
    """There it is usual."""
    assert checked_url(" http://mcp.test/mcp#here ", private=True) == "http://mcp.test/mcp"
