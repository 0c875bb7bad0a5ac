"""The sweep: a cancel that reached no worker in time is settled by a server that has none."""

from __future__ import annotations

import asyncio

from engine.sweeping import keep_sweeping, sweep
from models.enums import RunStatus
from models.events import RunResult
from tests.support.messages_script import Script
from tests.support.stage import LEASE_SECONDS, Stage
from tests.support.weather import Weather


async def flagged(stage: Stage, count: int = 1) -> list[str]:
    """Runs with a cancel that their worker did not hear of; it is gone, and their leases have run out."""
    node, other = await stage.open(watch_seconds=0.02), await stage.open(works=False)
    stage.server.answer(lambda request: Script().half_text("Half").hold(asyncio.Event()))
    runs = [await node.start() for _ in range(count)]
    for run_id in runs:
        await stage.screen(run_id).shows("Half")
        await other.cancel(run_id)
    await stage.leases.advance(LEASE_SECONDS + 1)
    return runs


async def test_flagged_runs_of_a_dead_worker_are_settled_and_watchers_told(stage: Stage) -> None:
    """In batches, as many as there are; who watches sees the text withdrawn, and the end."""
    runs = await flagged(stage, 3)
    front = await stage.open(works=False, watch_seconds=0.02)
    await sweep(front.shop)
    for run_id in runs:
        assert (await stage.run(run_id)).status is RunStatus.CANCELLED
        screen = stage.screen(run_id)
        await screen.sees(RunResult)
        assert (screen.text, screen.names) == ("", ["StepRestarted", "RunResult"])
    (dead, *_) = stage.nodes
    await dead.beat()
    for run_id in runs:
        await dead.idle(run_id)


async def test_sweeping_goes_on_after_an_outage(stage: Stage) -> None:
    """A sweep that the database did not answer is made up for by the next one."""
    (run_id,) = await flagged(stage)
    weather = Weather(stage.database)
    front = await stage.open(works=False, watch_seconds=0.02, database=weather)
    weather.away = True
    sweeping = asyncio.create_task(keep_sweeping(front.shop, 0.01))
    await weather.until_tried()
    weather.away = False
    while (await stage.run(run_id)).status is RunStatus.RUNNING:
        await asyncio.sleep(0.01)
    sweeping.cancel()
    await asyncio.wait((sweeping,))
    (dead, *_) = stage.nodes
    await dead.beat()
    await dead.idle(run_id)
