"""The tables of docs/scaling.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from bench.markdown import table
from bench.simulation.costs import Costs
from bench.simulation.demand import Demand, demand, limit
from bench.simulation.load import Load, Machines, Plan
from bench.simulation.storm import Storm, claims_a_second, usual

SIZES = (10_000, 100_000, 1_000_000)
ALL_OF_IT = Plan(told_where_it_matters=True, shards=16, leases_by_worker=True, replicas=2)
STAGES = (
    ("as it is", Plan()),
    ("rings go only where they matter", Plan(told_where_it_matters=True)),
    ("16 Redis shards", Plan(told_where_it_matters=True, shards=16)),
    ("leases by worker, not by run", Plan(told_where_it_matters=True, shards=16, leases_by_worker=True)),
    ("two replicas for lists", ALL_OF_IT),
    ("4 partitions of this", replace(ALL_OF_IT, partitions=4)),
    ("16 partitions of this", replace(ALL_OF_IT, partitions=16)),
)
"""What each stage of the plan adds to the one before it."""
MOST = 1_000
DEATHS = ((100, 1), (100, 10), (1_000, 1), (1_000, 10), (1_000, 100), (10_000, 10), (10_000, 100))
"""Storms: how many runs the dead held, and how many workers are left."""


def limits_table(costs: Costs, machines: Machines, load: Load, plan: Plan) -> str:
    """How full one of everything is, and at how many runs it is full."""
    found = [demand(replace(load, runs=float(size)), costs, machines, plan) for size in SIZES]
    rows = []
    for place, use in enumerate(found[0].uses):
        full = limit(_share_of(costs, machines, load, plan, lambda one, at=place: one.uses[at].share))  # type: ignore[misc]
        one = f"{_short(use.one)} {use.unit}".strip()
        rows.append([use.what, one, *(_percent(one_size.uses[place].share) for one_size in found), _runs(full)])
    head = ["", "one has", *(f"{size:,} runs" for size in SIZES), "is full at"]
    return table(head, rows)


def nodes_table(costs: Costs, machines: Machines, load: Load, plan: Plan) -> str:
    """How many nodes it takes, and what happens each second."""
    found = [demand(replace(load, runs=float(size)), costs, machines, plan) for size in SIZES]
    rows: list[list[str]] = [
        ["workers", *(_count(one.workers) for one in found)],
        ["servers", *(_count(one.servers) for one in found)],
        ["transactions a second that write", *(_short(one.commits) for one in found)],
        ["rings that each node hears a second", *(_short(one.heard) for one in found)],
        ["wait for a core of PostgreSQL, mean", *(_time(one.verb_wait) for one in found)],
        ["wait for Redis, mean", *(_time(one.redis_wait) for one in found)],
        ["growth of the tables a day", *(f"{_short(one.stored / 1e9)} GB" for one in found)],
    ]
    return table(["", *(f"{size:,} runs" for size in SIZES)], rows)


def stages_table(costs: Costs, machines: Machines, load: Load) -> str:
    """At how many runs each stage of the plan is full, and what is full then."""
    rows = []
    for name, plan in STAGES:
        full = limit(_share_of(costs, machines, load, plan, lambda one: one.fullest.share))
        first = demand(replace(load, runs=full), costs, machines, plan).fullest.what
        planned = limit(_share_of(costs, machines, load, plan, lambda one: one.fullest.share / machines.target))
        rows.append([name, _runs(full), _runs(planned), first])
    return table(["stage", "is full at", f"planned for, at {machines.target:.0%}", "what is full first"], rows, words=2)


def needs_table(costs: Costs, machines: Machines, load: Load) -> str:
    """What it takes with all of the plan: the fewest partitions in which nothing is used beyond the target."""
    columns: list[list[str]] = []
    for size in SIZES:
        count, found = _fewest(replace(load, runs=float(size)), costs, machines)
        columns.append(
            [
                f"{count:,}",
                _count(found.workers * count),
                _count(found.servers * count),
                _count((found.workers + found.servers) * machines.pool),
                f"{_percent(found.fullest.share)}: {found.fullest.what}",
            ]
        )
    names = ("partitions", "workers, in all", "servers, in all", "connections to each PostgreSQL", "fullest in each")
    rows = [[name, *cells] for name, *cells in zip(names, *columns, strict=True)]
    return table(["", *(f"{size:,} runs" for size in SIZES)], rows)


def _fewest(load: Load, costs: Costs, machines: Machines) -> tuple[int, Demand]:
    """The fewest partitions in which nothing is used beyond the target, and what each uses; MOST where none are few."""
    for count in range(1, MOST):
        found = demand(load, costs, machines, replace(ALL_OF_IT, partitions=count))
        if found.fullest.share <= machines.target:
            return count, found
    return MOST, demand(load, costs, machines, replace(ALL_OF_IT, partitions=MOST))


def storms_table(costs: Costs, machines: Machines) -> str:
    """How long the runs of a machine that died stand still."""
    rows = []
    for runs, workers in DEATHS:
        storm = Storm(
            runs,
            workers,
            lease=machines.lease_seconds,
            beat=machines.beat_seconds,
            look=machines.beat_seconds,
            batch=machines.claim_batch,
            take=costs.take_wall / 1e6,
            begin=(costs.worker_run + costs.worker_step) / 1e6,
            again=True,
            cores=machines.postgres_cores,
        )
        outcome = usual(storm)
        times = (f"{value:.1f} s" for value in (outcome.first, outcome.half, outcome.last))
        rows.append([f"{runs:,}", f"{workers:,}", _short(claims_a_second(storm)), *times])
    return table(["runs of the dead", "workers left", "taken a second", "first goes on", "half", "last"], rows)


def _share_of(
    costs: Costs, machines: Machines, load: Load, plan: Plan, share: Callable[[Demand], float]
) -> Callable[[float], float]:
    return lambda runs: share(demand(replace(load, runs=runs), costs, machines, plan))


# ---------------------------------------------------------------- how figures are written


def _short(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _count(value: float) -> str:
    return "no number is enough" if math.isinf(value) else f"{value:,.0f}"


def _percent(share: float) -> str:
    return "∞" if math.isinf(share) else f"{share:.0%}"


def _runs(value: float) -> str:
    """A number of runs, in two figures: more would pretend to know."""
    if math.isinf(value):
        return "never"
    digits = max(0, len(str(int(value))) - 2)
    return f"{round(value, -digits):,.0f}"


def _time(microseconds: float) -> str:
    if math.isinf(microseconds):
        return "no end"
    return f"{microseconds:,.0f} µs" if microseconds < 10_000 else f"{microseconds / 1000:,.0f} ms"
