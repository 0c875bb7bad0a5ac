"""How a generation ends: every stop reason, empty answers, max_steps."""

from __future__ import annotations

import pytest

from engine.tool import tool
from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import RunResult, StepFinished
from tests.support.messages_script import Script
from tests.support.stage import ALICE, Stage


@pytest.mark.parametrize(
    ("stop_reason", "finish"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("refusal", FinishReason.CONTENT_FILTER),
        ("something_new", FinishReason.STOP),
    ],
)
async def test_each_stop_reason_has_its_finish(stage: Stage, stop_reason: str, finish: FinishReason) -> None:
    """An answer without calls ends the run COMPLETED, with the finish that its stop reason stands for."""
    node = await stage.open()
    stage.play(Script().text("So.").stop(stop_reason))
    run = await node.settled(await node.start())
    assert (run.status, run.finish) == (RunStatus.COMPLETED, finish)
    assert stage.screen(run.id).of(StepFinished)[0].stop_reason == stop_reason


async def test_an_answer_that_paused_is_gone_on_with(stage: Stage) -> None:
    """pause_turn asks again with the same answer last; both parts are in the transcript."""
    node = await stage.open()
    server_call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    stage.play(Script().text("Searching").block(server_call).stop("pause_turn"), Script().text(" found."))
    run = await node.settled(await node.start())
    assert (run.status, run.steps) == (RunStatus.COMPLETED, 2)
    assert [message["role"] for message in stage.server.requests[1].messages] == ["user", "assistant"]
    assert stage.screen(run.id).text == "Searching found."


async def test_an_answer_without_content_does_not_break_the_next_call(stage: Stage) -> None:
    """An empty answer ends the run with empty text; the conversation goes on."""
    node = await stage.open()
    stage.play(Script().stop("end_turn"), Script().text("").stop("end_turn"), Script().text("Here."))
    run_id = await node.start()
    run = await node.settled(run_id)
    assert (run.status, run.finish) == (RunStatus.COMPLETED, FinishReason.STOP)
    assert stage.screen(run_id).of(RunResult)[0].text == ""
    for text in ("hi", "still there?"):
        await node.steer(run_id, text)
        await node.settled(run_id)
    assert stage.screen(run_id).text == "Here."


async def test_an_empty_text_block_is_kept_and_not_replayed(stage: Stage) -> None:
    """An empty or blank text block beside a call is stored as it came, and left out of the next request."""

    @tool
    async def work() -> str:
        """Work."""
        return "worked"

    node = await stage.open(tools=[work])
    stage.play(Script().text("").tool("work"), Script().text(" \n").tool("work"), Script().text("Done."))
    run = await node.settled(await node.start())
    messages = await stage.messages(run.id)
    assert [block["type"] for block in messages[1].content] == ["text", "tool_use"]
    assert run.status is RunStatus.COMPLETED


async def test_thinking_goes_back_to_the_model_byte_for_byte(stage: Stage) -> None:
    """Signed and redacted thinking comes back in the next request, as it was, in its order."""

    @tool
    async def work() -> str:
        """Work."""
        return "worked"

    node = await stage.open(tools=[work])
    script = Script().thinking("Let me ", "see\n").redacted().thinking("").text("On it").tool("work")
    stage.play(script, Script().text("Done."), Script().text("Bye."))
    run_id = await node.start()
    await node.settled(run_id)
    await node.steer(run_id, "and?")
    run = await node.settled(run_id)
    assert run.status is RunStatus.COMPLETED
    for request in stage.server.requests[1:]:
        kinds = [block["type"] for block in request.messages[1]["content"]]
        assert kinds == ["thinking", "redacted_thinking", "thinking", "text", "tool_use"]


async def test_a_turn_that_does_not_end_stops_at_max_steps(stage: Stage) -> None:
    """After max_steps model calls the run FAILS with AGENT_MAX_STEPS, its last results stored; retrying goes on."""

    @tool
    async def work() -> str:
        """Work."""
        return "worked"

    node = await stage.open(tools=[work], max_steps=3)
    stage.play(*(Script().tool("work") for _ in range(3)), Script().text("Done."))
    run = await node.settled(await node.start())
    assert (run.status, run.finish, run.steps) == (RunStatus.FAILED, FinishReason.MAX_STEPS, 3)
    assert run.error is not None
    assert run.error.code is ErrorCode.AGENT_MAX_STEPS
    assert len(stage.server.requests) == 3
    assert run.seq == 7
    await node.runs.retry(ALICE, run_id=run.id)
    run = await node.settled(run.id)
    assert (run.status, run.steps, run.generation) == (RunStatus.COMPLETED, 4, 2)


async def test_a_turn_that_ends_in_its_last_step_completes(stage: Stage) -> None:
    """max_steps model calls are allowed, the last one's answer included."""
    node = await stage.open(max_steps=1)
    stage.play(Script().text("One."), Script().text("Two."))
    run_id = await node.start()
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    await node.steer(run_id, "again")  # a turn of its own, with steps of its own
    run = await node.settled(run_id)
    assert (run.status, run.steps, run.turn_steps) == (RunStatus.COMPLETED, 2, 1)


async def test_paused_answers_count_as_steps(stage: Stage) -> None:
    """An answer that pauses for ever stops at max_steps too."""
    node = await stage.open(max_steps=2)
    stage.play(Script().text("a").stop("pause_turn"), Script().text("b").stop("pause_turn"), Script().text("c"))
    run_id = await node.start()
    run = await node.settled(run_id)
    assert (run.status, run.finish) == (RunStatus.FAILED, FinishReason.MAX_STEPS)
    await node.steer(run_id, "hi")
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
