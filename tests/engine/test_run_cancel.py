"""cancelRun: stops a run at any moment, keeps what was shown, and leaves a conversation that can go on."""

from __future__ import annotations

import asyncio
import threading

from engine.context import Context
from engine.tool import tool
from models.enums import FinishReason, RunStatus, ToolCallState
from models.events import InputApplied, RunResult, StepFinished, StepRestarted
from tests.support.messages_script import Script
from tests.support.stage import ALICE, Node, Stage, quiet


async def say_hi(stage: Stage, node: Node, run_id: str) -> None:
    """A cancelled run answers the next input."""
    stage.play(Script().text("Hello again."))
    await node.steer(run_id, "hi")
    run = await node.settled(run_id)
    assert (run.status, run.finish) == (RunStatus.COMPLETED, FinishReason.STOP)
    assert stage.screen(run_id).of(RunResult)[-1].text == "Hello again."


async def test_cancel_stops_a_response_in_flight(stage: Stage) -> None:
    """The upstream connection closes before the answer's end, the text shown is kept, the run is CANCELLED, ABORTED."""
    node = await stage.open()
    stage.play(Script().half_text("Once upon ").hold(asyncio.Event()).text("a time"))
    run_id = await node.start()
    await stage.screen(run_id).shows("Once upon ")
    await node.cancel(run_id)
    run = await node.settled(run_id)
    assert (run.status, run.finish, run.error) == (RunStatus.CANCELLED, FinishReason.ABORTED, None)
    request = stage.server.requests[0]
    await request.cut_off()
    assert request.events == 3
    (answer,) = (await stage.messages(run_id))[1:]
    assert (answer.content, answer.stop_reason) == ([{"type": "text", "text": "Once upon "}], None)
    (result,) = stage.screen(run_id).of(RunResult)
    assert (result.cancelled, result.text, result.status) == (True, "Once upon ", RunStatus.CANCELLED)
    assert stage.screen(run_id).names == ["StepFinished", "RunResult"]
    await say_hi(stage, node, run_id)


async def test_a_half_written_call_is_not_kept(stage: Stage) -> None:
    """Cancelled in the middle of a call's arguments, the run keeps the text before it, and no trace of the call."""
    node = await stage.open()
    stage.play(Script().text("Let me").half_tool("work", '{"a":').hold(asyncio.Event()))
    run_id = await node.start()
    await stage.screen(run_id).shows("Let me")
    await quiet()
    assert stage.server.requests[0].events == 6
    await node.cancel(run_id)
    await node.settled(run_id)
    story = await stage.story(run_id)
    assert story.messages[1].content == [{"type": "text", "text": "Let me"}]
    assert story.calls == []
    await say_hi(stage, node, run_id)


async def test_unsigned_thinking_is_kept_and_never_replayed(stage: Stage) -> None:
    """Thinking that was cut before its signature stays in the transcript; the next request has none of it."""
    node = await stage.open()
    half = {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hmm"}}
    script = Script().event(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        }
    )
    stage.play(script.event(half).hold(asyncio.Event()))
    run_id = await node.start()
    await stage.screen(run_id).shows("Hmm")
    await node.cancel(run_id)
    await node.settled(run_id)
    assert (await stage.messages(run_id))[1].content[0]["thinking"] == "Hmm"
    await say_hi(stage, node, run_id)
    assert [message["role"] for message in stage.server.requests[1].messages] == ["user"]


async def test_cancel_before_anything_was_shown_keeps_no_answer(stage: Stage) -> None:
    """Cancelled while the provider was silent, the transcript holds the input alone, and no step was made."""
    node = await stage.open()
    stage.play(Script().hold(asyncio.Event()))
    run_id = await node.start()
    await stage.server.arrived(1)
    await node.cancel(run_id)
    run = await node.settled(run_id)
    assert (run.status, run.seq, run.steps) == (RunStatus.CANCELLED, 1, 0)
    await say_hi(stage, node, run_id)


