"""The durable verbs at hand for tests: a desk that opens runs, and hands that hold a fence as a worker's loop does."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, select, update

from models.call import ToolCall, calls_of_step
from models.clock import ManualClock
from models.database import Database
from models.enums import FinishReason, RunStatus, SteerMode, ToolCallState
from models.events import StreamEvent
from models.ids import Ids
from models.key import Key
from models.message import Message, messages_after
from models.run import Run, agent_runs, get_run
from models.stream import read_stream, streams_of_run
from models.usage import Usage
from models.verbs.calling import finish_call, start_call
from models.verbs.claiming import Beat, Taken, Wanted, beat, hand_back, reserve, take_over
from models.verbs.forking import fork
from models.verbs.opening import NewRun, open_run
from models.verbs.row import Done, Holder, Numbers
from models.verbs.sending import retry, send, withdraw
from models.verbs.settling import End, request_cancel, settle
from models.verbs.stepping import Answered, NewCall, StepStart, announce, append_answer, append_results, begin_step
from tests.support.databases import LeaseClock

LEASE_MS = 10_000
COMPLETED = End(RunStatus.COMPLETED, FinishReason.STOP)
SPENT = Usage(input_tokens=10, output_tokens=5)


def text_answer(step: int, text: str = "Hello.", **values: Any) -> Answered:
    """A whole answer of one text block."""
    given: dict[str, Any] = {"attempt": 1, "stop_reason": "end_turn", "usage": SPENT, "model": "model-a"}
    given |= {"reported_model": "model-a-2027", "request_id": None}
    return Answered(**{**given, "step": step, "blocks": [{"type": "text", "text": text}], **values})


def calls_answer(step: int, count: int = 1, **values: Any) -> Answered:
    """A whole answer that is `count` tool calls."""
    blocks = [
        {"type": "tool_use", "id": f"toolu_{step}_{index}", "name": "add", "input": {"a": index}}
        for index in range(count)
    ]
    calls = tuple(NewCall(index, str(block["id"]), "add", block["input"]) for index, block in enumerate(blocks))
    return text_answer(step, **{"blocks": blocks, "calls": calls, "stop_reason": "tool_use", **values})


def dice_of(seed: int) -> random.Random:
    """Chance that falls the same way each time."""
    return random.Random(seed)  # noqa: S311 - the chance of tests keeps no secret


def a_key(name: str = "key-1", digest: str = "same", operation: str = "startRun", user: str = "alice") -> Key:
    """An idempotency key."""
    return Key(user, operation, name, digest)


class Desk:
    """Calls verbs on a database, with clocks that are moved by hand."""

    def __init__(self, database: Database, lease_clock: LeaseClock) -> None:
        self.database = database
        self.leases = lease_clock
        self.clock = ManualClock()
        self.ids = Ids(self.clock)

    def holder(self, worker: str | None = "worker-1") -> Holder:
        """A worker as one who takes a lease; nobody where it is None."""
        return Holder(worker, LEASE_MS) if worker else Holder()

    # ------------------------------------------------------------------ what clients do

    async def open(self, text: str = "Hi", *, worker: str | None = "worker-1", **values: Any) -> Hands:
        """Open a run; its first owner's hands."""
        key = values.pop("key", None)
        new = NewRun(**{"user_id": "alice", "agent": "helper", "input": text, "title": text, **values})
        done, _ = await self.both(open_run, new=new, key=key, holder=self.holder(worker))
        return Hands(self, done.run, done.numbers or Numbers("", 0, 0))

    async def both(self, verb: Callable[..., tuple[Done, Any]], **arguments: Any) -> tuple[Done, Any]:
        """Call a verb that gives an answer beside what it did."""
        arguments = {"ids": self.ids, "at": self.clock(), **arguments}
        done, answer = await self.database.write(verb, **arguments)
        await self.check(done)
        return done, answer

    async def send(
        self, run_id: str, text: str, *, mode: SteerMode = SteerMode.QUEUE, worker: str | None = "worker-1", **more: Any
    ) -> tuple[Done, dict[str, Any]]:
        """Say something to a run."""
        given = {"key": None, "changes": {}, **more}
        return await self.both(send, run_id=run_id, text=text, mode=mode, holder=self.holder(worker), **given)

    async def sent(self, run_id: str, text: str, **more: Any) -> Hands:
        """Begin a turn with an input; the hands of its owner."""
        done, answer = await self.send(run_id, text, **more)
        assert not answer["queued"]
        assert done.numbers is not None
        return Hands(self, done.run, done.numbers)

    async def queue(self, run_id: str, text: str, **more: Any) -> str:
        """Queue an input; its id."""
        _, answer = await self.send(run_id, text, **more)
        assert answer["queued"]
        return str(answer["input_id"])

    async def withdraw(self, run_id: str, input_id: str) -> bool:
        """Take a queued input back."""
        done, withdrawn = await self.database.write(withdraw, run_id=run_id, input_id=input_id, at=self.clock())
        await self.check(done)
        return withdrawn

    async def cancel(self, run_id: str, reason: str | None = None) -> tuple[Done, bool]:
        """Cancel a run."""
        return await self.both(request_cancel, run_id=run_id, reason=reason)

    async def retry(self, run_id: str, *, worker: str | None = "worker-1", key: Key | None = None) -> Hands:
        """Retry a run; the hands of its owner."""
        done, _ = await self.both(retry, run_id=run_id, key=key, holder=self.holder(worker))
        return Hands(self, done.run, done.numbers or Numbers("", 0, 0))

    async def fork(
        self, run_id: str, seq: int, text: str | None = None, *, worker: str | None = "worker-1", key: Key | None = None
    ) -> Hands:
        """Fork a run; the hands of the new one's owner."""
        done, _ = await self.both(fork, run_id=run_id, seq=seq, text=text, key=key, holder=self.holder(worker))
        return Hands(self, done.run, done.numbers or Numbers("", 0, 0))

    # ------------------------------------------------------------------ what workers do

    async def take(self, worker: str = "worker-2", *, limit: int = 10, **wanted: Any) -> list[Taken]:
        """Take the runs that nobody works on, those of them that are wanted."""
        return await self.database.write(
            take_over, worker=worker, lease_ms=LEASE_MS, limit=limit, wanted=Wanted(**wanted), at=self.clock()
        )

    async def taken(self, worker: str = "worker-2") -> Hands:
        """Take the one run that nobody works on."""
        (taken,) = await self.take(worker)
        return Hands(self, taken.run, taken.numbers)

    async def beat(self, *held: tuple[str, int]) -> dict[str, Beat]:
        """Renew leases."""
        return await self.database.write(beat, held=held, lease_ms=LEASE_MS)

    async def lapse(self) -> None:
        """Let every lease run out."""
        await self.leases.advance(LEASE_MS / 1000 + 1)

    # ------------------------------------------------------------------ what is there

    async def run(self, run_id: str) -> Run:
        """The run's row."""
        run = await self.database.read(get_run, run_id)
        assert run is not None
        return run

    async def messages(self, run_id: str) -> list[Message]:
        """The transcript."""
        return await self.database.read(messages_after, run_id, 0)

    async def contents(self, run_id: str) -> list[Any]:
        """What the transcript's messages say."""
        return [message.content for message in await self.messages(run_id)]

    async def calls(self, run_id: str, step: int) -> list[ToolCall]:
        """A step's tool calls."""
        return await self.database.read(calls_of_step, run_id, step)

    async def events(self, run_id: str, generation: int | None = None) -> list[StreamEvent]:
        """The lasting events of a generation's stream, the last one's unless told otherwise."""
        streams = await self.database.read(streams_of_run, run_id)
        stream = streams[-1 if generation is None else generation - 1]
        return (await self.database.read(read_stream, stream.id, 0)).lasting

    async def kinds(self, run_id: str, generation: int | None = None) -> list[str]:
        """The names of those events."""
        return [type(event).__name__ for event in await self.events(run_id, generation)]

    async def everything(self) -> dict[str, list[Any]]:
        """All rows of all tables, to see that nothing changed."""
        return await self.database.read(_everything)

    async def check(self, done: Done) -> None:
        """A verb's own account of the run is what its row says, unless another verb has changed it since."""
        row = await self.run(done.run.id)
        assert row.revision > done.run.revision or replace(done.run, lease_until=row.lease_until) == row

    async def force(self, run_id: str, **columns: Any) -> Run:
        """Write columns of a run's row past the verbs; the run as it then is."""
        await self.database.write(_force, run_id, columns)
        return await self.run(run_id)


