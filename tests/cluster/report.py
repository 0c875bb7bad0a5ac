"""What is printed at the end: the promises, what happened, how long things took, and every broken promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.cluster.judge import PROMISES, Judgement
from tests.cluster.logs import Taking
from tests.cluster.measures import Measures, quantile
from tests.cluster.usage import Lag, Usage

_MOST = 12
"""How many times the breaking of one promise is told."""
_LONGEST = 600


def of_promises(judgement: Judgement) -> Iterator[str]:
    """A line a promise: how often it was looked at, and how often it was broken."""
    yield f"{'checked':>9} {'broken':>7}  promise"
    for name, words in PROMISES.items():
        broken = sum(promise == name for promise, _, _ in judgement.broken)
        yield f"{judgement.checked[name]:9,} {broken:7,}  {words}"


def of_counts(counts: Mapping[str, int]) -> Iterator[str]:
    """A line a thing that was counted."""
    for name, count in sorted(counts.items()):
        yield f"{count:9,}  {name}"


def of_times(measures: Measures, taken: dict[str, list[Taking]], lease: float) -> Iterator[str]:
    """How long the recovery of runs took, and how long cancels and inputs were under way."""
    for why, words in (("kill", "from a worker's SIGKILL"), ("freeze", "from a worker's SIGSTOP")):
        calm, disturbed = measures.recovered(why)
        yield _times(f"{words} to the next event of each of its runs", calm)
        yield _times("    the same where something else was amiss as well", disturbed)
    yield f"           (the goal at the 99th percentile is {lease + 2:g} s)"
    for what, words in (("cancel", "from a cancel to RunResult"), ("steer", "from an input to InputQueued")):
        calm, others = measures.latencies(what, taken)
        yield _times(f"{words}, on another machine ({others} others were disturbed)", calm)


def _times(words: str, values: Sequence[float]) -> str:
    if not values:
        return f"        -  {words}: none"
    p50, p99 = quantile(values, 0.5), quantile(values, 0.99)
    return f"{len(values):9,}  {words}: p50 {p50:.3f} s, p99 {p99:.3f} s, at most {max(values):.3f} s"


def of_costs(busy: float, lag: Lag, costs: Mapping[str, Usage]) -> Iterator[str]:
    """How busy the machine and each process was; where it was too busy, times tell of the machine and nothing else."""
    yield f"{busy:9.0%}  of the machine was at work"
    yield f"{quantile(lag.seconds, 0.99) * 1000:6.0f} ms  was the harness's own loop late, at the 99th percentile"
    for name, used in costs.items():
        yield f"{used.cores:9.2f}  cores, {used.memory / 2**20:4.0f} MB: {name}"


def of_broken(judgement: Judgement, *, whole: bool) -> Iterator[str]:
    """Every broken promise; without `whole`, of each kind no more than one can read."""
    for name, words in PROMISES.items():
        found = [(whose, problem) for promise, whose, problem in judgement.broken if promise == name]
        if found:
            yield f"BROKEN: {words}"
        for whose, problem in found if whole else found[:_MOST]:
            yield f"  {whose}: {problem if whole else problem[:_LONGEST]}"
        if len(found) > _MOST and not whole:
            yield f"  ... {len(found)} in all; report.txt beside the logs has the rest"


def tell(write: Callable[[str], object], title: str, lines: Iterator[str]) -> None:
    """Write a section."""
    write(f"\n{title}\n")
    for line in lines:
        write(f"{line}\n")
