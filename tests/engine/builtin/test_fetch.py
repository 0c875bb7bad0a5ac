"""Fetching: what a page becomes, and above all what is never connected to."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.builtin.fetch import FETCH
from engine.builtin.fetch_policy import FetchPolicy, resolve
from engine.builtin.fetching import MAX_BYTES, Rules, _checked, fetched, linked
from engine.builtin.hosts import pattern_of
from engine.builtin.tool_type import ToolSetting
from engine.cancelled import Cancelled
from engine.context import Context
from engine.executing import execute
from engine.tool_error import ToolError
from models.enums import ToolCallState
from tests.support.web_server import WebServer, answer, certified, moved, web_server

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy

HTML = """<html><head><title>Tea &amp; coffee</title></head><body><h1>Tea</h1>
<p>Green, <a href="/black">black</a> and <a href="mailto:x@example.com">white</a>.</p></body></html>"""
PAGES: dict[str, bytes | None] = {
    "/tea": answer(HTML, kind="text/html; charset=utf-8"),
    "/json": answer('{"a": [1, 2]}', kind="application/json"),
    "/feed": answer("<feed/>", kind="application/atom+xml"),
    "/latin": answer("caf\xe9".encode("latin-1"), kind="text/plain; charset=latin-1"),
    "/declared": answer('<meta charset="windows-1252"><p>caf\xe9'.encode("latin-1"), kind="text/html"),
    "/hex": answer("706c61696e", kind="text/plain; charset=hex"),
    "/slow-charset": answer("a-" * 200_000, kind="text/plain; charset=punycode"),
    "/picture": answer(b"\x89PNG", kind="image/png"),
    "/nameless": answer("?", kind=None),
    "/zipped": answer(b"\x1f\x8b", content_encoding="gzip"),
    "/large": answer("x" * (MAX_BYTES + 5_000)),
    "/error": answer("secret", status="500 Internal Server Error"),
    "/never": None,
    "/broken": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nContent-Type: text/plain\r\n\r\nshort",
    "/garbage": b"SSH-2.0-OpenSSH_9.2\r\n",
    "/cookie": answer("have one", set_cookie="a=1; Path=/"),
    "/here": moved("/tea"),
    "/circle": moved("/circle"),
    **{f"/hop{n}": moved(f"/hop{n - 1}" if n else "/tea") for n in range(6)},
}


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    """A server at 127.0.0.1."""
    async with web_server(PAGES) as web:
        yield web


class Names:
    """A resolver that knows what the test says, and counts how often it is asked."""

    def __init__(self, **known: Sequence[Sequence[str]]) -> None:
        self.known = {name.replace("_", "."): list(answers) for name, answers in known.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        """The next answer for this name; the last one stays."""
        self.asked.append(host)
        answers = self.known.get(host)
        if answers is None:
            raise socket.gaierror(-2, "Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]


HOSTS = ["127.0.0.1", "docs.example", "other.example", "*"]


async def text_of(url: str, policy: FetchPolicy, **config: Any) -> str:
    """What a tool of this configuration gives; it may ask every host at the port of the address."""
    port = re.search(r":(\d+)/", url)
    given = {"allow": [*HOSTS, *(f"{host}:{port[1]}" for host in HOSTS if port)], "http": True, **config}
    made = FETCH.tool("fetch", given, ToolSetting(fetch=policy))
    return str(await made.function(**made.check({"url": url})))


async def said_of(url: str, policy: FetchPolicy, **config: Any) -> str:
    """What the model reads of a page that it does not get."""
    with pytest.raises(ToolError) as info:
        await text_of(url, policy, **config)
    return str(info.value)


PRIVATE = FetchPolicy(private=True)

# What a page becomes


async def test_a_web_page_is_read_as_text(web: WebServer) -> None:
    """With its title, its headings, and links that can be fetched next; asked plainly, and by name."""
    url = f"http://127.0.0.1:{web.port}"
    assert await text_of(f"{url}/tea#part", PRIVATE) == (
        f"{url}/tea\nTitle: Tea & coffee\n\n# Tea\n\nGreen, [black]({url}/black) and white."
    )
    (request,) = web.requests
    assert request.startswith("GET /tea HTTP/1.1\r\n")
    lines = request.lower().split("\r\n")
    assert {f"host: 127.0.0.1:{web.port}", "accept-encoding: identity", "connection: close"} < set(lines)
    assert any(line.startswith("user-agent: steersman") for line in lines)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/json", '{"a": [1, 2]}'),
        ("/feed", "<feed/>"),
        ("/latin", "café"),
        ("/declared", "café"),
        ("/hex", "706c61696e"),
        ("/here", "Green"),
        ("/hop4", "Green"),
    ],
)
async def test_texts_of_every_kind_are_read(path: str, text: str, web: WebServer) -> None:
    """JSON and XML as they are; written as the server, or the page, says; behind up to five redirects."""
    assert text in await text_of(f"http://127.0.0.1:{web.port}{path}", PRIVATE)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/picture", "is image/png: only text, HTML and JSON are read"),
        ("/nameless", "of no kind that it tells"),
        ("/zipped", "came compressed"),
        ("/error", "answered 500 Internal Server Error."),
        ("/gone", "answered 404 Not Found."),
        ("/broken", "could not be fetched"),
        ("/garbage", "could not be fetched"),
        ("/circle", "redirects more than 5 times"),
        ("/hop5", "redirects more than 5 times"),
    ],
)
async def test_what_is_no_page_is_told_in_words(path: str, says: str, web: WebServer) -> None:
    """The model reads what came instead, and nothing of an error's own page."""
    said = await said_of(f"http://127.0.0.1:{web.port}{path}", PRIVATE)
    assert says in said
    assert "secret" not in said


