"""HTTP to servers that users name: each request, of a redirect too, goes to an address that was checked just before.

A name is resolved once a request, and one of the addresses that came is connected to: what a second look-up would have
said is never asked (docs/decisions/0021-what-a-fetch-connects-to.md).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import httpx2

from engine.builtin.addresses import may_connect
from engine.builtin.fetch_policy import FetchPolicy

MAX_URL = 2_000
MAX_BYTES = 8_000_000  # of an answer that is no stream of events
_MAX_ADDRESSES = 4
_TIMEOUT = httpx2.Timeout(30.0, connect=6.0, read=300.0)  # a server may hold a stream open; calls have their own bound


class Refused(httpx2.ConnectError):
    """The server is at an address that may not be connected to."""


class BadUrl(ValueError):
    """No server can be registered at this URL; the text says why."""


def checked_url(text: str, *, private: bool) -> str:
    """The URL of a server, as it is kept. Raises BadUrl."""
    given = text.strip()
    if len(given) > MAX_URL:
        raise BadUrl(f"A URL has at most {MAX_URL:,} characters.")
    try:
        url = httpx2.URL(given).copy_with(fragment=None)
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise BadUrl(f"It is no URL: {error}.") from None
    if url.scheme != "https" and not (private and url.scheme == "http"):
        raise BadUrl(f"A URL begins with {'http:// or https://' if private else 'https://'}.")
    if not url.host or url.userinfo:
        raise BadUrl("A URL names a host, and neither a user nor a password.")
    return str(url)


@asynccontextmanager
async def guarded_client(policy: FetchPolicy) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for one server; `policy.private` lets private networks and loopback pass, link-local never does."""
    async with httpx2.AsyncClient(transport=_Guarded(policy), timeout=_TIMEOUT, trust_env=False) as client:
        yield client


class _Guarded(httpx2.AsyncBaseTransport):
    """Connects to checked addresses alone."""

    def __init__(self, policy: FetchPolicy) -> None:
        self._policy = policy
        self._inner = httpx2.AsyncHTTPTransport(verify=policy.tls or httpx2.create_ssl_context(trust_env=False))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the first address of its host that takes a connection."""
        host = request.url.host
        failure: Exception = httpx2.ConnectError(f"There is no host {host}.")
        for address in await self._addresses(host):
            headers = request.headers.copy()  # Host among them, which names what was asked for
            headers["Accept-Encoding"] = "identity"  # a few bytes that unfold to gigabytes are not even asked for
            there = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            try:
                return _bounded(await self._inner.handle_async_request(there))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def _addresses(self, host: str) -> Sequence[str]:
        """Where the host is. Raises Refused where one of its addresses may not be connected to."""
        try:
            found = [str(ip_address(host))]
        except ValueError:
            try:
                found = list(await self._policy.resolve(host))
            except (OSError, UnicodeError):
                found = []
        if not all(may_connect(address, private=self._policy.private) for address in found):
            raise Refused("its address is not on the public internet")
        return found[:_MAX_ADDRESSES]

    async def aclose(self) -> None:
        """Close its connections."""
        await self._inner.aclose()


def _bounded(response: httpx2.Response) -> httpx2.Response:
    """The response, which fails where more comes than is read; a stream of events has a bound for each."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        response.stream = _Bounded(response.stream, 0)
    elif not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        response.stream = _Bounded(response.stream, MAX_BYTES)
    return response


class _Bounded(httpx2.AsyncByteStream):
    """A body of at most so many bytes."""

    def __init__(self, body: Any, most: int) -> None:
        self._body = body
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._body:
            size += len(chunk)
            if size > self._most:
                raise httpx2.ReadError(f"the answer has more than {self._most:,} bytes, or came compressed")
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()
