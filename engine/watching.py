"""What subscriptions iterate: runs, messages and streams as they change. Dropping any of these cancels nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from engine.errors import RunNotFound
from engine.streams.bell import Bell
from engine.streams.follow import StreamNotFound, follow
from engine.streams.memory import MemoryStreams
from models.call import Decider, ToolCall, decidable_of_runs, find_decidable, get_calls
from models.database import Database
from models.events import StreamEvent
from models.ids import Ids
from models.message import Message, messages_after
from models.page import MAX_SIZE, Window
from models.run import Run, RunQuery, get_run, get_runs, newest_run_ids
from models.stream import Stream, StreamRows, get_stream, read_stream, streams_of_run

PAGE = 100
"""How many rows are read at a time."""
KEPT = 10_000
"""How many runs a subscription to a list keeps apart from those that are simply older."""


@dataclass(frozen=True, slots=True)
class RunChange:
    """What became of a run in a filtered list; `run` is None where it was REMOVED."""

    kind: Literal["ADDED", "CHANGED", "REMOVED"]
    run_id: str
    run: Run | None


class Rows(Protocol):
    """The reads that watching needs, each in a transaction of its own."""

    async def get_run(self, run_id: str) -> Run | None:
        """The run, or None."""
        ...

    async def get_runs(self, run_ids: Sequence[str]) -> dict[str, Run]:
        """Those of the runs that exist, by id."""
        ...

    async def newest_run_ids(self, query: RunQuery, count: int) -> list[str]:
        """The ids of the newest runs that match, newest first, at most `count`."""
        ...

    async def messages_after(self, run_id: str, after_seq: int, limit: int) -> list[Message]:
        """The messages that follow `after_seq`, in order, at most `limit`."""
        ...

    async def read_stream(self, stream_id: str, after: int) -> StreamRows | None:
        """What the rows tell of the stream above the number `after`; None where there is no such stream."""
        ...

    async def streams_of_run(self, run_id: str) -> list[Stream]:
        """The run's streams in the order of their generations."""
        ...

    async def decidable(self, who: Decider, window: Window) -> list[ToolCall]:
        """The calls of a window that wait for this user's decision, oldest first."""
        ...

    async def decidable_of_runs(self, who: Decider, run_ids: Sequence[str]) -> list[ToolCall]:
        """The calls of these runs that wait for this user's decision."""
        ...

    async def get_calls(self, call_ids: Sequence[str]) -> dict[str, ToolCall]:
        """Those of the calls that exist, by id."""
        ...


class DatabaseRows:
    """Rows, from a Database; who watches waits for one that is away."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get_run(self, run_id: str) -> Run | None:
        """The run, or None."""
        return await self._database.read_patiently(get_run, run_id)

    async def get_runs(self, run_ids: Sequence[str]) -> dict[str, Run]:
        """Those of the runs that exist, by id."""
        return await self._database.read_patiently(get_runs, run_ids)

    async def newest_run_ids(self, query: RunQuery, count: int) -> list[str]:
        """The ids of the newest runs that match, newest first, at most `count`."""
        return await self._database.read_patiently(newest_run_ids, query, count)

    async def messages_after(self, run_id: str, after_seq: int, limit: int) -> list[Message]:
        """The messages that follow `after_seq`, in order, at most `limit`."""
        return await self._database.read_patiently(messages_after, run_id, after_seq, limit)

    async def read_stream(self, stream_id: str, after: int) -> StreamRows | None:
        """What the rows tell of the stream above the number `after`; None where there is no such stream."""
        rows = await self._database.read_patiently(read_stream, stream_id, after)
        if rows.lasting or rows.ended or await self._database.read_patiently(get_stream, stream_id) is not None:
            return rows
        return None

    async def streams_of_run(self, run_id: str) -> list[Stream]:
        """The run's streams in the order of their generations."""
        return await self._database.read_patiently(streams_of_run, run_id)

    async def decidable(self, who: Decider, window: Window) -> list[ToolCall]:
        """The calls of a window that wait for this user's decision, oldest first."""
        return (await self._database.read_patiently(find_decidable, who, window)).rows

    async def decidable_of_runs(self, who: Decider, run_ids: Sequence[str]) -> list[ToolCall]:
        """The calls of these runs that wait for this user's decision."""
        return await self._database.read_patiently(decidable_of_runs, who, run_ids)

    async def get_calls(self, call_ids: Sequence[str]) -> dict[str, ToolCall]:
        """Those of the calls that exist, by id."""
        return await self._database.read_patiently(get_calls, call_ids)


