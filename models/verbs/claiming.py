"""take_over, beat, hand_back: how the right to write changes hands, and how it is kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, select, tuple_, update

from models.enums import RunStatus
from models.run import Run, agent_runs, run_from_row
from models.stream import get_stream, streams
from models.tables import database_now
from models.verbs.row import HEADROOM, Done, Numbers, change_run, fenced

MAX_TAKEOVERS = 3


@dataclass(frozen=True, slots=True)
class Taken:
    """A run that a worker has taken, and why it was free: never begun, handed back, or its owner's lease ran out."""

    run: Run
    numbers: Numbers
    why: Literal["claim", "hand_back", "takeover"]


@dataclass(frozen=True, slots=True)
class Beat:
    """What a loop must know of its run: a cancel, interrupting inputs, and how many inputs were not yet announced."""

    cancel: bool
    interrupting: tuple[str, ...]
    unannounced: int


def take_over(
    c: Connection,
    *,
    worker: str,
    lease_ms: int,
    limit: int,
    holding: Collection[str],
    at: int,
    without: Collection[str] = (),
) -> list[Taken]:
    """Take up to `limit` RUNNING runs without a live lease, those that wait longest first, none that is in `holding`.

    Runs of the agents named in `without` are left to wait.

    The stream and the cancel flag stay; the new owner's numbers begin above all that were reserved.
    """
    due = (
        select(agent_runs)
        .where(
            agent_runs.c.status == RunStatus.RUNNING,
            agent_runs.c.lease_until < database_now(),
            agent_runs.c.id.not_in(list(holding)),
            agent_runs.c.agent.not_in(list(without)),
        )
        .order_by(agent_runs.c.lease_until, agent_runs.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [_take(c, run_from_row(row), worker, lease_ms, at) for row in c.execute(due).all()]


def _take(c: Connection, run: Run, worker: str, lease_ms: int, at: int) -> Taken:
    why: Literal["claim", "hand_back", "takeover"] = "takeover" if run.lease_until else "hand_back"
    if run.started_at is None:
        why = "claim"
    taken = change_run(
        c,
        "claim" if why == "claim" else "take_over",
        run,
        at,
        lease_until=database_now() + lease_ms,
        fence=run.fence + 1,
        worker=worker,
        takeovers=run.takeovers + (1 if why == "takeover" else 0),
        started_at=run.started_at or at,
    )
    assert taken.stream_id is not None  # noqa: S101 - a RUNNING run has a stream
    stream = get_stream(c, taken.stream_id)
    assert stream is not None  # noqa: S101 - written in the transaction that named it
    ceiling = stream.reserved + HEADROOM
    c.execute(update(streams).where(streams.c.id == stream.id).values(reserved=ceiling))
    return Taken(taken, Numbers(stream.id, stream.reserved + 1, ceiling), why)


def beat(c: Connection, *, held: Sequence[tuple[str, int]], lease_ms: int) -> dict[str, Beat]:
    """Renew, in one statement, the leases of the (run, fence) pairs whose loops live here.

    Those that are missing from the answer are lost. A lapsed lease is renewed as long as its fence stands.
    """
    if not held:
        return {}
    mine = tuple_(agent_runs.c.id, agent_runs.c.fence).in_(list(held))  # one term each would be too deep for SQLite
    renewed = c.execute(
        update(agent_runs)
        .where(mine, agent_runs.c.status == RunStatus.RUNNING)
        .values(lease_until=database_now() + lease_ms)
        .returning(agent_runs)
    )
    beats = {}
    for row in renewed:
        run = run_from_row(row)
        unannounced = sum(not item.announced for item in run.pending)
        beats[run.id] = Beat(run.cancel_requested, run.interrupting, unannounced)
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
