"""How runs have gone over a span of time: counts, sums and percentiles, made by the database. Nothing here is kept.

A turn is counted once, where its last generation was begun: one that waited for a person goes on in another. A call of
a model is counted where it was begun.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, Select, case, func, select

from models.enums import RunStatus
from models.model_call import IS_STEP, decimal_of, model_calls
from models.run import agent_runs
from models.stream import stream_events, streams
from models.usage import Usage

MOST_GROUPS = 50
"""How many agents, and how many users, are told apart: those that have cost most."""


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` to before `end` (ms since the epoch), in equal parts. `user_id` is None for everybody."""

    start: int
    end: int
    parts: int
    user_id: str | None

    def part_start(self, number: int) -> int:
        """When a part begins, counted from 0: at the first millisecond that `_part_of` counts to it."""
        return self.start - (self.start - self.end) * number // self.parts


@dataclass(frozen=True, slots=True)
class Figures:
    """What was begun in a time: turns and how those that have ended did, calls of models and what these used."""

    turns: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost=Decimal(0)))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the span."""

    start: int
    end: int
    figures: Figures


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one agent or of one user."""

    name: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of `count` times, in milliseconds: half are at `p50` or below, 95 of a hundred at `p95`."""

    count: int
    p50: int | None
    p95: int | None


@dataclass(frozen=True, slots=True)
class Present:
    """How runs stand now; `oldest_queued_at` is since when the first of those waits that no worker has taken."""

    queued: int
    running: int
    waiting: int
    oldest_queued_at: int | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """All of it. `users` is None where one user's runs alone are looked at."""

    span: Span
    total: Figures
    parts: tuple[Part, ...]
    agents: tuple[Group, ...]
    users: tuple[Group, ...] | None
    first_token: Percentiles
    step: Percentiles
    present: Present


def statistics(c: Connection, span: Span) -> Statistics:
    """How the runs of the span have gone."""
    by_part = _figures(c, span, _part_of(span, streams.c.created_at), _part_of(span, model_calls.c.started_at))
    parts = tuple(
        Part(span.part_start(number), span.part_start(number + 1), by_part.get(number, Figures()))
        for number in range(span.parts)
    )
    agent, owner = agent_runs.c.agent, agent_runs.c.user_id
    first, finish = model_calls.c.first_token_at, model_calls.c.finished_at
    return Statistics(
        span=span,
        total=_sum(part.figures for part in parts),
        parts=parts,
        agents=_groups(_figures(c, span, agent, agent)),
        users=_groups(_figures(c, span, owner, owner)) if span.user_id is None else None,
        first_token=_percentiles(c, span, first),
        step=_percentiles(c, span, finish),
        present=_present(c, span.user_id),
    )


def _part_of(span: Span, at: Any) -> Any:
    """The number of the part that a moment is in."""
    return (at - span.start) * span.parts // (span.end - span.start)


def _figures(c: Connection, span: Span, turn_group: Any, call_group: Any) -> dict[Any, Figures]:
    """The figures of each group."""
    turns = {row.name: row for row in c.execute(_turns(span, turn_group))}
    calls = {row.name: row for row in c.execute(_calls(span, call_group))}
    return {name: _figures_of(turns.get(name), calls.get(name)) for name in turns.keys() | calls.keys()}


def _turns(span: Span, group: Any) -> Select[Any]:
    status = stream_events.c.body["status"].as_string()

    def ended(with_status: RunStatus) -> Any:
        return func.count(case((status == with_status.value, 1)))

    has_waited = func.coalesce(status, "") == RunStatus.WAITING.value
    is_last = ~has_waited | (agent_runs.c.stream_id == streams.c.id)
    ends = (stream_events.c.stream_id == streams.c.id) & (stream_events.c.kind == "RunResult")
    query = (
        select(
            group.label("name"),
            func.count(case((is_last, 1))).label("turns"),
            ended(RunStatus.COMPLETED).label("completed"),
            ended(RunStatus.FAILED).label("failed"),
            ended(RunStatus.CANCELLED).label("cancelled"),
        )
        .select_from(streams.join(agent_runs, agent_runs.c.id == streams.c.run_id).outerjoin(stream_events, ends))
        .where(streams.c.created_at >= span.start, streams.c.created_at < span.end)
        .group_by(group)
    )
    return query if span.user_id is None else query.where(agent_runs.c.user_id == span.user_id)


