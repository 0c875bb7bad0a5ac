"""How long a turn may go on: seconds without progress, and ten times that altogether."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TURN_FACTOR = 10


class Patience:
    """Calls `out` once when no progress was made for `idle` seconds, or when the turn's time is over.

    Belongs to one event loop and counts by its clock.
    """

    def __init__(self, idle: float, out: Callable[[], None]) -> None:
        self._idle = idle
        self._out = out
        self._loop = asyncio.get_running_loop()
        self._progress = self._loop.time()
        self._turn_end = self._progress + idle * TURN_FACTOR
        self._working = 0
        self._timer: asyncio.TimerHandle | None = None

    def begin_turn(self, spent: float) -> None:
        """A turn is under way since `spent` seconds."""
        self._progress = self._loop.time()
        self._turn_end = self._progress + max(0.0, self._idle * TURN_FACTOR - spent)
        self._arm()

    def touch(self) -> None:
        """Progress was made."""
        self._progress = self._loop.time()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Tools run, each within a time of its own: that is progress."""
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            self.touch()

    def close(self) -> None:
        """Nothing is timed any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        self.close()
        self._timer = self._loop.call_at(min(self._progress + self._idle, self._turn_end), self._look)

    def _look(self) -> None:
        now = self._loop.time()
        if self._working:
            self._progress = now
        if now >= self._turn_end or now - self._progress >= self._idle:
            self.close()
            self._out()
            return
        self._arm()