async def test_cancel_reaches_a_running_tool_at_once(stage: Stage) -> None:
    """ctx.cancelled is set; what the tool gives within its grace is its result, and the conversation stays usable."""
    began = asyncio.Event()

    @tool
    async def slow(ctx: Context) -> str:
        """Work slowly."""
        began.set()
        await ctx.cancelled.wait()
        return "half of it"

    node = await stage.open(tools=[slow])
    stage.play(Script().text("On it").tool("slow"))
    run_id = await node.start()
    await began.wait()
    await node.cancel(run_id)
    run = await node.settled(run_id)
    assert (run.status, run.finish) == (RunStatus.CANCELLED, FinishReason.ABORTED)
    (call,) = (await stage.story(run_id)).calls
    assert (call.state, call.result) == (ToolCallState.SUCCEEDED, "half of it")
    assert stage.screen(run_id).names == ["StepFinished", "ToolCallStarted", "ToolCallFinished", "RunResult"]
    await say_hi(stage, node, run_id)
    roles = [message["role"] for message in stage.server.requests[1].messages]
    assert roles == ["user", "assistant", "user"]


async def test_a_tool_that_goes_on_is_cancelled_and_its_late_result_dropped(stage: Stage) -> None:
    """A thread that can't be stopped does not hold the run; what it gives after the grace changes nothing."""
    began, release = threading.Event(), threading.Event()

    @tool
    def deaf() -> str:
        """Work, deaf to everything."""
        began.set()
        release.wait()
        return "too late"

    node = await stage.open(tools=[deaf])
    stage.play(Script().tool("deaf"))
    run_id = await node.start()
    await asyncio.to_thread(began.wait)
    await node.cancel(run_id)
    run = await node.settled(run_id)
    release.set()
    assert run.status is RunStatus.CANCELLED
    (call,) = (await stage.story(run_id)).calls
    assert call.state is ToolCallState.CANCELLED
    assert "cancelled while it ran" in call.result
    await say_hi(stage, node, run_id)
    (call,) = (await stage.story(run_id)).calls
    assert "cancelled while it ran" in call.result


async def test_calls_that_had_not_begun_are_not_run(stage: Stage) -> None:
    """Of a step's calls the cancel lets none begin; each has its result all the same."""
    ran: list[int] = []
    began = asyncio.Event()

    @tool
    async def slow(ctx: Context) -> str:
        """Work slowly."""
        ran.append(1)
        began.set()
        await ctx.cancelled.wait()
        return "stopped"

    node = await stage.open(tools=[slow], parallel_tools=1)
    stage.play(Script().tool("slow").tool("slow").tool("slow"))
    run_id = await node.start()
    await began.wait()
    await node.cancel(run_id)
    await node.settled(run_id)
    calls = sorted((await stage.story(run_id)).calls, key=lambda call: call.index)
    assert [call.state for call in calls] == [ToolCallState.SUCCEEDED, ToolCallState.CANCELLED, ToolCallState.CANCELLED]
    assert ran == [1]
    await say_hi(stage, node, run_id)


