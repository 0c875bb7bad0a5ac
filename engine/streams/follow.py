"""One stream from any number to its end: replay, live tail, RunResult, without a gap and without a duplicate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from engine.streams.log import Log
from engine.streams.memory import MemoryStreams
from engine.streams.replay import replay
from models.events import RunResult, StreamEvent
from models.stream import StreamRows

ReadRows = Callable[[str, int], Awaitable[StreamRows | None]]
"""What the rows hold of a stream above a number, in a transaction of its own; None where there is no such stream."""

FAIR = 64
"""After so many events others get their turn: who is always ready to take more would never let go of the loop."""


class StreamNotFound(LookupError):
    """There is no such stream."""


async def follow(
    streams: MemoryStreams, read: ReadRows, stream_id: str, after: int, poll_seconds: float
) -> AsyncGenerator[StreamEvent]:
    """The stream's events numbered above `after`, until RunResult.

    The log is taken first and the rows are read after that, so what is published meanwhile waits in the log. Where
    the log holds all that follows, it alone is asked. Once a silence has lasted `poll_seconds` the rows are looked at,
    so that an end whose publication was lost is found. Raises StreamNotFound.
    """
    given = 0
    with streams.follow(stream_id) as log:
        cursor = _Cursor(log, read, stream_id, max(after, 0), poll_seconds)
        while batch := await cursor.advance():
            for event in batch:
                yield event
                if isinstance(event, RunResult):
                    return
                given += 1
                if given % FAIR == 0:
                    await asyncio.sleep(0)


class _Cursor:
    """A reader's place in a stream: every event up to `number` was given, or needs no more looking at."""

    __slots__ = ("_log", "_poll_seconds", "_read", "_stream_id", "ended", "number")

    def __init__(self, log: Log, read: ReadRows, stream_id: str, number: int, poll_seconds: float) -> None:
        self._log = log
        self._read = read
        self._stream_id = stream_id
        self._poll_seconds = poll_seconds
        self.number = number
        self.ended = False

    async def advance(self) -> Sequence[StreamEvent]:
        """What comes next, as soon as there is something; empty once the stream has ended."""
        while not self.ended:
            step = self._from_log if self._log.covers(self.number) else self._from_rows
            if found := await step():
                return found
        return ()

    async def _from_log(self) -> Sequence[StreamEvent]:
        if found := self._log.after(self.number):
            self.number = found[-1].seq
            return found
        if self._log.done:
            self.ended = True
        elif not await self._log.changed(self._poll_seconds):
            rows = await self._rows()
            if rows.ended and self._log.covers(self.number) and self._log.last <= self.number:
                return self._last_of(rows)
        return ()

    async def _from_rows(self) -> Sequence[StreamEvent]:
        live, gone, owners = self._log.live, self._log.gone, self._log.owners
        rows = await self._rows()
        if live:
            # Above `gone` the log is asked: there the rows may have a lasting event whose step has no text in them yet.
            found = replay(rows, self.number, upto=gone)
            self.number = max(self.number, gone)
            return found
        if self._log.owners != owners:
            return ()  # one has come meanwhile, and perhaps gone: the same holds for what was read
        if rows.ended:
            return self._last_of(rows)
        if found := replay(rows, self.number):
            self.number = found[-1].seq
            return found
        await self._log.changed(self._poll_seconds)
        return ()

    def _last_of(self, rows: StreamRows) -> Sequence[StreamEvent]:
        self.ended = True
        return replay(rows, self.number)

    async def _rows(self) -> StreamRows:
        rows = await self._read(self._stream_id, self.number)
        if rows is None:
            raise StreamNotFound(self._stream_id)
        return rows
