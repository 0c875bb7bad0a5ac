"""Outages: whatever says that PostgreSQL is away comes out as DatabaseAway, and nothing else does."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.util import await_only as sqlalchemy_await

from models.away import SILENCE_SECONDS, DatabaseAway
from models.database import Database, open_database
from tests.support.desk import dice_of
from tests.support.services import OwnPostgres
from tests.support.wire import When, Wire

pytestmark = pytest.mark.service
READ_ONLY = "default_transaction_read_only"
BOTH = """DO $$ BEGIN
    WHILE (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7) < 2 LOOP
        PERFORM pg_sleep(0.01);
    END LOOP;
END $$"""
OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnPostgres]:
    """A PostgreSQL server of one's own: to make one takes long, to start it again does not."""
    own = OwnPostgres(tmp_path_factory.mktemp("postgres"))
    asyncio.run(own.__aenter__())
    try:
        yield own
    finally:
        asyncio.run(own.__aexit__())


@pytest.fixture
async def postgres(server: OwnPostgres) -> OwnPostgres:
    """The server, started anew, with an empty table of numbers."""
    await server.kill()  # whatever state the test before has left it in
    await server.start()
    for statement in ("DROP TABLE IF EXISTS numbers", "CREATE TABLE numbers (n int PRIMARY KEY)"):
        await administer(server, statement)
    return server


async def administer(postgres: OwnPostgres, statement: str) -> Any:
    """Run a statement on a connection of its own; the first value it gives."""
    connection = await asyncpg.connect(postgres.url, server_settings={READ_ONLY: "off"})
    try:
        return await connection.fetchval(statement)
    finally:
        connection.terminate()


def put(c: Connection, number: int) -> None:
    """Write a number, in two statements."""
    c.execute(text("INSERT INTO numbers VALUES (:n)"), {"n": number})
    c.execute(text("UPDATE numbers SET n = n WHERE n = :n"), {"n": number})


def count(c: Connection) -> int:
    """How many numbers there are."""
    return int(c.execute(text("SELECT count(*) FROM numbers")).scalar_one())


def sleep(c: Connection) -> None:
    """Take long."""
    c.execute(text("SELECT pg_sleep(60)"))


async def at_work(postgres: OwnPostgres, work: Any) -> asyncio.Task[Any]:
    """Begin something that takes long; it is under way on the server."""
    task = asyncio.create_task(work)
    while not await administer(postgres, f"SELECT count(*) {OTHERS} AND query LIKE '%pg_sleep%'"):
        await asyncio.sleep(0.01)
    return task


async def test_a_server_that_is_not_there_is_away(postgres: OwnPostgres) -> None:
    """Reads and writes say so, with the cause behind it, and work again when it is back."""
    async with open_database(postgres.url) as database:
        await database.write(put, 1)
        await postgres.stop()
        for ask in (database.read(count), database.write(put, 2)):
            with pytest.raises(DatabaseAway, match="away") as away:
                await ask
            assert away.value.__cause__ is not None
            assert not away.value.cut
        await postgres.start()
        assert await database.read(count) == 1


async def killed(postgres: OwnPostgres) -> None:
    """Kill it with all that it began."""
    await postgres.kill()


async def stopped(postgres: OwnPostgres) -> None:
    """Stop it in good order."""
    await postgres.stop()


async def terminated(postgres: OwnPostgres) -> None:
    """End all sessions."""
    await administer(postgres, f"SELECT count(pg_terminate_backend(pid, 5000)) {OTHERS}")


async def crashed(postgres: OwnPostgres) -> None:
    """Kill one session's process, whereupon the server ends all and starts anew."""
    os.kill(await administer(postgres, f"SELECT pid {OTHERS}"), signal.SIGKILL)


