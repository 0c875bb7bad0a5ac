"""The database: writes are whole, are never cut short, and never find the file locked."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from models.database import BadDatabaseUrl, Database, normalize_url, open_database
from models.key import idempotency_keys
from models.message import agent_messages
from models.uninterrupted import let_finish, uninterrupted
from tests.support.databases import new_sqlite
from tests.support.desk import dice_of


def put(c: Connection, key: str, before_end: Any = None) -> str:
    """Write one row, wait where told to, and give its key."""
    row = {"user_id": "alice", "operation": "test", "key": key, "digest": "", "created_at": 0}
    c.execute(insert(idempotency_keys).values(row))
    if before_end is not None:
        before_end()
    return key


def count(c: Connection) -> int:
    """How many rows there are."""
    return c.execute(select(func.count()).select_from(idempotency_keys)).scalar_one()


def checked_out(database: Database) -> int:
    """The connections that somebody has and has not given back."""
    engines = [database._engine.sync_engine, *([database._writer] if database._writer else [])]
    return sum(engine.pool.checkedout() for engine in engines)  # type: ignore[attr-defined]


async def test_a_write_is_committed_where_its_function_returns(database: Database) -> None:
    """What was written is read by the next read."""
    assert await database.write(put, "a") == "a"
    assert await database.read(count) == 1


async def test_a_write_is_rolled_back_where_its_function_raises(database: Database) -> None:
    """Nothing of it stays, and what was raised reaches the caller."""

    def fail(c: Connection) -> None:
        put(c, "a")
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        await database.write(fail)
    assert await database.read(count) == 0


async def test_a_write_whose_caller_is_cancelled_still_commits(database: Database) -> None:
    """CancelledError goes on to the caller only after the write has ended."""
    entered, go_on = threading.Event(), threading.Event()
    if database.is_sqlite:

        def wait_inside() -> None:
            entered.set()
            go_on.wait(30)

        task = asyncio.create_task(database.write(put, "a", wait_inside))
        await asyncio.to_thread(entered.wait, 30)
        task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
        task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
        go_on.set()
    else:

        def sleep_inside(c: Connection) -> str:
            c.execute(text("SELECT pg_sleep(0.2)"))
            return put(c, "a")

        task = asyncio.create_task(database.write(sleep_inside))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await database.read(count) == 1


async def test_writes_of_cancelled_callers_commit_whole_or_not_at_all(database: Database) -> None:
    """Many writes cancelled at random moments: each that began has both its rows, and the database goes on."""
    dice = dice_of(1)

    def put_two(c: Connection, number: int) -> None:
        put(c, f"{number}-a")
        put(c, f"{number}-b")

    tasks = [asyncio.create_task(database.write(put_two, number)) for number in range(60)]
    for task in tasks:
        await asyncio.sleep(dice.random() * 0.003)
        task.cancel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(end is None or isinstance(end, asyncio.CancelledError) for end in ends)
    keys = set(await database.read(lambda c: list(c.execute(select(idempotency_keys.c.key)).scalars())))
    for number in range(60):
        assert (f"{number}-a" in keys) == (f"{number}-b" in keys)
    await database.write(put, "after")
    assert checked_out(database) == 0


async def test_no_connection_is_left_out_after_reads_are_cancelled(database: Database) -> None:
    """Reads cancelled while they wait for a connection, for its opening or for their rows give all of it back."""
    dice = dice_of(2)

    def some_reads(c: Connection) -> None:
        for _ in range(10):
            count(c)

    for _ in range(10):
        tasks = [asyncio.create_task(database.read(some_reads)) for _ in range(12)]
        await asyncio.sleep(dice.random() * 0.02)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(end is None or isinstance(end, asyncio.CancelledError) for end in ends)
    assert await asyncio.gather(*(database.read(count) for _ in range(12))) == [0] * 12
    assert checked_out(database) == 0


async def test_cancelling_while_work_fails_still_ends_in_cancellation() -> None:
    """The caller was cancelled: that is what it sees; the failure is in the log."""
    started = asyncio.Event()

    async def fail() -> None:
        started.set()
        await asyncio.sleep(0.02)
        raise LookupError("no")

    task = asyncio.create_task(uninterrupted(fail()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_uninterrupted_work_gives_its_result_and_its_failure() -> None:
    """Without a cancellation it is as if it were awaited."""

    async def give(value: int) -> int:
        return 10 // value

    assert await uninterrupted(give(5)) == 2
    with pytest.raises(ZeroDivisionError):
        await uninterrupted(give(0))


async def test_work_that_may_finish_has_ended_however_often_its_caller_is_cancelled() -> None:
    """A second cancellation does not leave it behind, at work on a connection that somebody else is given."""
    for seconds, ends_by_itself in ((60.0, True), (0.01, False)):
        go = asyncio.Event()
        ended: list[str] = []

        async def work(go: asyncio.Event = go, ended: list[str] = ended) -> None:
            try:
                await go.wait()
                ended.append("by itself")
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        caller = asyncio.create_task(let_finish(work(), seconds))
        for _ in range(3):
            await asyncio.sleep(0)
            caller.cancel()
        await asyncio.sleep(0)
        assert not caller.done()
        if ends_by_itself:
            go.set()
        await asyncio.wait((caller,))
        assert caller.cancelled()
        assert ended == ["by itself" if ends_by_itself else "cancelled"]


async def test_what_may_finish_gives_its_result_and_its_failure() -> None:
    """Where nobody is cancelled it is an await like any other."""

    async def answer(value: object) -> object:
        if isinstance(value, Exception):
            raise value
        return value

    assert await let_finish(answer(7), 1.0) == 7
    with pytest.raises(LookupError):
        await let_finish(answer(LookupError()), 1.0)


async def test_a_timeout_around_a_write_takes_hold_when_the_write_has_ended(database: Database) -> None:
    """asyncio's own timeout raises TimeoutError, and the write is there."""
    pause = (lambda: time.sleep(0.1)) if database.is_sqlite else None

    def slow(c: Connection) -> None:
        put(c, "a", pause)
        if pause is None:
            c.execute(text("SELECT pg_sleep(0.1)"))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await database.write(slow)
    assert await database.read(count) == 1


