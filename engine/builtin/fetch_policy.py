"""What the deployment lets be fetched, and how hosts are found."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from engine.threads import run_in_thread

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""Gives the IP addresses of a host name, in the order in which to try them. Raises OSError."""


async def resolve(host: str) -> Sequence[str]:
    """The addresses that the machine's own resolver gives. Raises OSError."""
    found = await run_in_thread(lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM), f"resolve {host}")
    return list(dict.fromkeys(str(one[4][0]) for one in found))


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """`private` lets private networks and this machine be reached, by tools whose configuration names the host.

    `tls` is what servers are checked by; None for the usual authorities.
    """

    private: bool = False
    resolve: Resolver = resolve
    tls: ssl.SSLContext | None = None
