"""The engine of one process: everything that runs agents, opened and closed as one."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.attachments.attachments import Attachments
from engine.budgets import unpriced
from engine.builtin.fetch_policy import FetchPolicy
from engine.builtin.registry import BUILTIN
from engine.builtin.tool_type import ToolSetting, ToolType
from engine.chats import Chats
from engine.conversations import Conversations
from engine.courier import Courier
from engine.files.opening import open_files
from engine.housekeeping import keep_house
from engine.limits import Limits
from engine.loading import Agents
from engine.patrol import DatabaseSigns, Patrol
from engine.providers.prices import Prices
from engine.providers.provider import Provider
from engine.remotes.mcp_pool import McpPool
from engine.remotes.presence import Presence
from engine.remotes.remote_policy import RemotePolicy
from engine.remotes.remote_tools import RemoteTools
from engine.remotes.remotes import Contacts, Remotes
from engine.roster import Roster
from engine.runs import Runs
from engine.schedules import Schedules
from engine.stored_agents import StoredAgents
from engine.streams.bell import Bell
from engine.streams.memory import MemoryStreams
from engine.streams.redis_health import RedisHealth
from engine.streams.shared import Shared, open_shared
from engine.sweeping import keep_sweeping
from engine.user import User
from engine.watching import DatabaseRows, Watching
from engine.webhooks import Webhooks
from engine.worker import Worker
from engine.workshop import Workshop
from models.clock import Clock, system_clock
from models.database import IDLE_TRANSACTION_MS, Database
from models.ids import Ids
from models.migrate import newest_revision, revision_of
from models.single_process import hold_file
from models.verbs.chatting import drop_temporary_chats
from models.verbs.claiming import release_all
from models.verbs.expiring import drop_temporary

log = logging.getLogger("steersman.engine")


class SchemaNotCurrent(Exception):
    """The database's schema is not the one this code needs: run `steersman migrate`."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How an engine works. Times are in seconds; `max_runs` bounds the loops of this process.

    `redis_url` is where several processes share their streams and the bell; None keeps both within this one.
    `files_url` is the bucket of attachments, `s3://bucket/folder`, at `files_endpoint` where that is not Amazon's own;
    without one they are in the folder `files`, by default one beside the database.
    `context_tokens` is how much a model reads of which nothing else tells; `summary_model` sums long transcripts up.
    `fetch_private` lets tools of the type `fetch` reach private networks and this machine itself.
    Holders of one of the `override_roles` may give runs what stands in their agents' place.
    `takes=False` has the worker run only what was opened here, and take over nothing that others left; nor does such an
    engine fire schedules, or post to webhooks. Those with the role `admin_role` are administrators: they may read and
    cancel everybody's runs, and create schedules for other users.
    `webhook_private` lets webhooks be at private networks and this machine itself, and be asked by plain HTTP.
    `remotes` says what remotes may do.
    `agent_turns` is how many messages of agents may follow one of a person before agents ask no agent any more.
    """

    database_url: str
    lease_seconds: float = 10.0
    cancel_poll_seconds: float = 2.0
    drain_seconds: float = 60.0
    max_runs: int = 1_000
    allowed_models: frozenset[str] | None = None
    override_roles: frozenset[str] = frozenset()
    limits: Limits = field(default_factory=Limits)
    worker: bool = True
    pool_size: int = 5
    synchronous: str = "FULL"
    redis_url: str | None = None
    stream_retention_seconds: float = 60.0
    takes: bool = True
    files: Path | None = None
    files_url: str | None = None
    files_endpoint: str | None = None
    context_tokens: int = 200_000
    summary_model: str | None = None
    fetch_private: bool = False
    admin_role: str = "admin"
    webhook_private: bool = False
    remotes: RemotePolicy = field(default_factory=RemotePolicy)
    agent_turns: int = 3


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
    stored: StoredAgents
    schedules: Schedules
    webhooks: Webhooks
    remotes: Remotes
    chats: Chats
    watching: Watching
    conversations: Conversations
    attachments: Attachments
    worker: Worker | None
    shop: Workshop
    redis: RedisHealth | None = None

    @property
    def roster(self) -> Roster:
        """All that may be run here."""
        return self.shop.roster

    def is_admin(self, user: User) -> bool:
        """Whether the user is an administrator."""
        return self.shop.is_admin(user)

    def degraded(self) -> str | None:
        """What this process does without for now, in words for people; None where all works."""
        return self.redis.problem if self.redis is not None else None

    @property
    def draining(self) -> bool:
        """Whether this process is stopping."""
        return self.worker is not None and self.worker.draining

    async def is_current(self) -> bool:
        """Whether the database answers, with the schema that this code needs. Raises what reaching it raises."""
        return await self.database.read(revision_of) == newest_revision()


@asynccontextmanager
async def open_engine(
    config: EngineConfig,
    *,
    agents: Agents,
    provider: Provider,
    prices: Prices,
    types: Mapping[str, ToolType] = BUILTIN,
    fakes: Fakes | None = None,
) -> AsyncIterator[Engine]:
    """An engine on a migrated database; closed, it hands its runs back. `types` are what stored tools are made of.

    Raises SchemaNotCurrent, and FileInUse where another process works on the same SQLite file.
    """
    fakes = fakes or Fakes()
    database = Database(
        config.database_url,
        pool_size=config.pool_size,
        synchronous=config.synchronous,
        idle_transaction_ms=min(IDLE_TRANSACTION_MS, round(config.lease_seconds * 1000 / 2)),
        lease_clock=fakes.lease_clock,
    )
    for warning in unpriced(agents, prices, config.limits, allowed=config.allowed_models):
        log.warning(warning)
    try:
        with hold_file(database.url):
            if await database.read(revision_of) != newest_revision():
                raise SchemaNotCurrent((SchemaNotCurrent.__doc__ or "").strip())
            if database.is_sqlite:
                await database.write(release_all)
                while await database.write(drop_temporary, at=None):
                    pass
                await database.write(drop_temporary_chats, at=None)
            name = f"{socket.gethostname()[:64]}:{os.getpid()}:{fakes.ids('wrk')}"
            async with agents.open_deps() as deps, _carried(config, database, name) as shared:
                setting = ToolSetting(fetch=FetchPolicy(private=config.fetch_private), clock=fakes.clock)
                roster = Roster(agents, types, setting)
                pool = McpPool(config.remotes, fakes.clock, Contacts(database, fakes.clock))
                shop = _shop(config, database, shared, provider, prices, roster, deps, fakes, name)
                shop = replace(shop, remotes=RemoteTools(config.remotes, pool))
                async with _open_on(shop, config, agents, prices, pool, shared.health) as engine:
                    yield engine
    finally:
        await database.close()


@asynccontextmanager
async def _carried(config: EngineConfig, database: Database, name: str) -> AsyncIterator[Shared]:
    """Streams and bell: shared with other processes where there is a Redis.

    Without one, silence means that nothing has changed only where no other process works on the same rows.
    """
    if config.redis_url is None:
        yield Shared(MemoryStreams(), Bell(trusted=database.is_sqlite), None)
        return
    async with open_shared(config.redis_url, node=name, retention_seconds=config.stream_retention_seconds) as shared:
        yield shared


def _shop(
    config: EngineConfig,
    database: Database,
    shared: Shared,
    provider: Provider,
    prices: Prices,
    roster: Roster,
    deps: Any,
    fakes: Fakes,
    name: str,
) -> Workshop:
    files = open_files(config.database_url, folder=config.files, url=config.files_url, endpoint=config.files_endpoint)
    return Workshop(
        database=database,
        streams=shared.streams,
        bell=shared.bell,
        provider=provider,
        clock=fakes.clock,
        ids=fakes.ids,
        worker=name,
        lease_ms=round(config.lease_seconds * 1000),
        attachments=Attachments(files, fakes.clock, fakes.ids),
        roster=roster,
        deps=deps,
        allowed_models=config.allowed_models,
        override_roles=config.override_roles,
        admin_role=config.admin_role,
        prices=prices,
        limits=config.limits,
        context_tokens=config.context_tokens,
        summary_model=config.summary_model,
        random=fakes.random,
        sleep=fakes.sleep,
    )


@asynccontextmanager
async def _open_on(
    shop: Workshop,
    config: EngineConfig,
    agents: Agents,
    prices: Prices,
    pool: McpPool,
    redis: RedisHealth | None,
) -> AsyncIterator[Engine]:
    worker = None
    if config.worker:
        worker = Worker(
            shop,
            poll_seconds=config.cancel_poll_seconds,
            max_runs=config.max_runs,
            drain_seconds=config.drain_seconds,
            takes=config.takes,
        )
        shop.bell.on_work, shop.bell.on_heard = worker.wake, worker.heard
    runs, stored = Runs(shop, worker), StoredAgents(shop)
    chats = Chats(shop, worker, runs, agent_turns=config.agent_turns)
    shop.bell.on_answered = chats.ended
    watching = Watching(DatabaseRows(shop.database), shop.streams, shop.bell, ids=shop.ids)
    conversations = Conversations(shop.database, watching, shop.bell)
    patrol = Patrol(
        DatabaseSigns(shop.database), shop.streams, shop.bell, shop.clock, poll_seconds=config.cancel_poll_seconds
    )
    shop.bell.on_trust = patrol.hurry
    schedules = Schedules(shop, runs)
    policy = FetchPolicy(private=config.webhook_private)
    presence = Presence(shop.database, shop.clock, config.remotes.grace_seconds)
    remotes = Remotes(shop, runs, config.remotes, pool, presence)
    by_data = (stored, schedules, Webhooks(shop, policy), remotes, chats)
    parts = (prices, runs, *by_data, watching, conversations, shop.attachments, worker, shop, redis)
    engine = Engine(config, shop.database, agents, *parts)
    work = {
        "housekeeping": keep_house(shop.database, shop.clock),
        "patrol": patrol.walk(),
        "sweep": keep_sweeping(shop, config.cancel_poll_seconds, config.remotes.grace_seconds),
        "presence": presence.keep(),
        "chats": chats.keep_passing_on(config.cancel_poll_seconds),
    }
    if config.takes:
        work["schedules"] = schedules.keep_firing(config.cancel_poll_seconds)
        if worker is not None:
            work["courier"] = Courier(shop, policy).keep_delivering(config.cancel_poll_seconds)
    if config.worker:
        work["configured remotes"] = remotes.configure()
    beside = [asyncio.create_task(one, name=name) for name, one in work.items()]
    try:
        if worker is not None:
            await worker.start()
        yield engine
    finally:
        if worker is not None:
            await worker.close()
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await pool.close()
