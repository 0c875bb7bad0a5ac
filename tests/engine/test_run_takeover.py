"""Workers come and go: leases, takeovers after a crash, hand-back at shutdown, room for runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.loading import Agents, LoadError
from engine.tool import tool
from engine.worker import STRANGERS_MS
from models.enums import ErrorCode, FinishReason, RunStatus, ToolCallState
from models.events import InputApplied, InputQueued, RunResult, StepRestarted, ToolCallFinished, ToolCallStarted
from tests.support.messages_script import Script
from tests.support.stage import LEASE_SECONDS, Node, Stage, helper

LAPSED = LEASE_SECONDS + 1
PATIENCE = STRANGERS_MS / 1000 + 1


async def take_over(stage: Stage, **options: Any) -> Node:
    """Another process takes over what those before it held, once their leases have run out."""
    await stage.leases.advance(LAPSED)
    return await stage.open(watch_seconds=0.02, **options)


async def test_a_run_whose_worker_is_gone_is_taken_over(stage: Stage) -> None:
    """Another worker goes on in the same stream: the step in flight begins again as attempt 2, no text is doubled."""
    node = await stage.open(watch_seconds=0.02)
    stage.play(Script().half_text("Once upon").hold(asyncio.Event()), Script().text("Once more."))
    run_id = await node.start()
    screen = stage.screen(run_id)
    await screen.shows("Once upon")
    before = await stage.run(run_id)
    other = await take_over(stage)
    run = await other.settled(run_id)
    assert (run.status, run.stream_id, run.generation) == (RunStatus.COMPLETED, before.stream_id, 1)
    assert run.fence == before.fence + 1
    await node.beat()
    await node.idle(run_id)
    await screen.sees(RunResult)
    assert screen.text == "Once more."
    assert [(event.attempt, event.step) for event in screen.of(StepRestarted)] == [(2, 1)]
    assert [call.attempt for call in await stage.model_calls(run_id)] == [1, 2]


async def test_a_lease_is_renewed_while_a_tool_works(stage: Stage) -> None:
    """A long tool does not look dead: beats renew its run's lease, and nobody else takes it."""
    began, release = asyncio.Event(), asyncio.Event()
    ran: list[int] = []

    @tool(timeout=0)
    async def long() -> str:
        """Work for long."""
        ran.append(1)
        began.set()
        await release.wait()
        return "done"

    node, other = await stage.open(tools=[long]), await stage.open(tools=[long])
    stage.play(Script().tool("long"), Script().text("Done."))
    run_id = await node.start()
    await began.wait()
    for _ in range(5):
        await stage.leases.advance(LEASE_SECONDS * 0.8)
        await node.beat()
        await other.look()
    assert len(other.worker) == 0
    release.set()
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert ran == [1]


async def test_a_lapsed_lease_is_renewed_as_long_as_nobody_took_the_run(stage: Stage) -> None:
    """A worker that was frozen past its lease goes on where no other came in between."""
    release = asyncio.Event()
    node, other = await stage.open(), await stage.open()
    stage.play(Script().half_text("Half").hold(release))
    run_id = await node.start()
    await stage.screen(run_id).shows("Half")
    await stage.leases.advance(LAPSED)
    await node.beat()
    await other.look()
    release.set()
    run = await node.settled(run_id)
    assert (run.status, run.fence) == (RunStatus.COMPLETED, 1)


async def test_a_worker_that_was_frozen_past_its_lease_writes_nothing_more(stage: Stage) -> None:
    """Its answer, its tool's result and its end are refused by the fence, and what it publishes is ignored."""
    began, release = asyncio.Event(), asyncio.Event()
    ran: list[str] = []

    @tool
    async def work(ctx: Context) -> str:
        """Work."""
        ran.append(ctx.idempotency_key)
        began.set()
        await release.wait()
        return "the frozen one's result"

    node = await stage.open(tools=[work], watch_seconds=0.02)
    stage.play(Script().tool("work"), Script().text("It was interrupted."))
    run_id = await node.start()
    await began.wait()
    other = await take_over(stage, tools=[work])
    run = await other.settled(run_id)
    release.set()
    await node.idle(run_id)
    assert await stage.run(run_id) == run
    (call,) = (await stage.story(run_id)).calls
    assert (call.state, call.result) == (ToolCallState.INTERRUPTED, "tool execution was interrupted")
    assert len(ran) == 1


