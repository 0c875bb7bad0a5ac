"""Agents with an output type: the answer is checked, corrected at most a few times, and kept on the run."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel

from engine.decide import MAX_CORRECTIONS
from engine.output import CORRECTION
from engine.tool import tool
from models.enums import ErrorCode, FinishReason, Role, RunStatus
from models.events import RunResult, StepFinished
from models.message import Message
from tests.support.messages_script import Script
from tests.support.stage import ALICE, LEASE_SECONDS, Stage


class Answer(BaseModel):
    """What was found."""

    summary: str
    sources: list[str] = []


FITS = '{"summary": "Pelicans eat fish."}'
VALUE = {"summary": "Pelicans eat fish.", "sources": []}


@tool
async def search(query: str) -> str:
    """Search.

    Args:
        query: what for.
    """
    return f"something about {query}"


def said(messages: list[Message]) -> list[str]:
    """Who spoke, message by message: corrections are named."""
    names = []
    for message in messages:
        corrected = isinstance(message.content, list) and str(message.content[-1].get("text")).startswith(CORRECTION)
        names.append("correction" if message.role is Role.USER and corrected else message.role.lower())
    return names


async def test_an_answer_that_fits_is_the_runs_output(stage: Stage) -> None:
    """On the row and in RunResult, with defaults filled in; the text stays in the transcript as it came."""
    node = await stage.open(output=Answer)
    stage.play(Script().text("```json\n", FITS, "\n```"))
    run = await node.settled(await node.start())
    assert (run.status, run.finish, run.output, run.steps) == (RunStatus.COMPLETED, FinishReason.STOP, VALUE, 1)
    (result,) = stage.screen(run.id).of(RunResult)
    assert (result.output, result.text) == (VALUE, f"```json\n{FITS}\n```")
    assert (await stage.messages(run.id))[-1].content == [{"type": "text", "text": f"```json\n{FITS}\n```"}]


async def test_the_model_is_told_the_schema_behind_the_system_prompt(stage: Stage) -> None:
    """In words that every server that speaks the Messages API takes; the same bytes at every call."""
    node = await stage.open(output=Answer, tools=[search])
    stage.play(Script().text("Let me see.").tool("search", {"query": "pelicans"}), Script().text(FITS))
    run = await node.settled(await node.start())
    assert (run.output, run.steps) == (VALUE, 2)
    first, second = (request.body for request in stage.server.requests)
    assert first["system"][0]["text"].startswith("You help.\n\n# The final answer\n")
    assert '"summary":{"type":"string"}' in first["system"][0]["text"]
    assert first["system"] == second["system"]
    assert set(first) == {"model", "max_tokens", "messages", "system", "tools", "stream"}


async def test_an_answer_that_does_not_fit_is_sent_back_with_the_errors(stage: Stage) -> None:
    """As a message of the user, which is in the transcript; the model's next answer is the one that counts."""
    node = await stage.open(output=Answer)
    stage.play(Script().text('{"sources": "none"}'), Script().text(FITS))
    run = await node.settled(await node.start())
    messages = await stage.messages(run.id)
    assert said(messages) == ["user", "assistant", "correction", "assistant"]
    (told,) = messages[2].content
    assert "- summary: is missing\n- sources: Input should be a valid array" in told["text"]
    assert stage.server.requests[1].messages[-1]["content"][0]["text"] == told["text"]
    assert (run.status, run.output, run.steps, run.corrections) == (RunStatus.COMPLETED, VALUE, 2, 1)
    assert len(stage.screen(run.id).of(StepFinished)) == 2


async def test_an_answer_that_never_fits_fails_the_run(stage: Stage) -> None:
    """After a few corrections: FAILED, ERROR, OUTPUT_INVALID, no output, the last answer kept; a new input goes on."""
    node = await stage.open(output=Answer)
    stage.play(*(Script().text(f"Pelican {number}.") for number in range(MAX_CORRECTIONS + 1)), Script().text(FITS))
    run = await node.settled(await node.start())
    assert (run.status, run.finish, run.output) == (RunStatus.FAILED, FinishReason.ERROR, None)
    assert run.error is not None
    assert run.error.code is ErrorCode.OUTPUT_INVALID
    assert "no JSON value" in run.error.message
    assert said(await stage.messages(run.id)) == ["user", *["assistant", "correction"] * MAX_CORRECTIONS, "assistant"]
    (result,) = stage.screen(run.id).of(RunResult)
    assert (result.text, result.output) == (f"Pelican {MAX_CORRECTIONS}.", None)
    await node.steer(run.id, "As JSON, please")
    run = await node.settled(run.id)
    assert (run.status, run.output, run.corrections, run.error) == (RunStatus.COMPLETED, VALUE, 0, None)


async def test_a_correction_is_a_step(stage: Stage) -> None:
    """It counts for max_steps; retrying goes on with what the model was told."""
    node = await stage.open(output=Answer, max_steps=2)
    stage.play(Script().text("One."), Script().text("Two."), Script().text(FITS))
    run = await node.settled(await node.start())
    assert (run.status, run.finish, run.steps) == (RunStatus.FAILED, FinishReason.MAX_STEPS, 2)
    assert said(await stage.messages(run.id))[-1] == "correction"
    await node.runs.retry(ALICE, run_id=run.id)
    run = await node.settled(run.id)
    assert (run.status, run.output) == (RunStatus.COMPLETED, VALUE)