async def test_a_charset_that_is_none_holds_nobody_up(web: WebServer) -> None:
    """Python's own codecs, some of which work with the square of a length, are not for pages."""
    async with asyncio.timeout(10):
        assert "a-a-a-" in await text_of(f"http://127.0.0.1:{web.port}/slow-charset", PRIVATE)


async def test_of_a_large_page_a_megabyte_is_read(web: WebServer) -> None:
    """And the model is told so; it reads fewer characters still."""
    rules = Rules((pattern_of(f"127.0.0.1:{web.port}"),), http=True)
    page = await fetched(f"http://127.0.0.1:{web.port}/large", rules, PRIVATE)
    assert (len(page.content), page.is_cut) == (MAX_BYTES, True)
    assert "Only the first 1,000,000 bytes were read." in await text_of(page.url, PRIVATE)
    made = FETCH.tool("fetch", {"allow": ["*"], "max_chars": 2_000}, ToolSetting())
    assert made.max_result_chars == 2_000


async def test_a_server_that_never_answers_is_given_up(web: WebServer) -> None:
    """All of it together has one bound."""
    rules = Rules((pattern_of(f"127.0.0.1:{web.port}"),), http=True)
    with pytest.raises(ToolError, match=r"longer than 0\.3 s"):
        await fetched(f"http://127.0.0.1:{web.port}/never", rules, PRIVATE, seconds=0.3)


async def test_a_run_that_is_stopped_does_not_wait_for_a_server(web: WebServer) -> None:
    """The connection is given up with the call."""
    config = {"allow": [f"127.0.0.1:{web.port}"], "http": True}
    made, stop = FETCH.tool("fetch", config, ToolSetting(fetch=PRIVATE)), Cancelled()
    ctx: Context[Any] = Context(user_id="ann", run_id="r", agent="a", tool_call_id="c")
    arguments = made.check({"url": f"http://127.0.0.1:{web.port}/never"})
    call = asyncio.create_task(execute(made, arguments, ctx, stop=stop, grace=0.05))
    async with asyncio.timeout(10):
        while not web.requests:
            await asyncio.sleep(0.01)
        stop.set()
        assert (await call).state is ToolCallState.CANCELLED


