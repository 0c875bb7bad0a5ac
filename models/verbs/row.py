"""What all verbs share: the locked row, the fence, the one place that writes a run's row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from models.call import ToolCall, tool_calls
from models.enums import Role, RunStatus
from models.events import StreamEvent
from models.message import Message, agent_messages, message_from_row, message_to_row
from models.run import Run, agent_runs, run_columns, run_from_row, run_to_row
from models.spending import Bounds
from models.stream import streams
from models.tables import database_now
from models.transitions import check_transition
from models.verbs.ended import ENDED, turn_ended
from models.verbs.errors import LeaseLost, RunMissing
from models.verbs.spending import open_purse
from models.verbs.telling import queue_deliveries

NewId = Callable[[str], str]
HEADROOM = 16_384  # event numbers reserved ahead for the owner of a stream
LOW_WATER = 4_096  # fewer left than this, and a verb reserves more


@dataclass(frozen=True, slots=True)
class Numbers:
    """The event numbers that the owner of a stream may use: from `next` up to `ceiling`."""

    stream_id: str
    next: int
    ceiling: int


@dataclass(frozen=True, slots=True)
class Holder:
    """Who takes the lease of a generation that begins: nobody where `worker` is None."""

    worker: str | None = None
    lease_ms: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """What a verb did: the run as it now is, what it stored, and the events to publish after the commit.

    `others` is what it did to other runs on the way: a child that was opened, children that were stopped.
    """

    run: Run
    numbers: Numbers | None = None
    events: tuple[StreamEvent, ...] = ()
    messages: tuple[Message, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    others: tuple[Done, ...] = ()


_LOCK = (
    select(agent_runs, (agent_runs.c.lease_until >= database_now()).label("lease_live"))
    .where(agent_runs.c.id == bindparam("run_id"))
    .with_for_update(of=agent_runs)
)


def lock(c: Connection, run_id: str) -> tuple[Run, bool]:
    """Lock the run's row; the run, and whether its lease is live by the database's clock. Raises RunMissing."""
    row = c.execute(_LOCK, {"run_id": run_id}).first()
    if row is None:
        raise RunMissing(run_id)
    return run_from_row(row), bool(row.lease_live)


def fenced(c: Connection, run_id: str, fence: int) -> Run:
    """Lock the row for the holder of a fence. Raises LeaseLost where the fence moved or the run is not RUNNING."""
    run, _ = lock(c, run_id)
    if run.fence != fence or run.status is not RunStatus.RUNNING:
        raise LeaseLost(f"{run_id} fence {fence}")
    return run


def insert_run(c: Connection, verb: str, run: Run, lease_until: Any) -> Run:
    """Write a new run's row."""
    check_transition(verb, None, run.status)
    c.execute(insert(agent_runs).values({**run_to_row(run), "lease_until": lease_until}))
    return run


def change_run(c: Connection, verb: str, run: Run, at: int, *, lease_until: Any = None, **changes: Any) -> Run:
    """Write changes to a locked run: the only place where a status is changed, and where a turn ends.

    What the turn has said is stored by then. `lease_until` may be an SQL expression.
    """
    check_transition(verb, run.status, changes.get("status", run.status))
    changes |= _moved(run, at)
    columns = run_columns(changes)
    if lease_until is not None:
        columns["lease_until"] = lease_until
    c.execute(update(agent_runs).where(agent_runs.c.id == run.id).values(columns))
    changed = replace(run, **changes)
    queue_deliveries(c, run, changed, at)
    if changed.status in ENDED and run.status in (RunStatus.RUNNING, RunStatus.WAITING):
        turn_ended(c, changed)
    return changed


def change_runs(
    c: Connection, verb: str, changes: Sequence[tuple[Run, dict[str, Any]]], at: int, *, lease_until: Any
) -> list[Run]:
    """The same for several locked runs at once, each with its own values of the same columns; their status stays."""
    if not changes:
        return []
    changed = []
    rows = []
    for run, values in changes:
        check_transition(verb, run.status, run.status)
        moved = values | _moved(run, at)
        changed.append(replace(run, **moved))
        rows.append({f"new_{name}": value for name, value in run_columns(moved).items()} | {"changed_id": run.id})
    columns: dict[str, Any] = {name[4:]: bindparam(name) for name in rows[0] if name != "changed_id"}
    statement = update(agent_runs).where(agent_runs.c.id == bindparam("changed_id"))
    c.execute(statement.values(**columns, lease_until=lease_until), rows)
    return changed