async def test_corrections_are_counted_over_calls_of_tools(stage: Stage) -> None:
    """A model that looks something up between two answers gets no further tries for it."""
    node = await stage.open(output=Answer, tools=[search])
    again = [Script().text("No."), Script().tool("search", {"query": "more"})]
    stage.play(*again * MAX_CORRECTIONS, Script().text("No."))
    run = await node.settled(await node.start())
    assert run.error is not None
    assert run.error.code is ErrorCode.OUTPUT_INVALID
    assert said(await stage.messages(run.id)).count("correction") == MAX_CORRECTIONS


async def test_an_output_is_gone_as_soon_as_the_next_turn_begins(stage: Stage) -> None:
    """What is on the row is always of the last turn."""
    release = asyncio.Event()
    node = await stage.open(output=Answer)
    stage.play(Script().text(FITS), Script().text('{"summary": "Two."}').hold(release))
    run = await node.settled(await node.start())
    await node.steer(run.id, "And more")
    assert (await stage.run(run.id)).output is None
    release.set()
    assert (await node.settled(run.id)).output == {"summary": "Two.", "sources": []}


async def test_queued_input_is_answered_before_an_output_counts(stage: Stage) -> None:
    """What came before the end extends the turn: the output is that of the later answer, whether or not one fitted."""
    for first in (FITS, "No JSON."):
        release = asyncio.Event()
        node = await stage.open(output=Answer)
        stage.play(Script().text(first).hold(release), Script().text('{"summary": "Two."}'))
        run_id = await node.start()
        await node.steer(run_id, "more")
        release.set()
        run = await node.settled(run_id)
        assert (run.output, run.corrections) == ({"summary": "Two.", "sources": []}, 0)
        assert said(await stage.messages(run_id)) == ["user", "assistant", "user", "assistant"]


async def test_an_answer_cut_by_max_tokens_is_asked_for_anew(stage: Stage) -> None:
    """It is not read, even where it looks whole; the model is told to be shorter."""
    node = await stage.open(output=Answer)
    stage.play(Script().text(FITS).stop("max_tokens"), Script().text('{"summary": "Fish."}'))
    run = await node.settled(await node.start())
    assert (run.finish, run.output) == (FinishReason.STOP, {"summary": "Fish.", "sources": []})
    assert "be shorter" in (await stage.messages(run.id))[2].content[0]["text"]


async def test_a_refusal_and_a_full_context_end_the_run_without_an_output(stage: Stage) -> None:
    """CONTENT_FILTER and LENGTH are what they are without an output type."""
    ends = {"refusal": FinishReason.CONTENT_FILTER, "model_context_window_exceeded": FinishReason.LENGTH}
    for reason, finish in ends.items():
        node = await stage.open(output=Answer)
        stage.play(Script().text(FITS).stop(reason))
        run = await node.settled(await node.start())
        assert (run.status, run.finish, run.output, run.steps) == (RunStatus.COMPLETED, finish, None, 1)


async def test_calls_beside_a_stop_reason_that_nobody_knows_are_answered_before_the_correction(stage: Stage) -> None:
    """They are not run, and the transcript stays fit for the next call."""
    node = await stage.open(output=Answer, tools=[search])
    stage.play(Script().tool("search", {"query": "x"}).stop("something_new"), Script().text(FITS))
    run = await node.settled(await node.start())
    assert run.output == VALUE
    result, told = (await stage.messages(run.id))[2].content
    assert (result["type"], result["is_error"]) == ("tool_result", True)
    assert told["text"].startswith(CORRECTION)


async def test_an_empty_answer_is_sent_back(stage: Stage) -> None:
    """Nothing is no JSON."""
    node = await stage.open(output=Answer)
    stage.play(Script().stop(), Script().text(FITS))
    run = await node.settled(await node.start())
    assert (run.output, run.corrections) == (VALUE, 1)


async def test_a_cancelled_turn_has_no_output(stage: Stage) -> None:
    """Also where its answer would have fitted."""
    node = await stage.open(output=Answer)
    stage.play(Script().text(FITS).hold(asyncio.Event()))
    run_id = await node.start()
    await stage.screen(run_id).shows("Pelicans")
    await node.cancel(run_id)
    run = await node.settled(run_id)
    assert (run.status, run.output) == (RunStatus.CANCELLED, None)


async def test_the_next_owner_knows_how_often_the_model_was_told(stage: Stage) -> None:
    """A worker that dies after each correction buys the model no further try."""
    stage.play(Script().text("No."))
    for _ in range(MAX_CORRECTIONS):
        stage.play(Script().half_text("Well").hold(asyncio.Event()), Script().text("No."))
    node = await stage.open(output=Answer, watch_seconds=0.02)
    run_id = await node.start()
    for number in range(1, MAX_CORRECTIONS + 1):
        await stage.server.arrived(2 * number)
        await stage.leases.advance(LEASE_SECONDS + 1)
        node = await stage.open(output=Answer, watch_seconds=0.02)
    run = await node.settled(run_id)
    assert run.error is not None
    assert (run.error.code, run.corrections) == (ErrorCode.OUTPUT_INVALID, MAX_CORRECTIONS)
    assert said(await stage.messages(run_id)).count("correction") == MAX_CORRECTIONS
    for node in stage.nodes:
        await node.beat()
        await node.idle(run_id)
