"""Which hosts may be asked: names, as people write them in an allow-list and as addresses have them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PATTERN = re.compile(r"(?P<host>\*|\[[0-9a-f:.]+\]|[^\[\]:]+)(?::(?P<port>[0-9]{1,5}))?")
_MAX_NAME = 253


@dataclass(frozen=True, slots=True)
class HostPattern:
    """A host that may be asked: `host` itself, or what is below it; "" with `below` is every host.

    Without a port it is the one that goes with the scheme.
    """

    host: str
    below: bool
    port: int | None

    def matches(self, host: str, port: int | None) -> bool:
        """Whether it means this host, as `plain_host` gives it; port None stands for the scheme's own."""
        if port != self.port:
            return False
        if not self.below:
            return host == self.host
        return host.endswith(f".{self.host}") if self.host else True


def pattern_of(text: str) -> HostPattern:
    """Read `example.com`, `*.example.com` (what is below it), `*` (every host), each perhaps with `:port`.

    Raises ValueError, in words.
    """
    found = _PATTERN.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError("a host is written as example.com, *.example.com or example.com:8443, without https://")
    port = None if found["port"] is None else int(found["port"])
    if port is not None and not 0 < port < 65_536:
        raise ValueError("a port is from 1 to 65535")
    if found["host"] == "*":
        return HostPattern("", below=True, port=port)
    host = found["host"].removeprefix("*.")
    return HostPattern(plain_host(host.strip("[]")), below=host != found["host"], port=port)


def plain_host(host: str) -> str:
    """A host in its one form: small letters, ASCII, no dot at its end; an IP address as it is usually written.

    Raises ValueError for what is neither a name nor an address, such as 127.1 or 0x7f000001, which some resolvers
    take for an address.
    """
    if ":" in host:
        return str(IPv6Address(host))
    try:
        name = host.lower().removesuffix(".").encode("idna").decode("ascii")
    except UnicodeError:
        raise ValueError(f"{host[:80]!r} is no host name") from None
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return str(IPv4Address(name))
    if len(name) > _MAX_NAME or not _NAME.fullmatch(name):
        raise ValueError(f"{host[:80]!r} is no host name")
    return name
