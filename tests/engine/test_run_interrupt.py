"""INTERRUPT: what is said to a run cuts what it is doing, and the run goes on with it."""

from __future__ import annotations

import asyncio

from engine.context import Context
from engine.tool import tool
from models.enums import RunStatus, ToolCallState
from models.events import InputApplied, InputQueued, RunResult, StepFinished, StepRestarted
from tests.support.messages_script import Script
from tests.support.stage import ALICE, Stage, quiet


async def test_an_interrupt_cuts_the_response_and_keeps_what_was_shown(stage: Stage) -> None:
    """The text shown is the assistant's turn with stopReason null; the input follows; the connection is closed."""
    node = await stage.open()
    stage.play(Script().half_text("Once upon").hold(asyncio.Event()).text("never"), Script().text("Short."))
    run_id = await node.start("Tell me a story")
    screen = stage.screen(run_id)
    await screen.shows("Once upon")
    accepted = await node.interrupt(run_id, "Shorter!")
    run = await node.settled(run_id)
    assert (run.status, run.generation) == (RunStatus.COMPLETED, 1)
    messages = await stage.messages(run_id)
    assert [message.content for message in messages[1:]] == [
        [{"type": "text", "text": "Once upon"}],
        [{"type": "text", "text": "Shorter!"}],
        [{"type": "text", "text": "Short."}],
    ]
    assert [message.stop_reason for message in messages] == [None, None, None, "end_turn"]
    assert screen.names == ["InputQueued", "StepFinished", "InputApplied", "StepFinished", "RunResult"]
    assert screen.of(StepFinished)[0].stop_reason is None
    assert screen.of(InputApplied)[0].input_ids == [accepted.input_id]
    await stage.server.requests[0].cut_off()


async def test_an_interrupt_before_anything_was_shown_begins_the_step_again(stage: Stage) -> None:
    """Nothing shown: no message of the cut answer; the step begins again with the input, as attempt 2."""
    node = await stage.open()
    stage.play(Script().hold(asyncio.Event()), Script().text("Both."))
    run_id = await node.start("One")
    await stage.server.arrived(1)
    await node.interrupt(run_id, "Two")
    await node.settled(run_id)
    screen = stage.screen(run_id)
    assert screen.names == ["InputQueued", "InputApplied", "StepRestarted", "StepFinished", "RunResult"]
    assert [event.attempt for event in screen.of(StepRestarted)] == [2]
    assert [event.attempt for event in screen.of(StepFinished)] == [2]
    assert [block["text"] for block in stage.server.requests[1].messages[0]["content"]] == ["One", "Two"]


async def test_what_an_interrupted_call_had_reported_is_counted(stage: Stage) -> None:
    """The tokens that the provider had reported before the cut count, shown text or not."""
    release = asyncio.Event()
    node = await stage.open()
    silent = Script(input_tokens=100).event({"type": "ping"}).hold(asyncio.Event())
    shown = Script(input_tokens=200).half_text("Half").hold(asyncio.Event())
    stage.play(silent, shown, Script(input_tokens=1).text("Done.").hold(release))
    run_id = await node.start("One")
    await stage.server.arrived(1)
    await quiet()  # what was written must also be read: no text tells of it
    await node.interrupt(run_id, "Two")
    await stage.screen(run_id).shows("Half")
    await node.interrupt(run_id, "Three")
    release.set()
    await node.settled(run_id)
    assert stage.screen(run_id).of(RunResult)[0].usage.input_tokens == 301


async def test_whole_calls_in_a_cut_response_are_answered_as_not_run(stage: Stage) -> None:
    """A call that was whole when the response was cut does not run; its result says so, before the input."""
    ran: list[int] = []

    @tool
    async def work() -> str:
        """Work."""
        ran.append(1)
        return "worked"

    node = await stage.open(tools=[work])
    script = Script().text("On it").tool("work").half_text(" and").hold(asyncio.Event())
    stage.play(script, Script().text("Stopped."))
    run_id = await node.start()
    await stage.screen(run_id).shows(" and")
    await node.interrupt(run_id, "Stop that")
    run = await node.settled(run_id)
    result, text = (await stage.messages(run_id))[2].content
    assert (result["type"], result["is_error"]) == ("tool_result", True)
    assert "not run" in result["content"]
    assert text == {"type": "text", "text": "Stop that"}
    (call,) = (await stage.story(run_id)).calls
    assert (call.state, ran, run.status) == (ToolCallState.CANCELLED, [], RunStatus.COMPLETED)
    names = stage.screen(run_id).names
    assert names[:5] == ["InputQueued", "StepFinished", "ToolCallStarted", "ToolCallFinished", "InputApplied"]


