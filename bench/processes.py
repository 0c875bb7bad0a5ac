"""Processes of a benchmark: each on a core of its own, its address read from its first line, its CPU counted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Started:
    """A process of the benchmark and where it listens."""

    pid: int
    url: str

    def cpu(self) -> float:
        """Seconds of CPU that it has used, in user and kernel mode."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def memory(self) -> int:
        """Bytes resident now."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cores() -> tuple[int, int]:
    """One core for what is measured and one for the rest; the same one where there is only one."""
    found = sorted(os.sched_getaffinity(0))
    return found[0], found[-1]


@contextmanager
def started(module: str, *arguments: str, core: int) -> Iterator[Started]:
    """Run `python -m module …`, whose first line of output is its address; stopped at the end."""
    process = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    os.sched_setaffinity(process.pid, {core})
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url.startswith("http"):
            raise RuntimeError(f"{module} did not start: {url}")
        yield Started(process.pid, url)
    finally:
        process.terminate()
        process.wait(30)
