"""Each scripted run, its worker stopped dead before and after each write: the end is the same."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.attacks import Attack
from tests.support.mortal import Mortal
from tests.support.points import points_up_to
from tests.support.scripted_runs import CASES, Case
from tests.support.stage import HANG, Stage

TWICE = [case for case in CASES if case.name in ("tool", "cancelled in a tool, then more")]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_worker_stopped_dead_changes_nothing(stage: Stage, case: Case, when: str) -> None:
    """However far it had come, another worker ends the run the same: in this process, or in one started anew."""
    attack = Attack(stage, case)
    names = await attack.play_whole()
    deaths = 0
    struck = points_up_to(len(names), f"{case.name} {when}")
    for number in struck:
        mortal = Mortal(stage.database, number, before=when == "before")
        try:
            async with asyncio.timeout(HANG):
                play = await attack.play([mortal], same_process=when == "before")
            await attack.check(play)
        except Exception as error:
            error.add_note(
                f"the worker died {when} write {number} ({names[number - 1]}); it had written {mortal.names}"
            )
            raise
        deaths += mortal.died.is_set()
    assert deaths >= len(struck) - 1, "a client's timing may spare the last write, and no other"


@pytest.mark.parametrize("case", TWICE, ids=lambda case: case.name)
async def test_two_workers_stopped_dead_change_nothing(stage: Stage, case: Case) -> None:
    """The worker that takes over dies too, at each of its writes, its first look for work included."""
    attack = Attack(stage, case)
    names = await attack.play_whole()
    for number in range(1, len(names) + 1, 2):
        for second in points_up_to(len(names) - number + 1, f"{case.name} {number}"):
            mortals = [Mortal(stage.database, number), Mortal(stage.database, second, also={"take_over"})]
            try:
                async with asyncio.timeout(HANG):
                    play = await attack.play(mortals, same_process=second % 2 == 0)
                await attack.check(play)
            except Exception as error:
                error.add_note(f"the workers died after {[mortal.names for mortal in mortals]}")
                raise