async def test_twenty_writers_at_once_never_find_the_database_locked(database: Database) -> None:
    """Twenty tasks write and read at the same time; each write is there at the end."""

    async def work(name: int) -> None:
        for turn in range(10):
            await database.write(put, f"{name}-{turn}")
            assert await database.read(count) > 0

    await asyncio.gather(*(work(name) for name in range(20)))
    assert await database.read(count) == 200


async def test_a_fresh_file_is_opened_by_many_at_once(tmp_path: Path) -> None:
    """The change to write-ahead logging at first use collides with nobody."""
    url = new_sqlite(tmp_path)
    async with open_database(url) as one, open_database(url) as two:
        work = [
            database.write(put, f"{name}-{turn}") for name, database in (("1", one), ("2", two)) for turn in range(20)
        ]
        await asyncio.gather(*work, *(database.read(count) for database in (one, two) for _ in range(20)))
        assert await one.read(count) == 40


async def test_a_read_sees_nothing_of_a_write_under_way(database: Database) -> None:
    """Reads and writes do not wait for one another."""
    await database.write(put, "a")
    entered, go_on = threading.Event(), threading.Event()

    def remove(c: Connection) -> None:
        c.execute(delete(idempotency_keys))
        entered.set()
        if database.is_sqlite:
            go_on.wait(30)
        else:
            c.execute(text("SELECT pg_sleep(0.2)"))

    task = asyncio.create_task(database.write(remove))
    if database.is_sqlite:
        await asyncio.to_thread(entered.wait, 30)
    else:
        await asyncio.sleep(0.05)
    assert await database.read(count) == 1
    go_on.set()
    await task
    assert await database.read(count) == 0


async def test_foreign_keys_are_enforced(database: Database) -> None:
    """A message of no run is refused by either database."""
    row = {"id": "msg_1", "run_id": "run_none", "user_id": "alice", "seq": 1, "role": "USER", "content": "x"}
    with pytest.raises(IntegrityError):
        await database.write(
            lambda c: c.execute(insert(agent_messages).values({**row, "step": 0, "fence": 0, "created_at": 0}))
        )


async def test_the_lease_clock_is_the_databases_own(database: Database, lease_clock: Any) -> None:
    """What SQL reads as now is what the test has set."""
    await lease_clock.advance(5)
    now = await database.read(lambda c: c.execute(text("SELECT steersman_now()")).scalar_one())
    assert now == lease_clock.now


@pytest.mark.parametrize(
    ("given", "driver", "name"),
    [
        ("sqlite:///a.db", "sqlite", "a.db"),
        ("sqlite+aiosqlite:///a.db", "sqlite", "a.db"),
        ("postgres://u@h/n", "postgresql", "n"),
        ("postgresql://u@h/n", "postgresql", "n"),
        ("postgresql+asyncpg://u@h/n", "postgresql", "n"),
        ("postgresql+psycopg://u@h/n", "postgresql", "n"),
    ],
)
def test_addresses_are_taken_with_and_without_the_drivers_name(given: str, driver: str, name: str) -> None:
    """Whatever driver an address names, ours is used."""
    url = normalize_url(given)
    assert (url.drivername, url.database) == (driver, name)


@pytest.mark.parametrize(
    "given", ["", "nonsense", "mysql://u@h/n", "sqlite://", "sqlite:///:memory:", "postgresql+x:/", "http://h/"]
)
def test_other_addresses_are_refused_in_words(given: str) -> None:
    """What can't be used raises BadDatabaseUrl, without repeating a password."""
    with pytest.raises(BadDatabaseUrl):
        normalize_url(given)