async def test_a_frozen_worker_that_streams_is_told_by_its_beat(stage: Stage) -> None:
    """The loop of a run that was taken over stops at the next beat, its upstream connection closed."""
    node = await stage.open(watch_seconds=0.02)
    stage.play(Script().half_text("Half").hold(asyncio.Event()), Script().text("Whole."))
    run_id = await node.start()
    await stage.screen(run_id).shows("Half")
    other = await take_over(stage)
    await other.settled(run_id)
    assert len(node.worker) == 1
    await node.beat()
    await node.idle(run_id)
    await stage.server.requests[0].cut_off()


async def test_a_finished_tool_is_not_run_again(stage: Stage) -> None:
    """A takeover among a step's tools runs those that had not begun, reports the one that had, and restarts no step."""
    ran: list[str] = []
    hanging = asyncio.Event()

    @tool
    async def work(ctx: Context, name: str) -> str:
        """Work.

        Args:
            name: which.
        """
        ran.append(name)
        if name == "second" and ran.count("second") == 1:
            hanging.set()
            await ctx.cancelled.wait()
        return f"{name} done"

    node = await stage.open(tools=[work], parallel_tools=1, watch_seconds=0.02)
    script = Script()
    for name in ("first", "second", "third"):
        script.tool("work", {"name": name})
    stage.play(script, Script().text("Done."))
    run_id = await node.start()
    await hanging.wait()
    other = await take_over(stage, tools=[work], parallel_tools=1)
    run = await other.settled(run_id)
    await node.beat()
    await node.idle(run_id)
    assert run.status is RunStatus.COMPLETED
    assert ran == ["first", "second", "third"]
    results = [block["content"] for block in stage.server.requests[1].messages[2]["content"]]
    assert results == ["first done", "tool execution was interrupted", "third done"]
    screen = stage.screen(run_id)
    await screen.sees(RunResult)
    assert screen.of(StepRestarted) == []
    assert [len(screen.of(kind)) for kind in (ToolCallStarted, ToolCallFinished)] == [3, 3]


async def test_a_tool_whose_author_allows_it_runs_again_under_the_same_key(stage: Stage) -> None:
    """on_crash="retry": the interrupted call runs again as attempt 2, with the same idempotency key and call id."""
    ran: list[tuple[str, str, int]] = []
    hanging = asyncio.Event()

    @tool(on_crash="retry")
    async def work(ctx: Context) -> str:
        """Work."""
        ran.append((ctx.idempotency_key, ctx.tool_call_id, ctx.attempt))
        if len(ran) == 1:
            hanging.set()
            await ctx.cancelled.wait()
        return "done"

    node = await stage.open(tools=[work], watch_seconds=0.02)
    stage.play(Script().tool("work"), Script().text("Done."))
    run_id = await node.start()
    await hanging.wait()
    other = await take_over(stage, tools=[work])
    run = await other.settled(run_id)
    await node.beat()
    await node.idle(run_id)
    assert run.status is RunStatus.COMPLETED
    (first, second) = ran
    assert first[:2] == second[:2]
    assert (first[2], second[2]) == (1, 2)
    await stage.screen(run_id).sees(RunResult)
    assert [event.attempt for event in stage.screen(run_id).of(ToolCallStarted)] == [1, 2]


