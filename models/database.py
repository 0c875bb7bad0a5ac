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
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from models.json_codec import dump_json, load_json
from models.uninterrupted import uninterrupted

P = ParamSpec("P")
T = TypeVar("T")

IDLE_TRANSACTION_MS = 5_000  # the server ends a transaction left open longer; below every sensible lease


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

    `lease_clock` (milliseconds) stands in for the database's own clock on SQLite, where both are this machine's; tests
    move it. On PostgreSQL the function `steersman_now()` of the schema is asked.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        pool_size: int = 5,
        synchronous: str = "FULL",
        lease_clock: Callable[[], int] | None = None,
    ) -> None:
        self.url = normalize_url(url) if isinstance(url, str) else url
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._lease_clock = lease_clock or (lambda: time.time_ns() // 1_000_000)
        self._synchronous = synchronous
        driver = "sqlite+aiosqlite" if self.is_sqlite else "postgresql+asyncpg"
        options: dict[str, Any] = {"json_serializer": dump_json, "json_deserializer": load_json}
        if not self.is_sqlite:
            settings = {"idle_in_transaction_session_timeout": str(IDLE_TRANSACTION_MS), "timezone": "UTC"}
            options["connect_args"] = {"server_settings": settings}
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
        """Call `fn(connection, …)` in a transaction of its own that changes nothing; many may run at once."""
        async with self._engine.connect() as connection:
            return await connection.run_sync(fn, *args, **kwargs)

    async def write(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `fn(connection, …)` in one transaction, committed where it returns and rolled back where it raises.

        It is never cancelled: a caller that is cancelled waits for its end before CancelledError goes on.
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
        async with self._engine.begin() as connection:
            return await connection.run_sync(fn, *args, **kwargs)

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
