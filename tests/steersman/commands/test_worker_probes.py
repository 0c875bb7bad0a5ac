"""The probes of `steersman worker`, asked of real processes."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from models.database import open_database
from models.migrate import migrate
from tests.support.clients import TLS
from tests.support.commands import GUARD, environment, started
from tests.support.databases import new_postgres
from tests.support.left_behind import leave_a_run
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer
from tests.support.services import OwnRedis

DEPS = """
import asyncio
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def deps():
    while not (Path(__file__).parent / "go").exists():
        await asyncio.sleep(0.01)
    yield None
"""
AGENT = "from steersman import Agent\nagent = Agent(system='You help.', model='claude-sonnet-5-5')\n"
STOPPING = (503, {"status": "unavailable", "problem": "This worker is stopping."})


@pytest.fixture
def released() -> asyncio.Event:
    """What the provider waits for in the middle of its answers."""
    return asyncio.Event()


@pytest.fixture
async def provider(released: asyncio.Event) -> AsyncIterator[MessagesServer]:
    """A provider that says half of something, and the rest when it is released."""
    async with MessagesServer() as server:
        server.answer(lambda request: Script().text("Half. ").hold(released).text("Whole."))
        yield server


@pytest.fixture
async def env(tmp_path: Path, provider: MessagesServer) -> dict[str, str]:
    """All that a worker needs, on a migrated file, and an agent."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "helper.py").write_text(AGENT)
    async with open_database(f"sqlite:///{tmp_path / 'test.db'}") as database:
        await database.write(migrate)
    return environment(tmp_path, STEERSMAN_AGENTS=str(agents), ANTHROPIC_BASE_URL=provider.url)


async def leave(env: dict[str, str]) -> None:
    """Leave a run for the worker."""
    async with open_database(env["STEERSMAN_DATABASE_URL"]) as database:
        await leave_a_run(database, "helper")


async def asked(provider: MessagesServer) -> None:
    """Wait until the provider is asked."""
    async with asyncio.timeout(GUARD):
        while not provider.requests:
            await asyncio.sleep(0.05)


async def ask(address: str, path: str = "/readyz") -> tuple[int, dict[str, str]]:
    """A probe's answer."""
    async with httpx2.AsyncClient(timeout=60, verify=TLS) as http:
        answer = await http.get(address + path)
    return answer.status_code, answer.json()


async def several(address: str) -> list[tuple[int, dict[str, str]]]:
    """The different answers of readiness over two seconds: longer than a server needs that is told to end."""
    answers: list[tuple[int, dict[str, str]]] = []
    for _ in range(20):
        if (answer := await ask(address)) not in answers:
            answers.append(answer)
        await asyncio.sleep(0.1)
    return answers


async def until(address: str, status: str) -> tuple[int, dict[str, str]]:
    """The answer of readiness, once it has this status."""
    async with asyncio.timeout(GUARD):
        while (answer := await ask(address))[1]["status"] != status:
            await asyncio.sleep(0.05)
    return answer


async def test_a_worker_tells_that_it_starts_works_and_stops(env: dict[str, str], provider: MessagesServer) -> None:
    """It lives all the while; it is ready once it works, and no more from SIGTERM on. The free port is in the log."""
    go = Path(env["STEERSMAN_AGENTS"]) / "go"
    (go.parent / "deps.py").write_text(DEPS)
    await leave(env)
    async with started("worker", env={**env, "STEERSMAN_DRAIN_SECONDS": "3600"}) as worker:
        address = await worker.address()
        assert await ask(address) == (503, {"status": "unavailable", "problem": "This worker is starting."})
        assert await ask(address, "/healthz") == (200, {"status": "ok"})
        go.touch()
        assert await until(address, "ready") == (200, {"status": "ready"})
        await asked(provider)
        worker.send(signal.SIGTERM)
        assert await until(address, "unavailable") == STOPPING
        await worker.until("draining")
        assert await several(address) == [STOPPING], "while it drains"
        assert await ask(address, "/healthz") == (200, {"status": "ok"})
        worker.send(signal.SIGTERM)
        await worker.until("left at once")
        assert await worker.ended() == 130
    assert f"probes are answered at {address}/readyz" in worker.output


async def test_the_probes_end_after_the_work(
    env: dict[str, str], provider: MessagesServer, released: asyncio.Event
) -> None:
    """They answer for as long as a run has time to end; then the process ends well, and nobody listens there."""
    await leave(env)
    async with started("worker", env={**env, "STEERSMAN_DRAIN_SECONDS": "3600"}) as worker:
        address = await worker.address()
        await asked(provider)
        worker.send(signal.SIGTERM)
        await worker.until("draining")
        assert await several(address) == [STOPPING]
        released.set()
        assert await worker.ended() == 0
        with pytest.raises(httpx2.ConnectError):
            await ask(address)
    assert "Traceback" not in worker.output


async def test_a_worker_whose_port_is_taken_works_all_the_same(env: dict[str, str], provider: MessagesServer) -> None:
    """It says so, and which setting names the port; a run is worked on."""
    await leave(env)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        async with started("worker", env={**env, "STEERSMAN_WORKER_PORT": str(port)}) as worker:
            output = await worker.until("working")
            await asked(provider)
    assert f"WARNING steersman.worker: Port {port} of 127.0.0.1 is taken" in output
    assert "(STEERSMAN_WORKER_PORT). This worker works all the same, but answers no probes." in output


async def test_a_schema_that_is_not_the_workers_makes_it_unready(env: dict[str, str]) -> None:
    """A newer version has migrated: it says so, and lives."""
    async with started("worker", env=env) as worker:
        address = await worker.address()
        await until(address, "ready")
        async with open_database(env["STEERSMAN_DATABASE_URL"]) as database:
            await database.write(lambda c: c.exec_driver_sql("update alembic_version set version_num = '9999'"))
        code, told = await until(address, "unavailable")
        assert (code, "run `steersman migrate`, or start the version that" in told["problem"]) == (503, True)
        assert await ask(address, "/healthz") == (200, {"status": "ok"})


@pytest.mark.service
async def test_while_redis_is_away_a_worker_is_ready_and_says_that_it_is_degraded(
    env: dict[str, str], tmp_path: Path
) -> None:
    """200 all along; it is ready again by itself when Redis is back. Without Redis it stops in good order too."""
    with new_postgres() as url:
        async with OwnRedis(tmp_path) as redis:
            env = {**env, "STEERSMAN_DATABASE_URL": url, "STEERSMAN_REDIS_URL": redis.url}
            async with started("worker", env=env) as worker:
                address = await worker.address()
                assert await until(address, "ready") == (200, {"status": "ready"})
                await redis.kill()
                code, told = await until(address, "degraded")
                assert (code, sorted(told)) == (200, ["problem", "status"])
                assert told["problem"].startswith("Redis can't be reached: runs and messages go on, but tokens")
                assert str(redis.port) not in told["problem"], "no address is told"
                await redis.start()
                assert await until(address, "ready") == (200, {"status": "ready"})
                await redis.kill()
                await until(address, "degraded")
                worker.send(signal.SIGTERM)
                assert await worker.ended() == 0
