"""Room for runs, shutdown, and signals that come too late."""

from __future__ import annotations

import asyncio

from engine.tool import tool
from models.enums import RunStatus
from models.events import RunResult, StepFinished
from tests.support.messages_script import Script
from tests.support.stage import Stage, quiet


async def test_a_run_beyond_max_runs_waits_and_is_taken_when_there_is_room(stage: Stage) -> None:
    """It is accepted and RUNNING at once, asks no model until a loop has ended, and then completes."""
    node = await stage.open(max_runs=2)
    releases = [asyncio.Event(), asyncio.Event()]
    stage.play(*(Script().text("Held.").hold(release) for release in releases), Script().text("Third."))
    runs = [await node.start(f"run {number}") for number in range(3)]
    await stage.server.arrived(2)
    await quiet()
    assert len(stage.server.requests) == 2
    waiting = await stage.run(runs[2])
    assert (waiting.status, waiting.started_at) == (RunStatus.RUNNING, None)
    releases[0].set()
    assert (await node.settled(runs[2])).status is RunStatus.COMPLETED
    assert stage.screen(runs[2]).text == "Third."
    releases[1].set()
    assert (await node.settled(runs[1])).takeovers == 0


async def test_a_worker_that_closes_hands_its_runs_back(stage: Stage) -> None:
    """What does not end while it drains is given up at once, counted as no failure, and never shown as cancelled."""
    node = await stage.open(drain_seconds=0, watch_seconds=0.02)
    stage.play(Script().half_text("Half").hold(asyncio.Event()), Script().text("Whole."))
    run_id = await node.start()
    screen = stage.screen(run_id)
    await screen.shows("Half")
    await node.worker.close()
    handed = await stage.run(run_id)
    assert (handed.status, handed.worker, handed.lease_until) == (RunStatus.RUNNING, None, 0)
    await stage.server.requests[0].cut_off()
    other = await stage.open(watch_seconds=0.02, on_crash="fail")
    run = await other.settled(run_id)
    assert (run.status, run.takeovers, run.generation) == (RunStatus.COMPLETED, 0, 1)
    await screen.sees(RunResult)
    assert screen.text == "Whole."
    assert screen.names == ["StepRestarted", "StepFinished", "RunResult"]


async def test_a_worker_that_drains_lets_the_step_finish(stage: Stage) -> None:
    """A response under way is taken to its end; the next step is another worker's."""
    release = asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        return "worked"

    node = await stage.open(tools=[work], watch_seconds=0.02)
    stage.play(Script().text("On it").hold(release).tool("work"), Script().text("Done."))
    run_id = await node.start()
    await stage.screen(run_id).shows("On it")
    closing = asyncio.create_task(node.worker.close())
    await quiet()
    release.set()
    await closing
    handed = await stage.run(run_id)
    assert (handed.status, handed.steps, handed.seq) == (RunStatus.RUNNING, 1, 3)
    other = await stage.open(tools=[work], watch_seconds=0.02)
    assert (await other.settled(run_id)).status is RunStatus.COMPLETED
    assert len(stage.server.requests) == 2


async def test_a_worker_that_closes_takes_nothing_more(stage: Stage) -> None:
    """A run that is opened while it drains is free for another, and accepted all the same."""
    release = asyncio.Event()
    node = await stage.open(watch_seconds=0.02)
    stage.play(Script().text("First.").hold(release), Script().text("Second."))
    first = await node.start("one")
    await stage.server.arrived(1)
    closing = asyncio.create_task(node.worker.close())
    await quiet()
    second = await node.start("two")
    assert (await stage.run(second)).worker is None
    release.set()
    await closing
    assert (await stage.run(first)).status is RunStatus.COMPLETED
    other = await stage.open(watch_seconds=0.02)
    assert (await other.settled(second)).status is RunStatus.COMPLETED


async def test_a_run_that_was_accepted_by_a_server_without_worker_is_claimed(stage: Stage) -> None:
    """A process that only serves opens runs free to claim; a worker's next look takes them."""
    front = await stage.open(watch_seconds=0.02, works=False)
    stage.play(Script().text("Taken."))
    run_id = await front.start()
    assert (await stage.run(run_id)).worker is None
    node = await stage.open()
    run = await node.settled(run_id)
    assert (run.status, run.takeovers, run.fence) == (RunStatus.COMPLETED, 0, 2)


async def test_signals_meant_for_another_fence_are_ignored(stage: Stage) -> None:
    """A cancel or an input of an earlier generation does not stop the loop of a later one."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One."), Script().half_text("Two").hold(release))
    run_id = await node.start()
    first = await node.settled(run_id)
    await node.steer(run_id, "again")
    await stage.screen(run_id).shows("Two")
    node.worker.cancelled(run_id, first.fence)
    node.worker.sent(run_id, first.fence, ["inp_old"])
    release.set()
    run = await node.settled(run_id)
    assert (run.status, stage.screen(run_id).text) == (RunStatus.COMPLETED, "One.Two")


async def test_an_interrupt_that_was_folded_in_already_stops_nothing(stage: Stage) -> None:
    """The rows tell of an interrupting input once more after it was applied: the loop ignores it."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().half_text("One").hold(asyncio.Event()), Script().half_text("Two").hold(release))
    run_id = await node.start()
    await stage.screen(run_id).shows("One")
    accepted = await node.interrupt(run_id, "now")
    await stage.screen(run_id).shows("Two")
    run = await stage.run(run_id)
    node.worker.sent(run_id, run.fence, [str(accepted.input_id)])
    release.set()
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert len(stage.screen(run_id).of(StepFinished)) == 2


async def test_a_drain_that_is_cancelled_hands_back_at_once(stage: Stage) -> None:
    """Whoever will not wait for steps to finish leaves nothing behind all the same."""
    node = await stage.open(drain_seconds=3_600)
    stage.play(Script().half_text("Half").hold(asyncio.Event()))
    run_id = await node.start()
    await stage.screen(run_id).shows("Half")
    closing = asyncio.create_task(node.worker.close())
    await quiet()
    closing.cancel()
    await asyncio.wait((closing,))
    assert closing.cancelled()
    run = await stage.run(run_id)
    assert (run.status, run.lease_until, len(node.worker)) == (RunStatus.RUNNING, 0, 0)
