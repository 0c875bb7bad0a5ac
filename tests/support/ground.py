"""What tests of whole nodes stand on: a SQLite file each; with `--on cluster`, a PostgreSQL database and a Redis.

Those two are the test process's own, and are emptied for each test: to make new ones each time would take too long. It
is a Redis server of its own rather than a database on a common one, since rings cross from one database to another.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import asyncpg
from redis.asyncio import Redis
from sqlalchemy import delete

from models.migrate import all_tables
from tests.support.databases import new_postgres, new_sqlite
from tests.support.services import OwnRedis

GROUNDS = ("sqlite", "cluster")


@dataclass(frozen=True, slots=True)
class Ground:
    """Where the nodes of a test work together."""

    database_url: str
    redis_url: str | None = None

    @property
    def is_cluster(self) -> bool:
        """Whether there may be several processes on it."""
        return self.redis_url is not None


class Cluster:
    """The servers that the tests of this process stand on, one test after the other."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="steersman-test-"))
        self._address = self._stack.enter_context(new_postgres())
        self._redis = OwnRedis(Path(folder))
        self._clock = ""

    async def start(self) -> None:
        """Start what it needs."""
        await self._redis.__aenter__()

    async def emptied(self) -> Ground:
        """The same ground, with nothing on it; the database tells the time again."""
        connection = await asyncpg.connect(self._address)
        try:
            self._clock = self._clock or await connection.fetchval(
                "SELECT pg_get_functiondef('steersman_now'::regproc)"
            )
            emptying = [str(delete(table)) for table in reversed(all_tables().sorted_tables)]
            await connection.execute(";".join([self._clock, *emptying]))
        finally:
            await connection.close()
        async with Redis.from_url(self._redis.url, protocol=2) as client:
            await client.flushall()
        return Ground(self._address, self._redis.url)

    def close(self) -> None:
        """Leave nothing behind."""
        asyncio.run(self._redis.__aexit__())
        self._stack.close()


_chosen = "sqlite"
_cluster: Cluster | None = None


def choose(kind: str) -> None:
    """Let the tests of this process stand on one of GROUNDS."""
    global _chosen  # noqa: PLW0603 - an option of the whole process
    _chosen = kind


async def new_ground(folder: Path) -> Ground:
    """A migrated database with nothing in it, for the test whose folder this is."""
    global _cluster  # noqa: PLW0603 - made by the first test that stands on it
    if _chosen == "sqlite":
        return Ground(new_sqlite(folder))
    if _cluster is None:
        _cluster = Cluster()
        await _cluster.start()
    return await _cluster.emptied()


def leave() -> None:
    """Leave nothing behind; after the last test of this process."""
    global _cluster  # noqa: PLW0603
    if _cluster is not None:
        _cluster.close()
    _cluster = None
