"""The simulation of docs/scaling.md adds up: more load never needs less, limits are where one of a thing is full."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from itertools import pairwise

import pytest

from bench.scaling.figures import read_sheet
from bench.simulation.costs import FILE, Costs, costs_of
from bench.simulation.demand import Demand, demand, limit
from bench.simulation.load import Load, Machines, Plan
from bench.simulation.queues import erlang_c, wait_of_many, wait_of_one
from bench.simulation.storm import Storm, claims_a_second, play, usual
from bench.simulation.tables import SIZES, STAGES, storms_table
from engine.engine import EngineConfig
from engine.streams.reader import PAUSE_PER_STREAM
from engine.worker import CLAIM_BATCH, GATHER_SECONDS

COSTS = replace(
    Costs(**{field.name: 10.0 for field in fields(Costs)}),
    worker_step=10_000.0,
    worker_run_bytes=1_000.0,
    wal_step=5_000.0,
    redis_out=100.0,
    node_look=1.0,
    redis_look=0.3,
    postgres_step=2_000.0,
    postgres_page=2_000.0,
    redis_stream_bytes=8_000.0,
    rings_run=3.0,
    rings_step=5.0,
)
MACHINES = Machines()
PLANS = [plan for _, plan in STAGES]
LOAD = Load(0.0)


def at(runs: float, plan: Plan, costs: Costs = COSTS) -> Demand:
    """What so many runs use."""
    return demand(replace(LOAD, runs=runs), costs, MACHINES, plan)


# ---------------------------------------------------------------- demand


@pytest.mark.parametrize("plan", PLANS, ids=[name for name, _ in STAGES])
def test_more_runs_never_use_less_of_anything(plan: Plan) -> None:
    """Each share, and the number of nodes, rises with the runs."""
    found = [at(runs, plan) for runs in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)]
    for before, after in pairwise(found):
        assert before.workers <= after.workers
        assert before.servers <= after.servers
        for small, large in zip(before.uses, after.uses, strict=True):
            assert small.share <= large.share, small.what


@pytest.mark.parametrize("name", [field.name for field in fields(Costs)])
def test_a_higher_cost_never_makes_room(name: str) -> None:
    """Whatever gets dearer, nothing is used less; so no cost has the wrong sign."""
    plan = Plan(told_where_it_matters=True)
    dearer = replace(COSTS, **{name: 2 * getattr(COSTS, name)})
    before, after = at(10_000, plan), at(10_000, plan, dearer)
    shares = [(one.share, two.share) for one, two in zip(before.uses, after.uses, strict=True)]
    assert all(one <= two for one, two in shares if name != "node_look")  # a slower reader makes fewer rounds
    assert before.workers <= after.workers
    assert before.servers <= after.servers


@pytest.mark.parametrize("name", [field.name for field in fields(Costs)])
def test_every_cost_counts(name: str) -> None:
    """None is measured in vain: so much dearer that it outgrows all others, the tables change."""
    dearer = replace(COSTS, **{name: 1e5 * getattr(COSTS, name)})
    if name == "take_wall":
        assert storms_table(COSTS, MACHINES) != storms_table(dearer, MACHINES)
    else:
        assert at(10_000, Plan()) != at(10_000, Plan(), dearer)


@pytest.mark.parametrize("plan", PLANS, ids=[name for name, _ in STAGES])
def test_at_its_limit_one_of_a_thing_is_full(plan: Plan) -> None:
    """One run fewer, and it is not."""
    for place, use in enumerate(at(1_000, plan).uses):
        runs = limit(lambda runs, at_=place: at(runs, plan).uses[at_].share)  # type: ignore[misc]
        assert runs < math.inf, use.what
        assert at(runs, plan).uses[place].share >= 1.0
        assert at(runs * 0.999 - 1, plan).uses[place].share < 1.0


def test_what_never_fills_has_no_limit() -> None:
    """Nothing is made up where a share does not rise."""
    assert limit(lambda _: 0.5) == math.inf


def test_nothing_is_used_by_nobody_but_what_nodes_need_at_rest() -> None:
    """No run: one worker, one server, and their quiet questions."""
    found = at(0.0, Plan())
    assert (found.workers, found.servers, found.commits, found.heard, found.stored) == (1, 1, 0, 0, 0)
    assert all(use.share < 0.03 for use in found.uses)


def test_partitions_share_the_load_evenly() -> None:
    """Ten times the runs on ten partitions is the same for each of them."""
    assert at(100_000, Plan(partitions=10, told_where_it_matters=True)) == at(10_000, Plan(told_where_it_matters=True))


def test_telling_every_node_grows_with_the_square() -> None:
    """Twice the runs are twice the rings to twice the nodes: where nodes hear little else, Redis tells four times."""
    told = replace(COSTS, redis_write=0.0, redis_read=0.0, redis_look=0.0, redis_ring=0.0, node_hear=0.01)

    def redis(runs: float) -> float:
        (use,) = [use for use in at(runs, Plan(), told).uses if use.what == "Redis, CPU"]
        return use.used

    assert redis(200_000) / redis(100_000) == pytest.approx(4, rel=0.05)


def test_no_number_of_nodes_keeps_up_with_a_bell_that_fills_each_of_them() -> None:
    """More nodes do not help, since each hears everything."""
    loud = replace(COSTS, node_hear=1_000.0)
    assert at(1_000_000, Plan(), loud).workers == math.inf
    assert at(1_000_000, Plan(told_where_it_matters=True), loud).workers < math.inf


def test_the_code_is_what_is_simulated() -> None:
    """How often, how many and how long: as the engine has it."""
    config = EngineConfig("")
    assert MACHINES.lease_seconds == config.lease_seconds
    assert MACHINES.beat_seconds == min(config.cancel_poll_seconds, config.lease_seconds / 3)
    assert MACHINES.claim_batch == CLAIM_BATCH
    assert MACHINES.gather_seconds == GATHER_SECONDS
    assert MACHINES.pool == config.pool_size
    assert MACHINES.worker_runs == config.max_runs
    assert pytest.approx(PAUSE_PER_STREAM * 1e6) == MACHINES.look_pause


def test_the_measured_costs_are_whole() -> None:
    """The simulation finds each cost that it needs in the file."""
    costs = costs_of(read_sheet(FILE))
    assert min(getattr(costs, field.name) for field in fields(Costs)) >= 0
    assert SIZES == (10_000, 100_000, 1_000_000)


# ---------------------------------------------------------------- waiting lines


def test_waiting_times_are_those_of_the_books() -> None:
    """Erlang's C, M/M/1 as the special case of one server, and Kingman's formula."""
    assert erlang_c(1, 0.7) == pytest.approx(0.7)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert erlang_c(10, 8.0) == pytest.approx(0.4092, abs=1e-4)
    assert wait_of_many(1, 0.5, 10.0) == pytest.approx(wait_of_one(0.5, 10.0)) == pytest.approx(10.0)
    assert wait_of_one(0.5, 10.0, 0.5) == pytest.approx(5.0)


def test_who_is_overloaded_waits_for_ever() -> None:
    """No wait is told where the line grows without end."""
    assert wait_of_many(4, 4.0, 1.0) == wait_of_one(1.0, 1.0) == math.inf
    assert erlang_c(4, 5.0) == 1.0


# ---------------------------------------------------------------- storms

STORM = Storm(
    runs=1_000, workers=10, lease=10.0, beat=2.0, look=2.0, batch=50, take=0.001, begin=0.01, again=True, cores=4
)


def test_a_storm_ends_with_every_run_taken_and_none_before_its_lease_has_ended() -> None:
    """The first goes on after the lease, the last after all others."""
    for seed in range(20):
        outcome = play(STORM, seed)
        assert STORM.lease - STORM.beat < outcome.first <= outcome.half <= outcome.last < 60
    assert play(STORM, 1) == play(STORM, 1)


def test_more_workers_end_a_storm_sooner_and_more_runs_later() -> None:
    """Down to what leases and looks take in any case."""
    ends = [usual(replace(STORM, workers=workers)).last for workers in (1, 3, 10, 30)]
    assert ends == sorted(ends, reverse=True)
    ends = [usual(replace(STORM, runs=runs)).last for runs in (50, 500, 5_000)]
    assert ends == sorted(ends)


def test_a_worker_that_rests_after_a_full_batch_is_slower() -> None:
    """Why a full batch is followed by another look at once."""
    rests = replace(STORM, again=False)
    assert usual(rests).last > usual(STORM).last
    assert claims_a_second(rests) < claims_a_second(STORM)
