"""The engine of one process: everything that runs agents, opened and closed as one."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from engine.housekeeping import keep_house
from engine.loading import Agents
from engine.providers.prices import Prices
from engine.providers.provider import Provider
from engine.runner import Workshop
from engine.runs import Runs
from engine.streams.bell import Bell
from engine.streams.memory import MemoryStreams
from engine.watching import DatabaseRows, Watching
from engine.worker import Worker
from models.clock import Clock, system_clock
from models.database import Database
from models.ids import Ids
from models.migrate import newest_revision, revision_of
from models.single_process import hold_file
from models.verbs.claiming import release_all

log = logging.getLogger("steersman.engine")


class SchemaNotCurrent(Exception):
    """The database's schema is not the one this code needs: run `steersman migrate`."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How an engine works. Times are in seconds; `max_runs` bounds the loops of this process."""

    database_url: str
    lease_seconds: float = 10.0
    cancel_poll_seconds: float = 2.0
    drain_seconds: float = 60.0
    max_runs: int = 1_000
    allowed_models: frozenset[str] | None = None
    worker: bool = True
    pool_size: int = 5
    synchronous: str = "FULL"


@dataclass(frozen=True, slots=True)
class Fakes:
    """What tests put in the place of time, ids and chance."""

    clock: Clock = system_clock
    lease_clock: Callable[[], int] | None = None
    ids: Ids = field(default_factory=Ids)
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep


@dataclass(frozen=True, slots=True)
class Engine:
    """What the rest of the application works with."""

    config: EngineConfig
    database: Database
    agents: Agents
    prices: Prices
    runs: Runs
    watching: Watching
    worker: Worker | None

    @property
    def draining(self) -> bool:
        """Whether this process is stopping."""
        return self.worker is not None and self.worker.draining

    async def is_current(self) -> bool:
        """Whether the database answers, with the schema that this code needs. Raises what reaching it raises."""
        return await self.database.read(revision_of) == newest_revision()


@asynccontextmanager
async def open_engine(
    config: EngineConfig, *, agents: Agents, provider: Provider, prices: Prices, fakes: Fakes | None = None
) -> AsyncIterator[Engine]:
    """An engine on a migrated database; closed, it hands its runs back.

    Raises SchemaNotCurrent, and FileInUse where another process works on the same SQLite file.
    """
    fakes = fakes or Fakes()
    database = Database(
        config.database_url,
        pool_size=config.pool_size,
        synchronous=config.synchronous,
        lease_clock=fakes.lease_clock,
    )
    try:
        with hold_file(database.url):
            if await database.read(revision_of) != newest_revision():
                raise SchemaNotCurrent((SchemaNotCurrent.__doc__ or "").strip())
            if database.is_sqlite:
                await database.write(release_all)
            async with agents.open_deps() as deps:
                shop = _shop(config, database, provider, deps, fakes)
                async with _open_on(shop, config, agents, prices) as engine:
                    yield engine
    finally:
        await database.close()


def _shop(config: EngineConfig, database: Database, provider: Provider, deps: Any, fakes: Fakes) -> Workshop:
    return Workshop(
        database=database,
        streams=MemoryStreams(),
        bell=Bell(),
        provider=provider,
        clock=fakes.clock,
        ids=fakes.ids,
        worker=f"{socket.gethostname()[:64]}:{os.getpid()}:{fakes.ids('wrk')}",
        lease_ms=round(config.lease_seconds * 1000),
        deps=deps,
        allowed_models=config.allowed_models,
        random=fakes.random,
        sleep=fakes.sleep,
    )


@asynccontextmanager
async def _open_on(shop: Workshop, config: EngineConfig, agents: Agents, prices: Prices) -> AsyncIterator[Engine]:
    worker = None
    if config.worker:
        worker = Worker(
            shop,
            agents,
            poll_seconds=config.cancel_poll_seconds,
            max_runs=config.max_runs,
            drain_seconds=config.drain_seconds,
        )
    runs = Runs(shop, agents, worker)
    watching = Watching(
        DatabaseRows(shop.database), shop.streams, shop.bell, ids=shop.ids, poll_seconds=config.cancel_poll_seconds
    )
    engine = Engine(config, shop.database, agents, prices, runs, watching, worker)
    house = asyncio.create_task(keep_house(shop.database, shop.clock), name="housekeeping")
    try:
        if worker is not None:
            await worker.start()
        yield engine
    finally:
        house.cancel()
        if worker is not None:
            await worker.close()
        await asyncio.gather(house, return_exceptions=True)
