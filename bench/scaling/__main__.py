"""What runs, steps, watchers and machines cost, measured on real processes.

    python -m bench.scaling [--quick] [--write [FILE]]

Two servers, a worker, PostgreSQL (which waits for the disk), Redis and a stand-in of the Messages API are started on
free ports, and everything is measured while they work: CPU by the kernel's own account, memory that a process has for
itself. It takes about four minutes; with `--quick` less than one, for figures that only show that all of it works.
`--write` keeps the figures in bench/costs.json, which docs/scaling.md and `python -m bench.simulate` are made from.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench.scaling.extent import QUICK, Extent
from bench.scaling.figures import Sheet, machine
from bench.scaling.house import House, opened
from bench.scaling.signals import measure_signals
from bench.scaling.steps import measure_pages, measure_rest, measure_runs, measure_steps
from bench.scaling.streams import measure_brisk, measure_connections, measure_paced, measure_silent
from bench.scaling.verbs import measure_leases, measure_redis, measure_transcripts
from bench.simulation.costs import FILE

PATIENCE = 900.0
"""Seconds after which a measurement that hangs is given up; far above what it takes."""
PARTS = (
    measure_redis,
    measure_silent,
    measure_steps,
    measure_runs,
    measure_pages,
    measure_paced,
    measure_brisk,
    measure_connections,
    measure_leases,
)
"""What is measured with Redis, in this order: later ones subtract what earlier ones have found."""


async def measure(extent: Extent) -> Sheet:
    """Everything, one after the other."""
    sheet = Sheet(machine())
    began, busy = time.monotonic(), _busy()
    measure_transcripts(sheet, extent)
    with tempfile.TemporaryDirectory() as folder:
        async with asyncio.timeout(PATIENCE), opened(Path(folder), with_redis=True) as fresh:
            await _describe(fresh, sheet)
            house = replace(fresh, rest=await measure_rest(fresh, sheet, extent))
            for part in PARTS:
                _tell(f"{part.__name__}, after {time.monotonic() - began:.0f} s")
                await part(house, sheet, extent)
            await measure_signals(house, sheet, extent, name="bell", where="with Redis")
        _tell(f"without Redis, after {time.monotonic() - began:.0f} s")
        async with asyncio.timeout(PATIENCE), opened(Path(folder), with_redis=False) as house:
            await measure_signals(house, sheet, extent, name="poll", where="without Redis")
    sheet.conditions["minutes"] = f"{(time.monotonic() - began) / 60:.1f}"
    sheet.conditions["busy cores"] = f"{(_busy() - busy) / (time.monotonic() - began):.2f}"
    return sheet


async def _describe(house: House, sheet: Sheet) -> None:
    sheet.conditions["postgresql"] = (await house.meter.rows.fetchval("SHOW server_version")).split()[0]
    assert house.meter.redis is not None
    sheet.conditions["redis"] = (await house.meter.redis.info("server"))["redis_version"]


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _busy() -> float:
    """Seconds that the machine's cores have worked, by whoever's doing."""
    names = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    user, nice, system, _idle, _wait, *interrupts = (int(value) for value in names[:7])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def _leave(*_: object) -> None:
    raise KeyboardInterrupt  # what was started is ended, as by Ctrl-C


def main() -> None:
    """Measure, print, and keep what was measured where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only show that it works")
    parser.add_argument(
        "--write", type=Path, nargs="?", const=FILE, help="keep the figures, in bench/costs.json or elsewhere"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _leave)
    sheet = asyncio.run(measure(QUICK if options.quick else Extent()))
    print(", ".join(f"{name} {value}" for name, value in sheet.conditions.items()))
    print(sheet.table())
    if options.write is not None:
        sheet.write(options.write)


if __name__ == "__main__":
    main()
