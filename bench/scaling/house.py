"""Everything that is measured, up and ready: PostgreSQL, Redis, the model's stand-in, two servers and a worker."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
from redis.asyncio import Redis

from bench.processes import ROOT
from bench.scaling.usage import Meter, Spent, spent
from models.database import open_database
from models.migrate import migrate
from steersman.auth import mint
from steersman.settings import Settings
from tests.support.commands import SECRET, environment, started
from tests.support.services import OwnPostgres, OwnRedis

AGENTS = Path(__file__).parent / "agents"
NEAR, FAR, WORKER = "near", "far", "worker"
"""The server that mutations are sent to, the one that is watched, and the one process that runs agents."""
PATIENCE = 120.0
"""Seconds after which what does not come about is given up."""
NODES = {NEAR: "serve", FAR: "serve", WORKER: "worker"}


class DurablePostgres(OwnPostgres):
    """As deployments have it: each commit is on the disk before it is acknowledged."""

    def _command(self) -> list[str]:
        return [word.replace("fsync=off", "fsync=on") for word in super()._command()]


async def come_about(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so in other processes. Raises TimeoutError."""
    async with asyncio.timeout(PATIENCE):
        while not await is_so():  # noqa: ASYNC110 - they can set no event of ours
            await asyncio.sleep(0.1)


@dataclass(frozen=True, slots=True)
class House:
    """What is up. `meter` reads what all of it has used."""

    postgres: OwnPostgres
    redis: OwnRedis | None
    urls: dict[str, str]
    token: str
    meter: Meter
    rest: Spent | None = None
    """What it uses while it has nothing to do."""

    async def used(self, seconds: float, enough: Callable[[], Awaitable[bool]] | None = None) -> Spent:
        """What is used in so many seconds from now on, and until there was enough, beyond what all of it uses at rest.

        Raises TimeoutError where there is never enough.
        """
        before = await self.meter.read()
        await asyncio.sleep(seconds)
        if enough is not None:
            await come_about(enough)
        whole = spent(before, await self.meter.read())
        return whole.less(self.rest) if self.rest is not None else whole

    async def until(self, query: str, count: int) -> None:
        """Wait until this question is answered by `count`. Raises TimeoutError."""

        async def answered() -> bool:
            return bool(await self.meter.rows.fetchval(query) == count)

        await come_about(answered)


@asynccontextmanager
async def opened(folder: Path, *, with_redis: bool) -> AsyncIterator[House]:
    """All of it, on free ports, with data of its own that are thrown away at the end."""
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(DurablePostgres(folder))
        redis = await stack.enter_async_context(OwnRedis(folder)) if with_redis else None
        async with open_database(postgres.url) as database:
            await database.write(migrate)
        rows = await asyncpg.connect(postgres.url, ssl=False)
        stack.push_async_callback(rows.close)
        for role in NODES:
            await rows.execute(f'CREATE ROLE "{role}" LOGIN SUPERUSER')
        settings = {
            "STEERSMAN_AGENTS": str(AGENTS),
            "STEERSMAN_WORKER": "off",
            "STEERSMAN_JWT_SECRET": SECRET,
            "STEERSMAN_CONSOLE": "off",
            "STEERSMAN_DRAIN_SECONDS": "0",
            "ANTHROPIC_BASE_URL": await stack.enter_async_context(_spoken("bench.scaling.model")),
        }
        if redis is not None:
            settings["STEERSMAN_REDIS_URL"] = redis.url
        nodes = await asyncio.gather(*(_node(stack, folder, postgres, name, settings) for name in NODES))
        processes = {name: pid for name, pid, _ in nodes}
        client = Redis.from_url(redis.url) if redis is not None else None
        if client is not None and redis is not None:
            stack.push_async_callback(client.aclose)
            processes["redis"] = redis.pid
        token = mint(Settings(jwt_secret=SECRET), "bench", seconds=86_400)
        meter = Meter(processes, postgres.pid, rows, client)
        yield House(postgres, redis, {name: url for name, _, url in nodes}, token, meter)


async def _node(
    stack: AsyncExitStack, folder: Path, postgres: OwnPostgres, name: str, settings: dict[str, str]
) -> tuple[str, int, str]:
    """A node that is ready, in a role of its own: its name, its process and where it listens."""
    address = postgres.url.replace("//postgres@", f"//{name}@")
    env = environment(folder, **settings, STEERSMAN_DATABASE_URL=address)
    node = await stack.enter_async_context(started(NODES[name], env=env))
    if NODES[name] == "serve":
        return name, node.process.pid, await node.address()
    await node.until("working; answers come from")
    return name, node.process.pid, ""


@asynccontextmanager
async def _spoken(module: str) -> AsyncIterator[str]:
    """The first line that a module says, which runs until the context ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
