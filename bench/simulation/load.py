"""What is asked of a deployment, what its machines can take, and how it is laid out. All of it is assumed."""

from __future__ import annotations

from dataclasses import dataclass

DAY = 86_400
FEW = 4


@dataclass(frozen=True, slots=True)
class Load:
    """So many runs at once, and how they are: those that neither wait nor are in a silent tool take steps."""

    runs: float
    waiting: float = 0.2
    """The share that is WAITING, for an approval: it holds no worker, no lease and no stream."""
    silent: float = 0.3
    """The share that is in a long tool which says nothing."""
    step_seconds: float = 12.0
    streaming: float = 2 / 3
    """The share of a step's time in which its text comes."""
    deltas: float = 25.0
    """A second, while text comes."""
    steps: float = 8.0
    """Of a run, from its start to its end."""
    messages: float = 40.0
    """In a transcript, that go to the model at each step."""
    watchers: float = 0.5
    """Of a run: each follows its stream and its messages."""
    page_seconds: float = 30.0
    """How often a watcher asks for a page of the list of runs."""

    @property
    def leases(self) -> float:
        """Runs that some worker holds."""
        return self.runs * (1 - self.waiting)

    @property
    def steps_a_second(self) -> float:
        """Steps that end in a second."""
        return self.runs * (1 - self.waiting - self.silent) / self.step_seconds

    @property
    def runs_a_second(self) -> float:
        """Runs that start, and runs that end, in a second."""
        return self.steps_a_second / self.steps

    @property
    def deltas_a_second(self) -> float:
        """Pieces of text that all models together send in a second."""
        return self.steps_a_second * self.step_seconds * self.streaming * self.deltas

    @property
    def all_watchers(self) -> float:
        """Watchers of all runs."""
        return self.runs * self.watchers

    @property
    def pages_a_second(self) -> float:
        """Pages of the list of runs that are asked for in a second."""
        return self.all_watchers / self.page_seconds


@dataclass(frozen=True, slots=True)
class Machines:
    """What one of each can take, and how it is set up."""

    target: float = 0.6
    """How far each may be used, so that a peak or the loss of a neighbour finds room."""
    postgres_cores: int = 16
    postgres_wal: float = 200e6
    """Bytes a second that its disk writes."""
    postgres_connections: float = 500.0
    redis_memory: float = 16e9
    network: float = 1.25e9
    """Bytes a second, in each direction."""
    node_memory: float = 4e9
    """Of a worker or a server, which each have one core."""
    worker_runs: float = 1_000.0
    sockets: float = 10_000.0
    pool: float = 5.0
    lease_seconds: float = 10.0
    beat_seconds: float = 2.0
    """How often a worker renews its leases, and looks for work when nothing wakes it."""
    claim_batch: int = 50
    gather_seconds: float = 0.02
    """How long a worker that was woken waits before it looks again."""
    look_pause: float = 20.0
    """Microseconds that a reader rests for each stream it reads, once they are more than a hundred."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a deployment is laid out; the defaults are what there is."""

    partitions: int = 1
    """Each with a PostgreSQL, a Redis, and nodes of its own; every owner lives in one of them."""
    told_where_it_matters: bool = False
    """Whether a ring goes only to nodes that have a watcher of the run, and that of a new run to FEW workers."""
    leases_by_worker: bool = False
    """Whether a worker renews one row of its own rather than each run's."""
    shards: int = 1
    """Redis servers of a partition that share its streams and channels."""
    replicas: int = 0
    """Read replicas of a partition that answer the pages of lists."""
