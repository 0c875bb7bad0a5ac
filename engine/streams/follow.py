"""One stream from any number to its end: replay, live tail, RunResult, without a gap and without a duplicate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from engine.streams.log import BOUNDARIES, Log
from engine.streams.memory import MemoryStreams
from engine.streams.replay import replay, settled
from models.events import RunResult, StreamEvent
from models.stream import StreamRows

ReadRows = Callable[[str, int], Awaitable[StreamRows | None]]
"""What the rows hold of a stream above a number, in a transaction of its own; None where there is no such stream."""

FAIR = 64
"""After so many events others get their turn: who is always ready to take more would never let go of the loop."""


class StreamNotFound(LookupError):
    """There is no such stream."""


async def follow(streams: MemoryStreams, read: ReadRows, stream_id: str, after: int) -> AsyncGenerator[StreamEvent]:
    """The stream's events numbered above `after`, until RunResult.

    The log is taken first and the rows are read after that, so what is published meanwhile waits in the log. Where
    the log holds all that follows, it alone is asked; the rows are looked at again when the log is nudged, so that an
    end whose publication was lost is found. Who comes back, perhaps from another process, gets the step that it was in
    from the rows where they have it. Raises StreamNotFound.
    """
    given = 0
    with streams.follow(stream_id) as log:
        cursor = _Cursor(streams, log, read, stream_id, max(after, 0))
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

    __slots__ = ("_is_back", "_log", "_read", "_stream_id", "_streams", "ended", "number")

    def __init__(self, streams: MemoryStreams, log: Log, read: ReadRows, stream_id: str, number: int) -> None:
        self._streams = streams
        self._log = log
        self._read = read
        self._stream_id = stream_id
        self.number = number
        self.ended = False
        self._is_back = streams.shared and number > 0

    async def advance(self) -> Sequence[StreamEvent]:
        """What comes next, as soon as there is something; empty once the stream has ended."""
        if self._is_back and (found := await self._come_back()):
            return found
        while not self.ended:
            step = self._from_log if self._log.covers(self.number) else self._from_rows
            if found := await step():
                return found
        return ()

    async def _come_back(self) -> Sequence[StreamEvent]:
        """The rest of the step that the reader was in, where it is finished or begun again.

        The number may come from a replay; in a log that still has the step as it was live, texts that the reader lacks
        may have lower ones. Where the step is still under way, nobody can have replayed it.
        """
        self._is_back = False
        rows = await self._rows()
        if rows.ended:
            return self._last_of(rows)
        end = next((event.seq for event in rows.lasting if isinstance(event, BOUNDARIES)), 0)
        found = replay(rows, self.number, upto=end)
        self.number = max(self.number, end)
        return found

    async def _from_log(self) -> Sequence[StreamEvent]:
        if found := self._log.after(self.number):
            self.number = found[-1].seq
            return found
        if self._log.done:
            self.ended = True
        elif not await self._log.changed():
            rows = await self._rows()
            if rows.ended and self._log.covers(self.number) and self._log.last <= self.number:
                return self._last_of(rows)
        return ()

    async def _from_rows(self) -> Sequence[StreamEvent]:
        live, gone, owners, nudges = self._log.live, self._log.gone, self._log.owners, self._log.nudges
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
        if found := settled(replay(rows, self.number)):
            self.number = found[-1].seq
            return found
        self._streams.seek(self._stream_id)
        if not self._log.live and self._log.nudges == nudges:
            await self._log.changed()
        return ()

    def _last_of(self, rows: StreamRows) -> Sequence[StreamEvent]:
        self.ended = True
        return replay(rows, self.number)

    async def _rows(self) -> StreamRows:
        rows = await self._read(self._stream_id, self.number)
        if rows is None:
            raise StreamNotFound(self._stream_id)
        return rows
