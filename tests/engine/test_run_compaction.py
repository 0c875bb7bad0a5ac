"""Long conversations: what the model reads of them, who sums them up, and that nothing stored is lost by it."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import BaseModel

from engine.budget import Budget
from engine.compacting import HEAD, SYSTEM
from engine.compaction import OFF, Compaction
from engine.context import Context
from engine.output import CORRECTION
from engine.tool import tool
from models.compaction import newest_compaction
from models.enums import ErrorCode, FinishReason, Role, RunStatus
from models.events import ContextCompacted, RunResult, StepRestarted
from models.model_call import usage_of_runs
from tests.support.messages_rules import blocks_of
from tests.support.messages_script import Script
from tests.support.messages_server import Request
from tests.support.stage import ALICE, LEASE_SECONDS, Node, Stage
from tests.support.truths import MODEL

CHEAP = "claude-haiku-5-5"
WORDS = "Many words that nobody needs to read again. " * 10
SMALL = Compaction(context_tokens=2_000)
"""At 1,600 tokens something is done."""
TOO_LONG = Script.status(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")


class Found(BaseModel):
    """An answer."""

    place: str


def is_summary(request: Request) -> bool:
    """Whether a summary is asked for."""
    return bool(request.body["system"][0]["text"] == SYSTEM)


def summed_up(request: Request) -> bool:
    """Whether the request begins with a summary."""
    return HEAD in str(request.messages[0])


async def open_small(stage: Stage, **options: Any) -> Node:
    """A node whose model has a small context, and whose deployment has a cheaper one for summaries."""
    return await stage.open(**{"compaction": SMALL, "max_tokens": 100, "summary_model": CHEAP, **options})


async def long_talk(stage: Stage, node: Node, *, tokens: int = 1_700) -> str:
    """A run whose one answer has brought it above the limit; its id."""
    stage.play(Script(input_tokens=tokens).text(WORDS))
    run_id = await node.start("Tell me much")
    await node.settled(run_id)
    return run_id


async def test_older_turns_are_summed_up_by_a_cheaper_model(stage: Stage) -> None:
    """Before the next step; the model reads the summary, then what was said last, and watchers are told."""
    node = await open_small(stage)
    run_id = await long_talk(stage, node)
    stage.play(Script(input_tokens=300).text("Alice asked for much."), Script(input_tokens=90).text("Here."))
    await node.steer(run_id, "And now?")
    run = await node.settled(run_id)
    assert run.status is RunStatus.COMPLETED
    _, summary, asked = stage.server.requests
    assert [request.body["model"] for request in (summary, asked)] == [CHEAP, MODEL]
    assert is_summary(summary)
    assert "User: Tell me much" in summary.messages[0]["content"][0]["text"]
    assert "And now?" not in summary.messages[0]["content"][0]["text"]
    (only,) = asked.messages
    first, second = blocks_of(only)
    assert "Alice asked for much." in first["text"]
    assert first["text"].startswith(HEAD)
    assert second["text"] == "And now?"
    (event,) = stage.screen(run_id).of(ContextCompacted)
    assert (event.step, event.attempt) == (2, 1)
    assert event.tokens_before > 1_600
    assert event.tokens_after < 300
    assert stage.screen(run_id).names[-3:] == ["ContextCompacted", "StepFinished", "RunResult"]


async def test_the_transcript_stays_whole(stage: Stage) -> None:
    """Every message is there as it was stored, and so it is read."""
    node = await open_small(stage)
    run_id = await long_talk(stage, node)
    before = await stage.messages(run_id)
    stage.play(Script().text("Alice asked for much."), Script().text("Here."))
    await node.steer(run_id, "And now?")
    await node.settled(run_id)
    after = await stage.messages(run_id)
    assert after[:2] == before
    assert [message.content for message in after[2:]] == ["And now?", [{"type": "text", "text": "Here."}]]


async def test_the_summary_is_counted_on_the_run(stage: Stage) -> None:
    """As a model call of its own, in the run's usage and that of its generation."""
    node = await open_small(stage)
    run_id = await long_talk(stage, node)
    stage.play(Script(input_tokens=300).text("Alice asked for much."), Script(input_tokens=90).text("Here."))
    await node.steer(run_id, "And now?")
    await node.settled(run_id)
    calls = await stage.model_calls(run_id)
    assert [(call.model, call.usage.input_tokens, call.summed_to) for call in calls] == [
        (MODEL, 1_700, None),
        (CHEAP, 300, 2),
        (MODEL, 90, None),
    ]
    assert (await stage.database.read(usage_of_runs, [run_id]))[run_id].input_tokens == 2_090
    assert stage.screen(run_id).of(RunResult)[-1].usage.input_tokens == 390
    made = await stage.database.read(newest_compaction, run_id)
    assert made is not None
    assert (made.summary, made.summed_to, made.model_call_id) == ("Alice asked for much.", 2, calls[1].id)


