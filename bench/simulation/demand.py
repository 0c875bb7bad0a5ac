"""How much of each thing a load uses: straight sums of measured costs, and from them how many nodes it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.simulation.costs import Costs
from bench.simulation.load import DAY, FEW, Load, Machines, Plan
from bench.simulation.queues import wait_of_many, wait_of_one

MICRO = 1e6
"""Microseconds of a core's second."""


@dataclass(frozen=True, slots=True)
class Use:
    """How much of something is used each second, or at once, and how much one of it has."""

    what: str
    used: float
    one: float
    unit: str

    @property
    def share(self) -> float:
        """1.0 where one of it is full."""
        return self.used / self.one


@dataclass(frozen=True, slots=True)
class Demand:
    """What each partition uses. `uses` have a limit each; nodes are added as needed, inf where no number is enough."""

    uses: tuple[Use, ...]
    workers: float
    servers: float
    commits: float
    heard: float
    """Rings that one node hears in a second."""
    verb_wait: float
    """Microseconds that a statement waits for a core of PostgreSQL, on average."""
    redis_wait: float
    """Microseconds that a command waits for Redis, on average."""
    stored: float
    """Bytes that are added to the tables in a day."""

    @property
    def fullest(self) -> Use:
        """What is full first."""
        return max(self.uses, key=lambda use: use.share)


def demand(load: Load, costs: Costs, machines: Machines, plan: Plan) -> Demand:
    """What a load uses, where it is laid out like that."""
    load = replace(load, runs=load.runs / plan.partitions)
    rings = load.runs_a_second * costs.rings_run + load.steps_a_second * costs.rings_step
    workers = _workers(load, costs, machines, plan, rings)
    servers = _servers(load, costs, machines, plan, rings)
    nodes = workers + servers
    busy = _postgres(load, costs, machines, plan, rings, workers, servers) / MICRO
    redis = _redis(load, costs, machines, plan, rings, workers, servers) / MICRO
    told = _told(load, plan, rings, workers, servers)
    out = load.deltas_a_second * load.watchers * costs.redis_out + told * costs.redis_ring_bytes
    network = max(out, load.deltas_a_second * costs.redis_in) / plan.shards
    heard = told / nodes if plan.told_where_it_matters and nodes < math.inf else rings
    wal = _wal(load, costs, machines, plan, workers)
    memory = load.leases * costs.redis_stream_bytes / plan.shards
    uses = [
        Use("PostgreSQL, CPU", busy, machines.postgres_cores, "cores"),
        Use("PostgreSQL, log to disk", wal / 1e6, machines.postgres_wal / 1e6, "MB/s"),
        Use("PostgreSQL, connections", nodes * machines.pool, machines.postgres_connections, ""),
        Use("Redis, CPU", redis, 1.0, "cores"),
        Use("Redis, memory", memory / 1e9, machines.redis_memory / 1e9, "GB"),
        Use("Redis, network", network / 1e6, machines.network / 1e6, "MB/s"),
    ]  # fmt: skip
    if not plan.told_where_it_matters:
        uses.append(Use("every node, hearing the bell", heard * costs.node_hear / MICRO, 1.0, "cores"))
    if plan.replicas:
        pages = load.pages_a_second * costs.postgres_page / MICRO / plan.replicas
        uses.append(Use("a read replica, CPU", pages, machines.postgres_cores, "cores"))
    statements = load.steps_a_second * costs.commits_step + load.runs_a_second * costs.commits_run
    verb = busy * MICRO / statements if statements else 0.0
    events = load.deltas_a_second * (1 + load.watchers) + told
    return Demand(
        uses=tuple(uses),
        workers=workers,
        servers=servers,
        commits=statements,
        heard=heard,
        verb_wait=wait_of_many(machines.postgres_cores, busy, verb),
        redis_wait=wait_of_one(redis, redis * MICRO * plan.shards / events if events else 0.0, 0.5),
        stored=(load.runs_a_second * costs.stored_run + load.steps_a_second * costs.stored_step) * DAY,
    )


def limit(what: Callable[[float], float], *, most: float = 1e9) -> float:
    """The number of runs at which a share that rises with them is 1.0; inf where it is below that even for `most`."""
    low, high = 0.0, most
    if what(high) < 1.0:
        return math.inf
    while high - low > max(1.0, low * 1e-6):
        middle = (low + high) / 2
        low, high = (middle, high) if what(middle) < 1.0 else (low, middle)
    return high


# ---------------------------------------------------------------- nodes


