"""Time, injected: milliseconds since the epoch (UTC), for what is shown; leases use the database's own clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time in whole milliseconds since the epoch, UTC."""

    def __call__(self) -> int:
        """The time now."""
        ...


def system_clock() -> int:
    """The machine's clock, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that tests move by hand; ships with the product so that nobody patches time."""

    def __init__(self, now: int = 1_800_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        """The time it stands at."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Move forward by so many seconds."""
        self.now += round(seconds * 1000)
