"""settle: the end of a generation, in one transaction with its RunResult; no input is lost on the way."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from models.enums import ErrorCode, FinishReason, RunStatus, ToolCallState
from models.events import Failure, InputApplied, RunResult, StepRestarted
from models.model_call import find_model_calls
from models.page import Window
from models.stream import read_stream, streams_of_run
from models.usage import Usage
from models.verbs.errors import LeaseLost
from models.verbs.settling import End
from tests.support.desk import COMPLETED, Desk, Hands, calls_answer, text_answer

BROKEN = End(RunStatus.FAILED, FinishReason.ERROR, Failure(ErrorCode.PROVIDER_ERROR, "It broke."))


async def result_of(desk: Desk, run_id: str, generation: int | None = None) -> RunResult:
    """The RunResult of a generation: the last event of its stream, and the only one of its kind."""
    events = await desk.events(run_id, generation)
    assert [isinstance(event, RunResult) for event in events] == [False] * (len(events) - 1) + [True]
    assert isinstance(events[-1], RunResult)
    return events[-1]


async def test_status_finish_and_the_end_of_the_stream_are_one_write(desk: Desk) -> None:
    """COMPLETED with RunResult as the last event; the lease is given up."""
    hands = await desk.open()
    await hands.say("Hello.")
    await hands.settle()
    run = await desk.run(hands.id)
    assert (run.status, run.finish, run.lease_until, run.worker) == (RunStatus.COMPLETED, FinishReason.STOP, 0, None)
    result = await result_of(desk, hands.id)
    assert (result.status, result.finish, result.text, result.model) == (run.status, run.finish, "Hello.", "model-a")
    assert (result.run_id, result.steps, result.cancelled, result.error) == (hands.id, 1, False, None)
    assert (await desk.database.read(read_stream, str(run.stream_id), 0)).ended


async def test_a_result_counts_its_own_generation_alone(desk: Desk) -> None:
    """Steps and usage of earlier turns are not in it; its text is that of its last answer."""
    hands = await desk.open()
    for _ in range(2):
        await hands.run_calls(await hands.call_tools())
        await hands.results()
    await hands.say("First.")
    await hands.settle()
    again = await desk.sent(hands.id, "next")
    await again.begin()
    await again.answer(text_answer(4, "Second.", usage=Usage(1, 2, 3, 4, Decimal("0.5"))))
    await again.settle()
    result = await result_of(desk, hands.id)
    assert (result.steps, result.text) == (1, "Second.")
    assert result.usage == Usage(1, 2, 3, 4, Decimal("0.5"))
    assert (await result_of(desk, hands.id, 1)).steps == 3


async def test_a_generation_without_an_answer_has_an_empty_text(desk: Desk) -> None:
    """Not that of the generation before it."""
    hands = await desk.open()
    await hands.say("First.")
    await hands.settle()
    again = await desk.sent(hands.id, "next")
    await again.begin()
    await again.settle(BROKEN)
    result = await result_of(desk, hands.id)
    assert (result.text, result.model, result.error) == ("", None, BROKEN.error)
    assert result.usage.cost == Decimal(0)


async def test_input_that_came_as_the_model_stopped_extends_the_turn(desk: Desk) -> None:
    """Drained or finished in one transaction: the run goes on under the same fence, its stream open."""
    hands = await desk.open()
    await hands.say()
    item = await desk.queue(hands.id, "one more")
    done = await hands.settle()
    assert (done.run.status, done.run.fence, done.run.generation) == (RunStatus.RUNNING, 1, 1)
    assert done.run.pending == ()
    assert (await desk.contents(hands.id))[-1] == [{"type": "text", "text": "one more"}]
    applied = (await desk.events(hands.id))[-1]
    assert isinstance(applied, InputApplied)
    assert (applied.input_ids, applied.message_seq) == ([item], 3)
    await hands.say()
    await hands.settle()
    assert (await result_of(desk, hands.id)).steps == 2


async def test_a_message_sent_at_the_last_token_is_never_lost(desk: Desk) -> None:
    """Steered at the moment of settling, again and again: it extends the turn or begins the next one."""
    hands = await desk.open()
    sent = [f"m{number}" for number in range(40)]
    for text in sent:
        await hands.say()
        _, (done, answer) = await asyncio.gather(hands.settle(), desk.send(hands.id, text))
        if not answer["queued"]:
            assert done.numbers is not None
            hands = Hands(desk, done.run, done.numbers)
        elif (await desk.run(hands.id)).pending:
            await hands.settle()
        row = await desk.run(hands.id)
        assert (row.status, row.pending) == (RunStatus.RUNNING, ())
    users = [content for content in await desk.contents(hands.id) if content != [{"type": "text", "text": "Hello."}]]
    texts = [content if isinstance(content, str) else content[0]["text"] for content in users]
    assert texts == ["Hi", *sent]


async def test_input_queued_at_a_failed_end_is_appended_unanswered(desk: Desk) -> None:
    """Announced by InputApplied before RunResult; a later turn finds it in the transcript."""
    hands = await desk.open()
    await hands.begin()
    first, second = [await desk.queue(hands.id, text) for text in ("a", "b")]
    await hands.settle(BROKEN)
    run = await desk.run(hands.id)
    assert (run.status, run.pending, run.error, run.seq) == (RunStatus.FAILED, (), BROKEN.error, 2)
    assert await desk.kinds(hands.id) == ["InputQueued", "InputQueued", "InputApplied", "RunResult"]
    applied = (await desk.events(hands.id))[-2]
    assert isinstance(applied, InputApplied)
    assert (applied.input_ids, applied.message_seq) == ([first, second], 2)
    assert (await result_of(desk, hands.id)).error == BROKEN.error


async def test_a_failed_end_closes_the_calls_that_dangle(desk: Desk) -> None:
    """Begun ones are INTERRUPTED, others CANCELLED; watchers are told of each before RunResult."""
    hands = await desk.open()
    calls = await hands.call_tools(3)
    await hands.start(calls[0])
    await hands.finish(calls[0])
    await hands.start(calls[1])
    await hands.settle(BROKEN)
    rows = await desk.calls(hands.id, 1)
    assert [row.state for row in rows] == [
        ToolCallState.SUCCEEDED,
        ToolCallState.INTERRUPTED,
        ToolCallState.CANCELLED,
    ]
    assert all(row.finished_at is not None for row in rows)
    assert (await desk.kinds(hands.id))[-4:] == ["ToolCallFinished", "ToolCallStarted", "ToolCallFinished", "RunResult"]


async def test_a_failed_end_with_open_calls_and_queued_input_puts_results_first(desk: Desk) -> None:
    """One user message: every tool_use has its result directly behind it."""
    hands = await desk.open()
    await hands.call_tools(2)
    await desk.queue(hands.id, "a")
    await hands.settle(BROKEN)
    last = (await desk.contents(hands.id))[-1]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]


async def test_a_timeout_keeps_what_was_shown(desk: Desk) -> None:
    """The cut answer is the last message, its step is counted, its usage too."""
    hands = await desk.open()
    await hands.begin()
    cut = text_answer(1, "Hel", stop_reason=None, usage=Usage(9, 1))
    await hands.settle(BROKEN, cut=cut)
    run = await desk.run(hands.id)
    assert (run.steps, run.seq, run.turn_steps) == (1, 2, 1)
    result = await result_of(desk, hands.id)
    assert (result.text, result.steps, result.usage.input_tokens) == ("Hel", 1, 9)
    (call,) = (await desk.database.read(find_model_calls, hands.id, Window())).rows
    assert (call.usage.input_tokens, call.finished_at is None) == (9, False)


async def test_a_cut_answer_is_counted_where_queued_input_extends_the_turn(desk: Desk) -> None:
    """Steps and seq follow what was stored, whatever end was asked for."""
    hands = await desk.open()
    await hands.begin()
    await desk.queue(hands.id, "a")
    await hands.settle(COMPLETED, cut=calls_answer(1, 1, stop_reason=None))
    run = await desk.run(hands.id)
    assert (run.status, run.steps, run.turn_steps, run.seq) == (RunStatus.RUNNING, 1, 1, 3)
    last = (await desk.contents(hands.id))[-1]
    assert [block["type"] for block in last] == ["tool_result", "text"]


async def test_what_a_failed_step_had_shown_is_withdrawn_before_the_result(desk: Desk) -> None:
    """StepRestarted with the next attempt, and the model call closed with what was reported of it."""
    hands = await desk.open()
    await hands.begin()
    await hands.settle(BROKEN, reported=Usage(5, 1), withdrawn="It broke.")
    restarted, result = await desk.events(hands.id)
    assert isinstance(restarted, StepRestarted)
    assert isinstance(result, RunResult)
    assert (restarted.step, restarted.attempt, restarted.reason) == (1, 2, "It broke.")
    assert (result.attempt, result.text, result.usage.input_tokens) == (2, "", 5)
    (call,) = (await desk.database.read(find_model_calls, hands.id, Window())).rows
    assert call.finished_at is not None


async def test_every_generation_has_a_stream_and_each_ends_once(desk: Desk) -> None:
    """Three turns, three streams, three results."""
    hands = await desk.open()
    for number in range(3):
        await hands.say()
        await hands.settle()
        if number < 2:
            hands = await desk.sent(hands.id, "next")
    streams = await desk.database.read(streams_of_run, hands.id)
    assert [(stream.generation, stream.ended) for stream in streams] == [(1, True), (2, True), (3, True)]
    for generation in (1, 2, 3):
        await result_of(desk, hands.id, generation)


async def test_a_settled_run_is_not_settled_again_by_another(desk: Desk) -> None:
    """The worker that lost it finds its fence gone."""
    hands = await desk.open()
    await desk.lapse()
    second = await desk.taken()
    await second.say()
    await second.settle()
    with pytest.raises(LeaseLost):
        await hands.settle()
    await result_of(desk, hands.id)
