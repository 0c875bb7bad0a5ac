"""What runs and their steps cost: of all processes, while so many runs work."""

from __future__ import annotations

import asyncio

from bench.scaling import clients
from bench.scaling.clients import WATCH_MESSAGES, watching
from bench.scaling.extent import Extent
from bench.scaling.figures import Sheet
from bench.scaling.house import FAR, NEAR, NODES, WORKER, House
from bench.scaling.plot import Plot
from bench.scaling.rings import Rings
from bench.scaling.usage import Spent, spent

STEPS = "SELECT coalesce(sum(steps), 0)::bigint FROM agent_runs"
DELTAS = 5
SHORT = Plot(steps=1, deltas=DELTAS)
LONG = Plot(steps=200, deltas=DELTAS, pace=100)
WORDS = "an answer of 1,500 characters in 5 deltas, a tool's result of 2,000"


async def measure_rest(house: House, sheet: Sheet, extent: Extent) -> Spent:
    """What all of it uses while nothing happens."""
    await asyncio.sleep(extent.settling)
    rest = await house.used(extent.window)
    how = f"nothing happens, {rest.seconds:.0f} s"
    sheet.add("worker_rest", rest.cpu[WORKER] / rest.seconds, "µs/s", "CPU of a worker at rest", how)
    sheet.add("server_rest", rest.cpu[FAR] / rest.seconds, "µs/s", "CPU of a server at rest", how)
    nodes = len(NODES)
    sheet.add(
        "postgres_node",
        rest.cpu["postgres"] / rest.seconds / nodes,
        "µs/s",
        "CPU of PostgreSQL for a node at rest",
        how,
    )
    now = await house.meter.read()
    for name, what in ((WORKER, "worker"), (FAR, "server")):
        sheet.add(f"{what}_bytes", now.memory[name] / 1e6, "MB", f"memory of a {what} at rest", how)
    return rest


async def measure_steps(house: House, sheet: Sheet, extent: Extent) -> None:
    """Runs of many steps: first by themselves, then each with one who watches its messages."""
    begun = await clients.start(house, LONG, extent.stepping)
    await asyncio.sleep(extent.settling)
    alone, steps, rings = await _window(house, extent)
    async with watching(house, WATCH_MESSAGES, [run.id for run in begun]):
        await asyncio.sleep(extent.settling)
        watched, more_steps, more_rings = await _window(house, extent)
    await clients.cancel(house, begun)
    how = f"{len(begun)} runs at once, {steps / alone.seconds:.0f} steps a second; {WORDS}"
    sheet.add("rings_step", rings / steps, "", "rings of the bell for a step", how)
    sheet.add("worker_step", alone.cpu[WORKER] / steps, "µs", "CPU of the worker for a step", how)
    sheet.add("postgres_step", alone.cpu["postgres"] / steps, "µs", "CPU of PostgreSQL for a step", how)
    sheet.add("commits_step", alone.counts["commits"] / steps, "", "transactions that write, for a step", how)
    sheet.add("wal_step", alone.counts["wal"] / steps, "bytes", "PostgreSQL's log for a step", how)
    sheet.add("stored_step", alone.counts["stored"] / steps, "bytes", "growth of the tables for a step", how)
    sheet.add(
        "node_hear", alone.cpu[FAR] / rings, "µs", "CPU of a node that hears a ring which does not concern it", how
    )
    watching_them = (
        f"the same, each with one who watches its messages; {more_steps / watched.seconds:.0f} steps a second"
    )
    read = (watched.cpu[FAR] - sheet["node_hear"] * more_rings) / more_rings
    sheet.add("server_read", read, "µs", "CPU of a server for a watcher whose run rang", watching_them)
    asked = (watched.cpu["postgres"] - sheet["postgres_step"] * more_steps) / more_rings
    sheet.add("postgres_read", asked, "µs", "CPU of PostgreSQL for a watcher whose run rang", watching_them)


async def _window(house: House, extent: Extent) -> tuple[Spent, int, int]:
    """What was used, how many steps ended meanwhile, and how many rings there were."""
    async with Rings(house) as rings:
        before, heard = await house.meter.rows.fetchval(STEPS), rings.count

        async def some() -> bool:
            return bool(await house.meter.rows.fetchval(STEPS) > before and rings.count > heard)

        found = await house.used(extent.window, some)
        return found, await house.meter.rows.fetchval(STEPS) - before, rings.count - heard


async def measure_runs(house: House, sheet: Sheet, extent: Extent) -> None:
    """Runs of one step, one after the other: what is theirs beyond the step's."""
    async with Rings(house) as rings:
        before = await house.meter.read()
        await clients.start(house, SHORT, extent.short)
        await clients.all_ended(house)
        await asyncio.sleep(0.5)
        whole = spent(before, await house.meter.read())
        heard = rings.count
    found = whole.less(house.rest) if house.rest is not None else whole
    count = extent.short
    how = f"{count} runs of one step, {clients.AT_ONCE} started at a time; beyond what the step costs"
    for name, process in (("worker", WORKER), ("postgres", "postgres")):
        beyond = found.cpu[process] / count - sheet[f"{name}_step"]
        sheet.add(
            f"{name}_run", beyond, "µs", f"CPU of {'PostgreSQL' if name == 'postgres' else 'the worker'} for a run", how
        )
    sheet.add("server_run", found.cpu[NEAR] / count, "µs", "CPU of the server for startRun", how)
    sheet.add("rings_run", heard / count - sheet["rings_step"], "", "rings of the bell for a run", how)
    sheet.add(
        "commits_run",
        found.counts["commits"] / count - sheet["commits_step"],
        "",
        "transactions that write, for a run",
        how,
    )
    for name, what in (("wal", "PostgreSQL's log for a run"), ("stored", "growth of the tables for a run")):
        sheet.add(f"{name}_run", found.counts[name] / count - sheet[f"{name}_step"], "bytes", what, how)


async def measure_pages(house: House, sheet: Sheet, extent: Extent) -> None:
    """Pages of the list of runs."""
    before = await house.meter.read()
    await clients.pages(house, extent.pages)
    whole = spent(before, await house.meter.read())
    found = whole.less(house.rest) if house.rest is not None else whole
    runs = await house.meter.rows.fetchval("SELECT count(*) FROM agent_runs")
    how = f"{extent.pages} times 20 of {runs} runs with their count, 4 at a time"
    sheet.add(
        "server_page", found.cpu[NEAR] / extent.pages, "µs", "CPU of a server for a page of the list of runs", how
    )
    sheet.add("postgres_page", found.cpu["postgres"] / extent.pages, "µs", "CPU of PostgreSQL for such a page", how)
