"""Which IP addresses may be connected to, for somebody who names a host: those of the public internet.

The tables are ours. What Python's `is_global` says has changed with its patch releases.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

PRIVATE = tuple(
    map(
        IPv4Network,
        ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
    )
)
"""Loopback, private networks, and those of carriers: what the deployment may allow."""
NEVER = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this host
            "168.63.129.16/32",  # a public address at which Azure tells a machine its secrets
            "169.254.0.0/16",  # link-local; at 169.254.169.254 most clouds tell a machine its credentials
            "192.0.0.0/24",  # protocol assignments, with Oracle's metadata
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays to IPv6
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
PRIVATE_6 = (IPv6Network("::1/128"), IPv6Network("fc00::/7"))
PUBLIC_6 = IPv6Network("2000::/3")
"""All that was ever given out. IPv4 in IPv6 (::ffff:0:0/96, 64:ff9b::/96), link-local and multicast are outside."""
NEVER_6 = (
    IPv6Network("2001::/23"),  # protocol assignments, with Teredo, which holds an IPv4 address
    IPv6Network("2001:db8::/32"),  # documentation
    IPv6Network("2002::/16"),  # 6to4, which holds an IPv4 address
    IPv6Network("3fff::/20"),  # documentation
)


def may_connect(address: str, *, private: bool) -> bool:
    """Whether this address may be connected to; `private` lets private networks and loopback pass too.

    Never let pass are link-local addresses, multicast, reserved ones, and IPv4 addresses within IPv6 ones.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _may_connect_4(parsed, private=private)
    return _may_connect_6(parsed, private=private)


def _may_connect_4(address: IPv4Address, *, private: bool) -> bool:
    if any(address in network for network in PRIVATE):
        return private
    return not any(address in network for network in NEVER)


def _may_connect_6(address: IPv6Address, *, private: bool) -> bool:
    if address.scope_id is not None:
        return False
    if any(address in network for network in PRIVATE_6):
        return private
    return address in PUBLIC_6 and not any(address in network for network in NEVER_6)
