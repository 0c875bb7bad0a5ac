"""`steersman serve` and `steersman worker`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from models.database import open_database
from models.run import get_run
from steersman.auth import mint
from steersman.settings import Settings
from tests.support.clients import JsonClient
from tests.support.commands import SECRET, Started, environment, started, steersman
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer

TOKEN = mint(Settings(jwt_secret=SECRET), "alice")
START = 'mutation { startRun(input: {agent: "calculator", input: "Talk"}) { run { id } errors { message } } }'


@pytest.fixture
async def provider() -> AsyncIterator[MessagesServer]:
    """A provider."""
    async with MessagesServer() as server:
        yield server


@pytest.fixture
async def env(tmp_path: Path, provider: MessagesServer) -> dict[str, str]:
    """All that a server needs, on a migrated file."""
    env = environment(tmp_path, STEERSMAN_JWT_SECRET=SECRET, ANTHROPIC_BASE_URL=provider.url)
    assert (await steersman("migrate", env=env)).code == 0
    return env


async def start_run(server: Started) -> str:
    """Start a run; its id."""
    async with JsonClient(f"{await server.address()}/graphql", TOKEN) as client:
        payload = (await client.execute(START))["startRun"]
    run_id: str = payload["run"]["id"]
    return run_id


async def status_of(folder: Path, run_id: str) -> tuple[str, int]:
    """A run's status in the database, and its lease."""
    async with open_database(f"sqlite:///{folder / 'test.db'}") as database:
        run = await database.read(get_run, run_id)
    assert run is not None
    return run.status, run.lease_until


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("STEERSMAN_JWT_SECRET", "Set STEERSMAN_JWT_SECRET"),
        ("ANTHROPIC_BASE_URL", "set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL"),
    ],
)
async def test_it_does_not_start_without_what_it_needs(env: dict[str, str], missing: str, told: str) -> None:
    """A way to sign in, and a model to ask: one sentence, exit code 2."""
    del env[missing]
    ended = await steersman("serve", env=env)
    assert (ended.code, told in ended.err, "Traceback" in ended.err) == (2, True, False)


async def test_it_does_not_start_on_a_schema_that_is_not_current(tmp_path: Path, env: dict[str, str]) -> None:
    """It says `steersman migrate`, and so does a worker."""
    assert (await steersman("migrate", "--down", "base", env=env)).code == 0
    for command in ("serve", "worker"):
        ended = await steersman(command, env=env)
        assert (ended.code, "run `steersman migrate`" in ended.err) == (2, True)


async def test_it_serves_who_has_a_token(env: dict[str, str], provider: MessagesServer, tmp_path: Path) -> None:
    """And nobody else; the log says where it listens, and no secret."""
    provider.answer(lambda request: Script().text("Done."))
    async with started("serve", env=env) as server:
        address = await server.address()
        async with JsonClient(f"{address}/graphql") as nobody:
            assert await nobody.execute("{ viewer { id } }") == {"viewer": None}
        run_id = await start_run(server)
        async with asyncio.timeout(60):
            while (await status_of(tmp_path, run_id))[0] != "COMPLETED":
                await asyncio.sleep(0.1)
        server.send(signal.SIGTERM)
        assert await server.ended() == 0
    assert SECRET not in server.output
    assert TOKEN not in server.output


async def test_sigterm_lets_runs_end(env: dict[str, str], provider: MessagesServer, tmp_path: Path) -> None:
    """The step under way is finished and the run completes before the process ends; readiness fails meanwhile."""
    released = asyncio.Event()
    provider.play(Script().text("Shown. ").hold(released).text("Done."))
    async with started("serve", env=env) as server:
        run_id = await start_run(server)
        async with asyncio.timeout(60):
            while not provider.requests:
                await asyncio.sleep(0.05)
        server.send(signal.SIGTERM)
        async with httpx2.AsyncClient() as client, asyncio.timeout(60):
            while (await client.get(f"{await server.address()}/readyz")).status_code != 503:
                await asyncio.sleep(0.05)
        released.set()
        assert await server.ended() == 0
    assert (await status_of(tmp_path, run_id))[0] == "COMPLETED"


async def test_what_does_not_end_in_time_is_handed_back(
    env: dict[str, str], provider: MessagesServer, tmp_path: Path
) -> None:
    """It stays RUNNING without a lease, and is no run that someone cancelled."""
    provider.play(Script().text("Shown. ").hold(asyncio.Event()))
    async with started("serve", env={**env, "STEERSMAN_DRAIN_SECONDS": "0.2"}) as server:
        run_id = await start_run(server)
        async with asyncio.timeout(60):
            while not provider.requests:
                await asyncio.sleep(0.05)
        server.send(signal.SIGTERM)
        assert await server.ended() == 0
    assert await status_of(tmp_path, run_id) == ("RUNNING", 0)


async def test_a_second_ctrl_c_leaves_at_once(env: dict[str, str], provider: MessagesServer) -> None:
    """However long the draining may take."""
    provider.play(Script().text("Shown. ").hold(asyncio.Event()))
    async with started("serve", env={**env, "STEERSMAN_DRAIN_SECONDS": "3600"}) as server:
        await start_run(server)
        async with asyncio.timeout(60):
            while not provider.requests:
                await asyncio.sleep(0.05)
        server.send(signal.SIGINT)
        async with httpx2.AsyncClient() as client, asyncio.timeout(60):
            while (await client.get(f"{await server.address()}/readyz")).status_code != 503:
                await asyncio.sleep(0.05)
        server.send(signal.SIGINT)
        await server.until("left at once")
        assert await server.ended() == 130


async def test_an_agent_that_does_not_load_is_in_the_log_and_the_others_are_served(
    env: dict[str, str], tmp_path: Path
) -> None:
    """No folder at all is a reason not to start."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "broken.py").write_text("agent = \n")
    async with started("serve", env={**env, "STEERSMAN_AGENTS": str(agents)}) as server:
        await server.until("an agent did not load", "broken.py, line 1", "serving at")
    ended = await steersman("serve", env={**env, "STEERSMAN_AGENTS": str(tmp_path / "nowhere")})
    assert (ended.code, "there is no such folder" in ended.err) == (2, True)


async def test_a_worker_works_alone_on_a_file(env: dict[str, str], tmp_path: Path) -> None:
    """While it does, a second process is refused in words; SIGTERM ends it."""
    async with started("worker", env=env) as worker:
        await worker.until("working")
        for command in ("worker", "serve"):
            ended = await steersman(command, env=env)
            assert ended.code == 2
            assert f"in use by another Steersman process (pid {worker.process.pid})" in ended.err
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0


async def test_a_worker_takes_what_was_left_behind(
    env: dict[str, str], provider: MessagesServer, tmp_path: Path
) -> None:
    """A run of a server that was killed is gone on with."""
    provider.play(Script().text("Shown. ").hold(asyncio.Event()))
    async with started("serve", env=env) as server:
        run_id = await start_run(server)
        async with asyncio.timeout(60):
            while not provider.requests:
                await asyncio.sleep(0.05)
        server.send(signal.SIGKILL)
        await server.ended()
    provider.play(Script().text("Done."))
    async with started("worker", env=env), asyncio.timeout(60):
        while (await status_of(tmp_path, run_id))[0] != "COMPLETED":
            await asyncio.sleep(0.1)