class Watching:
    """Everything that can be watched. Each of these generators leaves nothing behind when it is closed.

    Who watches waits for the bell and for the logs alone; what those do not tell is found by the patrol
    (engine/patrol.py). `ids` are those that new runs get their ids from.
    """

    def __init__(self, rows: Rows, streams: MemoryStreams, bell: Bell, *, ids: Ids) -> None:
        self._rows = rows
        self._streams = streams
        self._bell = bell
        self._ids = ids

    async def run(self, run_id: str) -> AsyncGenerator[Run]:
        """The run's row now, then the newest one at each change. Raises RunNotFound."""
        told: int | None = None
        with self._bell.listen(run_id=run_id) as listener:
            while True:
                run = await self._rows.get_run(run_id)
                if run is None:
                    raise RunNotFound
                if run.revision != told:
                    told = run.revision
                    yield run
                await listener.wait()

    async def runs(self, query: RunQuery) -> AsyncGenerator[RunChange]:
        """What changes among the runs that match, from now on: nothing for what is there already."""
        born_before = self._ids("run")
        with self._bell.listen(user_id=query.user_id) as listener:
            shown = _Shown(query, *await self._there(query, born_before))
            while True:
                rung = sorted(await listener.wait())
                for start in range(0, len(rung), PAGE):
                    page = rung[start : start + PAGE]
                    found = await self._rows.get_runs(page)
                    for run_id in page:
                        change = shown.change(run_id, found.get(run_id))
                        if change is not None:
                            yield change

    async def messages(self, run_id: str, after_seq: int = 0) -> AsyncGenerator[Message]:
        """Each message that follows `after_seq` once, in order, stored ones first, then live. Raises RunNotFound."""
        with self._bell.listen(run_id=run_id) as listener:
            if await self._rows.get_run(run_id) is None:
                raise RunNotFound
            while True:
                page = await self._rows.messages_after(run_id, after_seq, PAGE)
                for message in page:
                    after_seq = message.seq
                    yield message
                if len(page) < PAGE:
                    await listener.wait()

    async def approvals(self, who: Decider) -> AsyncGenerator[ToolCall]:
        """What waits for this user's decision now, oldest first; then each call that begins to, and what becomes of it.

        A call is given again when it is decided or ceases to wait.
        """
        shown: dict[str, set[str]] = {}
        with self._bell.listen(user_id=None if who.roles else who.user_id) as listener:
            after: str | None = None
            while page := await self._rows.decidable(who, Window(size=MAX_SIZE, after=after)):
                for call in page:
                    shown.setdefault(call.run_id, set()).add(call.id)
                    yield call
                after = page[-1].id
            while True:
                rung = sorted(await listener.wait())
                for start in range(0, len(rung), PAGE):
                    for call in await self._changed_calls(who, rung[start : start + PAGE], shown):
                        yield call

    async def _changed_calls(self, who: Decider, run_ids: list[str], shown: dict[str, set[str]]) -> list[ToolCall]:
        """The calls of these runs that wait and were not shown, and those that were shown and wait no more."""
        waiting = {call.id: call for call in await self._rows.decidable_of_runs(who, run_ids)}
        before = {call_id for run_id in run_ids for call_id in shown.pop(run_id, ())}
        gone = await self._rows.get_calls(sorted(before - waiting.keys())) if before - waiting.keys() else {}
        for call in waiting.values():
            shown.setdefault(call.run_id, set()).add(call.id)
        return [*gone.values(), *(call for call in waiting.values() if call.id not in before)]

    def stream(self, stream_id: str, after: int = 0) -> AsyncGenerator[StreamEvent]:
        """One generation's events above the number `after`, until RunResult. Raises StreamNotFound."""
        return follow(self._streams, self._rows.read_stream, stream_id, after)

    async def run_stream(
        self, run_id: str, stream_id: str | None = None, after: int = 0
    ) -> AsyncGenerator[StreamEvent]:
        """The events from `stream_id` (else from the current or last generation) on, into every later generation.

        `after` is a number of the first stream. Goes on until it is closed. Raises RunNotFound, and StreamNotFound
        where the run has no such stream.
        """
        stream = await self._first_stream(run_id, stream_id)
        generation = -1
        while True:
            if stream is None:
                stream, after = await self._stream_beyond(run_id, generation), 0
            async with aclosing(self.stream(stream.id, after)) as events:
                async for event in events:
                    yield event
            generation, stream = stream.generation, None

    async def _first_stream(self, run_id: str, stream_id: str | None) -> Stream | None:
        streams = await self._rows.streams_of_run(run_id)
        if not streams and await self._rows.get_run(run_id) is None:
            raise RunNotFound
        if stream_id is None:
            return streams[-1] if streams else None
        for stream in streams:
            if stream.id == stream_id:
                return stream
        raise StreamNotFound(stream_id)

    async def _stream_beyond(self, run_id: str, generation: int) -> Stream:
        """The stream of the next generation, as soon as there is one."""
        with self._bell.listen(run_id=run_id) as listener:
            while True:
                for stream in await self._rows.streams_of_run(run_id):
                    if stream.generation > generation:
                        return stream
                await listener.wait()

    async def _there(self, query: RunQuery, born_before: str) -> tuple[set[str], str]:
        """The runs that match already, as `_Shown` takes them; those born since `born_before` are news."""
        most = KEPT if _can_cease(query) else MAX_SIZE
        newest = await self._rows.newest_run_ids(query, most)
        floor = newest[-1] if len(newest) == most else ""
        return {run_id for run_id in newest if run_id < born_before}, floor