async def test_an_interrupt_cancels_the_tools_and_the_run_goes_on(stage: Stage) -> None:
    """Tools under way are cancelled as by a cancel, others do not begin; the model reads it and goes on."""
    began = asyncio.Event()

    @tool
    async def slow(ctx: Context) -> str:
        """Work slowly."""
        began.set()
        await ctx.cancelled.wait()
        return "stopped half-way"

    node = await stage.open(tools=[slow], parallel_tools=1)
    stage.play(Script().tool("slow").tool("slow"), Script().text("I see."))
    run_id = await node.start()
    await began.wait()
    await node.interrupt(run_id, "Leave it")
    run = await node.settled(run_id)
    first, second, text = (await stage.messages(run_id))[2].content
    assert (first["content"], first["is_error"]) == ("stopped half-way", False)
    assert "not run" in second["content"]
    assert text["text"] == "Leave it"
    assert (run.status, run.generation) == (RunStatus.COMPLETED, 1)


async def test_an_interrupting_input_cannot_be_withdrawn(stage: Stage) -> None:
    """withdrawInput leaves an interrupting input where it is."""
    began, release = asyncio.Event(), asyncio.Event()

    @tool
    async def stubborn() -> str:
        """Go on."""
        began.set()
        await release.wait()
        return "done"

    node = await stage.open(tools=[stubborn])
    stage.play(Script().tool("stubborn"), Script().text("I see."))
    run_id = await node.start()
    await began.wait()
    accepted = await node.interrupt(run_id, "Now")
    assert not (await node.runs.withdraw(ALICE, run_id=run_id, input_id=str(accepted.input_id)))[1]
    release.set()
    await node.settled(run_id)
    assert stage.screen(run_id).of(InputApplied)[0].input_ids == [accepted.input_id]


async def test_input_that_waits_goes_with_the_one_that_interrupts(stage: Stage) -> None:
    """Everything that is queued is folded in at the cut, in the order it came."""
    node = await stage.open()
    stage.play(Script().half_text("Well").hold(asyncio.Event()), Script().text("Right."))
    run_id = await node.start()
    await stage.screen(run_id).shows("Well")
    await node.steer(run_id, "one")
    await node.interrupt(run_id, "two")
    await node.settled(run_id)
    assert [block["text"] for block in (await stage.messages(run_id))[2].content] == ["one", "two"]
    assert len(stage.screen(run_id).of(InputQueued)) == 2


async def test_two_interrupts_cut_two_responses(stage: Stage) -> None:
    """An interrupt cuts what is under way when it comes, and no later step: the second needs its own."""
    node = await stage.open()
    stage.play(
        Script().half_text("One").hold(asyncio.Event()),
        Script().half_text("Two").hold(asyncio.Event()),
        Script().text("Three"),
    )
    run_id = await node.start()
    await stage.screen(run_id).shows("One")
    await node.interrupt(run_id, "a")
    await stage.screen(run_id).shows("Two")
    await node.interrupt(run_id, "b")
    await node.settled(run_id)
    assert stage.screen(run_id).text == "OneTwoThree"


async def test_an_interrupt_during_a_pause_between_attempts_ends_the_pause(stage: Stage) -> None:
    """The provider has failed and is to be asked again later: an interrupt asks it at once, with the input."""
    stage.pauses.released.clear()
    node = await stage.open()
    stage.play(Script.status(529, "overloaded_error"), Script().text("Here."))
    run_id = await node.start("One")
    await stage.pauses.begun.wait()
    await node.interrupt(run_id, "Two")
    run = await node.settled(run_id)
    assert (run.status, stage.screen(run_id).text) == (RunStatus.COMPLETED, "Here.")


async def test_a_cancel_that_is_found_at_the_cut_keeps_what_was_shown(stage: Stage) -> None:
    """The interrupt reaches the loop before a cancel that was committed earlier: the shown text is kept."""
    node, other = await stage.open(), await stage.open()
    stage.play(Script().half_text("Shown").hold(asyncio.Event()), Script().text("Next."))
    run_id = await node.start()
    screen = stage.screen(run_id)
    await screen.shows("Shown")
    await other.cancel(run_id)  # told by the rows alone
    await node.interrupt(run_id, "after")
    await screen.sees(RunResult, 2)
    await node.settled(run_id)
    cut = (await stage.messages(run_id))[1]
    assert (cut.content, cut.stop_reason) == ([{"type": "text", "text": "Shown"}], None)
    assert [event.status for event in screen.of(RunResult)] == [RunStatus.CANCELLED, RunStatus.COMPLETED]
