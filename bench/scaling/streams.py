"""What runs cost that are held: silent ones in a long tool, and ones whose text comes, with and without watchers."""

from __future__ import annotations

import asyncio
from collections import Counter

from bench.scaling import clients
from bench.scaling.clients import WATCH_STREAM, Watchers, watching
from bench.scaling.extent import Extent
from bench.scaling.figures import Sheet
from bench.scaling.house import FAR, NEAR, WORKER, House, come_about
from bench.scaling.plot import Plot
from bench.scaling.usage import Spent, Usage

HUNDRED = 100
IN_TOOLS = "SELECT count(*) FROM tool_calls WHERE state = 'RUNNING'"
HELD = "SELECT usename, state FROM pg_stat_activity WHERE datname = current_database() AND usename <> 'postgres'"
ENDLESS = 3_000
"""Deltas of a run that is cancelled long before: a minute of text at least; its stand-in makes all of it at once."""
NAMES = {WORKER: "the worker", FAR: "the watched server", "postgres": "PostgreSQL", "redis": "Redis"}


async def measure_silent(house: House, sheet: Sheet, extent: Extent) -> None:
    """Runs in a tool that says nothing; then each with a watcher that hears nothing."""
    empty = await house.meter.read()
    begun = await clients.start(house, Plot(steps=2, deltas=2, tool="wait"), extent.silent)
    await house.until(IN_TOOLS, len(begun))
    await asyncio.sleep(extent.settling)
    full = await house.meter.read()
    found = await house.used(extent.window)
    how = f"{len(begun)} runs in a tool that says nothing, {found.seconds:.0f} s"
    _per_hundred(sheet, "idle", "idle runs", found, len(begun), how)
    _memory_per_hundred(sheet, "idle", "idle runs", empty, full, len(begun), how)
    each_second = len(begun) * found.seconds
    sheet.add("worker_hold", found.cpu[WORKER] / each_second, "µs/s", "CPU of the worker for an idle run", how)
    grown = (full.memory[WORKER] - empty.memory[WORKER]) / len(begun)
    sheet.add("worker_run_bytes", grown, "bytes", "memory of the worker for an idle run", how)
    async with watching(house, WATCH_STREAM, [run.stream_id for run in begun]):
        await asyncio.sleep(extent.settling)
        watched = await house.meter.read()
        heard = await house.used(extent.window)
    each_more = len(begun) * heard.seconds
    how = f"{len(begun)} such runs, each with a watcher on a socket of its own"
    sheet.add(
        "server_watcher", heard.cpu[FAR] / each_more, "µs/s", "CPU of a server for a watcher who hears nothing", how
    )
    asked = heard.cpu["postgres"] / each_more - found.cpu["postgres"] / each_second
    sheet.add("postgres_watcher", asked, "µs/s", "CPU of PostgreSQL for a watcher who hears nothing", how)
    grown = (watched.memory[FAR] - full.memory[FAR]) / len(begun)
    sheet.add("server_watcher_bytes", grown, "bytes", "memory of a server for a watcher who hears nothing", how)
    await clients.cancel(house, begun)


async def measure_paced(house: House, sheet: Sheet, extent: Extent) -> None:
    """Runs whose text comes at 20 deltas a second: first unwatched, then each with one watcher."""
    empty = await house.meter.read()
    begun = await clients.start(house, Plot(deltas=ENDLESS, size=20, pace=50), extent.paced)
    await _flowing(house, empty, len(begun))
    await asyncio.sleep(extent.settling)
    full = await house.meter.read()
    alone = await house.used(extent.window)
    events = alone.counts["xadd"]
    how = f"{len(begun)} runs, {events / alone.seconds:,.0f} deltas a second of 20 characters, nobody watches"
    held = sheet["worker_hold"] * len(begun) * alone.seconds
    sheet.add("worker_delta", (alone.cpu[WORKER] - held) / events, "µs", "CPU of the worker for a delta", how)
    sheet.add("redis_write", alone.cpu["redis"] / events, "µs", "CPU of Redis for a delta", how)
    sheet.add("redis_in", alone.counts["redis_in"] / events, "bytes", "into Redis for a delta", how)
    grown = full.counts["redis_memory"] - empty.counts["redis_memory"]
    text = (full.counts["xadd"] - empty.counts["xadd"]) / len(begun)
    sheet.add(
        "redis_stream_bytes",
        grown / len(begun),
        "bytes",
        "memory of Redis for a stream",
        f"{how}; {text:.0f} deltas in each",
    )
    async with watching(house, WATCH_STREAM, [run.stream_id for run in begun]) as watchers:
        await asyncio.sleep(extent.settling)
        watched, delivered = await _watched(house, watchers, extent)
        after = await house.meter.read()
    how = f"{len(begun)} runs, {delivered / watched.seconds:,.0f} deltas a second, each with one watcher"
    _per_hundred(sheet, "watched", "runs of 20 deltas a second, watched", watched, len(begun), how)
    _memory_per_hundred(sheet, "watched", "runs of 20 deltas a second, watched", empty, after, len(begun), how)
    events = watched.counts["xadd"]
    looks = watched.counts["xread"] * len(begun)
    sheet.add("reader_rounds", watched.counts["xread"] / watched.seconds, "/s", "rounds of a reader", how)
    seen = watched.cpu[FAR] - looks * sheet["node_look"]
    sheet.add("server_delta", seen / delivered, "µs", "CPU of a server for a delta to one watcher", how)
    read = watched.cpu["redis"] - events * sheet["redis_write"] - looks * sheet["redis_look"]
    sheet.add("redis_read", read / events, "µs", "CPU of Redis for a delta that one node reads", how)
    sent = watched.counts["redis_out"] - alone.counts["redis_out"] * watched.seconds / alone.seconds
    sheet.add("redis_out", sent / events, "bytes", "out of Redis for a delta that one node reads", how)
    await clients.cancel(house, begun)


