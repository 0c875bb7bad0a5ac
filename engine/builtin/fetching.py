"""One page, fetched by HTTP from a host that may be asked, at an address that may be connected to.

A name is resolved once, its addresses are checked, and one of those is connected to: what a second look-up would have
said is never asked. Each redirect is a new address to which all of this applies.
"""

from __future__ import annotations

import asyncio
import functools
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import httpx2

from engine.builtin.addresses import may_connect
from engine.builtin.fetch_policy import FetchPolicy
from engine.builtin.hosts import HostPattern, plain_host
from engine.tool_error import ToolError

MAX_BYTES = 1_000_000
MAX_REDIRECTS = 5
MAX_URL = 2_000
SECONDS = 20.0
_CONNECT_SECONDS = 6.0  # at one address; a host may have others
_MAX_ADDRESSES = 4
_READ = re.compile(r"text/.+|application/(?:.+\+)?(?:json|xml)")  # the media types that are text
_PORTS = {"http": 80, "https": 443}
_HEADERS = {
    "User-Agent": "Steersman (an AI agent's tool)",
    "Accept": "text/html, application/json, text/plain, text/*;q=0.9, application/xml;q=0.8",
    "Accept-Encoding": "identity",  # a few bytes that unfold to gigabytes are not even asked for
    "Connection": "close",
}


@dataclass(frozen=True, slots=True)
class Page:
    """What a server gave: `kind` is its media type, `charset` what it says that is written in."""

    url: str
    kind: str
    charset: str | None
    content: bytes
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """Which hosts may be asked, and whether over plain HTTP too."""

    allow: tuple[HostPattern, ...]
    http: bool


@dataclass(frozen=True, slots=True)
class _Target:
    """A checked URL, the host in its plain form, and whether the allow-list names it, not only every host."""

    url: httpx2.URL
    host: str
    is_named: bool


async def fetched(url: str, rules: Rules, policy: FetchPolicy, *, seconds: float = SECONDS) -> Page:
    """The page at this URL, or where it redirects to. Raises ToolError, its text for a model."""
    try:
        async with asyncio.timeout(seconds):
            return await _followed(url, rules, policy)
    except TimeoutError:
        raise ToolError(f"It took longer than {seconds:g} s.") from None
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise ToolError(f"It could not be fetched ({type(error).__name__}).") from error


def linked(base: str, address: str) -> str | None:
    """Where a link on a page leads; None for what is no page: a part of this one, a script, an address of mail."""
    if not address or address.startswith("#"):
        return None
    try:
        joined = httpx2.URL(base).join(address.strip())
    except httpx2.InvalidURL:
        return None
    return str(joined) if joined.scheme in ("http", "https") else None


async def _followed(url: str, rules: Rules, policy: FetchPolicy) -> Page:
    given = url.strip()
    for _ in range(MAX_REDIRECTS + 1):
        target = _checked(given, rules)
        addresses = await _addresses(target, policy)
        came = await _asked(target, addresses, policy)
        if isinstance(came, Page):
            return came
        given = came
    raise ToolError(f"It redirects more than {MAX_REDIRECTS} times.")


def _checked(given: str, rules: Rules) -> _Target:
    """What is at this URL, if it may be asked. One parser reads it, and the request is made from what that gave."""
    shown = given[:200]
    if len(given) > MAX_URL:
        raise ToolError(f"{shown}… is longer than {MAX_URL:,} characters.")
    try:
        url = httpx2.URL(given).copy_with(fragment=None)
        host = plain_host(url.raw_host.decode("ascii"))
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise ToolError(f"{shown} is no URL that can be fetched: {error}.") from None
    if url.scheme != "https" and not (rules.http and url.scheme == "http"):
        raise ToolError(f"{shown} can't be fetched: only {'http and https' if rules.http else 'https'} may be.")
    if url.userinfo:
        raise ToolError(f"{shown} can't be fetched: it has a user or a password in it.")
    port = None if url.port in (None, _PORTS[url.scheme]) else url.port
    matching = [pattern for pattern in rules.allow if pattern.matches(host, port)]
    if not matching:
        raise ToolError(f"{host}{f':{port}' if port else ''} is not among the hosts that this tool may ask.")
    return _Target(url, host, any(pattern.host for pattern in matching))


async def _addresses(target: _Target, policy: FetchPolicy) -> Sequence[str]:
    """Where the host is. A name with one address that is refused is refused: nobody honest has both."""
    host = target.host
    try:
        found = [str(ip_address(host))]
    except ValueError:
        try:
            found = list(await policy.resolve(host))
        except (OSError, UnicodeError):
            found = []
    if not found:
        raise ToolError(f"There is no host {host}.")
    private = policy.private and target.is_named
    if not all(may_connect(address, private=private) for address in found):
        raise ToolError(f"{host} can't be asked: its address is not on the public internet.")
    return found[:_MAX_ADDRESSES]


async def _asked(target: _Target, addresses: Sequence[str], policy: FetchPolicy) -> Page | str:
    """The page, or where it redirects to. The client serves this once: nothing is kept for whom it asks next."""
    async with httpx2.AsyncClient(
        verify=policy.tls or public_tls(),
        trust_env=False,  # neither proxies nor passwords of this machine
        follow_redirects=False,
        timeout=httpx2.Timeout(SECONDS, connect=_CONNECT_SECONDS),
    ) as client:
        response = await _sent(client, target, addresses)
        try:
            return await _read(response, target)
        finally:
            await response.aclose()


async def _sent(client: httpx2.AsyncClient, target: _Target, addresses: Sequence[str]) -> httpx2.Response:
    """Ask at the first address that takes a connection; the host's name goes into Host and TLS alone."""
    failure: Exception | None = None
    for address in addresses:
        request = client.build_request(
            "GET",
            target.url.copy_with(host=address),
            headers={**_HEADERS, "Host": target.url.netloc.decode("ascii")},
            extensions={"sni_hostname": target.host},
        )
        try:
            return await client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            failure = error
    raise ToolError(f"{target.host} could not be connected to: {str(failure)[:200] or type(failure).__name__}.")


async def _read(response: httpx2.Response, target: _Target) -> Page | str:
    if response.is_redirect and "location" in response.headers:
        try:
            return str(target.url.join(response.headers["location"]))
        except httpx2.InvalidURL:
            raise ToolError(f"{target.url} redirects to what is no URL.") from None
    if not response.is_success:
        raise ToolError(f"{target.url} answered {response.status_code} {response.reason_phrase[:80]}".rstrip() + ".")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()[:80]
    if not _READ.fullmatch(kind):
        raise ToolError(f"{target.url} is {kind or 'of no kind that it tells'}: only text, HTML and JSON are read.")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise ToolError(f"{target.url} came compressed, although that was not asked for.")
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > MAX_BYTES:
            break
    charset = response.charset_encoding
    return Page(str(target.url), kind, charset, bytes(content[:MAX_BYTES]), len(content) > MAX_BYTES)


@functools.cache
def public_tls() -> ssl.SSLContext:
    """What servers of the public internet are checked by."""
    return httpx2.create_ssl_context(trust_env=False)
