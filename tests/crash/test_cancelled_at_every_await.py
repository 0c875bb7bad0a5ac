"""Each scripted run, its loop's task cancelled wherever it waits, and its run cancelled at every moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from models.enums import FinishReason, RunStatus, SteerMode
from models.run import Run
from tests.support.attacks import SEEN, Attack, first_of
from tests.support.points import all_points, points_up_to
from tests.support.scripted_runs import CASES, Case, Play, inputs_of
from tests.support.stage import HANG, Act, Node, Stage
from tests.support.suspensions import Suspensions

_COMPLETES = (
    "plain",
    "parallel tools",
    "provider fails at first",
    "corrected once",
    "falls back",
    "compacts in a turn",
)
STEERED = [case for case in CASES if case.name in _COMPLETES]
WITHOUT_CLIENT = [case for case in CASES if case.name in (*_COMPLETES, "max_steps")]
LOOP = "Runner.work"


async def play_until_cancelled(attack: Attack, at: int | None) -> tuple[Play, Suspensions]:
    """Play a case; the task of its loop is cancelled where it waits for the `at`th time, and another worker goes on."""
    play = attack.new_play()
    node = await attack.open(play)
    play.lives(node)

    def cancel() -> None:
        node.worker.draining = True  # what it hands back is for another
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    points = Suspensions(LOOP, at, cancel)
    with points.watching():
        await play.start()
        client = asyncio.create_task(attack.case.client(play))
        assert points.task is not None
        await first_of(asyncio.wait({points.task}), attack.over(client, node, play))
        if points.task.cancelled():
            run = await attack.stage.run(play.run_id)
            assert run.status is not RunStatus.RUNNING or (run.lease_until, run.worker) == (0, None)
            play.lives(None)
        # The client may have had its call decided through the first node, which begins nothing any more.
        other = await attack.open(play, poll_seconds=SEEN, memory=node.memory)
        await play.screen.reconnect(other.watching)
        play.lives(other)
        await attack.over(client, other, play)
        await attack.stage.retire(other)
        await attack.stage.retire(node)
    return play, points


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_loop_cancelled_at_any_await_hands_its_run_back(stage: Stage, case: Case) -> None:
    """CancelledError goes on, the lease is given up, nothing is left behind, another worker ends the run the same."""
    attack = Attack(stage, case)
    await attack.play_whole()
    _, points = await play_until_cancelled(attack, None)
    cancelled = 0
    struck = points_up_to(points.count, case.name)
    for number in struck:
        try:
            async with asyncio.timeout(HANG):
                play, attacked = await play_until_cancelled(attack, number)
            await attack.check(play)
            run = await stage.run(play.run_id)
            assert run.takeovers == 0, "a hand-back counts as no failure"
        except Exception as error:
            error.add_note(f"the loop was cancelled at await {number} of {points.count}")
            raise
        cancelled += attacked.task is not None and attacked.task.cancelled()
    assert cancelled > len(struck) // 2


@pytest.mark.parametrize("case", WITHOUT_CLIENT, ids=lambda case: case.name)
async def test_a_run_cancelled_at_any_moment_ends_and_can_be_gone_on_with(stage: Stage, case: Case) -> None:
    """However far it had come, cancelRun ends it as CANCELLED; the next input is answered."""
    attack = Attack(stage, case)
    await attack.play_whole()

    async def cancel(node: Node, run_id: str) -> None:
        await node.cancel(run_id)

    async for run in act_at_every_await(attack, cancel):
        assert run.status is RunStatus.CANCELLED
        assert run.finish in (FinishReason.ABORTED, attack.case.finish)


@pytest.mark.parametrize("mode", SteerMode)
@pytest.mark.parametrize("case", STEERED, ids=lambda case: case.name)
async def test_a_run_steered_at_any_moment_takes_the_input_once(stage: Stage, case: Case, mode: SteerMode) -> None:
    """However far it had come, the input is in the transcript once, and the run ends as COMPLETED."""
    attack = Attack(stage, case)
    await attack.play_whole()

    async def steer(node: Node, run_id: str) -> None:
        await node.steer(run_id, "more", mode)

    async for run in act_at_every_await(attack, steer):
        assert run.status is RunStatus.COMPLETED
        assert inputs_of(await stage.messages(run.id)).count("more") == 1


async def act_at_every_await(attack: Attack, act: Act) -> AsyncIterator[Run]:
    """Play a case for each point where its loop waits, a client acting there; the run as it then ended."""
    for number in all_points(f"{attack.case.name} {act.__name__}"):
        try:
            async with asyncio.timeout(HANG):
                play, acted = await _act_at(attack, act, number)
            if not acted:
                return
            yield await attack.stage.run(play.run_id)
            async with asyncio.timeout(HANG):
                await _say_hi(attack, play)
        except Exception as error:
            error.add_note(f"a client acted at await {number}")
            raise


async def _act_at(attack: Attack, act: Act, number: int) -> tuple[Play, bool]:
    play = attack.new_play()
    node = await attack.open(play)
    play.lives(node)
    acts: list[asyncio.Task[None]] = []

    def begin() -> None:
        (run_id,) = node.worker._runners  # the client may still be waiting to be told of it
        acts.append(asyncio.create_task(act(node, run_id)))

    with Suspensions(LOOP, number, begin).watching():
        await play.start()
        await node.settled(play.run_id)
    await asyncio.gather(*acts)
    await node.settled(play.run_id)
    return play, bool(acts)


async def _say_hi(attack: Attack, play: Play) -> None:
    await play.steer("hi")
    (node,) = attack.stage.nodes
    run = await node.settled(play.run_id)
    assert (run.status, run.finish) == (RunStatus.COMPLETED, FinishReason.STOP)
    await attack.stage.retire(node)
    await attack.stage.check_run(play.run_id)
