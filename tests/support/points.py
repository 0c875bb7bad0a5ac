"""At which points of a scripted run a crash test strikes: at all of them with `--every-point`, else at a sample.

The sample is the same each time and differs from case to case, so that all cases together strike everywhere.
"""

from __future__ import annotations

from itertools import count
from zlib import crc32

STRIDE = 4
"""Without `--every-point`, one point of so many."""
_stride = STRIDE


def choose(*, every: bool) -> None:
    """Let the tests of this process strike at every point, or at a sample."""
    global _stride  # noqa: PLW0603 - an option of the whole process
    _stride = 1 if every else STRIDE


def points_up_to(last: int, case: str) -> list[int]:
    """Points from 1 to `last`, rising; the last one, where most ends are, is always among them."""
    return sorted({*range(_first(case), last + 1, _stride), last} - {0})


def all_points(case: str) -> count[int]:
    """Points without an end, for who finds out on the way where the last one is."""
    return count(_first(case), _stride)


def _first(case: str) -> int:
    return 1 + crc32(case.encode()) % _stride
