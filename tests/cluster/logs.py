"""What the nodes' logs tell: who took which run when, whose write was refused, and what went wrong."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a node's log: whose, its time in ms since the epoch, and whatever else it has."""

    node: str
    at: int
    values: Mapping[str, str]

    @property
    def message(self) -> str:
        """What it says."""
        return self.values.get("message", "")


@dataclass(frozen=True, slots=True)
class Taking:
    """A worker took a run; `why` is claim, hand_back or takeover."""

    at: int
    node: str
    run_id: str
    why: str


def read_lines(logs: Path) -> list[Line]:
    """Every line of every node's log that is JSON, in order of time."""
    lines = [
        Line(file.name.split(".")[0], milliseconds(values["time"]), values)
        for file in sorted(logs.glob("*.log"))
        for text in file.read_text(encoding="utf-8", errors="replace").splitlines()
        if (values := _json(text)) is not None
    ]
    return sorted(lines, key=lambda line: line.at)


def takings(lines: Iterable[Line]) -> dict[str, list[Taking]]:
    """By run, who took it, in order."""
    found: dict[str, list[Taking]] = {}
    for line in lines:
        if line.message == "took a run":
            run_id = line.values["run_id"]
            found.setdefault(run_id, []).append(Taking(line.at, line.node, run_id, line.values["why"]))
    return found


def refused_writes(lines: Iterable[Line]) -> int:
    """How often a loop learnt that its run has another owner."""
    return sum("another owner" in line.message for line in lines)


def defects(lines: Iterable[Line]) -> list[str]:
    """Exceptions that nobody expected: logged as errors, and of no service that was away."""
    return [
        f"{line.node} at {line.values['time']}: {line.message}: {cause}"
        for line in lines
        if line.values.get("level") == "error"
        and (cause := _cause(line))
        and not any(name in cause for name in ("DatabaseAway", "redis.exceptions."))
    ]


def complaints(lines: Iterable[Line]) -> Counter[str]:
    """What was logged as a warning or worse, and how often; an exception by its last line."""
    found: Counter[str] = Counter()
    for line in lines:
        if line.values.get("level") in ("warning", "error", "critical"):
            cause = _cause(line)[:120]
            found[f"{line.values['level']}: {line.message[:120]}{f' ({cause})' if cause else ''}"] += 1
    return found


def _cause(line: Line) -> str:
    """The last line of a line's traceback."""
    return line.values.get("error", "").strip().rpartition("\n")[2]


def _json(text: str) -> Mapping[str, str] | None:
    if not text.startswith("{"):
        return None
    try:
        values: Mapping[str, str] = json.loads(text)
    except ValueError:
        return None  # cut by a kill
    return values if "time" in values else None


def milliseconds(text: str) -> int:
    """A moment as logs and the API write it, in ms since the epoch."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)