def _everything(c: Connection) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {}
    for table in agent_runs.metadata.sorted_tables:
        rows[table.name] = [tuple(row) for row in c.execute(select(table).order_by(*table.primary_key))]
    return rows


def _force(c: Connection, run_id: str, columns: dict[str, Any]) -> None:
    c.execute(update(agent_runs).where(agent_runs.c.id == run_id).values(columns))


class Hands:
    """One who holds (or held) a run's fence: what a worker's loop knows, and the verbs it calls."""

    def __init__(self, desk: Desk, run: Run, numbers: Numbers) -> None:
        self.desk = desk
        self.run = run
        self.numbers = numbers
        self.told: list[StreamEvent] = []

    @property
    def id(self) -> str:
        """The run's id."""
        return self.run.id

    @property
    def pair(self) -> tuple[str, int]:
        """The run and the fence that is held."""
        return self.run.id, self.run.fence

    async def verb(self, function: Callable[..., Done], **arguments: Any) -> Done:
        """Call a verb with the fence, and learn what it did."""
        done = await self.again(function, **arguments)
        await self.desk.check(done)
        self.run = done.run
        self.told += done.events
        if done.numbers is not None:
            self.numbers = done.numbers
        return done

    async def again(self, function: Callable[..., Done], **arguments: Any) -> Done:
        """Call a verb with the fence and learn nothing: as one whose acknowledgement is lost."""
        given = {"run_id": self.run.id, "fence": self.run.fence, "numbers": self.numbers, "at": self.desk.clock()}
        done: Done = await self.desk.database.write(function, **{**given, **arguments})
        return done

    async def begin(self, step: int | None = None, attempt: int = 1, **values: Any) -> Done:
        """Begin a step, the next one unless told otherwise."""
        start = StepStart(step or self.run.steps + 1, attempt, "model-a", **values)
        return await self.verb(begin_step, start=start, ids=self.desk.ids)

    async def answer(self, answer: Answered | None = None) -> Done:
        """Append an answer, of plain text unless told otherwise."""
        answer = answer or text_answer(self.run.steps + 1)
        return await self.verb(append_answer, seq=self.run.seq + 1, answer=answer, ids=self.desk.ids)

    async def say(self, text: str = "Hello.") -> Done:
        """A whole step of plain text."""
        await self.begin()
        return await self.answer(text_answer(self.run.steps + 1, text))

    async def call_tools(self, count: int = 1) -> tuple[ToolCall, ...]:
        """A whole step that calls tools; its calls, not yet started."""
        await self.begin()
        return (await self.answer(calls_answer(self.run.steps + 1, count))).calls

    async def start(self, call: ToolCall, attempt: int = 1) -> Done:
        """Start a tool call."""
        return await self.verb(start_call, call_id=call.id, attempt=attempt)

    async def finish(self, call: ToolCall, result: Any = "3", state: ToolCallState = ToolCallState.SUCCEEDED) -> Done:
        """Finish a tool call."""
        is_error = state is not ToolCallState.SUCCEEDED
        return await self.verb(finish_call, call_id=call.id, state=state, result=result, is_error=is_error)

    async def run_calls(self, calls: Sequence[ToolCall]) -> None:
        """Start and finish calls."""
        for call in calls:
            await self.start(call)
            await self.finish(call)

    async def results(self, cut: Answered | None = None, start: StepStart | None = None, **more: Any) -> Done:
        """Append the results of the last answer's calls, and the input that waits."""
        return await self.verb(append_results, seq=self.run.seq + 1, cut=cut, start=start, ids=self.desk.ids, **more)

    async def announce(self) -> Done:
        """Write InputQueued where it lacks."""
        return await self.verb(announce)

    async def reserve(self) -> None:
        """Reserve further event numbers."""
        self.numbers = await self.desk.database.write(
            reserve, run_id=self.run.id, fence=self.run.fence, numbers=self.numbers
        )

    async def settle(self, end: End = COMPLETED, *, worker: str | None = "worker-1", **more: Any) -> Done:
        """End the generation."""
        return await self.verb(settle, **self.ending(end, worker=worker), **more)

    def ending(self, end: End = COMPLETED, *, worker: str | None = "worker-1") -> dict[str, Any]:
        """The arguments of a settle."""
        return {
            "end": end,
            "seq": self.run.seq + 1,
            "holder": self.desk.holder(worker),
            "next_stream": self.desk.ids("str"),
            "ids": self.desk.ids,
        }

    async def hand_back(self) -> Done:
        """Give the run up."""
        return await self.desk.database.write(hand_back, run_id=self.run.id, fence=self.run.fence, at=self.desk.clock())