async def test_a_summary_serves_until_the_next_one_is_needed_and_goes_into_it(stage: Stage) -> None:
    """Later turns begin with it; once they have grown long themselves, it is summed up with them."""
    node = await open_small(stage)
    run_id = await long_talk(stage, node)
    stage.play(
        Script().text("SUMMARY ONE"), Script(input_tokens=100).text("Short."), Script(input_tokens=1_700).text(WORDS)
    )
    for text in ("Two", "Three"):
        await node.steer(run_id, text)
        await node.settled(run_id)
    assert [summed_up(request) for request in stage.server.requests] == [False, False, True, True]
    stage.play(Script().text("SUMMARY TWO"), Script().text("Done."))
    await node.steer(run_id, "Four")
    await node.settled(run_id)
    asked = stage.server.requests[4].messages[0]["content"][0]["text"]
    assert "SUMMARY ONE" in asked
    assert "Tell me much" not in asked
    last = str(stage.server.requests[5].messages)
    assert ("SUMMARY TWO" in last, "SUMMARY ONE" in last) == (True, False)


async def test_what_was_asked_for_stays_also_where_an_answer_to_it_is_corrected(stage: Stage) -> None:
    """A correction is no input of the user: the long answer is summed up, and the question stays word by word."""
    node = await open_small(stage, output=Found)
    stage.play(
        Script(input_tokens=1_700).text(WORDS), Script().text("It was no JSON."), Script().text('{"place": "here"}')
    )
    run = await node.settled(await node.start("Find it, in one word"))
    assert (run.status, run.output) == (RunStatus.COMPLETED, {"place": "here"})
    (only,) = stage.server.requests[2].messages
    summary, question, corrected = [block["text"] for block in blocks_of(only)]
    assert (summary.startswith(HEAD), question) == (True, "Find it, in one word")
    assert corrected.startswith(CORRECTION)


async def test_a_long_turn_is_shortened_between_its_steps(stage: Stage) -> None:
    """Its input stays word by word, and no call is parted from its result."""

    @tool
    async def work(ctx: Context) -> str:
        """Work."""
        return "worked"

    node = await open_small(stage, tools=[work])
    stage.play(
        Script(input_tokens=100).text(WORDS).tool("work"),
        Script(input_tokens=1_700).text(WORDS).tool("work"),
        Script().text("One step was made."),
        Script().text("Done."),
    )
    run = await node.settled(await node.start("Do it all"))
    assert (run.status, run.steps) == (RunStatus.COMPLETED, 3)
    first, answer, results = stage.server.requests[-1].messages
    texts = [block["text"] for block in blocks_of(first)]
    assert (texts[0].startswith(HEAD), texts[1]) == (True, "Do it all")
    assert [block["type"] for block in blocks_of(answer)] == ["text", "tool_use"]
    assert [block["type"] for block in blocks_of(results)] == ["tool_result"]


