"""No two transactions wait for each other: rows of a tree are locked in the order of their ids, and purses last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import asyncpg
import pytest

from models.enums import RunStatus
from models.purse import BALANCE
from models.spending import Ask, Tariff
from models.verbs.settling import CANCELLED, settle_flagged
from models.verbs.spending import add_to_balance
from tests.support.databases import controlled, empty
from tests.support.desk import Desk, Hands

pytestmark = pytest.mark.service
LOCK_RUN = "SELECT id FROM agent_runs WHERE id = $1 FOR UPDATE"
LOCK_PURSE = "SELECT id FROM purses WHERE id = $1 FOR UPDATE"
WAITS = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()"
)


@pytest.fixture
async def desk(postgres_address: str) -> AsyncIterator[Desk]:
    """A desk on PostgreSQL, where rows are locked one by one."""
    async with controlled(postgres_address) as (database, clock):
        await empty(database)
        yield Desk(database, clock)


@pytest.fixture
async def other(postgres_address: str) -> AsyncIterator[asyncpg.Connection]:
    """The transaction of somebody else."""
    connection = await asyncpg.connect(postgres_address)
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()
    await connection.close()


async def below(desk: Desk, parent: Hands) -> Hands:
    """A run that another one has begun."""
    one = await desk.open()
    await desk.force(one.id, parent_id=parent.id, parent_call=one.id)
    return one


async def meet(
    other: asyncpg.Connection, work: Coroutine[Any, Any, Any], *, holds: str, then: Callable[[], Awaitable[Any]]
) -> None:
    """Let some work wait for a row that the other one holds, who wants something more by then."""
    await other.execute(LOCK_RUN, holds)
    task = asyncio.create_task(work)
    async with asyncio.timeout(10):
        while not await other.fetchval(WAITS):
            assert not task.done()
            await asyncio.sleep(0.01)
        await then()
        await other.execute("COMMIT")
        await task


async def settled(desk: Desk, parent: Hands) -> None:
    """By its own loop."""
    await parent.settle(CANCELLED)


async def cancelled(desk: Desk, parent: Hands) -> None:
    """By who cancels it again, when its worker has died."""
    await desk.lapse()
    await desk.cancel(parent.id)


async def swept(desk: Desk, parent: Hands) -> None:
    """By the sweep, when its worker has died."""
    await desk.lapse()
    await desk.database.write(settle_flagged, limit=1, ids=desk.ids, at=desk.clock())


@pytest.mark.parametrize("end", [settled, cancelled, swept])
async def test_who_ends_a_run_locks_what_it_has_begun_before_any_purse(
    desk: Desk, other: asyncpg.Connection, end: Callable[[Desk, Hands], Coroutine[Any, Any, None]]
) -> None:
    """A child that draws for its next step holds its row, and waits for a purse that the parent's call draws from."""
    await desk.database.write(add_to_balance, 10**12)
    parent = await desk.open()
    child = await below(desk, parent)
    await parent.begin(ask=Ask(100, 100, Tariff(1, 1)))
    await desk.cancel(parent.id)
    await meet(other, end(desk, parent), holds=child.id, then=lambda: other.execute(LOCK_PURSE, BALANCE))
    assert (await desk.run(parent.id)).status is RunStatus.CANCELLED


async def test_who_stops_a_tree_locks_its_runs_in_the_order_of_a_beat(desk: Desk, other: asyncpg.Connection) -> None:
    """A worker that holds the second child, and what the first one has begun later, renews both leases."""
    parent = await desk.open()
    first, second = await below(desk, parent), await below(desk, parent)
    grandchild = await below(desk, first)
    await meet(other, desk.cancel(parent.id), holds=second.id, then=lambda: other.execute(LOCK_RUN, grandchild.id))
    runs = [await desk.run(one.id) for one in (first, second, grandchild)]
    assert [run.cancel_requested for run in runs] == [True] * 3
