"""Ids: TypeIDs, a prefix that names the noun and a UUIDv7 in Crockford base 32, rising within a process."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable

from models.clock import Clock, system_clock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}
_RANDOM_BITS = 74  # rand_a (12) and rand_b (62) of RFC 9562 section 5.7, as one counter that rises
SUFFIX_LENGTH = 26


class Ids:
    """Makes ids: `ids("run")` gives `run_01…`.

    Ids made by one process sort in the order in which they were made: within one millisecond the random part is
    counted up (RFC 9562 section 6.2, method 2).
    """

    def __init__(self, clock: Clock = system_clock, random_bits: Callable[[int], int] = secrets.randbits) -> None:
        self._clock = clock
        self._random_bits = random_bits
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self, prefix: str) -> str:
        """A new id of the noun that `prefix` names."""
        with self._lock:
            fresh = (self._clock() << _RANDOM_BITS) | self._random_bits(_RANDOM_BITS - 1)
            self._last = max(fresh, self._last + 1)
            value = self._last
        return f"{prefix}_{_encode(_as_uuid7(value))}"


def prefix_of(identifier: str) -> str | None:
    """The noun an id names ("run", "msg", …), or None where the text is no id of ours."""
    prefix, _, suffix = identifier.rpartition("_")
    if not prefix or len(suffix) != SUFFIX_LENGTH or suffix[0] > "7" or any(c not in _VALUES for c in suffix):
        return None
    return prefix


def _as_uuid7(value: int) -> int:
    milliseconds, random_part = value >> _RANDOM_BITS, value & ((1 << _RANDOM_BITS) - 1)
    rand_a, rand_b = random_part >> 62, random_part & ((1 << 62) - 1)
    return (milliseconds & ((1 << 48) - 1)) << 80 | 0x7 << 76 | rand_a << 64 | 0b10 << 62 | rand_b


def _encode(value: int) -> str:
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))
