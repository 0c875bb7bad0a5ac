"""The figures: what was measured, under which conditions, as a table and as the file that the simulation reads."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.markdown import shown, table


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value. `how` says under which conditions."""

    name: str
    value: float
    unit: str
    what: str
    how: str


@dataclass(slots=True)
class Sheet:
    """All figures of one measurement, and of the machine that they were taken on."""

    conditions: dict[str, str] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)

    def add(self, name: str, value: float, unit: str, what: str, how: str) -> None:
        """Note a figure; noise below nothing counts as nothing."""
        self.figures[name] = Figure(name, max(0.0, float(f"{value:.3g}")), unit, what, how)

    def __getitem__(self, name: str) -> float:
        """The value of a figure that was noted before."""
        return self.figures[name].value

    def write(self, file: Path) -> None:
        """Keep all of it."""
        found = {"conditions": self.conditions, "figures": [asdict(figure) for figure in self.figures.values()]}
        file.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def table(self) -> str:
        """All of it, in Markdown."""
        rows = [[one.what, f"{shown(one.value)} {one.unit}".strip(), one.how] for one in self.figures.values()]
        return table(["what", "", "how it was measured"], rows, words=2)


def read_sheet(file: Path) -> Sheet:
    """The figures that were kept."""
    kept = json.loads(file.read_text(encoding="utf-8"))
    figures = [Figure(**figure) for figure in kept["figures"]]
    return Sheet(kept["conditions"], {figure.name: figure for figure in figures})


def machine() -> dict[str, str]:
    """What the figures were taken on."""
    models = [line for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if "model name" in line]
    return {
        "taken": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "load before": f"{os.getloadavg()[0]:.1f}",
        "cores": str(len(os.sched_getaffinity(0))),
        "processor": models[0].partition(":")[2].strip() if models else platform.machine(),
        "python": platform.python_version(),
    }