async def test_an_agent_may_say_that_a_crash_ends_its_run(stage: Stage) -> None:
    """on_crash="fail": the run FAILS with RUN_INTERRUPTED at the takeover, and what was shown is withdrawn."""
    node = await stage.open(on_crash="fail", watch_seconds=0.02)
    stage.play(Script().half_text("Half").hold(asyncio.Event()))
    run_id = await node.start()
    screen = stage.screen(run_id)
    await screen.shows("Half")
    other = await take_over(stage, on_crash="fail")
    run = await other.settled(run_id)
    await node.beat()
    await node.idle(run_id)
    assert run.error is not None
    assert (run.status, run.finish, run.error.code) == (RunStatus.FAILED, FinishReason.ERROR, ErrorCode.RUN_INTERRUPTED)
    await screen.sees(RunResult)
    assert (screen.text, screen.names) == ("", ["StepRestarted", "RunResult"])


async def test_three_takeovers_without_a_finished_step_fail_the_run(stage: Stage) -> None:
    """A run that kills its workers is not taken for ever: at the third takeover it FAILS with RUN_INTERRUPTED."""
    stage.server.answer(lambda request: Script().half_text("Half").hold(asyncio.Event()))
    nodes = [await stage.open(watch_seconds=0.02)]
    run_id = await nodes[0].start()
    for takeover in (1, 2, 3):
        await stage.server.arrived(takeover)
        nodes.append(await take_over(stage))
    run = await nodes[-1].settled(run_id)
    assert run.error is not None
    assert (run.status, run.error.code, run.takeovers) == (RunStatus.FAILED, ErrorCode.RUN_INTERRUPTED, 3)
    for node in nodes:
        await node.beat()
        await node.idle(run_id)
    assert len(stage.server.requests) == 3


async def test_a_finished_step_starts_the_count_of_takeovers_anew(stage: Stage) -> None:
    """Two takeovers before a step and two after it are no reason to give up."""

    @tool
    async def work() -> str:
        """Work."""
        return "worked"

    hold = Script().half_text("Half").hold(asyncio.Event())
    stage.play(hold, hold, Script().tool("work"), hold, hold, Script().text("Done."))
    nodes = [await stage.open(tools=[work], watch_seconds=0.02)]
    run_id = await nodes[0].start()
    for asked in (1, 2, 4, 5):
        await stage.server.arrived(asked)
        nodes.append(await take_over(stage, tools=[work]))
    assert (await nodes[-1].settled(run_id)).status is RunStatus.COMPLETED
    for node in nodes:
        await node.beat()
        await node.idle(run_id)


async def test_a_run_whose_agent_is_gone_fails_in_words(stage: Stage) -> None:
    """A takeover that finds no agent of that name ends the run with AGENT_NOT_FOUND; a model not allowed likewise."""
    node = await stage.open(watch_seconds=0.02)
    stage.server.answer(lambda request: Script().half_text("Half").hold(asyncio.Event()))
    gone, forbidden = await node.start("one"), await node.start("two")
    for run_id in (gone, forbidden):
        await stage.screen(run_id).shows("Half")
    stage.clock.advance(PATIENCE)  # where others might know the agent, they have had their time
    await stage.leases.advance(LAPSED + PATIENCE)
    await stage.open(agents={"other": helper()}, max_runs=1)
    with_rules = await stage.open(allowed_models=frozenset({"claude-opus-5-5"}), watch_seconds=0.02)
    codes = set()
    for run_id in (gone, forbidden):
        run = await with_rules.settled(run_id)
        assert (run.status, run.finish) == (RunStatus.FAILED, FinishReason.ERROR)
        assert run.error is not None
        codes.add(run.error.code)
        await stage.screen(run_id).sees(RunResult)
        assert stage.screen(run_id).text == ""
    assert codes == {ErrorCode.AGENT_NOT_FOUND, ErrorCode.MODEL_NOT_ALLOWED}
    await node.beat()