async def test_cancel_during_a_pause_between_attempts_ends_the_run(stage: Stage) -> None:
    """A run that waits to ask a failed provider again is cancelled at once, without another request."""
    stage.pauses.released.clear()
    node = await stage.open()
    stage.play(Script.status(529, "overloaded_error"))
    run_id = await node.start()
    await stage.pauses.begun.wait()
    await node.cancel(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED
    assert len(stage.server.requests) == 1
    stage.pauses.released.set()
    await say_hi(stage, node, run_id)


async def test_text_of_a_failed_attempt_that_was_shown_is_kept_by_a_cancel(stage: Stage) -> None:
    """In a pause between attempts the watchers still see the first attempt's text: a cancel keeps it."""
    stage.pauses.released.clear()
    node = await stage.open()
    stage.play(Script().text("Shown").fail())
    run_id = await node.start()
    await stage.pauses.begun.wait()
    await node.cancel(run_id)
    await node.settled(run_id)
    assert stage.screen(run_id).text == "Shown"
    assert stage.screen(run_id).of(StepRestarted) == []
    stage.pauses.released.set()
    await say_hi(stage, node, run_id)


async def test_input_before_the_cancel_is_kept_unanswered(stage: Stage) -> None:
    """What was queued before the cancel is appended as the user's turn, told by InputApplied, and nobody answers."""
    node = await stage.open()
    stage.play(Script().half_text("Well").hold(asyncio.Event()))
    run_id = await node.start()
    await stage.screen(run_id).shows("Well")
    accepted = await node.steer(run_id, "before")
    await node.cancel(run_id)
    run = await node.settled(run_id)
    assert (run.status, run.seq, run.pending) == (RunStatus.CANCELLED, 3, ())
    assert (await stage.messages(run_id))[2].content == [{"type": "text", "text": "before"}]
    (applied,) = stage.screen(run_id).of(InputApplied)
    assert applied.input_ids == [accepted.input_id]
    assert stage.screen(run_id).names == ["InputQueued", "StepFinished", "InputApplied", "RunResult"]
    await say_hi(stage, node, run_id)


async def test_input_after_the_cancel_begins_the_next_turn_at_once(stage: Stage) -> None:
    """What comes between the cancel and the run's end begins a turn of its own, in a new stream."""
    began, release = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Work slowly, deaf to cancels for a moment."""
        began.set()
        await release.wait()
        return "done"

    node = await stage.open(tools=[slow])
    stage.play(Script().tool("slow"), Script().text("A new turn."))
    run_id = await node.start()
    await began.wait()
    before = await node.steer(run_id, "before")
    await node.cancel(run_id)
    after = await node.steer(run_id, "after")
    assert after.queued
    release.set()
    await stage.screen(run_id).until(lambda screen: len(screen.of(RunResult)) == 2)
    run = await node.settled(run_id)
    assert (run.status, run.generation, run.finish) == (RunStatus.COMPLETED, 2, FinishReason.STOP)
    contents = [message.content for message in await stage.messages(run_id)]
    assert [block["type"] for block in contents[2]] == ["tool_result", "text"]
    assert contents[3] == "after"
    screen = stage.screen(run_id)
    assert [event.input_ids for event in screen.of(InputApplied)] == [[before.input_id], [after.input_id]]
    assert [event.status for event in screen.of(RunResult)] == [RunStatus.CANCELLED, RunStatus.COMPLETED]


async def test_the_turn_after_a_cancel_can_be_cancelled_and_interrupted_too(stage: Stage) -> None:
    """Signals of the old turn do not reach the new one, and its own do."""
    began, release = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Work slowly."""
        began.set()
        await release.wait()
        return "done"

    node = await stage.open(tools=[slow])
    second, third = (Script().half_text(text).hold(asyncio.Event()) for text in ("Second", "Third"))
    stage.play(Script().tool("slow"), second, third)
    run_id = await node.start()
    await began.wait()
    await node.cancel(run_id)
    await node.steer(run_id, "after")
    release.set()
    screen = stage.screen(run_id)
    await screen.shows("Second")
    await node.interrupt(run_id, "now")
    await screen.shows("Third")
    await node.cancel(run_id)
    run = await node.settled(run_id)
    assert (run.status, run.generation) == (RunStatus.CANCELLED, 2)
    assert screen.text == "SecondThird"


async def test_a_second_cancel_moves_the_line_and_changes_nothing_else(stage: Stage) -> None:
    """Input between two cancels belongs to what was before: it is kept unanswered, and no turn begins."""
    began, release = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Work slowly."""
        began.set()
        await release.wait()
        return "done"

    node = await stage.open(tools=[slow])
    stage.play(Script().tool("slow"))
    run_id = await node.start()
    await began.wait()
    await node.cancel(run_id)
    await node.steer(run_id, "between")
    await node.cancel(run_id)
    release.set()
    run = await node.settled(run_id)
    assert (run.status, run.generation) == (RunStatus.CANCELLED, 1)
    assert (await stage.messages(run_id))[2].content[1]["text"] == "between"


async def test_a_run_that_does_not_generate_is_cancelled_at_once(stage: Stage) -> None:
    """A COMPLETED run becomes CANCELLED, and keeps its transcript, its finish, and its one RunResult."""
    node = await stage.open()
    stage.play(Script().text("Done."))
    run_id = await node.start()
    await node.settled(run_id)
    run = await node.cancel(run_id)
    assert (run.status, run.finish, run.seq) == (RunStatus.CANCELLED, FinishReason.STOP, 2)
    assert await node.cancel(run_id) == run
    assert len(stage.screen(run_id).of(RunResult)) == 1
    await say_hi(stage, node, run_id)


async def test_an_idle_fork_is_cancelled_at_once(stage: Stage) -> None:
    """An IDLE run becomes CANCELLED; its next input begins a turn all the same."""
    node = await stage.open()
    stage.play(Script().text("Done."), Script().text("Hello."))
    run = await node.settled(await node.start())
    fork = await node.runs.fork(ALICE, run_id=run.id, seq=2)
    assert (await node.cancel(fork.id)).status is RunStatus.CANCELLED
    await node.steer(fork.id, "hi")
    assert (await node.settled(fork.id)).status is RunStatus.COMPLETED


async def test_a_run_that_nobody_has_taken_is_cancelled_at_once(stage: Stage) -> None:
    """A run that waits for room is settled by the cancel itself, with its RunResult, and is never worked on."""
    node = await stage.open(max_runs=1)
    release = asyncio.Event()
    stage.play(Script().text("First.").hold(release))
    first = await node.start()
    waiting = await node.start("second")
    run = await node.cancel(waiting)
    assert (run.status, run.finish) == (RunStatus.CANCELLED, FinishReason.ABORTED)
    await stage.screen(waiting).sees(RunResult)
    release.set()
    await node.settled(first)
    assert len(stage.server.requests) == 1


async def test_cancel_right_after_the_start_ends_the_run(stage: Stage) -> None:
    """However early the cancel comes, the run ends CANCELLED, and the conversation goes on."""
    node = await stage.open()
    stage.server.answer(lambda request: Script().text("Slow").paced(0.05))
    run_id = await node.start()
    await node.cancel(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED
    await node.steer(run_id, "hi")
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


async def test_a_cancel_flagged_while_the_answer_ends_wins(stage: Stage) -> None:
    """A generation that would have finished and finds the cancel flagged ends CANCELLED, its whole answer kept."""
    node = await stage.open()
    stage.play(Script().text("Whole."))
    run_id = await node.start()
    await node.cancel(run_id)
    run = await node.settled(run_id)
    assert run.status is RunStatus.CANCELLED


async def test_a_cancel_told_by_the_rows_alone_is_found_by_the_next_beat(stage: Stage) -> None:
    """A cancel that another process committed reaches the loop with its worker's next look at the rows."""
    node, other = await stage.open(), await stage.open()
    stage.play(Script().half_text("Half").hold(asyncio.Event()))
    run_id = await node.start()
    await stage.screen(run_id).shows("Half")
    await other.cancel(run_id)
    assert (await stage.run(run_id)).cancel_requested
    await node.beat()
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED


async def test_dropping_a_subscription_is_never_a_cancel(stage: Stage) -> None:
    """All watchers leave in the middle of an answer; the run completes."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().half_text("Half").hold(release))
    run_id = await node.start()
    screen = stage.screen(run_id)
    await screen.shows("Half")
    await screen.leave()
    stage.screens.clear()
    release.set()
    run = await node.settled(run_id)
    assert run.status is RunStatus.COMPLETED
    assert [type(event).__name__ for event in (await stage.story(run_id)).told] == [
        StepFinished.__name__,
        RunResult.__name__,
    ]
