"""One HTTP POST to an address that somebody else has chosen: never to this machine, nor to networks that trust it.

As a fetch (docs/decisions/0021) it connects to the address that was checked, and to no other. Redirects are not
followed, and what the server says beyond its status is not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import httpx2

from engine.builtin.addresses import may_connect
from engine.builtin.fetch_policy import FetchPolicy
from engine.builtin.fetching import MAX_URL, public_tls
from engine.builtin.hosts import plain_host

SECONDS = 10.0
_CONNECT_SECONDS = 5.0  # at one address; a host may have others
_MAX_ADDRESSES = 4


class BadUrl(ValueError):
    """What was given is no address that is posted to; the message says why."""


class PostFailed(Exception):
    """The server did not answer; the message says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """A checked URL, and its host in the plain form."""

    url: httpx2.URL
    host: str


def checked_url(given: str, policy: FetchPolicy) -> Target:
    """What is at this URL, if it may be posted to. Names are looked up when it is. Raises BadUrl."""
    if len(given) > MAX_URL:
        raise BadUrl(f"A URL has at most {MAX_URL:,} characters.")
    try:
        url = httpx2.URL(given)
        host = plain_host(url.raw_host.decode("ascii"))
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        raise BadUrl("This is no URL of a server, such as https://example.com/hook.") from None
    if url.scheme != "https" and not (policy.private and url.scheme == "http"):
        raise BadUrl("The URL must begin with https://.")
    if url.userinfo or url.fragment:
        raise BadUrl("The URL may have neither a user, a password nor a fragment.")
    is_local = host == "localhost" or host.endswith(".localhost")
    if (is_local and not policy.private) or (_is_address(host) and not may_connect(host, private=policy.private)):
        raise BadUrl(f"{host} is not on the public internet.")
    return Target(url, host)


async def posted(
    url: str, body: bytes, headers: Mapping[str, str], policy: FetchPolicy, *, seconds: float = SECONDS
) -> int:
    """Post a body; the status of the answer. Raises PostFailed, its text for the URL's owner."""
    try:
        target = checked_url(url, policy)
        async with asyncio.timeout(seconds):
            return await _sent(target, await _addresses(target, policy), body, headers, policy)
    except BadUrl as error:
        raise PostFailed(str(error)) from None
    except TimeoutError:
        raise PostFailed(f"It took longer than {seconds:g} s.") from None
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise PostFailed(f"It could not be reached ({type(error).__name__}).") from error


async def _addresses(target: Target, policy: FetchPolicy) -> Sequence[str]:
    """Where the host is. A name with one address that is refused is refused: nobody honest has both."""
    found = [target.host] if _is_address(target.host) else []
    if not found:
        try:
            found = list(await policy.resolve(target.host))
        except (OSError, UnicodeError):
            found = []
    if not found:
        raise PostFailed(f"There is no host {target.host}.")
    if not all(may_connect(address, private=policy.private) for address in found):
        raise PostFailed(f"{target.host} is not on the public internet.")
    return found[:_MAX_ADDRESSES]


async def _sent(
    target: Target, addresses: Sequence[str], body: bytes, headers: Mapping[str, str], policy: FetchPolicy
) -> int:
    """Post at the first address that takes a connection; the host's name goes into Host and TLS alone."""
    failure: Exception | None = None
    async with httpx2.AsyncClient(
        verify=policy.tls or public_tls(),
        trust_env=False,  # neither proxies nor passwords of this machine
        follow_redirects=False,
        timeout=httpx2.Timeout(SECONDS, connect=_CONNECT_SECONDS),
    ) as client:
        for address in addresses:
            request = client.build_request(
                "POST",
                target.url.copy_with(host=address),
                content=body,
                headers={**headers, "Host": target.url.netloc.decode("ascii"), "Connection": "close"},
                extensions={"sni_hostname": target.host},
            )
            try:
                response = await client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
                continue
            await response.aclose()
            return response.status_code
    raise PostFailed(f"It could not be connected to ({type(failure).__name__}).")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
