"""What holds on PostgreSQL alone, and what happens where a test needs it and it is not there."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest
from sqlalchemy import Connection, text

from models.database import IDLE_TRANSACTION_MS, open_database
from models.verbs.row import lock
from tests.support.databases import KINDS, POSTGRES_VARIABLE, controlled, postgres_server
from tests.support.desk import LEASE_MS, Desk


def test_a_test_that_needs_a_server_fails_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never passed over in silence; without services it is deselected by its mark."""
    monkeypatch.delenv(POSTGRES_VARIABLE, raising=False)
    with pytest.raises(pytest.fail.Exception, match=POSTGRES_VARIABLE):
        postgres_server()
    assert [mark.name for parameter in KINDS if "postgresql" in parameter.values for mark in parameter.marks] == [
        "service"
    ]


@pytest.mark.service
async def test_a_transaction_left_open_is_ended_by_the_server_before_any_lease(postgres_address: str) -> None:
    """A process that hangs in the middle of a verb keeps no run locked for longer."""
    assert IDLE_TRANSACTION_MS < LEASE_MS
    async with open_database(postgres_address) as database:
        setting = await database.read(
            lambda c: c.execute(text("SHOW idle_in_transaction_session_timeout")).scalar_one()
        )
    assert setting == f"{IDLE_TRANSACTION_MS // 1000}s"


@pytest.mark.service
async def test_a_restart_of_the_server_between_two_verbs_goes_unnoticed(postgres_address: str) -> None:
    """Connections that the server has closed are replaced before they are used."""
    async with controlled(postgres_address) as (database, clock):
        desk = Desk(database, clock)
        hands = await desk.open()
        await asyncio.gather(*(desk.run(hands.id) for _ in range(5)))
        other = await asyncpg.connect(postgres_address)
        await other.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await other.close()
        await hands.say()
        await hands.settle()


@pytest.mark.service
async def test_a_read_whose_caller_is_cancelled_costs_no_connection(postgres_address: str) -> None:
    """Clients leave in the middle of reads all the time; each would make the pool connect anew."""

    def slowly(c: Connection) -> None:
        c.execute(text("SELECT pg_sleep(0.2)"))

    def served_by(c: Connection) -> int:
        return int(c.execute(text("SELECT pg_backend_pid()")).scalar_one())

    async with open_database(postgres_address, pool_size=1) as database:
        before = await database.read(served_by)
        reading = asyncio.create_task(database.read(slowly))
        await asyncio.sleep(0.05)
        reading.cancel()
        await asyncio.wait((reading,))
        assert reading.cancelled()
        assert await database.read(served_by) == before


@pytest.mark.service
async def test_a_verb_that_waited_for_the_row_sees_it_as_it_then_is(postgres_address: str) -> None:
    """What the one before it has committed, the lease's liveness included; never the row as it was."""
    async with controlled(postgres_address) as (database, clock):
        desk = Desk(database, clock)
        hands = await desk.open()

        def slow(c: Any) -> None:
            lock(c, hands.id)
            c.execute(text("SELECT pg_sleep(0.2)"))
            c.execute(text("UPDATE agent_runs SET fence = 7, lease_until = 0 WHERE id = :id"), {"id": hands.id})

        task = asyncio.create_task(database.write(slow))
        await asyncio.sleep(0.05)
        run, live = await database.write(lock, hands.id)
        await task
        assert (run.fence, live) == (7, False)
