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

from models.events import ReasoningDelta, RunResult, StepFinished, StepRestarted, StreamEvent, TextDelta
from models.text import utf16_length

BATCH = 256
"""How many events, before merging, a reader takes from a log at a time."""

BOUNDARIES = (StepFinished, StepRestarted, RunResult)
"""Whatever came before one of these is in the rows, or is text that is dropped: lasting events are committed first."""

_number = attrgetter("seq")


class Log:
    """The events of one stream in this process. Every method belongs to the event loop's thread.

    `live` tells whether what an owner publishes comes here, from this process or from another one: only then does the
    log hold all that was published above `gone`. `owners` counts how often that began. `fed` tells whether the owner is
    in another process, and `lacking` that some of what it told has not come here.
    `gone` is the number up to which only the rows have the events. `done` is true once RunResult is in. `nudges` counts
    how often the rows should have been looked at.
    """

    __slots__ = ("_events", "_waiters", "done", "fed", "gone", "lacking", "live", "nudges", "owners")

    def __init__(self) -> None:
        self.live = False
        self.fed = False
        self.lacking = False
        self.owners = 0
        self.nudges = 0
        self.done = False
        self.gone = 0
        self._events: list[StreamEvent] = []
        self._waiters: set[asyncio.Future[bool]] = set()

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

    def append(self, event: StreamEvent) -> bool:
        """Add an event, unless its number is not above the last one (a late writer) or the log is done.

        What was numbered below the first event of a log that had no owner yet can be in the rows alone.
        """
        if self.done or event.seq <= self.last:
            return False
        if not self.live:
            self.live = True
            self.fed = self.lacking = False
            self.owners += 1
            self._events.clear()
            self.gone = event.seq - 1
        self._add(event)
        return True

    def feed(self, event: StreamEvent, before: int) -> None:
        """Add an event that another process published; `before` is the number that it had published before this one.

        Where the log does not go up to there, what lies between is trimmed, or was lost with the text of the step
        under way: nothing more is given until an event tells that the rows have all that is worth having before it.
        """
        if self.done or event.seq <= self.last:
            return
        if before > self.last:
            self.lose(before)
        if self.lacking and not isinstance(event, BOUNDARIES):
            self.gone = event.seq
            return
        if not self.live:
            self.reset(event.seq - 1 if self.lacking else self.gone, fed=True)
        self._add(event)

    def skip(self, gone: int) -> None:
        """Another process says that all up to `gone` is in the rows."""
        if not self.live or gone > self.last:
            self.reset(gone, fed=True)

    def lose(self, upto: int) -> None:
        """What another process published up to `upto` has not come here, and perhaps is not in the rows either."""
        if self.done or upto <= self.last:
            return
        was_live, self.live = self.live, False
        self.fed = self.lacking = True
        self._events.clear()
        self.gone = upto
        if was_live:
            self._wake()

    def copy(self) -> Log:
        """The same events in a log that nobody reads yet."""
        other = Log()
        other.live, other.fed, other.owners, other.done, other.gone = (
            self.live,
            self.fed,
            self.owners,
            self.done,
            self.gone,
        )
        other._events = list(self._events)
        return other

    def trim(self, upto: int) -> None:
        """Let go of what is numbered up to `upto`: the rows hold it."""
        if upto <= self.gone:
            return
        beyond = upto > self.last
        del self._events[: bisect_right(self._events, upto, key=_number)]
        self.gone = upto
        if beyond:
            self._wake()

    def reset(self, gone: int, *, fed: bool = False) -> None:
        """A new owner takes over: what is numbered up to `gone` is in the rows alone, and nothing else is known yet."""
        if self.done:
            return
        self._events.clear()
        self.gone = max(gone, self.gone)
        self.live, self.lacking = True, False
        self.fed = fed
        self.owners += 1
        self._wake()

    def forsake(self) -> None:
        """The owner is gone, or out of reach, and nobody follows it for now: until then readers have the rows alone."""
        if self.done or not (self.live or self.lacking):
            return
        self._events.clear()
        if self.fed:
            self.gone = 0  # what is brought here again begins where its owner says
        self.live = self.fed = self.lacking = False
        self._wake()

    def covers(self, cursor: int) -> bool:
        """Whether all that follows the number `cursor` and was published is here."""
        return self.live and cursor >= self.gone

    def after(self, cursor: int) -> Sequence[StreamEvent]:
        """What follows the number `cursor`, adjacent text merged; of at most BATCH events, so that none waits long."""
        start = bisect_right(self._events, cursor, key=_number)
        found = self._events[start : start + BATCH]
        return found if len(found) < 2 else merged(found)

    async def changed(self) -> bool:
        """Wait until something is published or let go of (True), or the rows should be looked at (False).

        Nothing is missed as long as the caller has not awaited anything since it last looked.
        """
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            return await waiter
        finally:
            self._waiters.discard(waiter)

    def nudge(self) -> None:
        """Have every reader look at the rows: they tell what was not published here."""
        self.nudges += 1
        self._wake(changed=False)

    def _add(self, event: StreamEvent) -> None:
        self._events.append(event)
        if isinstance(event, RunResult):
            self.done = True
        if self._waiters:
            self._wake()

    def _wake(self, *, changed: bool = True) -> None:
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(changed)


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