async def test_nothing_is_kept_between_two_pages(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cookies, no connection; and the proxies of this machine are not asked."""
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for _ in range(2):
        await text_of(f"http://127.0.0.1:{web.port}/cookie", PRIVATE)
    assert web.connections == 2
    assert "cookie:" not in web.requests[1].lower()


# Whom it asks


async def test_https_is_checked_against_the_name_although_an_address_is_connected_to(tmp_path: Path) -> None:
    """The name is in TLS and in Host; a server that can't prove to be it is not listened to."""
    server_tls, client_tls = certified(tmp_path, "docs.example")
    async with web_server(PAGES, tls=server_tls) as web:
        names = Names(docs_example=[["127.0.0.1"]], other_example=[["127.0.0.1"]])
        policy = FetchPolicy(private=True, resolve=names, tls=client_tls)
        assert "Green" in await text_of(f"https://docs.example:{web.port}/tea", policy, http=False)
        assert web.names == ["docs.example"]
        assert f"Host: docs.example:{web.port}\r\n" in web.requests[0]
        said = await said_of(f"https://other.example:{web.port}/tea", policy)
        assert "could not be connected to" in said
        assert len(web.requests) == 1


async def test_the_next_address_is_tried_where_one_takes_no_connection(web: WebServer) -> None:
    """In the order in which they were found."""
    names = Names(docs_example=[["::1", "127.0.0.1"]])
    policy = FetchPolicy(private=True, resolve=names)
    assert "Green" in await text_of(f"http://docs.example:{web.port}/tea", policy)
    assert names.asked == ["docs.example"]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("https://example.org/", "example.org is not among the hosts"),
        ("https://notdocs.example/", "not among the hosts"),
        ("https://docs.example.evil.org/", "not among the hosts"),
        ("https://docs.example:8443/", "docs.example:8443 is not among the hosts"),
        ("https://docs.example@evil.org/", "user or a password"),
        ("https://evil.org\\@docs.example/", "user or a password"),
        ("https://evil.org#@docs.example/", "evil.org is not among the hosts"),
        ("http://docs.example/", "only https may be"),
        ("file:///etc/passwd", "no URL that can be fetched"),
        ("ftp://docs.example/x", "only https may be"),
        ("gopher://docs.example/x", "only https may be"),
        ("javascript:alert(1)", "no URL that can be fetched"),
        ("docs.example/page", "no URL that can be fetched"),
        ("https:///page", "no URL that can be fetched"),
        ("https://docs.example:99999/", "docs.example:99999 is not among the hosts"),
        ("https://docs.example:x/", "no URL that can be fetched"),
        ("https://docs example/", "no URL that can be fetched"),
        ("https://docs\x00.example/", "no URL that can be fetched"),
        ("https://docs.example/" + "x" * 2_000, "longer than 2,000 characters"),
        ("https://nowhere.docs.example/", "There is no host nowhere.docs.example"),
    ],
)
async def test_only_the_hosts_of_the_allow_list_are_asked(url: str, says: str) -> None:
    """By https, at the usual port, unless the configuration says more."""
    names = Names()
    config = {"allow": ["docs.example", "*.docs.example"], "http": False}
    assert says in await said_of(url, FetchPolicy(private=True, resolve=names), **config)
    assert names.asked == (["nowhere.docs.example"] if "nowhere" in url else [])


# What is never connected to

LOOPBACK = [
    "localhost",
    "127.0.0.1",
    "127.1",
    "127.0.0.1.",
    "0.0.0.0",  # noqa: S104  # nothing listens there
    "0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.nip",
    "%31%32%37.0.0.1",
    "\uff11\uff12\uff17.0.0.1",
]


@pytest.mark.parametrize("host", LOOPBACK)
async def test_this_machine_is_never_reached_however_it_is_written(host: str, web: WebServer) -> None:
    """Whatever the allow-list says, and whatever the machine's own resolver makes of it: nothing connects."""

    async def as_usual(name: str) -> Sequence[str]:
        return ["127.0.0.1"] if name.endswith(".nip") else await resolve(name)

    await said_of(f"http://{host}:{web.port}/tea", FetchPolicy(resolve=as_usual))
    assert web.connections == 0


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "fe80::1%lo", "240.0.0.1", "fd00:ec2::254"],
)
async def test_a_name_that_leads_to_a_private_address_is_refused(address: str, web: WebServer) -> None:
    """Also where it has a public address beside it, in either order."""
    for found in ([address], ["93.184.215.14", address], [address, "93.184.215.14"]):
        names = Names(docs_example=[found])
        said = await said_of(f"http://docs.example:{web.port}/tea", FetchPolicy(resolve=names))
        assert said == "docs.example can't be asked: its address is not on the public internet."
    assert web.connections == 0


@pytest.mark.parametrize("host", ["169.254.169.254", "[::ffff:10.0.0.1]", "224.0.0.1", "0.0.0.1", "[64:ff9b::a00:1]"])
async def test_where_clouds_keep_credentials_is_not_reached_with_the_private_allowance_either(host: str) -> None:
    """Link-local addresses, those within others, multicast and reserved ones stay refused."""
    assert "not on the public internet" in await said_of(f"http://{host}/latest/meta-data", PRIVATE)