@pytest.mark.parametrize("end", [killed, stopped, terminated, crashed], ids=lambda end: end.__name__)
@pytest.mark.parametrize("kind", ["read", "write"])
async def test_a_connection_that_is_cut_in_the_middle_is_an_outage(
    postgres: OwnPostgres, kind: str, end: Callable[[OwnPostgres], Any]
) -> None:
    """However the server came to cut it; a read is asked once more, on a new connection."""
    asked = 0

    def ask(c: Connection) -> str:
        nonlocal asked
        asked += 1
        if asked == 1:
            sleep(c)
        return "asked again"

    async with open_database(postgres.url) as database:
        task = await at_work(postgres, database.read(ask) if kind == "read" else database.write(ask))
        await end(postgres)
        if kind == "read" and end is terminated:
            assert await task == "asked again"
        else:
            with pytest.raises(DatabaseAway):
                await task


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_commit_without_an_answer_is_an_outage(postgres: OwnPostgres, when: When) -> None:
    """Whether it happened is not known: both are the same to who asked."""
    async with Wire(postgres.url) as wire, open_database(wire.url) as database:
        await database.write(put, 1)
        wire.cut(when)
        with pytest.raises(DatabaseAway) as away:
            await database.write(put, 2)
        assert away.value.cut
        assert await database.read(count) == (2 if when == "after" else 1)


async def test_a_transaction_that_was_left_idle_too_long_is_an_outage(postgres: OwnPostgres) -> None:
    """Its process has hung in the middle: the server ended it, and it may be tried again."""

    async def ended() -> None:
        while await administer(postgres, f"SELECT count(*) {OTHERS} AND state LIKE 'idle in%'"):
            await asyncio.sleep(0.01)

    def hang(c: Connection) -> None:
        put(c, 1)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, ended()).result()
        put(c, 2)

    async with open_database(postgres.url, idle_transaction_ms=100) as database:
        with pytest.raises(DatabaseAway):
            await database.write(hang)
        assert await database.read(count) == 0


async def test_a_server_that_takes_no_more_connections_is_away(postgres: OwnPostgres) -> None:
    """Until others have left."""
    await administer(postgres, "CREATE ROLE narrow LOGIN CONNECTION LIMIT 1")
    await administer(postgres, "GRANT SELECT ON numbers TO narrow")
    url = postgres.url.replace("postgres@", "narrow@")
    async with open_database(url) as one, open_database(url) as two:
        assert await one.read(count) == 0
        task = await at_work(postgres, one.write(sleep))
        with pytest.raises(DatabaseAway, match="too many connections"):
            await two.read(count)
        await terminated(postgres)
        with pytest.raises(DatabaseAway):
            await task
        assert await two.read(count) == 0


