"""take_over, beat, hand_back: how the right to write changes hands, and how it is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Integer,
    Row,
    String,
    all_,
    and_,
    bindparam,
    func,
    literal,
    or_,
    select,
    tuple_,
    update,
)

from models.enums import RunStatus
from models.run import PendingInput, Run, agent_runs, interrupting, run_from_row
from models.stream import streams
from models.tables import NOW
from models.verbs.row import HEADROOM, Done, Numbers, change_run, change_runs, fenced

MAX_TAKEOVERS = 3
Reason: TypeAlias = Literal["claim", "hand_back", "takeover"]


@dataclass(frozen=True, slots=True)
class Taken:
    """A run that a worker has taken, and why it was free: never begun, handed back, or its owner's lease ran out."""

    run: Run
    numbers: Numbers
    why: Reason


@dataclass(frozen=True, slots=True)
class Beat:
    """What a loop must know of its run: a cancel, interrupting inputs, and how many inputs were not yet announced."""

    cancel: bool
    interrupting: tuple[str, ...]
    unannounced: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which of the runs without a live lease a worker takes.

    None whose id is in `holding`, none that the code named in `without` runs (an agent, or a stored agent's kind);
    where `lapsed` is False, none whose owner may still be there: only those that were never begun, or handed back.
    Where `known` names the code that the worker has, runs of other code are left to those who know it until nobody has
    taken them for `patience_ms`; on SQLite nobody else is there.
    """

    holding: Collection[str] = ()
    without: Collection[str] = ()
    lapsed: bool = True
    known: Collection[str] | None = None
    patience_ms: int = 0


def take_over(c: Connection, *, worker: str, lease_ms: int, limit: int, wanted: Wanted, at: int) -> list[Taken]:
    """Take up to `limit` RUNNING runs without a live lease, those that wait longest first.

    The stream and the cancel flag stay; the new owner's numbers begin above all that were reserved.
    """
    due = (
        select(agent_runs)
        .where(agent_runs.c.status == RunStatus.RUNNING, *_wanted(c, wanted, at))
        .order_by(agent_runs.c.lease_until, agent_runs.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    before = {run.id: run for run in map(run_from_row, c.execute(due))}
    reasons = {run.id: _reason(run) for run in before.values()}
    taken: dict[str, Run] = {}
    for verb in ("claim", "take_over"):
        changes = [
            (run, _changes(run, reasons[run.id], worker, at))
            for run in before.values()
            if (reasons[run.id] == "claim") == (verb == "claim")
        ]
        taken |= {run.id: run for run in change_runs(c, verb, changes, at, lease_until=NOW + lease_ms)}
    numbers = _reserve_anew(c, [str(run.stream_id) for run in before.values()])
    return [Taken(taken[run_id], numbers[str(run.stream_id)], reasons[run_id]) for run_id, run in before.items()]


def _wanted(c: Connection, wanted: Wanted, at: int) -> Iterator[ColumnElement[bool]]:
    columns = agent_runs.c
    yield columns.lease_until < NOW if wanted.lapsed else columns.lease_until == 0
    if wanted.holding:
        held = list(wanted.holding)
        by_array = c.dialect.name == "postgresql"  # a thousand names in one value
        yield columns.id != all_(literal(held, ARRAY(String))) if by_array else columns.id.not_in(held)
    code = func.coalesce(columns.kind, columns.agent)
    if wanted.without:
        yield code.not_in(list(wanted.without))
    if wanted.known is not None and c.dialect.name != "sqlite":
        waited = and_(columns.updated_at < at - wanted.patience_ms, columns.lease_until < NOW - wanted.patience_ms)
        yield or_(code.in_(list(wanted.known)), waited)


def _reason(run: Run) -> Reason:
    if run.started_at is None:
        return "claim"
    return "takeover" if run.lease_until else "hand_back"


def _changes(run: Run, why: Reason, worker: str, at: int) -> dict[str, Any]:
    return {
        "fence": run.fence + 1,
        "worker": worker,
        "takeovers": run.takeovers + (1 if why == "takeover" else 0),
        "started_at": run.started_at or at,
    }


def _reserve_anew(c: Connection, stream_ids: Sequence[str]) -> dict[str, Numbers]:
    """Reserve numbers of these streams above all that were reserved. Their runs' rows are locked."""
    if not stream_ids:
        return {}
    reserved = select(streams.c.id, streams.c.reserved).where(streams.c.id.in_(stream_ids))
    numbers = {row.id: Numbers(row.id, row.reserved + 1, row.reserved + HEADROOM) for row in c.execute(reserved)}
    c.execute(
        update(streams).where(streams.c.id == bindparam("stream")).values(reserved=bindparam("ceiling")),
        [{"stream": one.stream_id, "ceiling": one.ceiling} for one in numbers.values()],
    )
    return numbers


def beat(c: Connection, *, held: Sequence[tuple[str, int]], lease_ms: int) -> dict[str, Beat]:
    """Renew, in one statement, the leases of the (run, fence) pairs whose loops live here.

    Those that are missing from the answer are lost. A lapsed lease is renewed as long as its fence stands. Rows are
    locked in the order of their ids, in which a run comes before those that it has begun.
    """
    if not held:
        return {}
    mine = select(agent_runs.c.id).where(_held(c, held)).order_by(agent_runs.c.id).with_for_update().cte("mine")
    renewed = update(agent_runs).where(agent_runs.c.id.in_(select(mine.c.id))).values(lease_until=NOW + lease_ms)
    return _beats(c.execute(renewed.returning(*_SIGNALS)))


def signals(c: Connection, *, held: Sequence[tuple[str, int]]) -> dict[str, Beat]:
    """What a beat would tell of these (run, fence) pairs, without renewing anything."""
    if not held:
        return {}
    return _beats(c.execute(select(*_SIGNALS).where(_held(c, held))))


_SIGNALS = (agent_runs.c.id, agent_runs.c.cancel_requested, agent_runs.c.pending)


def _held(c: Connection, held: Sequence[tuple[str, int]]) -> ColumnElement[bool]:
    """Whether a row is one of these (run, fence) pairs, and RUNNING."""
    listed: Any = list(held)  # one term each would be too deep for SQLite
    if c.dialect.name == "postgresql":  # two arrays are one text, and one plan, however many there are
        run_ids, fences = zip(*held, strict=True)
        pairs = func.unnest(literal(list(run_ids), ARRAY(String)), literal(list(fences), ARRAY(Integer)))
        listed = select(pairs.table_valued("id", "fence").render_derived())
    mine = tuple_(agent_runs.c.id, agent_runs.c.fence).in_(listed)
    return and_(mine, agent_runs.c.status == RunStatus.RUNNING)


def _beats(rows: Iterable[Row[str, bool, Any]]) -> dict[str, Beat]:
    beats = {}
    for row in rows:
        pending = [PendingInput.from_json(item) for item in row.pending]
        unannounced = sum(not item.announced for item in pending)
        beats[row.id] = Beat(row.cancel_requested, interrupting(pending), unannounced)
    return beats


def reserve(c: Connection, *, run_id: str, fence: int, numbers: Numbers) -> Numbers:
    """Reserve further event numbers for the owner of the fence. Raises LeaseLost."""
    fenced(c, run_id, fence)
    ceiling = numbers.next + HEADROOM
    c.execute(update(streams).where(streams.c.id == numbers.stream_id).values(reserved=ceiling))
    return Numbers(numbers.stream_id, numbers.next, ceiling)


def hand_back(c: Connection, *, run_id: str, fence: int, at: int) -> Done:
    """Give the lease up so that another takes over at once; counts as no failure. Raises LeaseLost."""
    run = fenced(c, run_id, fence)
    return Done(change_run(c, "hand_back", run, at, lease_until=0, fence=run.fence + 1, worker=None))


def release_all(c: Connection) -> int:
    """Let every lease lapse: for one who knows that no other process can hold any (SQLite's file lock)."""
    lapsed = update(agent_runs).where(agent_runs.c.status == RunStatus.RUNNING, agent_runs.c.lease_until > 1)
    return c.execute(lapsed.values(lease_until=1)).rowcount
