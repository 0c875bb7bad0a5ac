"""The log of one stream: its events in the order of their numbers, and the cursors' way through it.

A subscriber holds a number (its cursor), never a queue: what a slow one has not taken costs nothing beyond the log
itself, and adjacent text comes to it merged. What the rows hold can be trimmed from the log's beginning; whoever
stands before that point reads the rows first (see engine/streams/follow.py).
"""

from __future__ import annotations

import asyncio
import dataclasses
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from models.events import ReasoningDelta, RunResult, StreamEvent, TextDelta
from models.text import utf16_length

BATCH = 256
"""How many events, before merging, a reader takes from a log at a time."""

_number = attrgetter("seq")


class Log:
    """The events of one stream in this process. Every method belongs to the event loop's thread.

    `live` tells whether an owner publishes here: only then does the log hold all that was published above `gone`.
    `owners` counts how often one began to.
    `gone` is the number up to which only the rows have the events. `done` is true once RunResult is in.
    """

    __slots__ = ("_events", "_waiters", "done", "gone", "live", "owners")

    def __init__(self) -> None:
        self.live = False
        self.owners = 0
        self.done = False
        self.gone = 0
        self._events: list[StreamEvent] = []
        self._waiters: set[asyncio.Future[None]] = set()

    def __repr__(self) -> str:
        return f"<Log {self.gone}..{self.last} live={self.live} done={self.done} waiters={len(self._waiters)}>"

    def __len__(self) -> int:
        """How many events are held."""
        return len(self._events)

    @property
    def last(self) -> int:
        """The highest number that was published or trimmed."""
        return self._events[-1].seq if self._events else self.gone

    @property
    def waiting(self) -> int:
        """How many readers wait for a change."""
        return len(self._waiters)

    def append(self, event: StreamEvent) -> None:
        """Add an event, unless its number is not above the last one (a late writer) or the log is done.

        What was numbered below the first event of a log that had no owner yet can be in the rows alone.
        """
        if self.done or event.seq <= self.last:
            return
        if not self.live:
            self.live = True
            self.owners += 1
            self._events.clear()
            self.gone = event.seq - 1
        self._events.append(event)
        if isinstance(event, RunResult):
            self.done = True
        if self._waiters:
            self._wake()

    def trim(self, upto: int) -> None:
        """Let go of what is numbered up to `upto`: the rows hold it."""
        if upto <= self.gone:
            return
        beyond = upto > self.last
        del self._events[: bisect_right(self._events, upto, key=_number)]
        self.gone = upto
        if beyond:
            self._wake()

    def reset(self, gone: int) -> None:
        """A new owner takes over: what is numbered up to `gone` is in the rows alone, and nothing else is known yet."""
        if self.done:
            return
        self._events.clear()
        self.gone = max(gone, self.gone)
        self.live = True
        self.owners += 1
        self._wake()

    def forsake(self) -> None:
        """The owner is gone, and nobody follows it for now: until then readers have the rows alone."""
        if self.done:
            return
        self._events.clear()
        self.live = False
        self._wake()

    def covers(self, cursor: int) -> bool:
        """Whether all that follows the number `cursor` and was published is here."""
        return self.live and cursor >= self.gone

    def after(self, cursor: int) -> Sequence[StreamEvent]:
        """What follows the number `cursor`, adjacent text merged; of at most BATCH events, so that none waits long."""
        start = bisect_right(self._events, cursor, key=_number)
        found = self._events[start : start + BATCH]
        return found if len(found) < 2 else merged(found)

    async def changed(self, seconds: float) -> bool:
        """Wait until something is published or let go of, or so many seconds have passed; tells whether it changed.

        Nothing is missed as long as the caller has not awaited anything since it last looked.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.add(waiter)
        timer = loop.call_later(seconds, _settle, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            still_waiting = waiter in self._waiters
            self._waiters.discard(waiter)
        return not still_waiting

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            _settle(waiter)


def merged(events: Sequence[StreamEvent]) -> list[StreamEvent]:
    """The same events with adjacent text put together, under the number and time of the last one merged.

    Text is adjacent where kind, step, attempt and block are equal and the offsets go on without a gap.
    """
    result: list[StreamEvent] = []
    pieces: list[TextDelta | ReasoningDelta] = []
    end = 0
    for event in events:
        delta = event if isinstance(event, TextDelta | ReasoningDelta) else None
        if pieces and (delta is None or delta.offset != end or not _same_block(pieces[0], delta)):
            result.append(_joined(pieces))
            pieces = []
        if delta is None:
            result.append(event)
        else:
            pieces.append(delta)
            end = delta.offset + utf16_length(delta.text)
    if pieces:
        result.append(_joined(pieces))
    return result


def _same_block(one: TextDelta | ReasoningDelta, other: TextDelta | ReasoningDelta) -> bool:
    return (
        type(one) is type(other)
        and one.block == other.block
        and one.step == other.step
        and one.attempt == other.attempt
    )


def _joined(pieces: list[TextDelta | ReasoningDelta]) -> StreamEvent:
    if len(pieces) == 1:
        return pieces[0]
    return dataclasses.replace(pieces[-1], offset=pieces[0].offset, text="".join(piece.text for piece in pieces))


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
