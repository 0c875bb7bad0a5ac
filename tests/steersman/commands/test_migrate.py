"""`steersman migrate`."""

from __future__ import annotations

from pathlib import Path

from models.migrate import history, newest_revision
from tests.support.commands import environment, started, steersman


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
