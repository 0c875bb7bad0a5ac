"""Migrated databases for tests, on a SQLite file or a PostgreSQL server, with a lease clock that is moved by hand.

The PostgreSQL server is named by STEERSMAN_TEST_POSTGRES_URL; a database of its own is made there and dropped again.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import Connection, delete, text
from sqlalchemy.engine import URL, make_url

from models.database import Database, open_database
from models.migrate import all_tables, migrate

POSTGRES_VARIABLE = "STEERSMAN_TEST_POSTGRES_URL"
KINDS = [
    pytest.param("sqlite", id="sqlite"),
    pytest.param("postgresql", id="postgresql", marks=pytest.mark.service),
]
"""The parameters of a fixture that gives one database of each kind."""

START = 1_800_000_000_000  # where lease clocks begin, in ms since the epoch

_CLOCK = (
    "CREATE SCHEMA IF NOT EXISTS test_clock",
    "CREATE TABLE IF NOT EXISTS test_clock.clock (now bigint NOT NULL)",
    "DELETE FROM test_clock.clock",
    "INSERT INTO test_clock.clock VALUES (0)",
    """CREATE OR REPLACE FUNCTION steersman_now() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT now FROM test_clock.clock $$""",
)


class LeaseClock:
    """The clock that leases use, moved by hand on either database; in milliseconds since the epoch."""

    def __init__(self, now: int = START) -> None:
        self.now = now
        self._database: Database | None = None

    def __call__(self) -> int:
        return self.now

    async def advance(self, seconds: float) -> None:
        """Move forward by so many seconds."""
        self.now += round(seconds * 1000)
        if self._database is not None:
            await self._database.write(_set_clock, self.now)

    async def rule(self, database: Database) -> None:
        """Become the clock of a PostgreSQL database; a SQLite one was opened with it."""
        if database.is_sqlite:
            return
        await database.write(_install_clock, self.now)
        self._database = database


def _install_clock(c: Connection, now: int) -> None:
    for statement in _CLOCK:
        c.execute(text(statement))
    _set_clock(c, now)


def _set_clock(c: Connection, now: int) -> None:
    c.execute(text("UPDATE test_clock.clock SET now = greatest(now, :now)"), {"now": now})


# ---------------------------------------------------------------- SQLite


@functools.cache
def _template() -> Path:
    """A migrated file, made once a process; closing it has left nothing in its write-ahead log."""
    folder = tempfile.mkdtemp(prefix="steersman-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "template.db"
    _run_alone(_migrate(f"sqlite:///{path}"))
    return path


def new_sqlite(folder: Path, name: str = "test.db") -> str:
    """The address of a migrated SQLite file of one's own in `folder`."""
    path = folder / name
    shutil.copyfile(_template(), path)
    return f"sqlite:///{path}"


# ---------------------------------------------------------------- PostgreSQL


def postgres_server() -> URL:
    """The server that tests may make databases on; fails the test where none is named."""
    address = os.environ.get(POSTGRES_VARIABLE)
    if not address:
        pytest.fail(f"{POSTGRES_VARIABLE} must name a PostgreSQL server: this test was selected and needs one")
    return make_url(address).set(drivername="postgresql")


@contextmanager
def new_postgres(*, migrated: bool = True) -> Iterator[str]:
    """The address of a PostgreSQL database of one's own, dropped at the end."""
    server = postgres_server()
    name = f"steersman_test_{os.getpid()}_{uuid.uuid4().hex[:8]}"
    address = server.set(database=name).render_as_string(hide_password=False)
    _run_alone(_administer(server, f'CREATE DATABASE "{name}"'))
    try:
        # No test pulls the plug: waiting for the disk at each commit would only make them slow.
        _run_alone(_administer(server, f'ALTER DATABASE "{name}" SET synchronous_commit = off'))
        if migrated:
            _run_alone(_migrate(address))
        yield address
    finally:
        _run_alone(_administer(server, f'DROP DATABASE "{name}" WITH (FORCE)'))


async def _administer(server: URL, statement: str) -> None:
    connection = await asyncpg.connect(server.render_as_string(hide_password=False))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def empty(database: Database) -> None:
    """Delete all rows, so that tests may share one migrated database."""
    await database.write(_empty)


def _empty(c: Connection) -> None:
    for table in reversed(all_tables().sorted_tables):
        c.execute(delete(table))


# ---------------------------------------------------------------- both


async def _migrate(url: str) -> None:
    async with open_database(url) as database:
        await database.write(migrate)


def _run_alone(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine on a loop of its own, in a thread, since the caller's may be running."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


@asynccontextmanager
async def controlled(url: str, **options: Any) -> AsyncIterator[tuple[Database, LeaseClock]]:
    """A Database whose lease clock is moved by hand; on SQLite it does not wait for the disk unless told to."""
    clock = LeaseClock()
    async with open_database(url, lease_clock=clock, **{"synchronous": "OFF", **options}) as database:
        await clock.rule(database)
        yield database, clock
