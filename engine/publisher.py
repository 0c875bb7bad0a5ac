"""The one queue of a generation: it gives every event its number, in the order of publishing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engine.streams.memory import MemoryStreams
from models.clock import Clock
from models.events import ReasoningDelta, StepFinished, StreamEvent, TextDelta, ToolCallProgress
from models.text import utf16_length
from models.verbs.row import LOW_WATER, Done, Numbers

MAX_WAITING = 10_000  # passing events that may wait for a verb to commit; progress beyond it is dropped


class Publisher:
    """Numbers and publishes what the owner of a stream tells.

    Passing events (deltas, progress) get their number when they are told. A verb's lasting events get theirs within
    its transaction; the verb holds the queue from numbering to commit, and what is told meanwhile waits behind it, so
    that no lower number appears after a higher one.
    """

    def __init__(self, streams: MemoryStreams, numbers: Numbers, clock: Clock) -> None:
        self.numbers = numbers
        self._streams = streams
        self._clock = clock
        self._lock = asyncio.Lock()
        self._waiting: list[StreamEvent] = []
        self._offsets: dict[int, int] = {}
        self._step_end = 0

    @property
    def is_low(self) -> bool:
        """Whether few numbers are left."""
        return self.numbers.next + LOW_WATER > self.numbers.ceiling

    def begin_attempt(self) -> None:
        """The texts of a step begin, at offset 0."""
        self._offsets = {}

    def delta(self, kind: str, step: int, attempt: int, block: int, text: str) -> None:
        """Tell more of a block of the answer."""
        offset = self._offsets.get(block, 0)
        self._offsets[block] = offset + utf16_length(text)
        make = TextDelta if kind == "text" else ReasoningDelta
        self._tell(make(self.numbers.stream_id, 0, step, attempt, self._clock(), block, offset, text))

    def progress(self, step: int, attempt: int, tool_call_id: str, message: str, fraction: float | None) -> None:
        """Tell what a running tool says of itself."""
        if len(self._waiting) < MAX_WAITING:
            self._tell(
                ToolCallProgress(
                    self.numbers.stream_id, 0, step, attempt, self._clock(), tool_call_id, message, fraction
                )
            )

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold the queue while a verb numbers its events and commits."""
        async with self._lock:
            yield
        self._flush()

    def committed(self, done: Done) -> None:
        """Publish what a verb has stored; to be called while the queue is held."""
        self._streams.publish(done.events)
        for event in done.events:
            if isinstance(event, StepFinished):
                # The rows hold the step before this one for good; this one stays for those who read just behind.
                self._streams.trim(event.stream_id, self._step_end)
                self._step_end = event.seq
        if done.numbers is not None:
            if done.numbers.stream_id != self.numbers.stream_id:  # a generation begins: what the last one told is over
                self._step_end = 0
                self._waiting.clear()
            self.numbers = done.numbers

    def _tell(self, event: StreamEvent) -> None:
        if self._lock.locked() or self._waiting:
            self._waiting.append(event)
            return
        if not self._number(event):
            self._waiting.append(event)

    def _number(self, event: StreamEvent) -> bool:
        if self.numbers.next > self.numbers.ceiling:
            return False
        event.seq = self.numbers.next
        self.numbers = Numbers(self.numbers.stream_id, event.seq + 1, self.numbers.ceiling)
        self._streams.publish((event,))
        return True

    def _flush(self) -> None:
        told = 0
        while not self._lock.locked() and told < len(self._waiting) and self._number(self._waiting[told]):
            told += 1
        del self._waiting[:told]
