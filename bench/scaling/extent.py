"""How much is measured: enough for figures that hold, or just enough to see that all of it works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Extent:
    """How many of each, and for how many seconds."""

    window: float = 10.0
    settling: float = 3.0
    silent: int = 300
    paced: int = 100
    brisk: int = 40
    stepping: int = 40
    short: int = 100
    signals: int = 60
    spread: float = 15.0
    """Seconds over which signals are spread: each meets every poll at another moment."""
    pages: int = 200
    leases: int = 1_000
    taken: int = 1_000
    looks: int = 1_000
    rounds: int = 50


QUICK = Extent(
    window=1.0,
    settling=0.2,
    silent=20,
    paced=10,
    brisk=5,
    stepping=5,
    short=10,
    signals=6,
    spread=0.5,
    pages=10,
    leases=100,
    taken=100,
    looks=100,
    rounds=3,
)
"""A few seconds of each."""
