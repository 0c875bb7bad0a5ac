"""What follows the death of a machine: its leases lapse, and the other workers take its runs, batch by batch."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from random import Random
from statistics import median


@dataclass(frozen=True, slots=True)
class Storm:
    """A machine with `runs` runs dies, and `workers` others are there; times in seconds.

    A worker renews all its leases in one statement each `beat`, so all of them lapse at one moment. Who looks takes up
    to `batch` in one transaction, for which it needs `take` for each run, and looks again after `look`; at once where
    `again` says so and the batch was full. Each run that was taken needs `begin` of its worker's core before it goes
    on. At most `cores` takings make progress at a time.
    """

    runs: int
    workers: int
    lease: float
    beat: float
    look: float
    batch: int
    take: float
    begin: float
    again: bool
    cores: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """When runs went on, in seconds after the death: the first, half of them, the last."""

    first: float
    half: float
    last: float


def play(storm: Storm, seed: int) -> Outcome:
    """One storm; `seed` decides when the machine died between two beats, and when each worker looks."""
    dice = Random(seed)  # noqa: S311 - a simulation's dice, nothing secret
    lapsed = storm.lease - dice.uniform(0, storm.beat)
    looks = [(lapsed + dice.uniform(0, storm.look), worker) for worker in range(storm.workers)]
    heapq.heapify(looks)
    cores = [0.0] * storm.cores  # when each is free
    busy = [0.0] * storm.workers  # until when each worker begins what it has taken
    left, went_on = storm.runs, list[float]()
    while left:
        at, worker = heapq.heappop(looks)
        taken = min(storm.batch, left)
        left -= taken
        core = heapq.heappop(cores)
        done = max(at, core) + taken * storm.take
        heapq.heappush(cores, done)
        busy[worker] = max(busy[worker], done)
        for _ in range(taken):
            busy[worker] += storm.begin
            went_on.append(busy[worker])
        rest = 0.0 if storm.again and taken == storm.batch else storm.look
        heapq.heappush(looks, (max(done, busy[worker]) + rest, worker))
    went_on.sort()
    return Outcome(went_on[0], went_on[len(went_on) // 2], went_on[-1])


def usual(storm: Storm, *, times: int = 101) -> Outcome:
    """The median of many storms."""
    played = [play(storm, seed) for seed in range(times)]
    return Outcome(*(median(getattr(outcome, name) for outcome in played) for name in ("first", "half", "last")))


def claims_a_second(storm: Storm) -> float:
    """How fast all workers together take runs where there are more than they can take."""
    batch_time = storm.batch * max(storm.take, storm.begin) + (0.0 if storm.again else storm.look)
    at_most = storm.cores / storm.take if storm.take else math.inf
    return min(storm.workers * storm.batch / batch_time, at_most)
