"""What each thing costs: measured by `python -m bench.scaling`, kept in bench/costs.json, read by the simulation."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from bench.scaling.figures import Sheet

FILE = Path(__file__).parent.parent / "costs.json"


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU is in microseconds of one core, sizes are in bytes.

    Of a *run* it is what starting and ending it costs whatever its length, of a *step* what each step adds, of a
    *delta* one piece of streamed text. A *ring* is a change of a run that the bell tells; to *hear* is to be told of
    one by another process. A *look* is one stream in one round of a reader.
    """

    # a worker
    worker_run: float
    worker_step: float
    worker_message: float  # of the transcript, again at each step
    worker_delta: float
    worker_hold: float  # a run that says nothing, each second
    worker_rest: float  # a worker without runs, each second
    worker_wake: float  # a look for work
    worker_run_bytes: float
    # a server
    server_run: float  # startRun
    server_delta: float  # one delivered to one watcher
    server_watcher: float  # one whose stream says nothing, each second
    server_read: float  # rows read and sent because a run rang
    server_page: float  # a page of the list of runs
    server_watcher_bytes: float
    # any node
    node_hear: float
    node_look: float
    # PostgreSQL
    postgres_run: float
    postgres_step: float
    postgres_renewal: float  # of one lease
    postgres_read: float
    postgres_page: float
    take_wall: float  # time, not CPU, of one run in a batch that is taken
    postgres_wake: float
    postgres_watcher: float  # one whose stream says nothing, each second
    postgres_node: float  # what a node asks while nothing happens, each second
    commits_run: float
    commits_step: float
    wal_run: float
    wal_step: float
    wal_renewal: float
    stored_run: float
    stored_step: float
    # Redis
    redis_write: float  # one delta
    redis_read: float  # one delta, by one node
    redis_look: float
    redis_ring: float  # published, and told to nobody
    redis_tell: float  # told to one node
    redis_in: float  # bytes that come in with one delta
    redis_out: float  # bytes that go out with one delta, to one node
    redis_ring_bytes: float  # that go out with one ring, to one node
    redis_stream_bytes: float
    rings_run: float
    rings_step: float


def costs_of(sheet: Sheet) -> Costs:
    """The costs among measured figures. Raises KeyError where one is missing."""
    return Costs(**{field.name: sheet[field.name] for field in fields(Costs)})