async def measure_brisk(house: House, sheet: Sheet, extent: Extent) -> None:
    """Runs whose text comes at 50 deltas a second, each with one watcher."""
    empty = await house.meter.read()
    begun = await clients.start(house, Plot(deltas=ENDLESS, size=20, pace=20), extent.brisk)
    await _flowing(house, empty, len(begun))
    async with watching(house, WATCH_STREAM, [run.stream_id for run in begun]) as watchers:
        await asyncio.sleep(extent.settling)
        found, delivered = await _watched(house, watchers, extent)
    how = f"{len(begun)} runs, {delivered / found.seconds:,.0f} deltas a second, each with one watcher"
    _per_hundred(sheet, "brisk", "runs of 50 deltas a second, watched", found, len(begun), how)
    await clients.cancel(house, begun)


async def measure_connections(house: House, sheet: Sheet, extent: Extent) -> None:
    """Connections to PostgreSQL while text comes on many streams, each with one watcher."""
    count = 2 * extent.paced
    empty = await house.meter.read()
    begun = await clients.start(house, Plot(deltas=ENDLESS, size=20, pace=200), count)
    await _flowing(house, empty, count)
    held: Counter[str] = Counter()
    busy: Counter[str] = Counter()
    samples = 0
    async with watching(house, WATCH_STREAM, [run.stream_id for run in begun]):
        await asyncio.sleep(extent.settling)
        end = asyncio.get_running_loop().time() + extent.window
        while asyncio.get_running_loop().time() < end:
            rows = await house.meter.rows.fetch(HELD)
            held |= Counter(row["usename"] for row in rows)
            busy += Counter(row["usename"] for row in rows if row["state"] != "idle")
            samples += 1
            await asyncio.sleep(0.05)
    how = f"{count} streams with a watcher each, a pool of 5; {samples} looks"
    for name, what in ((WORKER, "the worker"), (FAR, "the watched server"), (NEAR, "the other server")):
        sheet.add(f"connections_{name}", held[name], "", f"connections to PostgreSQL that {what} holds, at most", how)
        sheet.add(f"busy_{name}", busy[name] / samples, "", f"of these at work, on average: {what}", how)
    await clients.cancel(house, begun)


async def _watched(house: House, watchers: Watchers, extent: Extent) -> tuple[Spent, int]:
    """What is used in a window, and how many events came to watchers in it."""
    before = await watchers.events()

    async def some() -> bool:
        return await watchers.events() > before

    found = await house.used(extent.window, some)
    return found, await watchers.events() - before


async def _flowing(house: House, empty: Usage, count: int) -> None:
    """Wait until text comes on so many streams: on average, three deltas of each."""

    async def three() -> bool:
        return (await house.meter.read()).counts["xadd"] - empty.counts["xadd"] >= 3 * count

    await come_about(three)


def _per_hundred(sheet: Sheet, name: str, runs: str, found: Spent, count: int, how: str) -> None:
    for process, called in NAMES.items():
        share = found.cpu[process] / found.seconds / 1e4 * HUNDRED / count
        sheet.add(f"{name}_{process}_cpu", share, "% of a core", f"CPU of {called} for 100 {runs}", how)


def _memory_per_hundred(sheet: Sheet, name: str, runs: str, before: Usage, after: Usage, count: int, how: str) -> None:
    for process, called in NAMES.items():
        grown = (after.memory[process] - before.memory[process]) / 1e6 * HUNDRED / count
        sheet.add(f"{name}_{process}_memory", grown, "MB", f"memory of {called} for 100 {runs}", how)
