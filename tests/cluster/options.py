"""What one is asked to do: how long, with how many runs, at which pace, and with which faults."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FAULTS = ("kill", "freeze", "redis", "postgres", "cut", "roll")
"""The faults, by the names that --without takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says. Times are in seconds; `words` are the deltas of a step's text, `pace` apart."""

    seconds: float = 60.0
    seed: str = "1"
    runs: int = 200
    without: frozenset[str] = frozenset()
    redis: bool = True
    servers: int = 3
    workers: int = 3
    lease: float = 3.0
    words: int = 6
    pace: float = 1.0
    tool: float = 4.0
    devices: int = 40
    patience: float = 120.0
    folder: Path | None = None
    keep: bool = False


def read_options(words: Sequence[str] | None = None) -> Options:
    """The options of a command line; one that can't be read ends the process with an explanation."""
    default = Options()
    parser = argparse.ArgumentParser(
        prog="python -m tests.cluster",
        description="Runs three servers and three workers, kills them while runs go on, and judges what came of it.",
    )
    add = parser.add_argument
    add("--seconds", type=float, default=default.seconds, help="how long faults happen (%(default)s)")
    add("--seed", default=default.seed, help="what all chance follows from (%(default)s)")
    add("--runs", type=int, default=default.runs, help="how many runs are under way at once (%(default)s)")
    add(
        "--without",
        type=_names,
        default=frozenset(),
        metavar="FAULT,...",
        help=f"leave out some of {', '.join(FAULTS)}",
    )
    add("--no-redis", dest="redis", action="store_false", help="no streams and no bell between the nodes")
    add("--servers", type=int, default=default.servers, help="how many servers (%(default)s)")
    add("--workers", type=int, default=default.workers, help="how many workers (%(default)s)")
    add("--lease", type=float, default=default.lease, help="STEERSMAN_LEASE_SECONDS (%(default)s)")
    add("--words", type=int, default=default.words, help="deltas of each answer's text (%(default)s)")
    pace_help = f"milliseconds between deltas ({default.pace * 1000:g})"
    add("--pace", type=_milliseconds, default=default.pace, metavar="MS", help=pace_help)
    add("--tool", type=float, default=default.tool, help="seconds that a tool takes at most (%(default)s)")
    add("--devices", type=int, default=default.devices, help="sockets of clients (%(default)s)")
    add(
        "--patience",
        type=float,
        default=default.patience,
        help="how long runs may take to settle afterwards (%(default)s)",
    )
    add("--folder", type=Path, default=None, help="where logs are written (a temporary folder)")
    add("--keep", action="store_true", help="keep the logs also where all is well")
    return Options(**vars(parser.parse_args(words)))


def _names(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if unknown := sorted(names - set(FAULTS)):
        raise argparse.ArgumentTypeError(f"no such fault: {', '.join(unknown)}; there are {', '.join(FAULTS)}")
    return names


def _milliseconds(text: str) -> float:
    return float(text) / 1000
