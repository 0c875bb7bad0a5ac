"""Hosts and addresses: which patterns mean which hosts, and which addresses are public."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.builtin.addresses import may_connect
from engine.builtin.hosts import pattern_of, plain_host

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy


@pytest.mark.parametrize(
    ("pattern", "host", "port", "matches"),
    [
        ("example.com", "example.com", None, True),
        ("Example.COM", "example.com", None, True),
        ("example.com.", "example.com", None, True),
        ("example.com", "www.example.com", None, False),
        ("example.com", "example.com", 8443, False),
        ("example.com:8443", "example.com", 8443, True),
        ("example.com:8443", "example.com", None, False),
        ("*.example.com", "www.example.com", None, True),
        ("*.example.com", "a.b.example.com", None, True),
        ("*.example.com", "example.com", None, False),
        ("*.example.com", "badexample.com", None, False),
        ("*", "anything.example", None, True),
        ("*", "anything.example", 8080, False),
        ("*:8080", "anything.example", 8080, True),
        ("bücher.example", "xn--bcher-kva.example", None, True),
        ("10.0.0.1:80", "10.0.0.1", 80, True),
        ("[fd00::0:1]:8080", "fd00::1", 8080, True),
    ],
)
def test_a_pattern_means_what_it_says(pattern: str, host: str, port: int | None, matches: bool) -> None:
    """A name, what is below it, or all; at the usual port unless it names one."""
    assert pattern_of(pattern).matches(host, port) is matches


@pytest.mark.parametrize(
    "pattern",
    ["", "https://example.com", "example.com/path", "*.*", "a.*.com", "**", "exa mple", "x:y", "x:0", "x:70000",
     "127.1", "0x7f.1", "[::1", "[fe80::1%eth0]", "a..b", "*.", "user@host"],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    """When it is written down, not when it would be used."""
    with pytest.raises(ValueError, match=r".+"):
        pattern_of(pattern)


@unhurried
@given(st.text(max_size=80))
def test_a_host_has_one_form_or_none(host: str) -> None:
    """What a plain host is made of is the same once more."""
    try:
        plain = plain_host(host)
    except ValueError:
        return
    assert plain_host(plain) == plain
    assert plain.isascii()


PUBLIC = ["8.8.8.8", "93.184.215.14", "172.15.0.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"]
ALLOWABLE = ["10.1.2.3", "127.0.0.1", "127.255.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "::1", "fd12::1"]
NEVER = [
    "0.0.0.0",  # noqa: S104  # nothing listens there
    "0.1.2.3",
    "168.63.129.16",
    "169.254.169.254",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "5f00::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "127.1",
    "2130706433",
    "example.com",
    "",
]


@pytest.mark.parametrize("private", [False, True])
def test_public_addresses_may_be_connected_to(private: bool) -> None:
    """With the allowance or without."""
    assert [one for one in PUBLIC if not may_connect(one, private=private)] == []


def test_private_networks_and_this_machine_only_with_the_allowance() -> None:
    """Which is the deployment's to give."""
    assert [one for one in ALLOWABLE if may_connect(one, private=False)] == []
    assert [one for one in ALLOWABLE if not may_connect(one, private=True)] == []


@pytest.mark.parametrize("private", [False, True])
def test_other_addresses_never(private: bool) -> None:
    """Link-local, multicast, reserved, of clouds' own, and IPv4 addresses in any other clothes."""
    assert [one for one in NEVER if may_connect(one, private=private)] == []


@unhurried
@given(st.ip_addresses(v=4))
def test_what_is_public_here_is_public_to_python(address: IPv4Address) -> None:
    """Our table lets nothing pass that Python's own holds back."""
    assert not may_connect(str(address), private=False) or address.is_global
