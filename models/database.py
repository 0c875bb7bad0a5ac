"""The database behind one door: concurrent reads, and writes that are whole transactions and are never cut short.

SQLite: reads go through aiosqlite, writes through one thread with a connection of its own, since SQLite has one
writer (docs/decisions). PostgreSQL: both go through asyncpg's pool. Functions given to `read` and `write` take a plain
SQLAlchemy `Connection`, so one text serves both.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from models.away import CONNECT_SECONDS, TURN_SECONDS, DatabaseAway, leave_useless, notice_silence, outages_told
from models.json_codec import dump_json, load_json
from models.uninterrupted import let_finish, uninterrupted

P = ParamSpec("P")
T = TypeVar("T")

IDLE_TRANSACTION_MS = 5_000  # the server ends a transaction left open longer
PATIENCE_SECONDS = 60.0
FINISH_SECONDS = 2.0
"""How long a read may still take whose caller is cancelled, before its connection is given up."""
PAUSE_SECONDS = 0.5


class BadDatabaseUrl(ValueError):
    """The database's address can't be used."""


def normalize_url(text: str) -> URL:
    """The address with the driver's name left out, whichever way it was given.

    Raises BadDatabaseUrl where it is no address, or names a database that is not supported.
    """
    try:
        url = make_url(text)
    except Exception as error:
        raise BadDatabaseUrl("DATABASE_URL is no database address; try sqlite:///steersman.db") from error
    name = url.get_backend_name()
    if name == "postgres":
        name = "postgresql"
    if name not in ("sqlite", "postgresql"):
        raise BadDatabaseUrl(f"DATABASE_URL names {name!r}; only sqlite and postgresql are supported")
    if name == "sqlite" and url.database in (None, "", ":memory:"):
        raise BadDatabaseUrl("DATABASE_URL must name a SQLite file; a database in memory would outlive nothing")
    return url.set(drivername=name)


class Database:
    """Reads and writes of one database.

    PostgreSQL ends a transaction that is left open for `idle_transaction_ms`, to be given below the lease: its
    process has stopped in the middle, and keeps rows locked. `lease_clock` (milliseconds) stands in for the
    database's own clock on SQLite, where both are this machine's; tests move it. On PostgreSQL the function
    `steersman_now()` of the schema is asked.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        pool_size: int = 5,
        synchronous: str = "FULL",
        idle_transaction_ms: int = IDLE_TRANSACTION_MS,
        lease_clock: Callable[[], int] | None = None,
    ) -> None:
        self.url = normalize_url(url) if isinstance(url, str) else url
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._lease_clock = lease_clock or (lambda: time.time_ns() // 1_000_000)
        self._synchronous = synchronous
        driver = "sqlite+aiosqlite" if self.is_sqlite else "postgresql+asyncpg"
        options: dict[str, Any] = {"json_serializer": dump_json, "json_deserializer": load_json}
        if not self.is_sqlite:
            settings = {"idle_in_transaction_session_timeout": str(idle_transaction_ms), "timezone": "UTC"}
            options["connect_args"] = {"server_settings": settings, "timeout": CONNECT_SECONDS}
            options["pool_timeout"] = TURN_SECONDS
            options["pool_pre_ping"] = True  # a restart of the server must fail no run that was between two verbs
        self._engine: AsyncEngine = create_async_engine(
            self.url.set(drivername=driver), pool_size=pool_size, max_overflow=0, **options
        )
        self._writer: Engine | None = None
        if self.is_sqlite:
            self._writer = create_engine(
                self.url.set(drivername="sqlite+pysqlite"), pool_size=1, max_overflow=0, **options
            )
            self._thread = ThreadPoolExecutor(1, "steersman-writer")
            self._prepare_sqlite(self._engine.sync_engine, "BEGIN")
            self._prepare_sqlite(self._writer, "BEGIN IMMEDIATE")
        else:
            event.listen(self._engine.sync_engine, "connect", notice_silence)
            event.listen(self._engine.sync_engine, "handle_error", leave_useless)

    def _prepare_sqlite(self, engine: Engine, begin: str) -> None:
        @event.listens_for(engine, "connect")
        def on_connect(connection: Any, _record: object) -> None:
            connection.isolation_level = None  # SQLAlchemy's own BEGIN below, not the driver's
            connection.create_function("steersman_now", 0, self._lease_clock)
            cursor = connection.cursor()
            for pragma in (
                "busy_timeout=10000",
                "journal_mode=WAL",
                f"synchronous={self._synchronous}",
                "foreign_keys=ON",
            ):
                cursor.execute(f"PRAGMA {pragma}")
            cursor.close()

        @event.listens_for(engine, "begin")
        def on_begin(connection: Connection) -> None:
            connection.exec_driver_sql(begin)

    async def read(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `fn(connection, …)` in a transaction of its own that changes nothing; many may run at once.

        Raises DatabaseAway; a connection that is cut meanwhile is replaced once, since a read may be asked again.
        """
        try:
            return await self._read(fn, args, kwargs)
        except DatabaseAway as away:
            if not away.cut:
                raise
        return await self._read(fn, args, kwargs)

    async def read_patiently(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `read`, for one who can wait: while the database is away it is asked again, for PATIENCE_SECONDS."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_SECONDS
        while True:
            try:
                return await self.read(fn, *args, **kwargs)
            except DatabaseAway:
                if loop.time() >= until:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)

    async def _read(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        with self._told():
            async with self._engine.connect() as connection:
                # A driver drops its connection where a statement is cancelled in the middle, and clients leave often.
                return await let_finish(connection.run_sync(fn, *args, **kwargs), FINISH_SECONDS)

    async def write(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `fn(connection, …)` in one transaction, committed where it returns and rolled back where it raises.

        It is never cancelled: a caller that is cancelled waits for its end before CancelledError goes on.
        Raises DatabaseAway, and then it may have been committed or not.
        """
        if self._writer is not None:
            loop = asyncio.get_running_loop()
            return await uninterrupted(loop.run_in_executor(self._thread, self._write_on_thread, fn, args, kwargs))
        return await uninterrupted(self._write_on_pool(fn, args, kwargs))

    def _write_on_thread(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        assert self._writer is not None  # noqa: S101 - only SQLite has the thread
        with self._writer.begin() as connection:
            return fn(connection, *args, **kwargs)

    async def _write_on_pool(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        with self._told():
            async with self._engine.begin() as connection:
                return await connection.run_sync(fn, *args, **kwargs)

    def _told(self) -> AbstractContextManager[None]:
        """Outages are told as such; SQLite has none: what goes wrong with its file is no matter of waiting."""
        return contextlib.nullcontext() if self.is_sqlite else outages_told()

    async def close(self) -> None:
        """Wait for the writes under way and let go of every connection."""
        if self._writer is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)
            self._writer.dispose()
        await self._engine.dispose()


@contextlib.asynccontextmanager
async def open_database(url: str, **options: Any) -> AsyncIterator[Database]:
    """A Database that is closed at the end."""
    database = Database(url, **options)
    try:
        yield database
    finally:
        await database.close()
