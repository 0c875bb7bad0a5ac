"""The engine of this process: opened from settings, and known to code that runs beside it."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.builtin.fetch_policy import FetchPolicy
from engine.engine import Engine, EngineConfig, open_engine
from engine.files.opening import folder_beside
from engine.limits import Limits
from engine.loading import Agents
from engine.providers.prices import load_prices
from engine.remotes.configured import read_servers
from engine.remotes.remote_policy import RemotePolicy
from models.away import DatabaseAway
from models.database import Database, open_database
from models.migrate import migrate, revision_of
from models.single_process import FileInUse, hold_file
from steersman.provider import Choice, open_provider
from steersman.settings import Settings, shown


@dataclass(frozen=True, slots=True)
class Opened:
    """An open engine, and the event loop that it belongs to."""

    engine: Engine
    loop: asyncio.AbstractEventLoop


class DatabaseUnreachable(Exception):
    """The database can't be reached."""


log = logging.getLogger("steersman.files")
_opened: list[Opened] = []


def engine_config(settings: Settings, *, takes: bool = True) -> EngineConfig:
    """How these settings have the engine work.

    Without `takes` it works on what is opened in this process alone. That is for a database which others work on too:
    what was left behind in a SQLite file nobody else can go on with, so there it is taken all the same.
    """
    return EngineConfig(
        database_url=settings.database_url,
        lease_seconds=settings.lease_seconds,
        cancel_poll_seconds=settings.cancel_poll_seconds,
        drain_seconds=settings.drain_seconds,
        max_runs=settings.max_runs,
        allowed_models=settings.allowed_models,
        override_roles=settings.override_roles or frozenset(),
        limits=limits_of(settings),
        worker=settings.worker,
        pool_size=settings.database_pool_size,
        synchronous=settings.sqlite_synchronous,
        redis_url=settings.redis_url,
        stream_retention_seconds=settings.stream_retention_seconds,
        files=settings.files,
        files_url=settings.files_url,
        files_endpoint=settings.files_endpoint,
        context_tokens=settings.context_tokens,
        summary_model=settings.summary_model,
        fetch_private=settings.fetch_private,
        admin_role=settings.admin_role,
        webhook_private=settings.webhook_private,
        remotes=remotes_of(settings),
        agent_turns=settings.agent_turns,
        takes=takes or settings.database_url.startswith("sqlite:"),
    )


def remotes_of(settings: Settings) -> RemotePolicy:
    """What remotes may do by these settings. Raises McpServersInvalid."""
    return RemotePolicy(
        grace_seconds=settings.remote_grace_seconds,
        call_seconds=settings.remote_call_seconds,
        net=FetchPolicy(private=settings.remotes_private),
        servers=None if settings.mcp_servers is None else read_servers(settings.mcp_servers),
    )


def limits_of(settings: Settings) -> Limits:
    """What these settings let users, and everybody together, spend."""
    return Limits(settings.daily_cost_limit, settings.daily_token_limit, settings.monthly_cost_limit)


@asynccontextmanager
async def opened(settings: Settings, choice: Choice, agents: Agents, *, takes: bool = True) -> AsyncIterator[Engine]:
    """The engine that these settings ask for, with the provider that was chosen; for `takes` see engine_config.

    Raises DatabaseUnreachable, SchemaNotCurrent, FileInUse, PricesInvalid, McpServersInvalid, LocalModelUnavailable.
    """
    await revision_in(settings)
    if (warning := files_not_shared(settings)) is not None:
        log.warning(warning)
    prices = load_prices(settings.prices)
    async with (
        open_provider(choice, prices) as provider,
        open_engine(engine_config(settings, takes=takes), agents=agents, provider=provider, prices=prices) as engine,
    ):
        with known(engine):
            yield engine


def files_not_shared(settings: Settings) -> str | None:
    """What is wrong where several machines may work on the database, and attachments are in a folder of each."""
    if settings.database_url.startswith("sqlite:") or settings.files is not None or settings.files_url is not None:
        return None
    return (
        f"Attachments are in the folder {folder_beside(settings.database_url).absolute()}, which other machines do not "
        "see: with several, set STEERSMAN_FILES to a folder that they share, or STEERSMAN_FILES_URL to a bucket."
    )


@contextmanager
def known(engine: Engine) -> Iterator[None]:
    """Let code of this process find the engine, as `steersman.run` does, for as long as the context lasts."""
    one = Opened(engine, asyncio.get_running_loop())
    _opened.append(one)
    try:
        yield
    finally:
        _opened.remove(one)


def current() -> Opened | None:
    """The engine that was opened last and is open still; None without one."""
    return _opened[-1] if _opened else None


async def revision_in(settings: Settings) -> str | None:
    """The revision that the database is at; None where it has no schema, or is a SQLite file that is not there yet.

    Raises DatabaseUnreachable, in words without the password.
    """
    try:
        async with open_database(settings.database_url) as database:
            return None if _is_still_to_be_made(database) else await database.read(revision_of)
    except Exception as error:
        address = shown(settings)["STEERSMAN_DATABASE_URL"]
        cause = error.__cause__ if isinstance(error, DatabaseAway) and error.__cause__ is not None else error
        words = " ".join(str(getattr(cause, "orig", None) or cause).split()) or type(cause).__name__
        raise DatabaseUnreachable(f"The database {address} can't be reached: {words}.") from error


def _is_still_to_be_made(database: Database) -> bool:
    if not database.is_sqlite or database.url.database is None:
        return False
    file = Path(database.url.database)
    return not file.exists() and file.absolute().parent.is_dir()


async def bring_up_to_date(settings: Settings, *, only_fresh: bool = False, patience: float = 0.0) -> bool:
    """Migrate the database, or, with `only_fresh`, one that was never migrated; whether anything was done.

    Raises DatabaseUnreachable, and FileInUse where another process holds the SQLite file for longer than `patience`
    seconds.
    """
    await revision_in(settings)
    async with open_database(settings.database_url) as database:
        until = asyncio.get_running_loop().time() + patience
        while True:
            try:
                with hold_file(database.url):
                    return await _migrate(database, only_fresh=only_fresh)
            except FileInUse:
                if asyncio.get_running_loop().time() >= until:
                    raise
            await asyncio.sleep(0.05)


async def _migrate(database: Database, *, only_fresh: bool) -> bool:
    if only_fresh and await database.read(revision_of) is not None:
        return False
    before, after = await database.write(migrate)
    return before != after


def without_drain(settings: Settings) -> Settings:
    """The same settings, but runs are handed back at once when the engine closes, and go on at the next start."""
    return dataclasses.replace(settings, drain_seconds=0.0)