async def test_long_results_are_shortened_before_anything_is_summed_up(stage: Stage) -> None:
    """Where that is enough no model is asked for it; what is stored, and what clients read, is whole."""
    long = "x" * 6_000

    @tool
    async def read(ctx: Context) -> str:
        """Read."""
        return long

    node = await open_small(stage, tools=[read], compaction=Compaction(context_tokens=4_000, trim=200))
    stage.play(
        Script(input_tokens=100).tool("read"),
        Script(input_tokens=2_000).text("I have read it."),
        Script(input_tokens=2_000).tool("read"),
        Script(input_tokens=900).text("Twice."),
    )
    run_id = await node.start("Read it")
    await node.settled(run_id)
    await node.steer(run_id, "Again")
    await node.settled(run_id)
    assert not any(is_summary(request) or summed_up(request) for request in stage.server.requests)
    results = [
        block["content"]
        for message in stage.server.requests[-1].messages
        for block in blocks_of(message)
        if block["type"] == "tool_result"
    ]
    assert ["left out here" in result for result in results] == [True, False]
    assert len(stage.screen(run_id).of(ContextCompacted)) == 1
    stored = [
        message.content[0]["content"]
        for message in await stage.messages(run_id)
        if message.step and message.role is Role.USER and isinstance(message.content, list)
    ]
    assert stored == [long, long]


async def test_a_takeover_finds_the_summary_that_was_stored(stage: Stage) -> None:
    """It is not made again; the step that followed it is."""
    node = await open_small(stage, watch_seconds=0.02)
    run_id = await long_talk(stage, node)
    stage.play(Script().text("SUMMARY"), Script().half_text("Half").hold(asyncio.Event()), Script().text("Whole."))
    await node.steer(run_id, "And now?")
    await stage.screen(run_id).shows("Half")
    await stage.leases.advance(LEASE_SECONDS + 1)
    other = await open_small(stage, watch_seconds=0.02)
    assert (await other.settled(run_id)).status is RunStatus.COMPLETED
    await node.beat()
    await node.idle(run_id)
    assert [is_summary(request) for request in stage.server.requests] == [False, True, False, False]
    assert stage.server.requests[3].messages == stage.server.requests[2].messages


async def test_a_summary_that_was_under_way_is_made_again_after_a_takeover(stage: Stage) -> None:
    """The dead owner's call counts its estimated input, and holds nothing back any more."""
    node = await open_small(stage, watch_seconds=0.02, budget=Budget(tokens=1_000_000))
    run_id = await long_talk(stage, node)
    stage.play(Script().hold(asyncio.Event()), Script().text("SUMMARY"), Script().text("Whole."))
    await node.steer(run_id, "And now?")
    await stage.server.arrived(2)
    await stage.leases.advance(LEASE_SECONDS + 1)
    other = await open_small(stage, watch_seconds=0.02, budget=Budget(tokens=1_000_000))
    assert (await other.settled(run_id)).status is RunStatus.COMPLETED
    await node.beat()
    await node.idle(run_id)
    assert [is_summary(request) for request in stage.server.requests] == [False, True, True, False]
    dead, made = [call for call in await stage.model_calls(run_id) if call.summed_to]
    assert (dead.usage.input_tokens, made.stop_reason) == (dead.estimated_tokens, "end_turn")