async def test_transactions_that_got_into_each_others_way_may_be_tried_again(postgres: OwnPostgres) -> None:
    """One of two that wait for each other is undone."""
    await administer(postgres, "INSERT INTO numbers VALUES (1), (2)")
    await administer(postgres, "ALTER SYSTEM SET deadlock_timeout = '10ms'")
    await administer(postgres, "SELECT pg_reload_conf()")

    def cross(c: Connection, first: int, second: int) -> None:
        c.execute(text("UPDATE numbers SET n = n WHERE n = :n"), {"n": first})
        c.execute(text("SELECT pg_advisory_xact_lock_shared(7)"))
        c.execute(text(BOTH))
        c.execute(text("UPDATE numbers SET n = n WHERE n = :n"), {"n": second})

    async with open_database(postgres.url) as database:
        ends = await asyncio.gather(database.write(cross, 1, 2), database.write(cross, 2, 1), return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["DatabaseAway", "NoneType"]


async def test_a_server_that_only_follows_another_is_left(postgres: OwnPostgres) -> None:
    """After a failover, connections to the old primary refuse writes: they are not kept."""
    await administer(postgres, f"ALTER DATABASE postgres SET {READ_ONLY} = on")
    async with open_database(postgres.url) as database:
        with pytest.raises(DatabaseAway, match="read-only"):
            await database.write(put, 1)
        await administer(postgres, f"ALTER DATABASE postgres RESET {READ_ONLY}")
        await database.write(put, 1)


async def test_a_pool_that_gives_no_connection_in_time_is_an_outage(postgres: OwnPostgres) -> None:
    """Everybody waits for a server that hangs: who waits in the queue is told."""
    async with open_database(postgres.url, pool_size=1) as database:
        database._engine.sync_engine.pool._timeout = 0.05  # type: ignore[attr-defined]
        task = await at_work(postgres, database.read(sleep))
        with pytest.raises(DatabaseAway, match="QueuePool"):
            await database.read(count)
        task.cancel()
        await asyncio.wait((task,))


async def test_a_session_that_is_ended_while_it_is_set_up_is_an_outage(postgres: OwnPostgres) -> None:
    """SQLAlchemy does not see what its driver is told then, and hands it on as it is."""
    async with open_database(postgres.url) as database:

        @event.listens_for(database._engine.sync_engine, "connect")
        def ended(connection: Any, _record: object) -> None:
            sqlalchemy_await(connection.driver_connection.close())
            sqlalchemy_await(connection.driver_connection.fetch("SELECT 1"))

        with pytest.raises(DatabaseAway, match="closed"):
            await database.read(count)


async def test_what_is_wrong_with_the_question_is_no_outage(postgres: OwnPostgres) -> None:
    """A defect, a broken rule, a file that can't be read, and a database that does not exist are told as they are."""

    def missing_file(_: Connection) -> None:
        Path("nowhere").read_text()

    async with open_database(postgres.url) as database:
        await database.write(put, 1)
        for question in ("SELECT nothing", "INSERT INTO numbers VALUES (1)", "SELECT 1 / 0"):
            with pytest.raises(DBAPIError):
                await database.write(Connection.execute, text(question))
        with pytest.raises(FileNotFoundError):
            await database.write(missing_file)
    async with open_database(postgres.url + "_missing") as database:
        with pytest.raises(DBAPIError, match="does not exist"):
            await database.read(count)


async def test_a_machine_that_vanishes_is_noticed(postgres: OwnPostgres) -> None:
    """The kernel ends a connection whose other end acknowledges nothing any more, within seconds instead of hours."""
    async with open_database(postgres.url) as database:
        await database.read(count)
        connection = await database._engine.raw_connection()
        found = connection.driver_connection._transport.get_extra_info("socket")  # type: ignore[union-attr]
        options = [getattr(socket, name) for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")]
        idle, interval, probes = (found.getsockopt(socket.IPPROTO_TCP, option) for option in options)
        assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert idle + interval * probes == SILENCE_SECONDS
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == SILENCE_SECONDS * 1_000
        connection.close()


async def test_nothing_but_outages_comes_of_a_server_that_is_ended_again_and_again(postgres: OwnPostgres) -> None:
    """Readers and writers at any moment of it are told of an outage, or nothing; what was acknowledged is there."""
    dice = dice_of(11)
    async with open_database(postgres.url) as database:
        workers = [_Writer(database, number) for number in range(4)]
        tasks = [asyncio.create_task(work()) for writer in workers for work in (writer.write, writer.read)]
        for _ in range(3):
            for _ in range(8):
                await asyncio.sleep(dice.random() * 0.05)
                await terminated(postgres)
            await (postgres.kill() if dice.random() < 0.5 else postgres.stop())
            await postgres.start()
        for writer in workers:
            writer.stop = True
        await asyncio.gather(*tasks)
        stored = set(await database.read(lambda c: list(c.execute(text("SELECT n FROM numbers")).scalars())))
    for writer in workers:
        assert writer.acknowledged <= stored
        assert writer.outages


class _Writer:
    """Writes number after number, and counts outages."""

    def __init__(self, database: Database, number: int) -> None:
        self.database = database
        self.next = number * 1_000_000
        self.acknowledged: set[int] = set()
        self.outages = 0
        self.stop = False

    async def write(self) -> None:
        """Write; what is not acknowledged is left behind."""
        while not self.stop:
            self.next += 1
            try:
                await self.database.write(put, self.next)
                self.acknowledged.add(self.next)
            except DatabaseAway:
                self.outages += 1
                await asyncio.sleep(0.01)

    async def read(self) -> None:
        """Read."""
        while not self.stop:
            known = len(self.acknowledged)
            try:
                assert await self.database.read(count) >= known
            except DatabaseAway:
                await asyncio.sleep(0.01)
