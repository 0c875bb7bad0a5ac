"""Each scripted run on PostgreSQL, its connection cut at every single commit: before it, or before its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from models.database import Database, open_database
from tests.support.attacks import Attack
from tests.support.databases import empty, new_postgres
from tests.support.ground import Ground
from tests.support.points import points_up_to
from tests.support.scripted_runs import CASES, Case
from tests.support.stage import HANG, Stage, open_stage
from tests.support.wire import When, Wire

pytestmark = pytest.mark.service
_OF_THE_WORKER = ("beat", "take_over")
CUTS: list[tuple[Case, When]] = [(case, "after") for case in CASES]
CUTS += [(case, "before") for case in CASES if case.name in ("tool", "cancelled in a tool, then more")]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A migrated PostgreSQL database."""
    with new_postgres() as address:
        yield address


@pytest.fixture
async def stage(tmp_path: Path, address: str) -> AsyncIterator[Stage]:
    """A stage on PostgreSQL, with nothing in it."""
    async with open_database(address) as database:
        await empty(database)
    async with open_stage(tmp_path, Ground(address)) as stage:
        yield stage


class Forgetful:
    """A Database for one worker, who never hears of the commit of write number `at` (from 1) of its loops."""

    def __init__(self, database: Database, wire: Wire, at: int, when: When) -> None:
        self.read = database.read
        self._database = database
        self._wire = wire
        self._at = at
        self._when: When = when
        self.names: list[str] = []

    async def write(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Write; where it is the one, the connection is cut at its commit."""
        if fn.__name__ not in _OF_THE_WORKER:
            self.names.append(fn.__name__)
            if len(self.names) == self._at:
                self._wire.cut(self._when)
        return await self._database.write(fn, *args, **kwargs)


@pytest.mark.parametrize(("case", "when"), CUTS, ids=lambda value: value if isinstance(value, str) else value.name)
async def test_a_commit_whose_acknowledgement_is_lost_changes_nothing(stage: Stage, case: Case, when: When) -> None:
    """The same loop goes on: its verb finds what it did, nothing is asked or done twice, and watchers miss nothing."""
    attack = Attack(stage, case)
    names = await attack.play_whole()
    async with Wire(stage.database.url.render_as_string(hide_password=False)) as wire, open_database(wire.url) as cut:
        struck = points_up_to(len(names), f"{case.name} {when}")
        for number in struck:
            forgetful = Forgetful(cut, wire, number, when)
            try:
                async with asyncio.timeout(HANG):
                    await _play(attack, forgetful)
            except Exception as error:
                error.add_note(
                    f"the connection was cut {when} commit {number} ({names[number - 1]}); written: {forgetful.names}"
                )
                raise
        assert wire.cuts >= len(struck) - 1, "a client's timing may spare the last write, and no other"


async def _play(attack: Attack, database: Any) -> None:
    play = attack.new_play()
    node = await attack.open(play, database=database)
    play.lives(node)
    await play.start()
    client = asyncio.create_task(attack.case.client(play))
    await attack.over(client, node, play)
    await attack.stage.retire(node)
    assert (await attack.stage.run(play.run_id)).takeovers == 0
    assert set(play.ran.values()) <= {1}, "a tool was run twice"
    await attack.check(play)
