"""The audit: what the database notes of workers' writes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, text

from models.database import open_database
from models.enums import RunStatus
from models.message import agent_messages, message_to_row
from tests.cluster.audit import WORKERS, read_audit, set_up
from tests.support.databases import new_postgres
from tests.support.rows import a_message, a_run, store

pytestmark = pytest.mark.service
RUN = a_run(status=RunStatus.RUNNING, fence=1, lease_until=0)


@pytest.fixture
def address() -> Iterator[str]:
    """A migrated database of one's own."""
    with new_postgres() as url:
        yield url


def act(c: Connection, role: str, *deeds: str) -> None:
    """Do it as this role, in one transaction: `take` the run, `step` on in it, `signal` to it, or store a `message`."""
    c.exec_driver_sql(f'SET SESSION AUTHORIZATION "{role}"')
    for deed in deeds:
        match deed:
            case "take":
                lease = "fence = fence + 1, lease_until = steersman_now() + 60000"
                values = {"worker": f"{role}:worker", "id": RUN.id}
                c.execute(text(f"UPDATE agent_runs SET worker = :worker, {lease} WHERE id = :id"), values)  # noqa: S608
            case "step":
                c.execute(text("UPDATE agent_runs SET steps = steps + 1 WHERE id = :id"), {"id": RUN.id})
            case "signal":
                signal = "cancel_requested = true, revision = revision + 1"
                c.execute(text(f"UPDATE agent_runs SET {signal} WHERE id = :id"), {"id": RUN.id})  # noqa: S608
            case "message":
                count = c.execute(text("SELECT count(*) FROM agent_messages")).scalar_one()
                c.execute(agent_messages.insert(), message_to_row(a_message(RUN, count + 1)))
    c.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")  # as at the commit, for which the role is another
    c.exec_driver_sql("RESET SESSION AUTHORIZATION")


def drop(c: Connection, roles: tuple[str, ...]) -> None:
    """Roles belong to the whole server."""
    for role in roles:
        c.exec_driver_sql(f'DROP ROLE "{role}"')


async def test_only_what_a_worker_may_not_write_is_noted(address: str) -> None:
    """A holder's writes, a takeover of a lapsed lease and servers' writes are in order; all others are noted."""
    mark = uuid.uuid4().hex[:8]
    one, other, server = roles = (f"{WORKERS}-{mark}-1", f"{WORKERS}-{mark}-2", f"server-{mark}")
    async with open_database(address) as database:
        await database.write(set_up, roles)
        await store(database, RUN)

        async def noted(role: str, *deeds: str) -> int:
            before = await database.read(read_audit)
            await database.write(act, role, *deeds)
            return len((await database.read(read_audit)).violations) - len(before.violations)

        try:
            assert await noted(one, "take", "step", "message") == 0
            assert await noted(one, "message", "step") == 0
            assert await noted(server, "step", "message") == 0
            assert await noted(other, "signal") == 0, "a cancel may come from everywhere"
            assert await noted(other, "step") == 1, "the run is another's"
            assert await noted(other, "message") == 1, "and so are its messages"
            assert await noted(other, "take") == 1, "its lease has not lapsed"
            assert (await database.read(read_audit)).checked == 9
        finally:
            await database.write(drop, roles)
