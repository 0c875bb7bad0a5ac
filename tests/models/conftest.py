"""Fixtures of the model tests: each runs on a SQLite file and on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from models.database import Database
from tests.support.databases import KINDS, LeaseClock, controlled, empty, new_postgres, new_sqlite
from tests.support.desk import Desk


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """A migrated PostgreSQL database that the tests of a session share, emptied before each."""
    with new_postgres() as address:
        yield address


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of database."""
    return str(request.param)


@pytest.fixture
def address(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a migrated database of that kind."""
    return new_sqlite(tmp_path) if kind == "sqlite" else str(request.getfixturevalue("postgres_address"))


@pytest.fixture
async def opened(address: str) -> AsyncIterator[tuple[Database, LeaseClock]]:
    """An empty database and its lease clock."""
    async with controlled(address) as (database, clock):
        if not database.is_sqlite:
            await empty(database)
        yield database, clock


@pytest.fixture
def database(opened: tuple[Database, LeaseClock]) -> Database:
    """An empty, migrated database."""
    return opened[0]


@pytest.fixture
def lease_clock(opened: tuple[Database, LeaseClock]) -> LeaseClock:
    """The clock that the database's leases use."""
    return opened[1]


@pytest.fixture
def desk(database: Database, lease_clock: LeaseClock) -> Desk:
    """The verbs at hand, on an empty database."""
    return Desk(database, lease_clock)
