"""Which fault comes when, to whom, and for how long: decided beforehand, from the seed alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tests.cluster.options import Options


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault: seconds from the beginning, its name, whom it hits (a number, from 0), and how long it lasts.

    `gentle` tells of PostgreSQL that it is stopped in good order, not killed.
    """

    at: float
    name: str
    victim: int = 0
    seconds: float = 0.0
    gentle: bool = False


def plan(options: Options) -> list[Fault]:
    """Every fault of a run of the harness, in order."""
    makers = {
        "kill": _kills,
        "freeze": _freezes,
        "redis": _redis,
        "postgres": _postgres,
        "cut": _cuts,
        "roll": _rolls,
    }
    wanted = [name for name in makers if name not in options.without and (options.redis or name != "redis")]
    return sorted(fault for name in wanted for fault in makers[name](options, _dice(options, name)))


def _dice(options: Options, name: str) -> Random:
    return Random(f"{options.seed}/{name}")  # noqa: S311 - a test's dice, nothing secret


def _moments(options: Options, dice: Random, first: float, least: float, most: float) -> Iterator[float]:
    """The first about then, each later one so many seconds after the one before it."""
    at = first * dice.uniform(0.8, 1.2)
    while at < options.seconds:
        yield round(at, 3)
        at += dice.uniform(least, most)


def _kills(options: Options, dice: Random) -> Iterator[Fault]:
    """A worker every few seconds; it is back after as long as a supervisor takes to notice."""
    for at in _moments(options, dice, 5, 4, 7):
        yield Fault(at, "kill", dice.randrange(options.workers), round(dice.uniform(0.1, 1.5), 3))


def _freezes(options: Options, dice: Random) -> Iterator[Fault]:
    """A worker past its lease."""
    for at in _moments(options, dice, 8, 10, 18):
        seconds = options.lease + dice.uniform(1, 3)
        yield Fault(at, "freeze", dice.randrange(options.workers), round(seconds, 3))


def _redis(options: Options, dice: Random) -> Iterator[Fault]:
    """All that it held is lost."""
    for at in _moments(options, dice, 12, 14, 24):
        yield Fault(at, "redis", 0, round(dice.uniform(0.2, 3), 3))


def _postgres(options: Options, dice: Random) -> Iterator[Fault]:
    """In good order, or killed."""
    for at in _moments(options, dice, 20, 20, 32):
        yield Fault(at, "postgres", 0, round(dice.uniform(0.2, 2.5), 3), gentle=dice.random() < 0.5)


def _cuts(options: Options, dice: Random) -> Iterator[Fault]:
    """A device's socket; each about every twenty seconds."""
    every = 20 / options.devices
    for at in _moments(options, dice, 2, every / 2, every * 1.5):
        yield Fault(at, "cut", dice.randrange(options.devices))


def _rolls(options: Options, dice: Random) -> Iterator[Fault]:
    """Every node, one after the other, about once a minute; `victim` is with whom it begins."""
    for at in _moments(options, dice, min(25.0, options.seconds / 3), 55, 75):
        yield Fault(at, "roll", dice.randrange(options.servers + options.workers))
