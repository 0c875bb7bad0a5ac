"""Migrations: the schema they make is the one that the code describes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from models.chat import find_chats, members_of_chats
from models.database import Database, open_database
from models.ids import prefix_of
from models.migrate import all_tables, downgrade, history, migrate, newest_revision, revision_of
from models.page import Window
from models.thread import ThreadQuery, find_threads
from tests.support.databases import new_postgres


@pytest.fixture
def bare_address(kind: str, tmp_path: Path) -> Iterator[str]:
    """The address of a database with nothing in it."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path}/bare.db"
        return
    with new_postgres(migrated=False) as address:
        yield address


@pytest.fixture
async def bare(bare_address: str) -> AsyncIterator[Database]:
    """A database with nothing in it."""
    async with open_database(bare_address) as database:
        yield database


def _differences(c: Connection) -> list[object]:
    context = MigrationContext.configure(c, opts={"compare_type": True, "compare_server_default": True})
    return list(compare_metadata(context, all_tables()))


def _tables(c: Connection) -> set[str]:
    return set(inspect(c).get_table_names())


async def test_the_migrated_schema_is_the_one_the_code_describes(bare: Database) -> None:
    """Alembic's comparison of the migrated database with the tables finds no difference."""
    assert await bare.write(migrate) == (None, newest_revision())
    assert await bare.read(_differences) == []


async def test_a_database_that_was_never_migrated_has_no_revision(bare: Database) -> None:
    """Asking changes nothing."""
    assert await bare.read(revision_of) is None
    assert await bare.read(_tables) == set()


async def test_migrating_again_changes_nothing(bare: Database) -> None:
    """The newest revision stays."""
    await bare.write(migrate)
    assert await bare.write(migrate) == (newest_revision(), newest_revision())


async def test_migrations_go_down_and_up_again(bare: Database) -> None:
    """Down to nothing leaves no table of ours, and up again gives the whole schema."""
    await bare.write(migrate)
    assert await bare.write(downgrade, "base") == (newest_revision(), None)
    assert await bare.read(_tables) <= {"alembic_version"}
    await bare.write(migrate)
    assert await bare.read(_differences) == []


async def test_each_revision_can_be_left_and_reached_again(bare: Database) -> None:
    """Step by step up, each step down and up once more."""
    revisions = [revision for revision, _ in history()]
    for before, revision in zip([None, *revisions], revisions, strict=False):
        await bare.write(migrate, revision)
        await bare.write(downgrade, before or "base")
        assert await bare.write(migrate, revision) == (before, revision)
    assert revisions[-1] == newest_revision()


async def test_agents_from_before_chats_get_their_main_chats(bare: Database) -> None:
    """With one thread, the owner and the agent; on the way back the agent is as it was."""
    agent_id = "agt_01m8qs8n7ve3r8d6k2k1fjtsfc"

    def store(c: Connection) -> None:
        c.execute(
            text(
                "INSERT INTO agents (id, user_id, name, kind, config, created_at, updated_at)"
                " VALUES (:id, 'alice', 'Ada', 'expert', '{}', 7, 7)"
            ),
            {"id": agent_id},
        )

    await bare.write(migrate, "0010")
    await bare.write(store)
    await bare.write(migrate, "0011")
    (chat,) = (await bare.read(find_chats, "alice", Window())).rows
    (main_chat_id,) = await bare.read(_column, "SELECT main_chat_id FROM agents")
    assert (main_chat_id, chat.title, chat.temporary, chat.created_at) == (chat.id, "Ada", False, 7)
    members = (await bare.read(members_of_chats, [chat.id]))[chat.id]
    assert [(member.user_id, member.agent_id) for member in members] == [("alice", None), (None, agent_id)]
    (thread,) = (await bare.read(find_threads, ThreadQuery(chat.id, "alice"), Window())).rows
    assert (thread.seq, thread.revision, prefix_of(thread.id), prefix_of(chat.id)) == (0, 1, "thr", "cht")
    await bare.write(downgrade, "0010")
    assert await bare.read(_column, "SELECT name FROM agents") == ["Ada"]


def _column(c: Connection, statement: str) -> list[Any]:
    return list(c.execute(text(statement)).scalars())


async def test_migrations_at_the_same_time_do_the_work_once(bare_address: str) -> None:
    """Several nodes that start together: one migrates, the others find it done."""
    async with (
        open_database(bare_address) as one,
        open_database(bare_address) as two,
        open_database(bare_address) as three,
    ):
        for database in (
            one,
            two,
            three,
        ):  # a SQLite file has one process; its journal is chosen by whoever comes first
            await database.read(_tables)
        ends = await asyncio.gather(*(database.write(migrate) for database in (one, two, three)))
        assert sorted(before or "" for before, _ in ends) == ["", newest_revision(), newest_revision()]
        assert {after for _, after in ends} == {newest_revision()}
        assert await one.read(_differences) == []


async def test_a_migration_that_fails_leaves_nothing_half_done(bare: Database) -> None:
    """All of it is one transaction."""

    def fail(c: Connection) -> None:
        migrate(c)
        raise LookupError

    with pytest.raises(LookupError):
        await bare.write(fail)
    assert await bare.read(_tables) == set()
    await bare.write(migrate)


def test_every_revision_says_what_it_does() -> None:
    """The list that an operator sees has a sentence for each."""
    assert history()
    assert all(revision and words for revision, words in history())
