"""PostgreSQL is killed, stopped and cut off while runs go on: no run fails, and nothing is asked or done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from engine.context import Context
from engine.tool import tool
from models.database import open_database
from models.enums import RunStatus
from models.migrate import migrate
from tests.support.ground import Ground
from tests.support.messages_script import Script
from tests.support.messages_server import Request
from tests.support.services import OwnPostgres
from tests.support.stage import ALICE, HANG, LEASE_SECONDS, Stage, open_stage
from tests.support.wire import Wire

pytestmark = pytest.mark.service
RUNS, STEPS, CALLS = 12, 4, 2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnPostgres]:
    """A PostgreSQL server of one's own."""
    own = OwnPostgres(tmp_path_factory.mktemp("postgres"))
    asyncio.run(own.__aenter__())
    try:
        yield own
    finally:
        asyncio.run(own.__aexit__())


@pytest.fixture
async def stage(tmp_path: Path, server: OwnPostgres) -> AsyncIterator[Stage]:
    """A stage on it, with nothing in it."""
    await server.kill()  # whatever state the test before has left it in
    await server.start()
    connection = await asyncpg.connect(server.url)
    await connection.execute(
        "DROP SCHEMA IF EXISTS test_clock CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public"
    )
    await connection.close()
    async with open_database(server.url) as database:
        await database.write(migrate)
    async with open_stage(tmp_path, Ground(server.url)) as stage:
        yield stage


def answer(request: Request) -> Script:
    """What the model says: calls of a tool in each step but the last."""
    answers = sum(message["role"] == "assistant" for message in request.messages)
    if answers == STEPS:
        return Script().text("Done.")
    script = Script().text("Step", f" {answers + 1}.")
    for _ in range(CALLS):
        script.tool("note")
    return script


async def test_no_run_fails_because_postgresql_was_restarted(stage: Stage, server: OwnPostgres) -> None:
    """Every run is completed by the loop that began it, each step asked for once, each call run once."""
    ran: Counter[str] = Counter()

    @tool
    async def note(ctx: Context) -> str:
        """Note it."""
        ran[ctx.idempotency_key] += 1
        await asyncio.sleep(0.01)
        return "noted"

    stage.server.answer(answer)
    node = await stage.open(tools=[note], sleep=asyncio.sleep, poll_seconds=0.05)
    runs = [(await node.runs.start(ALICE, agent="helper", input=f"run {number}")).run.id for number in range(RUNS)]
    async with asyncio.timeout(5 * HANG):
        for end, requests in ((server.kill, RUNS), (server.stop, 2 * RUNS), (server.kill, 3 * RUNS)):
            await stage.server.arrived(requests)
            await end()
            await asyncio.sleep(0.1)
            await server.start()
        for run_id in runs:
            await node.idle(run_id)
    for run_id in runs:
        run = await stage.run(run_id)
        assert (run.status, run.takeovers, run.fence, run.steps) == (RunStatus.COMPLETED, 0, 1, STEPS + 1)
        assert run.seq == 2 * STEPS + 2
        assert len(await stage.model_calls(run_id)) == STEPS + 1
    assert len(stage.server.requests) == RUNS * (STEPS + 1)
    assert len(ran) == RUNS * STEPS * CALLS
    assert set(ran.values()) == {1}


async def test_a_worker_that_closes_while_nothing_answers_does_not_hang(stage: Stage) -> None:
    """A network that swallows everything tells nobody: the worker leaves, and another goes on when its leases end."""
    release = asyncio.Event()
    stage.play(Script().text("Whole.").hold(release), Script().text("Later."))
    async with Wire(stage.ground.database_url) as wire, open_database(wire.url) as database:
        node = await stage.open(
            database=database, sleep=asyncio.sleep, drain_seconds=0, leave_seconds=0.5, poll_seconds=0.05
        )
        run_id = await node.start()
        await stage.screen(run_id).shows("Whole.")
        wire.flowing.clear()
        release.set()
        runner = node.runner(run_id)
        while not runner.storing:
            await asyncio.sleep(0.01)
        async with asyncio.timeout(HANG):
            await node.worker.close()
        left = [task for task in node.worker._tasks if not task.done()]
        assert left
        await stage.leases.advance(LEASE_SECONDS + 1)
        other = await stage.open(watch_seconds=0.02)
        assert (await other.settled(run_id)).status is RunStatus.COMPLETED
        wire.flowing.set()
        await asyncio.wait(left)
        node.drop()
        await node.dropped()
    assert len(stage.server.requests) == 2