def change_call(c: Connection, call: ToolCall, **changes: Any) -> ToolCall:
    """Write changes to a tool call of a locked run: the only place where a call that is there is changed."""
    c.execute(update(tool_calls).where(tool_calls.c.id == call.id).values(changes))
    return replace(call, **changes)


def _moved(run: Run, at: int) -> dict[str, Any]:
    """What rises at every change."""
    return {"revision": run.revision + 1, "updated_at": max(at, run.updated_at)}


def lease_of(holder: Holder) -> Any:
    """The end of a lease that is taken now, as an SQL expression; 0, free to claim, where nobody takes it."""
    return database_now() + holder.lease_ms if holder.worker else 0


def open_stream(
    c: Connection, run: Run, stream_id: str, generation: int, holder: Holder, at: int, *, seq_before: int
) -> Numbers:
    """Write the stream of a generation that begins; numbers are reserved where somebody holds it from the start."""
    reserved = HEADROOM if holder.worker else 0
    c.execute(
        insert(streams).values(
            id=stream_id,
            run_id=run.id,
            generation=generation,
            reserved=reserved,
            steps_before=run.steps,
            seq_before=seq_before,
            ended=False,
            created_at=at,
        )
    )
    return Numbers(stream_id, 1, reserved)


def begin_turn(
    c: Connection,
    verb: str,
    run: Run,
    *,
    stream_id: str,
    holder: Holder,
    at: int,
    budget: Bounds | None,
    **changes: Any,
) -> tuple[Run, Numbers]:
    """Begin a turn of a locked run, by a new generation.

    `budget` is the turn's own, which nothing is taken from yet. `changes` are further changes to the row. The turn's
    first message, if any, is the caller's to store.
    """
    turn: dict[str, Any] = {
        "output": None,
        "pending": (),
        "turn_steps": 0,
        "corrections": 0,
        "turn_started_at": at,
        "turn_spent_ms": 0,
        "purses": open_purse(c, run.id, run.generation + 1, budget),
    }
    return begin_generation(c, verb, run, stream_id=stream_id, holder=holder, at=at, **{**turn, **changes})


def begin_generation(
    c: Connection, verb: str, run: Run, *, stream_id: str, holder: Holder, at: int, **changes: Any
) -> tuple[Run, Numbers]:
    """A new generation of a locked run, with its stream and fence; what was said of the last one is cleared.

    The turn goes on: its steps, its time and its budget carry over. `changes` are further changes to the row.
    """
    generation = run.generation + 1
    numbers = open_stream(c, run, stream_id, generation, holder, at, seq_before=run.seq)
    fresh: dict[str, Any] = {
        "status": RunStatus.RUNNING,
        "finish": None,
        "error": None,
        "cancel_requested": False,
        "cancel_ordinal": 0,
        "cancel_reason": None,
        "fence": run.fence + 1,
        "worker": holder.worker,
        "takeovers": 0,
        "generation": generation,
        "stream_id": stream_id,
        "step": run.steps,
        "attempt": 1,
        "step_fence": 0,
        "step_max_tokens": None,
        "started_at": at if holder.worker else None,
    }
    return change_run(c, verb, run, at, lease_until=lease_of(holder), **{**fresh, **changes}), numbers


def last_message(c: Connection, run: Run) -> Message | None:
    """The transcript's last message."""
    found = select(agent_messages).where(agent_messages.c.run_id == run.id, agent_messages.c.seq == run.seq)
    row = c.execute(found).first()
    return message_from_row(row) if row else None


def user_message(run: Run, ids: NewId, seq: int, content: Any, step: int, at: int) -> Message:
    """A user message of the run, not yet stored."""
    return Message(ids("msg"), run.id, run.user_id, seq, Role.USER, content, step, at, run.fence)


def store_messages(c: Connection, messages: Sequence[Message]) -> None:
    """Append messages, whose seqs their writer has taken from the locked row."""
    if messages:
        c.execute(insert(agent_messages), [message_to_row(message) for message in messages])
