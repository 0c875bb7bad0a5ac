"""The owners of one stream, one after another: some live on for a while when another has taken over."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random

from models.events import ReasoningDelta, RunResult, StepFinished, StreamEvent, TextDelta
from models.text import utf16_length
from tests.support.live_stream import Commit, Stored, TakeOver, Trim, life
from tests.support.shared_nodes import Node


class Owner:
    """Lives a stream's whole life, move by move, on one node after another."""

    def __init__(self, nodes: list[Node], stored: Stored, stream_id: str, rnd: Random, counts: Counter[str]) -> None:
        self._nodes = nodes
        self._stored = stored
        self._stream_id = stream_id
        self._rnd = rnd
        self._counts = counts
        self._node = rnd.choice(nodes)
        self._last: StreamEvent | None = None
        self._untold: StreamEvent | None = None
        self._step_end = 0
        self._begun = 0
        self._zombies: list[asyncio.Task[None]] = []
        self._pace = rnd.choice((0.0, 0.002, 0.02))
        self.on_end: Callable[[], object] = lambda: None
        """Called when the end was told, and no late writer may write after it."""

    async def own(self) -> None:
        """From the first number to the end; what was committed last may never be told."""
        self._node.streams.begin(self._stream_id, 0)
        size = {"words": 400, "piece": 12} if self._rnd.random() < 0.2 else {}
        for move in life(self._rnd, self._stream_id, **size):
            if self._rnd.random() < 0.5:
                await asyncio.sleep(self._rnd.random() * self._pace)
            if isinstance(move, Commit):
                await asyncio.sleep(self._rnd.random() * 0.003)
                self._stored.commit(move)
                self._untold = move.event
            elif isinstance(move, TakeOver):
                await self._take_over(move.gone)
            elif isinstance(move, Trim):
                self._trim(move.upto)
            else:
                self._tell(move.event)
        self._node.streams.forsake(self._stream_id)
        await asyncio.gather(*self._zombies)

    def _tell(self, event: StreamEvent) -> None:
        self._last, self._untold = event, None
        if isinstance(event, RunResult) and (fate := self._rnd.random()) < 0.4:
            self._end_elsewhere(event, is_told=fate < 0.2)
            return
        self._node.streams.publish([event])
        if isinstance(event, RunResult):
            self._ended()

    def _end_elsewhere(self, event: StreamEvent, *, is_told: bool) -> None:
        """The owner is gone; whoever settles the run in its place tells of the end, or dies before it can."""
        self._node.streams.forsake(self._stream_id)
        if is_told:
            self._counts["told by others"] += 1
            self._rnd.choice(self._nodes).streams.tell([event])
            self._ended()
        else:
            self._counts["lost ends"] += 1

    def _ended(self) -> None:
        if all(zombie.done() for zombie in self._zombies):
            self.on_end()

    def _trim(self, upto: int) -> None:
        """As a publisher does, up to the step before; or, when that is as good, at once."""
        at_once = self._rnd.random() < 0.3
        self._node.streams.trim(self._stream_id, upto if at_once else self._step_end)
        self._step_end = upto

    async def _take_over(self, gone: int) -> None:
        old, last = self._node, max(self._begun, self._last.seq if self._last else 0)
        fate = self._rnd.random()
        if fate < 0.3:  # it hands the run back
            old.streams.forsake(self._stream_id, last)
        else:
            zombie = self._haunt(old, last, _late(self._last, self._untold, gone, self._rnd))
            self._zombies.append(asyncio.create_task(zombie))
        if self._rnd.random() < 0.5:
            await asyncio.sleep(self._rnd.random() * 0.1)
        self._counts["takeovers"] += 1
        self._untold, self._begun = None, gone
        self._node = self._rnd.choice(self._nodes)
        self._node.streams.begin(self._stream_id, gone)

    async def _haunt(self, node: Node, last: int, events: list[StreamEvent]) -> None:
        """An owner that does not know yet that it is none: it goes on telling below the new one's numbers."""
        for event in events:
            await asyncio.sleep(self._rnd.random() * 0.03)
            self._counts["late events"] += 1
            node.streams.publish([event])
            last = event.seq
        await asyncio.sleep(self._rnd.random() * 0.1)
        node.streams.forsake(self._stream_id, last)


def _late(last: StreamEvent | None, untold: StreamEvent | None, gone: int, rnd: Random) -> list[StreamEvent]:
    """What it still has to tell: more of a text, or what it had committed."""
    if isinstance(untold, StepFinished):
        return [untold]
    if untold is not None or not isinstance(last, TextDelta | ReasoningDelta):
        return []
    events: list[StreamEvent] = []
    offset = last.offset + utf16_length(last.text)
    for seq in range(last.seq + 1, gone + 1 - rnd.randrange(2)):
        events.append(type(last)(last.stream_id, seq, last.step, last.attempt, seq, last.block, offset, "LATE"))
        offset += 4
    return events
