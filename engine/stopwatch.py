"""The time that a tool may take: it stands still while the tool waits for another agent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopwatch:
    """Runs from when it is made, but while somebody holds it. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._run = 0.0
        self._holders = 0

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return self._run if self._holders else self._run + self._clock() - self._since

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let it stand still within this context."""
        if not self._holders:
            self._run += self._clock() - self._since
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            self._since = self._clock()
