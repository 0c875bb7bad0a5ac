"""What processes cost: their share of the cores since they began, and their memory; Linux's /proc tells."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    """How many cores a process has kept at work on average since it began, and how many bytes it holds."""

    cores: float
    memory: int


def usage_of(pid: int) -> Usage | None:
    """What a process costs; None where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        uptime = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    worked, began = (int(fields[11]) + int(fields[12])) / _TICK, int(fields[19]) / _TICK
    return Usage(worked / max(0.01, uptime - began), int(fields[21]) * _PAGE)


@dataclass(frozen=True, slots=True)
class Cores:
    """How long the machine's cores have been at work, and how long there were any, in ticks."""

    busy: float
    all: float

    @classmethod
    def now(cls) -> Cores:
        """Until now, since the machine was started."""
        line = Path("/proc/stat").read_text(encoding="ascii").split("\n")[0]
        numbers = [float(number) for number in line.split()[1:9]]
        return cls(sum(numbers) - numbers[3] - numbers[4], sum(numbers))

    def share(self, earlier: Cores) -> float:
        """The share of the machine that was at work since then, from 0 to 1."""
        return (self.busy - earlier.busy) / max(1.0, self.all - earlier.all)


class Lag:
    """How late the harness's own loop is: what its clocks measure is that much too long. Run `watch` as a task."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def watch(self) -> None:
        """Note ten times a second how late it is; until it is cancelled."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.1)
            self.seconds.append(time.monotonic() - before - 0.1)