def _workers(load: Load, costs: Costs, machines: Machines, plan: Plan, rings: float) -> float:
    """How many workers it takes, each used up to the target."""
    work = load.runs_a_second * costs.worker_run + load.deltas_a_second * costs.worker_delta
    work += load.steps_a_second * (costs.worker_step + load.messages * costs.worker_message)
    work += load.leases * costs.worker_hold
    room = machines.target * MICRO - costs.worker_rest
    if plan.told_where_it_matters:
        work += load.runs_a_second * FEW * (costs.node_hear + costs.worker_wake)
    else:
        room -= rings * costs.node_hear + _gathered(load.runs_a_second, machines) * costs.worker_wake
    by_cpu = _shared_out(work, room)
    by_memory = load.leases * costs.worker_run_bytes / (machines.node_memory * machines.target)
    return max(
        1.0, math.ceil(max(by_cpu, by_memory, load.leases / machines.worker_runs)) if by_cpu < math.inf else by_cpu
    )


def _servers(load: Load, costs: Costs, machines: Machines, plan: Plan, rings: float) -> float:
    """How many servers it takes, each used up to the target."""
    work = load.runs_a_second * costs.server_run + load.pages_a_second * costs.server_page
    work += load.deltas_a_second * load.watchers * costs.server_delta
    work += load.all_watchers * costs.server_watcher + rings * load.watchers * costs.server_read
    room = machines.target * MICRO - costs.worker_rest - _looks(load, costs, machines) * costs.node_look
    if plan.told_where_it_matters:
        work += rings * load.watchers * costs.node_hear
    else:
        room -= rings * costs.node_hear
    by_cpu = _shared_out(work, room)
    by_memory = load.all_watchers * costs.server_watcher_bytes / (machines.node_memory * machines.target)
    return max(
        1.0, math.ceil(max(by_cpu, by_memory, load.all_watchers / machines.sockets)) if by_cpu < math.inf else by_cpu
    )


def _shared_out(work: float, room: float) -> float:
    return work / room if room > 0 else math.inf


# ---------------------------------------------------------------- PostgreSQL and Redis


def _gathered(wakes: float, machines: Machines) -> float:
    """How often a worker looks for work in a second that is woken so often: what comes shortly after is one look."""
    return wakes / (1 + wakes * machines.gather_seconds)


def _wakes(load: Load, machines: Machines, plan: Plan, workers: float) -> float:
    """How often all workers together look for work in a second."""
    if math.isinf(workers):
        return workers
    told = load.runs_a_second * (FEW / workers if plan.told_where_it_matters else 1.0)
    ended = load.runs_a_second / workers
    return workers * _gathered(told + ended + 1 / machines.beat_seconds, machines)


def _renewals(load: Load, machines: Machines, plan: Plan, workers: float) -> float:
    return (workers if plan.leases_by_worker else load.leases) / machines.beat_seconds


def _postgres(
    load: Load, costs: Costs, machines: Machines, plan: Plan, rings: float, workers: float, servers: float
) -> float:
    """Microseconds of CPU that the one that writes uses in a second."""
    pages = 0.0 if plan.replicas else load.pages_a_second
    return (
        load.runs_a_second * costs.postgres_run
        + load.steps_a_second * costs.postgres_step
        + _renewals(load, machines, plan, workers) * costs.postgres_renewal
        + rings * load.watchers * costs.postgres_read
        + load.all_watchers * costs.postgres_watcher
        + pages * costs.postgres_page
        + _wakes(load, machines, plan, workers) * costs.postgres_wake
        + (workers + servers) * costs.postgres_node
    )


def _wal(load: Load, costs: Costs, machines: Machines, plan: Plan, workers: float) -> float:
    """Bytes that PostgreSQL writes to its log in a second."""
    steps = load.runs_a_second * costs.wal_run + load.steps_a_second * costs.wal_step
    return steps + _renewals(load, machines, plan, workers) * costs.wal_renewal


def _told(load: Load, plan: Plan, rings: float, workers: float, servers: float) -> float:
    """Rings that Redis hands to nodes in a second."""
    if plan.told_where_it_matters:
        return rings * load.watchers + load.runs_a_second * FEW
    return rings * (workers + servers)


def _looks(load: Load, costs: Costs, machines: Machines) -> float:
    """Looks of a server in a second: the more streams its reader has, the fewer rounds it makes.

    With several shards it has a reader for each, and they share the same rest.
    """
    return MICRO / (costs.node_look + machines.look_pause) if load.watchers else 0.0


def _redis(
    load: Load, costs: Costs, machines: Machines, plan: Plan, rings: float, workers: float, servers: float
) -> float:
    """Microseconds of CPU that one Redis of the partition uses in a second."""
    shared = load.deltas_a_second * (costs.redis_write + load.watchers * costs.redis_read)
    shared += rings * costs.redis_ring + _told(load, plan, rings, workers, servers) * costs.redis_tell
    return (shared + servers * _looks(load, costs, machines) * costs.redis_look) / plan.shards
