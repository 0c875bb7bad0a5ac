"""Watching over rows in memory, what changes them, and clients that note what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TypeVar

from engine.errors import RunNotFound
from engine.streams.bell import Bell
from engine.streams.follow import StreamNotFound
from engine.streams.memory import MemoryStreams
from engine.watching import Watching
from models.call import Decider, ToolCall
from models.clock import ManualClock
from models.enums import Role, RunStatus, ToolCallState
from models.ids import Ids
from models.message import Message
from models.page import Window
from models.run import Run, RunQuery
from models.stream import Stream, StreamRows
from tests.support.live_stream import Commit, Publish, Stored, dice, life

T = TypeVar("T")
NEVER = 3_600.0
ALICE = RunQuery(user_id="alice")


class MemoryRows:
    """Rows in memory; each read gives the loop away before and after it looks."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.messages: dict[str, list[Message]] = {}
        self.streams: dict[str, Stream] = {}
        self.events: dict[str, Stored] = {}
        self.calls: dict[str, ToolCall] = {}
        self.reads = 0
        self.meanwhile: Callable[[], None] = lambda: None

    async def _read(self, look: Callable[[], T]) -> T:
        self.reads += 1
        await asyncio.sleep(0)
        found = look()
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        await asyncio.sleep(0)
        return found

    async def get_run(self, run_id: str) -> Run | None:
        return await self._read(lambda: self.runs.get(run_id))

    async def get_runs(self, run_ids: Sequence[str]) -> dict[str, Run]:
        return await self._read(lambda: {key: run for key, run in self.runs.items() if key in run_ids})

    async def newest_run_ids(self, query: RunQuery, count: int) -> list[str]:
        ids = await self._read(lambda: {key for key, run in self.runs.items() if query.matches(run)})
        return sorted(ids, reverse=True)[:count]

    async def messages_after(self, run_id: str, after_seq: int, limit: int) -> list[Message]:
        return await self._read(lambda: [m for m in self.messages.get(run_id, []) if m.seq > after_seq][:limit])

    async def read_stream(self, stream_id: str, after: int) -> StreamRows | None:
        return await self._read(lambda: self.events[stream_id].read(after) if stream_id in self.events else None)

    async def streams_of_run(self, run_id: str) -> list[Stream]:
        return await self._read(lambda: [stream for stream in self.streams.values() if stream.run_id == run_id])

    def _decidable(self, who: Decider) -> list[ToolCall]:
        waiting = [call for call in self.calls.values() if call.state is ToolCallState.WAITING and call.approvers]
        return sorted((one for one in waiting if one.may_be_decided_by(who.user_id, who.roles)), key=lambda one: one.id)

    async def decidable(self, who: Decider, window: Window) -> list[ToolCall]:
        after = window.after or ""
        return await self._read(lambda: [call for call in self._decidable(who) if call.id > after][: window.size])

    async def decidable_of_runs(self, who: Decider, run_ids: Sequence[str]) -> list[ToolCall]:
        return await self._read(lambda: [call for call in self._decidable(who) if call.run_id in run_ids])

    async def get_calls(self, call_ids: Sequence[str]) -> dict[str, ToolCall]:
        return await self._read(lambda: {key: self.calls[key] for key in call_ids if key in self.calls})


class House:
    """Watching over rows in memory, with what changes them."""

    def __init__(self) -> None:
        self.rows, self.streams, self.bell = MemoryRows(), MemoryStreams(), Bell()
        self.new_id = Ids(ManualClock())
        self.watching = Watching(self.rows, self.streams, self.bell, ids=self.new_id)
        self.tasks = asyncio.all_tasks()

    def open(self, user_id: str = "alice", **values: object) -> str:
        """A new run."""
        run_id = self.new_id("run")
        run = Run(id=run_id, user_id=user_id, agent="helper", status=RunStatus.IDLE, created_at=0, updated_at=0)
        self.rows.runs[run_id] = replace(run, **values)  # type: ignore[arg-type] # a run's own fields
        self.bell.ring(run_id, user_id)
        return run_id

    def change(self, run_id: str, **values: object) -> None:
        """A visible change of a run."""
        run = self.rows.runs[run_id]
        self.rows.runs[run_id] = replace(run, revision=run.revision + 1, **values)  # type: ignore[arg-type] # as above
        self.bell.ring(run_id, run.user_id)

    def say(self, run_id: str, text: str = "hi") -> None:
        """A new message of a run."""
        messages = self.rows.messages.setdefault(run_id, [])
        seq = len(messages) + 1
        messages.append(
            Message(f"msg_{seq}", run_id, "alice", seq=seq, role=Role.USER, content=text, step=0, created_at=0)
        )
        self.change(run_id)

    def begin(self, run_id: str) -> str:
        """A new generation of a run."""
        generation = 1 + sum(stream.run_id == run_id for stream in self.rows.streams.values())
        stream_id = self.new_id("str")
        stream = Stream(stream_id, run_id, generation, 100, steps_before=0, seq_before=0, ended=False, created_at=0)
        self.rows.streams[stream_id] = stream
        self.rows.events[stream_id] = Stored()
        self.change(run_id, stream_id=stream_id)
        return stream_id

    def live(self, stream_id: str, seed: int = 7) -> None:
        """A generation's whole life at once."""
        for move in life(dice(seed), stream_id):
            if isinstance(move, Commit):
                self.rows.events[stream_id].commit(move)
            elif isinstance(move, Publish):
                self.streams.publish([move.event])

    def assert_empty(self) -> None:
        """Nobody listens, follows, waits or works any more."""
        assert len(self.bell) == 0
        assert len(self.streams) == 0
        assert asyncio.all_tasks() == self.tasks


class Client(list[T]):
    """What a subscriber was told until now."""

    def __init__(self, events: AsyncGenerator[T]) -> None:
        super().__init__()
        self.error: Exception | None = None
        self._task = asyncio.create_task(self._take(events))

    async def _take(self, events: AsyncGenerator[T]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    self.append(event)
        except (RunNotFound, StreamNotFound) as error:
            self.error = error

    async def leave(self) -> None:
        """The client goes away, whatever it waits for."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


async def quiet() -> None:
    """Let everybody do what there is to do; all of it takes turns of the loop alone."""
    for _ in range(60):
        await asyncio.sleep(0)