def _calls(span: Span, group: Any) -> Select[Any]:
    columns = model_calls.c
    query = (
        select(
            group.label("name"),
            func.count().label("calls"),
            func.sum(columns.input_tokens).label("input_tokens"),
            func.sum(columns.output_tokens).label("output_tokens"),
            func.sum(columns.cache_read_tokens).label("cache_read_tokens"),
            func.sum(columns.cache_write_tokens).label("cache_write_tokens"),
            func.sum(columns.cost_pico).label("cost_pico"),
        )
        .select_from(model_calls.join(agent_runs, agent_runs.c.id == columns.run_id))
        .where(columns.started_at >= span.start, columns.started_at < span.end)
        .group_by(group)
    )
    return query if span.user_id is None else query.where(columns.user_id == span.user_id)


def _figures_of(turns: Row[Any] | None, calls: Row[Any] | None) -> Figures:
    usage = Usage(cost=Decimal(0))
    if calls is not None:
        usage = Usage(
            int(calls.input_tokens),
            int(calls.output_tokens),
            int(calls.cache_read_tokens),
            int(calls.cache_write_tokens),
            decimal_of(int(calls.cost_pico or 0)),
        )
    count = 0 if calls is None else calls.calls
    if turns is None:
        return Figures(calls=count, usage=usage)
    return Figures(turns.turns, turns.completed, turns.failed, turns.cancelled, count, usage)


def _sum(figures: Iterable[Figures]) -> Figures:
    each = list(figures)
    usage = Usage(
        sum(one.usage.input_tokens for one in each),
        sum(one.usage.output_tokens for one in each),
        sum(one.usage.cache_read_tokens for one in each),
        sum(one.usage.cache_write_tokens for one in each),
        sum((one.usage.cost or Decimal(0) for one in each), Decimal(0)),
    )
    counts = ("turns", "completed", "failed", "cancelled", "calls")
    return Figures(**{name: sum(getattr(one, name) for one in each) for name in counts}, usage=usage)


def _groups(figures: dict[Any, Figures]) -> tuple[Group, ...]:
    """The dearest first; of those that cost the same the ones with more tokens, then those with more turns."""

    def rank(group: Group) -> Any:
        usage = group.figures.usage
        return -(usage.cost or 0), -(usage.input_tokens + usage.output_tokens), -group.figures.turns, group.name

    return tuple(sorted((Group(name, one) for name, one in figures.items()), key=rank)[:MOST_GROUPS])


def _percentiles(c: Connection, span: Span, until: Any) -> Percentiles:
    """Of how long it was from the beginning of each step's calls until a moment of theirs."""
    columns = model_calls.c
    took = (until - columns.started_at).label("took")
    query = select(took).where(
        columns.started_at >= span.start, columns.started_at < span.end, until.is_not(None), IS_STEP
    )
    if span.user_id is not None:
        query = query.where(columns.user_id == span.user_id)
    count = c.execute(select(func.count()).select_from(query.subquery())).scalar_one()
    if count == 0:
        return Percentiles(0, None, None)

    def at(hundredth: int) -> int:
        place = (count * hundredth + 99) // 100 - 1  # the nearest rank
        return int(c.execute(query.order_by("took").offset(place).limit(1)).scalar_one())

    return Percentiles(count, at(50), at(95))


def _present(c: Connection, user_id: str | None) -> Present:
    runs = agent_runs.c
    is_queued = (runs.status == RunStatus.RUNNING.value) & runs.started_at.is_(None)
    query = (
        select(
            func.count(case((is_queued, 1))).label("queued"),
            func.count(case((runs.status == RunStatus.RUNNING.value, 1))).label("active"),
            func.count(case((runs.status == RunStatus.WAITING.value, 1))).label("waiting"),
            func.min(case((is_queued, streams.c.created_at))).label("oldest"),
        )
        .select_from(agent_runs.outerjoin(streams, streams.c.id == runs.stream_id))
        .where(runs.status.in_([RunStatus.RUNNING.value, RunStatus.WAITING.value]))
    )
    if user_id is not None:
        query = query.where(runs.user_id == user_id)
    row = c.execute(query).one()
    return Present(row.queued, row.active - row.queued, row.waiting, row.oldest)