async def test_a_cancel_ends_a_run_that_is_being_summed_up(stage: Stage) -> None:
    """At once, its connection closed; the next turn makes the summary anew."""
    node = await open_small(stage)
    run_id = await long_talk(stage, node)
    stage.play(Script(input_tokens=50).half_text("Al").hold(asyncio.Event()))
    await node.steer(run_id, "And now?")
    request = await stage.server.arrived(2)
    while request.events < 3:
        await asyncio.sleep(0)
    await node.cancel(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED
    await request.cut_off()
    assert stage.screen(run_id).of(ContextCompacted) == []
    stage.play(Script().text("SUMMARY"), Script().text("Here."))
    await node.steer(run_id, "Go on")
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert len(stage.screen(run_id).of(ContextCompacted)) == 1


async def test_an_interrupting_input_goes_before_the_summary(stage: Stage) -> None:
    """It is in the transcript when the summary is made anew, and in the request that follows."""
    node = await open_small(stage)
    run_id = await long_talk(stage, node)
    stage.play(Script().hold(asyncio.Event()), Script().text("SUMMARY"), Script().text("Here."))
    await node.steer(run_id, "And now?")
    await stage.server.arrived(2)
    await node.interrupt(run_id, "Be quick")
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    texts = [block["text"] for block in blocks_of(stage.server.requests[-1].messages[0])]
    assert texts[1:] == ["And now?", "Be quick"]


async def test_where_the_cheaper_model_fails_the_turns_own_sums_up(stage: Stage) -> None:
    """One that is not known here, or not allowed; it need not be there for anything else."""
    node = await open_small(stage)
    run_id = await long_talk(stage, node)
    stage.play(Script.status(404, "not_found_error"), Script().text("SUMMARY"), Script().text("Here."))
    await node.steer(run_id, "And now?")
    await node.settled(run_id)
    assert [request.body["model"] for request in stage.server.requests] == [MODEL, CHEAP, MODEL, MODEL]
    narrow = await open_small(stage, allowed_models=frozenset({MODEL}))
    other = await long_talk(stage, narrow)
    stage.play(Script().text("SUMMARY"), Script().text("Here."))
    await narrow.steer(other, "And now?")
    await narrow.settled(other)
    assert [request.body["model"] for request in stage.server.requests[4:]] == [MODEL] * 3


async def test_an_agent_may_name_who_sums_up(stage: Stage) -> None:
    """Before the deployment's choice."""
    node = await open_small(stage, compaction=Compaction(context_tokens=2_000, model="claude-haiku-4-5"))
    run_id = await long_talk(stage, node)
    stage.play(Script().text("SUMMARY"), Script().text("Here."))
    await node.steer(run_id, "And now?")
    await node.settled(run_id)
    assert stage.server.requests[1].body["model"] == "claude-haiku-4-5"


async def test_a_turn_goes_on_where_no_summary_can_be_had(stage: Stage) -> None:
    """The model may still read it all: the run does not fail for it, and no summary is tried again in the turn."""
    node = await open_small(stage)
    run_id = await long_talk(stage, node)
    stage.play(Script.status(400, "invalid_request_error"), Script().text("Here."))
    await node.steer(run_id, "And now?")
    run = await node.settled(run_id)
    assert run.status is RunStatus.COMPLETED
    assert [is_summary(request) for request in stage.server.requests] == [False, True, False]
    assert len(stage.server.requests[2].messages) == 3


async def test_a_summary_that_can_not_be_paid_for_ends_the_turn(stage: Stage) -> None:
    """As any call of a model that the budget has too little for."""
    node = await open_small(stage, budget=Budget(tokens=600))
    run_id = await long_talk(stage, node)
    await node.steer(run_id, "Say much more: " + WORDS * 6)
    run = await node.settled(run_id)
    assert run.error is not None
    assert (run.finish, run.error.code) == (FinishReason.BUDGET, ErrorCode.BUDGET_SPENT)


async def test_a_request_that_is_refused_as_too_long_is_shortened_and_asked_again(stage: Stage) -> None:
    """The estimate was too low: room is made, the step begins again, and the run does not fail."""
    node = await stage.open(summary_model=CHEAP)
    stage.play(Script().text("One."))
    run_id = await node.start("First")
    await node.settled(run_id)
    stage.play(TOO_LONG, Script().text("SUMMARY"), Script().text("Here."))
    await node.steer(run_id, "Second")
    run = await node.settled(run_id)
    assert run.status is RunStatus.COMPLETED
    screen = stage.screen(run_id)
    assert screen.names[-4:] == ["ContextCompacted", "StepRestarted", "StepFinished", "RunResult"]
    assert screen.of(StepRestarted)[0].reason == "The conversation is too long for the model."
    assert summed_up(stage.server.requests[-1])


async def test_one_that_is_refused_again_fails(stage: Stage) -> None:
    """Once is enough to know that shortening does not help."""
    node = await stage.open(summary_model=CHEAP)
    stage.play(Script().text("One."))
    run_id = await node.start("First")
    await node.settled(run_id)
    stage.play(TOO_LONG, Script().text("SUMMARY"), TOO_LONG)
    await node.steer(run_id, "Second")
    run = await node.settled(run_id)
    assert run.error is not None
    assert (run.status, run.error.code) == (RunStatus.FAILED, ErrorCode.PROVIDER_ERROR)
    assert run.error.message == "The conversation is too long for the model."


async def test_an_answer_that_the_context_left_no_room_for_is_asked_for_again(stage: Stage) -> None:
    """What was shown of it is withdrawn; where nothing can be shortened it stands, cut as it is."""
    node = await stage.open(summary_model=CHEAP)
    stage.play(Script().text("One."))
    run_id = await node.start("First")
    await node.settled(run_id)
    stage.play(
        Script().text("Half").stop("model_context_window_exceeded"), Script().text("SUMMARY"), Script().text("Whole.")
    )
    await node.steer(run_id, "Second")
    run = await node.settled(run_id)
    assert (run.status, run.finish) == (RunStatus.COMPLETED, FinishReason.STOP)
    assert [message.content for message in (await stage.messages(run_id))[3:]] == [[{"type": "text", "text": "Whole."}]]
    stage.play(Script().text("Half").stop("model_context_window_exceeded"))
    other = await node.settled(await node.start("Alone"))
    assert (other.status, other.finish) == (RunStatus.COMPLETED, FinishReason.LENGTH)


async def test_compaction_can_be_turned_off(stage: Stage) -> None:
    """Then a conversation that is too long fails, as the provider says."""
    node = await stage.open(compaction=OFF)
    stage.play(Script(input_tokens=190_000).text("One."), TOO_LONG)
    run_id = await node.start("First")
    await node.settled(run_id)
    await node.steer(run_id, "Second")
    assert (await node.settled(run_id)).status is RunStatus.FAILED
    assert len(stage.server.requests) == 2


async def test_a_models_context_is_asked_of_its_provider_once_and_only_where_it_matters(stage: Stage) -> None:
    """A short conversation asks nobody; where the provider does not know, the setting serves."""
    stage.server.contexts = {MODEL: 60_000}
    node = await stage.open(summary_model=CHEAP)
    stage.play(Script(input_tokens=49_000).text("One."))
    run_id = await node.start("First")
    await node.settled(run_id)
    assert stage.server.models_asked == []
    stage.play(Script().text("SUMMARY"), Script(input_tokens=900).text("Two."), Script().text("Three."))
    await node.steer(run_id, "Second" + "!" * 3_000)
    await node.settled(run_id)
    await node.steer(run_id, "Third")
    await node.settled(run_id)
    assert stage.server.models_asked == [MODEL]
    assert [is_summary(request) for request in stage.server.requests] == [False, True, False, False]


async def test_a_fork_takes_over_the_summary_of_what_it_copies(stage: Stage) -> None:
    """From a message behind it; a fork from within what was summed up has the messages themselves."""
    node = await open_small(stage)
    run_id = await long_talk(stage, node)
    stage.play(Script().text("SUMMARY"), Script(input_tokens=90).text("Here."))
    await node.steer(run_id, "And now?")
    await node.settled(run_id)
    stage.play(Script().text("Late."), Script().text("Early."))
    late = await node.runs.fork(ALICE, run_id=run_id, seq=4, input="Then?")
    await node.settled(late.id)
    early = await node.runs.fork(ALICE, run_id=run_id, seq=1, input="What?")
    await node.settled(early.id)
    assert [summed_up(request) for request in stage.server.requests[3:]] == [True, False]
    assert "SUMMARY" in str(stage.server.requests[3].messages[0])
    assert len(await stage.messages(late.id)) == 6