def _lasting(query: RunQuery) -> RunQuery:
    """As much of a query as a run fulfils always or never: its owner, agent, parent and beginning do not change."""
    return replace(query, status=None, finish=None, search=None, metadata=None)


def _can_cease(query: RunQuery) -> bool:
    """Whether a run that matches may cease to."""
    return query.status is not None or query.finish is not None or bool(query.search) or bool(query.metadata)


class _Shown:
    """Which runs a client's filtered list shows, as far as what it was told goes.

    `ids` are shown; so may be every run whose id is not above `floor` (ids rise with time): a list, however long, needs
    only its newest end by name. An older run that matches is told as CHANGED, one that does not as REMOVED where it may
    have matched, and the client knows whether it shows it.
    """

    def __init__(self, query: RunQuery, ids: Iterable[str], floor: str) -> None:
        self._query = query
        self._lasting = _lasting(query)
        self._ids = set(ids)
        self._floor = floor
        self._revisions: dict[str, int] = {}

    def change(self, run_id: str, run: Run | None) -> RunChange | None:
        """What the client is to be told of a run that rang; None where nothing is new to it."""
        if run is None or not self._query.matches(run):
            if run_id not in self._ids and not self._may_have_matched(run):
                return None
            self._ids.discard(run_id)
            self._revisions.pop(run_id, None)
            return RunChange("REMOVED", run_id, None)
        known = run_id in self._ids or run_id <= self._floor
        if known and self._revisions.get(run_id) == run.revision:
            return None
        self._remember(run_id, run.revision)
        return RunChange("CHANGED" if known else "ADDED", run_id, run)

    def _may_have_matched(self, run: Run | None) -> bool:
        """Whether a run that does not match may be one of the older ones that are not kept by name."""
        return run is not None and run.id <= self._floor and self._lasting.matches(run)

    def _remember(self, run_id: str, revision: int) -> None:
        self._revisions.pop(run_id, None)
        self._revisions[run_id] = revision
        if len(self._revisions) > PAGE:
            del self._revisions[next(iter(self._revisions))]
        if run_id > self._floor:
            self._ids.add(run_id)
        if len(self._ids) > KEPT:
            newest_first = sorted(self._ids, reverse=True)
            self._floor = newest_first[KEPT // 2]
            self._ids = set(newest_first[: KEPT // 2])

    def __len__(self) -> int:
        """How many runs are kept by name."""
        return len(self._ids)
