"""An agent's timeout: seconds without progress, and ten times that for a turn altogether."""

from __future__ import annotations

import asyncio

from engine.context import Context
from engine.tool import tool
from models.enums import ErrorCode, FinishReason, RunStatus, ToolCallState
from models.events import StepFinished, StepRestarted
from tests.support.messages_script import Script
from tests.support.stage import Stage


async def test_a_run_without_progress_fails(stage: Stage) -> None:
    """A provider that says nothing for the agent's timeout: FAILED, ERROR, RUN_TIMEOUT; the connection is closed."""
    node = await stage.open(timeout=1.0)
    stage.play(Script().hold(asyncio.Event()), Script().text("Now."))
    run_id = await node.start()
    run = await node.settled(run_id)
    assert run.error is not None
    assert (run.status, run.finish, run.error.code) == (RunStatus.FAILED, FinishReason.ERROR, ErrorCode.RUN_TIMEOUT)
    await stage.server.requests[0].cut_off()
    await node.steer(run_id, "hi")
    run = await node.settled(run_id)
    assert (run.status, run.error) == (RunStatus.COMPLETED, None)


async def test_a_timeout_keeps_what_was_shown(stage: Stage) -> None:
    """Text that was shown before the stall is the assistant's turn, cut."""
    node = await stage.open(timeout=1.0)
    stage.play(Script().half_text("Shown").hold(asyncio.Event()), Script().text("Now."))
    run_id = await node.start()
    assert (await node.settled(run_id)).status is RunStatus.FAILED
    screen = stage.screen(run_id)
    assert (screen.text, screen.of(StepRestarted)) == ("Shown", [])
    assert screen.of(StepFinished)[0].stop_reason is None
    await node.steer(run_id, "hi")
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


async def test_a_slow_answer_that_goes_on_is_progress(stage: Stage) -> None:
    """Tokens that come slower than the timeout altogether, but each within it, do not fail the run."""
    node = await stage.open(timeout=2.0)
    stage.play(Script().text(*"slowly").paced(0.4))
    run = await node.settled(await node.start())
    assert run.status is RunStatus.COMPLETED


async def test_a_tool_within_its_own_timeout_is_progress(stage: Stage) -> None:
    """A tool may work longer than the agent's timeout without a word."""

    @tool(timeout=30)
    async def slow() -> str:
        """Work for longer than the run may be silent."""
        await asyncio.sleep(1.5)
        return "worked"

    node = await stage.open(tools=[slow], timeout=1.0)
    stage.play(Script().tool("slow"), Script().text("Done."))
    run = await node.settled(await node.start())
    assert run.status is RunStatus.COMPLETED


async def test_a_turn_lasts_ten_times_the_timeout_at_most(stage: Stage) -> None:
    """A turn that always makes progress ends all the same: its tools are cancelled, its calls answered."""

    @tool(timeout=30)
    async def slow(ctx: Context) -> str:
        """Work until it is told to stop."""
        await ctx.cancelled.wait()
        return "stopped"

    node = await stage.open(tools=[slow], timeout=0.4)
    stage.play(Script().tool("slow"), Script().text("Again."))
    run_id = await node.start()
    run = await node.settled(run_id)
    assert run.error is not None
    assert (run.status, run.error.code) == (RunStatus.FAILED, ErrorCode.RUN_TIMEOUT)
    (call,) = (await stage.story(run_id)).calls
    assert (call.state, call.result) == (ToolCallState.SUCCEEDED, "stopped")


async def test_the_next_turn_has_its_whole_time(stage: Stage) -> None:
    """After a time-out the turn that follows is timed from its own beginning."""
    node = await stage.open(timeout=1.0)
    stage.play(Script().hold(asyncio.Event()), Script().text(*"slowly").paced(0.1))
    run_id = await node.start()
    assert (await node.settled(run_id)).status is RunStatus.FAILED
    stage.clock.advance(1_000)
    await node.steer(run_id, "hi")
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


async def test_time_without_a_worker_does_not_count(stage: Stage) -> None:
    """A run that waited long for room has its whole time once it is taken."""
    release = asyncio.Event()
    node = await stage.open(timeout=30, max_runs=1)
    stage.play(Script().text("First.").hold(release), Script().text("Second."))
    first = await node.start("one")
    second = await node.start("two")
    await stage.server.arrived(1)
    stage.clock.advance(10_000)
    release.set()
    assert (await node.settled(second)).status is RunStatus.COMPLETED
    assert (await node.settled(first)).status is RunStatus.COMPLETED


async def test_a_turn_that_was_taken_over_keeps_its_time(stage: Stage) -> None:
    """Ten times the timeout count from the turn's beginning, whoever works on it: a late takeover fails at once."""
    node = await stage.open(timeout=30)
    stage.play(Script().half_text("Half").hold(asyncio.Event()))
    run_id = await node.start()
    await stage.screen(run_id).shows("Half")
    stage.clock.advance(301)
    await stage.leases.advance(10_000)
    other = await stage.open(timeout=30, watch_seconds=0.02)
    run = await other.settled(run_id)
    assert run.error is not None
    assert run.error.code is ErrorCode.RUN_TIMEOUT
    await node.beat()
    await node.idle(run_id)