async def test_a_run_whose_agents_file_does_not_load_waits_until_it_does(stage: Stage) -> None:
    """A mistake in the middle of an edit costs no run: it is left alone, and goes on with the mended file."""
    node = await stage.open(watch_seconds=0.02, drain_seconds=0)
    stage.play(Script().half_text("Half").hold(asyncio.Event()), Script().text("Whole."))
    run_id = await node.start()
    await stage.screen(run_id).shows("Half")
    await node.worker.close()
    mistake = LoadError(Path("helper.py"), 3, "SyntaxError: invalid syntax", "Mend it.")
    broken = await stage.open(agents=Agents({}, errors=[mistake]))
    await broken.look()
    waiting = await stage.run(run_id)
    assert (waiting.status, waiting.worker) == (RunStatus.RUNNING, None)
    mended = await stage.open(watch_seconds=0.02)
    assert (await mended.settled(run_id)).status is RunStatus.COMPLETED
    await stage.screen(run_id).sees(RunResult)
    assert stage.screen(run_id).text == "Whole."


async def test_a_cancel_of_a_dead_workers_run_is_settled_at_once(stage: Stage) -> None:
    """The lease has run out: the cancel itself settles the run, and withdraws the text that was never stored."""
    node = await stage.open(watch_seconds=0.02)
    stage.play(Script().half_text("Half").hold(asyncio.Event()))
    run_id = await node.start()
    screen = stage.screen(run_id)
    await screen.shows("Half")
    await stage.leases.advance(LAPSED)
    other = await stage.open(watch_seconds=0.02, works=False)
    run = await other.cancel(run_id)
    assert (run.status, run.finish) == (RunStatus.CANCELLED, FinishReason.ABORTED)
    await screen.sees(RunResult)
    assert (screen.text, screen.names) == ("", ["StepRestarted", "RunResult"])
    await node.beat()
    await node.idle(run_id)


async def test_a_cancel_flagged_before_the_worker_died_is_kept_by_the_takeover(stage: Stage) -> None:
    """The new worker settles the run as CANCELLED without asking the model, and withdraws what was shown."""
    node = await stage.open(watch_seconds=0.02)
    other = await stage.open(watch_seconds=0.02)
    stage.play(Script().half_text("Half").hold(asyncio.Event()), Script().text("Next."))
    run_id = await node.start()
    screen = stage.screen(run_id)
    await screen.shows("Half")
    before = await node.steer(run_id, "before")
    await other.cancel(run_id)
    after = await node.steer(run_id, "after")
    await screen.sees(InputQueued, 2)  # nothing locks the run's row any more: a look passes over what is locked
    await stage.leases.advance(LAPSED)
    await other.look()
    await screen.until(lambda screen: len(screen.of(RunResult)) == 2)
    run = await other.settled(run_id)
    assert (run.status, run.generation) == (RunStatus.COMPLETED, 2)
    assert screen.text == "Next."
    assert [event.input_ids for event in screen.of(InputApplied)] == [[before.input_id], [after.input_id]]
    await node.beat()
    await node.idle(run_id)


async def test_input_that_interrupts_survives_the_worker(stage: Stage) -> None:
    """An interrupting input that the dead worker never folded in is applied before the step begins again."""
    node = await stage.open(watch_seconds=0.02)
    other = await stage.open(watch_seconds=0.02)
    stage.play(Script().half_text("Half").hold(asyncio.Event()), Script().text("Both."))
    run_id = await node.start("One")
    await stage.screen(run_id).shows("Half")
    await other.interrupt(run_id, "Two")
    await stage.leases.advance(LAPSED)
    await other.look()
    run = await other.settled(run_id)
    assert run.status is RunStatus.COMPLETED
    assert [block["text"] for block in stage.server.requests[1].messages[0]["content"]] == ["One", "Two"]
    await node.beat()
    await node.idle(run_id)


async def test_a_takeover_in_the_same_process_goes_on_for_its_watchers(stage: Stage) -> None:
    """A live watcher on the process that takes over sees the step begin again, and ends with the whole text."""
    node = await stage.open()
    stage.play(Script().half_text("Once").hold(asyncio.Event()), Script().text("Twice."))
    run_id = await node.start()
    screen = stage.screen(run_id)
    await screen.shows("Once")
    await stage.leases.advance(LAPSED)
    other = await stage.open(memory=node.memory)
    await other.settled(run_id)
    await screen.sees(RunResult)
    assert screen.text == "Twice."
    await node.beat()
    await node.idle(run_id)
