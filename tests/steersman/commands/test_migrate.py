"""`steersman migrate`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from models.migrate import _LOCK, history, newest_revision
from tests.support.commands import GUARD, environment, started, steersman
from tests.support.databases import new_postgres

WAITING = """
SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()
"""


async def test_it_goes_up_and_back_and_says_so(tmp_path: Path) -> None:
    """Up to the newest, nothing the second time, back to nothing; `current` tells where it is."""
    env, newest = environment(tmp_path), newest_revision()
    assert "no schema" in (await steersman("migrate", "current", env=env)).out
    assert not (tmp_path / "test.db").exists(), "looking makes no file"
    up = await steersman("migrate", env=env)
    assert up.out.endswith(f"test.db: no schema → {newest}\n")
    assert "nothing to do" in (await steersman("migrate", "--to", newest, env=env)).out
    assert (await steersman("migrate", "current", env=env)).out == f"{newest} (the newest)\n"
    down = await steersman("migrate", "--down", "base", env=env)
    assert down.out.endswith(f"{newest} → no schema\n")
    assert [up.code, down.code] == [0, 0]


async def test_history_lists_every_revision(tmp_path: Path) -> None:
    """The first one first, one a line."""
    ended = await steersman("migrate", "history", env=environment(tmp_path))
    assert [line.split()[0] for line in ended.out.splitlines()] == [revision for revision, _ in history()]


async def test_what_can_t_be_done_is_told(tmp_path: Path) -> None:
    """An unknown revision, both directions at once, a folder that is not there, a server that does not answer."""
    env = environment(tmp_path)
    ended = await steersman("migrate", "--to", "9999", env=env)
    assert (ended.code, "There is no revision '9999'" in ended.err) == (2, True)
    ended = await steersman("migrate", "--to", "head", "--down", "base", env=env)
    assert (ended.code, "not both" in ended.err) == (2, True)
    away = {**env, "STEERSMAN_DATABASE_URL": f"sqlite:///{tmp_path}/nowhere/test.db"}
    ended = await steersman("migrate", env=away)
    assert (ended.code, "can't be reached" in ended.err) == (1, True)
    silent = {**env, "STEERSMAN_DATABASE_URL": "postgresql://me:hidden-word@127.0.0.1:1/name"}
    ended = await steersman("migrate", env=silent)
    assert (ended.code, "can't be reached" in ended.err, "hidden-word" in ended.err) == (1, True, False)


async def test_a_file_that_a_server_works_on_is_refused(tmp_path: Path) -> None:
    """Its schema does not change under it."""
    env = environment(tmp_path)
    async with started("dev", "--no-reload", env=env) as server:
        await server.address()
        ended = await steersman("migrate", "--down", "base", env=env)
    assert ended.code == 2
    assert f"in use by another Steersman process (pid {server.process.pid})" in ended.err


@pytest.mark.service
async def test_two_at_once_on_an_empty_database_both_end_well(tmp_path: Path) -> None:
    """They are held until both have seen that nothing is there; then one migrates, and the other finds it done."""
    with new_postgres(migrated=False) as url:
        env = environment(tmp_path, STEERSMAN_DATABASE_URL=url)
        holder = await asyncpg.connect(url)
        try:
            await holder.execute("SELECT pg_advisory_lock($1)", _LOCK)
            both = asyncio.gather(*(steersman("migrate", env=env) for _ in range(2)))
            async with asyncio.timeout(GUARD):
                while await holder.fetchval(WAITING) < 2:
                    assert not both.done(), both.result()
                    await asyncio.sleep(0.05)
        finally:
            await holder.close()
        ended = await both
        newest = newest_revision()
        current = await steersman("migrate", "current", env=env)
    assert [one.code for one in ended] == [0, 0], ended
    assert sorted(one.out.split(": ", 1)[1] for one in ended) == [
        f"at {newest} already, nothing to do\n",
        f"no schema → {newest}\n",
    ]
    assert current.out == f"{newest} (the newest)\n"