async def test_every_host_is_every_public_host(web: WebServer) -> None:
    """Who wants a private one, where the deployment lets him, writes down which."""
    url, names = f"http://docs.example:{web.port}/tea", Names(docs_example=[["127.0.0.1"]])
    policy = FetchPolicy(private=True, resolve=names)
    assert "not on the public internet" in await said_of(url, policy, allow=[f"*:{web.port}"])
    assert web.connections == 0
    assert "Green" in await text_of(url, policy, allow=[f"*.example:{web.port}"])


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/tea",
        "//127.0.0.1:{port}/tea",
        "http://[::ffff:127.0.0.1]:{port}/tea",
        "http://2130706433:{port}/tea",
        "http://inside.example:{port}/tea",
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "http://user:password@docs.example/",
        "http://[",
    ],
)
async def test_a_redirect_is_a_new_address_to_which_all_applies(location: str) -> None:
    """It leads nowhere that its own address would not have been let to."""
    async with web_server({}) as inside, web_server({"/": moved(location.format(port=inside.port))}) as outside:
        names = Names(docs_example=[["127.0.0.1"]], inside_example=[["127.0.0.1"]])
        policy = FetchPolicy(private=True, resolve=names)
        allow = [f"docs.example:{outside.port}", f"docs.example:{inside.port}"]
        await said_of(f"http://docs.example:{outside.port}/", policy, allow=allow)
        assert (outside.connections, inside.connections) == (1, 0)


async def test_a_redirect_from_a_public_server_to_a_private_one_is_refused() -> None:
    """The address is judged, not only the name: what was allowed a moment ago is looked at again."""
    async with web_server({}) as web:
        web.pages = {"/again": answer("inside"), "/": moved(f"http://docs.example:{web.port}/again")}
        # By the second look-up the same name leads elsewhere, as in a rebinding; it is judged anew.
        names = Names(docs_example=[["127.0.0.1"], ["169.254.169.254"]])
        said = await said_of(f"http://docs.example:{web.port}/", FetchPolicy(private=True, resolve=names))
        assert "not on the public internet" in said
        assert (names.asked, web.connections) == (["docs.example", "docs.example"], 1)


async def test_a_name_is_looked_up_once_and_that_address_is_connected_to(web: WebServer) -> None:
    """A second look-up, which could lead elsewhere, is never made: not by us, and not beneath us."""
    public_then_private = Names(docs_example=[["192.0.2.1"], ["127.0.0.1"]])
    said = await said_of(f"http://docs.example:{web.port}/tea", FetchPolicy(resolve=public_then_private))
    assert "not on the public internet" in said
    assert (public_then_private.asked, web.connections) == (["docs.example"], 0)
    # And the other way round: what is connected to is the first answer, with the name in Host alone.
    first = Names(docs_example=[["127.0.0.1"], ["192.0.2.1"]])
    assert "Green" in await text_of(f"http://docs.example:{web.port}/tea", FetchPolicy(private=True, resolve=first))
    assert first.asked == ["docs.example"]


async def test_a_downgrade_to_plain_http_is_refused(tmp_path: Path) -> None:
    """Where only https may be, a redirect can't leave it."""
    server_tls, client_tls = certified(tmp_path, "docs.example")
    async with web_server({}) as plain, web_server({}, tls=server_tls) as web:
        web.pages = {"/": moved(f"http://docs.example:{plain.port}/")}
        policy = FetchPolicy(private=True, resolve=Names(docs_example=[["127.0.0.1"]]), tls=client_tls)
        allow = [f"docs.example:{web.port}", f"docs.example:{plain.port}"]
        said = await said_of(f"https://docs.example:{web.port}/", policy, http=False, allow=allow)
        assert "only https may be" in said
        assert (len(web.requests), plain.connections) == (1, 0)


ODD = st.text(alphabet="htps:/\\@.[]%?#&=0x17af\u3002\uff0e\u00df\u2024 \t\n-_*", max_size=60) | st.text(max_size=60)


@unhurried
@given(ODD)
def test_no_text_is_taken_for_another_host_than_the_one_that_is_asked(text: str) -> None:
    """Whatever is written, it is refused in words, or leads to the host of the allow-list; links on pages too."""
    rules = Rules((pattern_of("docs.example"),), http=False)
    for url in (
        text,
        f"https://{text}",
        f"https://docs.example{text}",
        linked("https://docs.example/page", text) or "",
    ):
        try:
            target = _checked(url, rules)
        except ToolError:
            continue
        assert target.host == "docs.example"
        assert target.url.raw_host.rstrip(b".") == b"docs.example"
        assert target.url.copy_with(host="192.0.2.1").host == "192.0.2.1"
