"""The servers that tests may kill: they come back where they were, with what they should still know."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisAway

from tests.support import services
from tests.support.services import OwnPostgres, OwnRedis, ServiceFailed, ServiceMissing

pytestmark = pytest.mark.service


async def ask(url: str, question: str) -> object:
    """The one value that a PostgreSQL server answers."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()


async def test_a_killed_postgres_takes_its_processes_along_and_comes_back_with_all_that_was_committed(
    tmp_path: Path,
) -> None:
    """Clients find nobody meanwhile; then the same address has the same rows, and none of a transaction left open."""
    async with OwnPostgres(tmp_path) as postgres:
        url, pid = postgres.url, postgres.pid
        await ask(url, "CREATE TABLE numbers AS SELECT 7 AS number")
        client = await asyncpg.connect(url)
        open_transaction = client.transaction()
        await open_transaction.start()
        await client.execute("UPDATE numbers SET number = 8")
        busy = asyncio.create_task(ask(url, "SELECT pg_sleep(600)"))
        while await ask(url, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'") != 1:
            await asyncio.sleep(0.01)
        processes = [pid, *services._children(pid)]
        await postgres.kill()
        assert [process for process in processes if services._runs(process)] == []
        with pytest.raises((OSError, asyncpg.PostgresError)):
            await busy
        with pytest.raises(ConnectionRefusedError):
            await asyncpg.connect(url)
        await postgres.start()
        assert (postgres.url, postgres.pid == pid) == (url, False)
        assert await ask(url, "SELECT number FROM numbers") == 7
        client.terminate()


async def test_a_stopped_postgres_waits_for_no_client_and_comes_back(tmp_path: Path) -> None:
    """A connection that is open, or in a transaction, keeps it from nothing."""
    async with OwnPostgres(tmp_path) as postgres:
        client = await asyncpg.connect(postgres.url)
        await client.execute("BEGIN; CREATE TABLE numbers (number integer)")
        await postgres.stop()
        await postgres.start()
        assert await ask(postgres.url, "SELECT to_regclass('numbers')") is None
        await postgres.restart()
        assert await ask(postgres.url, "SELECT 1") == 1
        client.terminate()


async def test_a_killed_redis_comes_back_empty_at_the_same_address(tmp_path: Path) -> None:
    """Nothing of it is kept; it is the same as one that lost its memory."""
    async with OwnRedis(tmp_path) as redis, Redis.from_url(redis.url, protocol=2) as client:
        await client.set("key", "value")
        url, pid = redis.url, redis.pid
        await redis.kill()
        with pytest.raises(RedisAway):
            await client.get("key")
        await redis.start()
        assert (redis.url, redis.pid == pid) == (url, False)
        assert await client.get("key") is None
        await client.set("key", "value")
        await redis.restart()
        assert await client.get("key") is None


async def test_each_has_servers_of_its_own_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """Two at once do not meet; at the end neither a process nor a folder remains, killed or not."""
    async with OwnRedis(tmp_path / "one") as one, OwnRedis(tmp_path / "two") as two:
        pids, folders = [one.pid, two.pid], [one._data, two._data]
        async with Redis.from_url(one.url, protocol=2) as client, Redis.from_url(two.url, protocol=2) as other:
            await client.set("key", "value")
            assert await other.get("key") is None
        assert all(folder.exists() for folder in folders)
        await two.kill()
    assert [pid for pid in pids if services._runs(pid)] == []
    assert [folder for folder in folders if folder.exists()] == []


async def test_a_port_that_is_taken_meanwhile_is_left_to_its_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is faster may keep it: at the first start another is taken, and later the failure says why."""
    async with OwnRedis(tmp_path / "one") as one:
        ports = iter([one.port, services._free_port(), one.port, services._free_port()])
        monkeypatch.setattr(services, "_free_port", lambda: next(ports))
        async with OwnRedis(tmp_path / "two") as two, OwnPostgres(tmp_path / "three") as three:
            assert len({one.port, two.port, three.port}) == 3
            await two.kill()
            two.port = one.port
            with pytest.raises(ServiceFailed, match="in use"):
                await two.start()
            await one.kill()
            await two.start()


async def test_a_server_that_is_not_installed_is_a_failure_that_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No test that needs one passes, or is passed over, without it."""
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    with pytest.raises(ServiceMissing, match="apt-get install redis-server"):
        async with OwnRedis(tmp_path):
            raise AssertionError("it can't have started")
    with pytest.raises(ServiceMissing, match="apt-get install postgresql"):
        async with OwnPostgres(tmp_path):
            raise AssertionError("it can't have started")
