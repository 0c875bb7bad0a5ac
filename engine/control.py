"""What reaches a running loop from outside: cancel, interrupt, time-out, the loss of its lease."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from enum import Enum

from engine.cancelled import Cancelled


class StopReason(Enum):
    """Why work under way is stopped; the first that holds, in this order, is the one that counts."""

    LOST = "lost"
    CANCEL = "cancel"
    TIMEOUT = "timeout"
    INTERRUPT = "interrupt"


class Stopped(Exception):
    """Work under way was stopped; the loop looks at its control for the reason."""


class Control:
    """The signals of one loop. A signal meant for another fence, or for input already folded, changes nothing."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._set: set[StopReason] = set()
        self._interrupting: set[str] = set()
        self._folded: set[str] = set()
        self._watching: set[Cancelled] = set()

    @property
    def reason(self) -> StopReason | None:
        """Why work should stop now, or None."""
        return next((reason for reason in StopReason if reason in self._set), None)

    def stop(self, reason: StopReason) -> None:
        """Ask the loop to stop for good: cancel, time-out or the loss of the lease."""
        self._set.add(reason)
        self._wake()

    def interrupt(self, input_ids: Collection[str]) -> None:
        """Ask the loop to cut what it does for these inputs, unless they are in the transcript already."""
        fresh = set(input_ids) - self._folded
        if fresh:
            self._interrupting |= fresh
            self._set.add(StopReason.INTERRUPT)
            self._wake()

    def folded(self, input_ids: Collection[str]) -> None:
        """These inputs have reached the transcript."""
        self._folded |= set(input_ids)
        self._interrupting -= self._folded
        if not self._interrupting:
            self._set.discard(StopReason.INTERRUPT)
        self._settle()

    def renew(self) -> None:
        """A new turn begins in the same loop: a cancel and a time-out were the old one's."""
        self._set -= {StopReason.CANCEL, StopReason.TIMEOUT}
        self._settle()

    async def wait(self) -> None:
        """Wait until work should stop."""
        await self._event.wait()

    @contextmanager
    def watched_by(self, stop: Cancelled) -> Iterator[None]:
        """Set `stop` when work should stop, within this context."""
        self._watching.add(stop)
        if self._set:
            stop.set()
        try:
            yield
        finally:
            self._watching.discard(stop)

    def _wake(self) -> None:
        self._event.set()
        for stop in self._watching:
            stop.set()

    def _settle(self) -> None:
        if not self._set:
            self._event.clear()
