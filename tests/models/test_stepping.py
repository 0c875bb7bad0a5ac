"""begin_step, append_answer, start_call, finish_call, append_results, announce: the journal of a turn's steps."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from models.content import input_block
from models.enums import Role, RunStatus, SteerMode, ToolCallState
from models.events import (
    InputApplied,
    InputQueued,
    ModelFellBack,
    StepFinished,
    StepRestarted,
    ToolCallFinished,
    ToolCallStarted,
)
from models.model_call import find_model_calls, model_of_step, usage_of_runs
from models.page import Window
from models.usage import Usage
from models.verbs.stepping import StepStart, begin_step
from tests.support.desk import COMPLETED, Desk, calls_answer, text_answer


async def test_an_answer_is_one_message_with_its_calls_usage_and_event(desk: Desk) -> None:
    """Stored as it came, in one transaction; the step is counted."""
    hands = await desk.open()
    await hands.begin()
    spent = Usage(100, 20, 3, 4, Decimal("0.000123"))
    answer = calls_answer(1, 2, usage=spent, model="model-b", reported_model="model-b-2027", request_id="req_1")
    done = await hands.answer(answer)
    (message,) = done.messages
    assert (message.seq, message.role, message.content, message.step) == (2, Role.ASSISTANT, answer.blocks, 1)
    assert (message.model, message.stop_reason, message.usage) == ("model-b", "tool_use", spent)
    assert await desk.messages(hands.id) == [(await desk.messages(hands.id))[0], message]
    assert [(call.index, call.state, call.input) for call in done.calls] == [
        (0, ToolCallState.READY, {"a": 0}),
        (1, ToolCallState.READY, {"a": 1}),
    ]
    assert await desk.calls(hands.id, 1) == list(done.calls)
    (event,) = await desk.events(hands.id)
    assert isinstance(event, StepFinished)
    assert (event.step, event.attempt, event.message_seq) == (1, 1, 2)
    assert (event.stop_reason, event.usage) == ("tool_use", spent)
    (model_call,) = (await desk.database.read(find_model_calls, hands.id, Window())).rows
    assert (model_call.usage, model_call.model, model_call.request_id) == (spent, "model-b-2027", "req_1")
    assert model_call.finished_at is not None
    assert (hands.run.steps, hands.run.turn_steps) == (1, 1)


async def test_an_empty_answer_is_stored_as_no_blocks(desk: Desk) -> None:
    """What came is what is kept."""
    hands = await desk.open()
    await hands.begin()
    await hands.answer(text_answer(1, blocks=[]))
    assert (await desk.contents(hands.id))[-1] == []


async def test_blocks_come_back_as_they_were_stored(desk: Desk) -> None:
    """Order, signatures, unknown kinds, big numbers and odd text of every block."""
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm\u2028", "signature": "c2ln=="},
        {"type": "thinking", "thinking": "", "signature": "only"},
        {"type": "text", "text": ""},
        {"type": "novelty", "z": 1, "a": [2**70, 1.5, None]},
        {"type": "tool_use", "id": "t", "name": "add", "input": {}},
    ]
    hands = await desk.open()
    await hands.begin()
    await hands.answer(text_answer(1, blocks=blocks))
    stored = (await desk.contents(hands.id))[-1]
    assert stored == blocks
    assert [list(block) for block in stored] == [list(block) for block in blocks]


async def test_a_call_is_recorded_before_it_begins_and_when_it_ends(desk: Desk) -> None:
    """Each on its own; the events tell its name, input and result."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    await hands.start(call)
    (row,) = await desk.calls(hands.id, 1)
    assert (row.state, row.attempt, row.started_at, row.finished_at) == (ToolCallState.RUNNING, 1, desk.clock.now, None)
    desk.clock.advance(2)
    await hands.finish(call, "three")
    (row,) = await desk.calls(hands.id, 1)
    assert (row.state, row.result, row.is_error) == (ToolCallState.SUCCEEDED, "three", False)
    assert (row.started_at, row.finished_at) == (desk.clock.now - 2_000, desk.clock.now)
    started, finished = (await desk.events(hands.id))[1:]
    assert isinstance(started, ToolCallStarted)
    assert isinstance(finished, ToolCallFinished)
    assert (started.tool_call_id, started.name, started.input) == (call.id, "add", {"a": 0})
    assert (finished.tool_call_id, finished.result, finished.is_error) == (call.id, "three", False)


async def test_a_call_that_never_began_is_told_as_begun_and_finished(desk: Desk) -> None:
    """A bad call reaches watchers like any other."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    await hands.finish(call, "no such tool", ToolCallState.FAILED)
    assert (await desk.kinds(hands.id))[1:] == ["ToolCallStarted", "ToolCallFinished"]


async def test_a_call_may_begin_again_under_a_later_fence(desk: Desk) -> None:
    """Where its author said so: attempt 2, told anew."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    await hands.start(call)
    await desk.lapse()
    second = await desk.taken()
    await second.start(call, attempt=2)
    await second.finish(call)
    (row,) = await desk.calls(hands.id, 1)
    assert (row.attempt, row.state, row.fence) == (2, ToolCallState.SUCCEEDED, 2)


async def test_all_results_of_a_step_are_one_user_message_in_the_calls_order(desk: Desk) -> None:
    """Five parallel calls that end in another order give one turn."""
    hands = await desk.open()
    calls = await hands.call_tools(5)
    for call in reversed(calls):
        await hands.start(call)
        await hands.finish(call, f"result {call.index}")
    await hands.results()
    contents = await desk.contents(hands.id)
    assert len(contents) == 3
    assert [block["tool_use_id"] for block in contents[2]] == [f"toolu_1_{index}" for index in range(5)]
    assert [block["content"] for block in contents[2]] == [f"result {index}" for index in range(5)]


async def test_queued_input_is_folded_in_behind_the_results_in_its_order(desk: Desk) -> None:
    """One text block each; announced where it was not yet, then applied."""
    hands = await desk.open()
    first = await desk.queue(hands.id, "a")
    await hands.announce()
    second = await desk.queue(hands.id, "b")
    await hands.run_calls(await hands.call_tools())
    await hands.results()
    last = (await desk.contents(hands.id))[-1]
    assert [block["type"] for block in last] == ["tool_result", "text", "text"]
    assert [block["text"] for block in last[1:]] == ["a", "b"]
    queued, applied = (await desk.events(hands.id))[-2:]
    assert isinstance(queued, InputQueued)
    assert isinstance(applied, InputApplied)
    assert (queued.input_id, queued.queued) == (second, 2)
    assert (applied.input_ids, applied.message_seq) == ([first, second], 3)
    assert (await desk.run(hands.id)).pending == ()


async def test_each_input_is_announced_once(desk: Desk) -> None:
    """With how many wait up to it; announcing again writes nothing."""
    hands = await desk.open()
    ids = [await desk.queue(hands.id, text) for text in ("a", "b")]
    assert len((await hands.announce()).events) == 2
    assert (await hands.announce()).events == ()
    ids.append(await desk.queue(hands.id, "c"))
    await hands.announce()
    events = await desk.events(hands.id)
    assert [(event.input_id, event.queued) for event in events if isinstance(event, InputQueued)] == [
        (ids[0], 1),
        (ids[1], 2),
        (ids[2], 3),
    ]


async def test_the_next_step_begins_in_the_transaction_of_the_results(desk: Desk) -> None:
    """Its model call is there with the message before it."""
    hands = await desk.open()
    await hands.run_calls(await hands.call_tools())
    await hands.results(start=StepStart(2, 1, "model-a"))
    assert (hands.run.step, hands.run.attempt, hands.run.step_fence) == (2, 1, hands.run.fence)
    calls = (await desk.database.read(find_model_calls, hands.id, Window())).rows
    assert [(call.step, call.finished_at is None) for call in calls] == [(1, False), (2, True)]


async def test_a_later_attempt_closes_the_model_call_before_it_with_what_was_reported(desk: Desk) -> None:
    """Watchers drop the step; usage counts both attempts."""
    hands = await desk.open()
    await hands.begin()
    await hands.begin(1, 2, reason="the connection broke", reported=Usage(7, 2))
    await hands.answer(text_answer(1, attempt=2, usage=Usage(8, 3)))
    events = await desk.events(hands.id)
    assert isinstance(events[0], StepRestarted)
    assert (events[0].step, events[0].attempt, events[0].reason) == (1, 2, "the connection broke")
    calls = (await desk.database.read(find_model_calls, hands.id, Window())).rows
    assert [(call.attempt, call.usage.input_tokens) for call in calls] == [(1, 7), (2, 8)]
    assert all(call.finished_at is not None for call in calls)
    used = (await desk.database.read(usage_of_runs, [hands.id]))[hands.id]
    assert (used.input_tokens, used.output_tokens) == (15, 5)


async def test_a_change_of_the_model_is_told_with_the_attempt_that_it_begins(desk: Desk) -> None:
    """In one transaction, behind StepRestarted; repeated, it is told once."""
    hands = await desk.open()
    await hands.begin()
    start = StepStart(1, 2, "model-b", "it is overloaded", Usage(7, 0), fell_back_from="model-a")
    await hands.again(begin_step, start=start, ids=desk.ids)
    await hands.verb(begin_step, start=start, ids=desk.ids)
    restarted, fell_back = await desk.events(hands.id)
    assert isinstance(restarted, StepRestarted)
    assert isinstance(fell_back, ModelFellBack)
    assert (fell_back.from_, fell_back.to, fell_back.reason) == ("model-a", "model-b", "it is overloaded")
    assert (fell_back.step, fell_back.attempt) == (1, 2)
    stream_id = str(hands.run.stream_id)
    assert await desk.database.read(model_of_step, stream_id, 1) == "model-b"
    assert await desk.database.read(model_of_step, stream_id, 2) is None


async def test_an_interrupt_keeps_what_was_shown_and_folds_the_input_behind_it(desk: Desk) -> None:
    """The cut answer ends its step without a stop reason; whole calls in it are answered as not run, results first."""
    hands = await desk.open()
    await hands.begin()
    item = await desk.queue(hands.id, "stop that", mode=SteerMode.INTERRUPT)
    cut = calls_answer(1, 2, stop_reason=None)
    done = await hands.results(cut=cut, start=StepStart(2, 1, "model-a"))
    assert [message.role for message in done.messages] == [Role.ASSISTANT, Role.USER]
    assert [message.seq for message in done.messages] == [2, 3]
    last = (await desk.contents(hands.id))[-1]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]
    assert [call.state for call in await desk.calls(hands.id, 1)] == [ToolCallState.CANCELLED] * 2
    assert await desk.kinds(hands.id) == [
        "StepFinished",
        *["ToolCallStarted", "ToolCallFinished"] * 2,
        "InputQueued",
        "InputApplied",
    ]
    applied = (await desk.events(hands.id))[-1]
    assert isinstance(applied, InputApplied)
    assert (applied.input_ids, applied.message_seq) == ([item], 3)
    assert (hands.run.steps, hands.run.step, hands.run.seq) == (1, 2, 3)


async def test_an_interrupt_before_anything_was_shown_restarts_the_step(desk: Desk) -> None:
    """No answer is stored; the input is, and the step begins again."""
    hands = await desk.open()
    await hands.begin()
    await desk.queue(hands.id, "stop that", mode=SteerMode.INTERRUPT)
    await hands.results(start=StepStart(1, 2, "model-a", "interrupted"))
    assert [message.role for message in await desk.messages(hands.id)] == [Role.USER, Role.USER]
    assert await desk.kinds(hands.id) == ["InputQueued", "InputApplied", "StepRestarted"]
    assert (hands.run.steps, hands.run.step, hands.run.attempt) == (0, 1, 2)


async def test_a_correction_is_a_message_of_the_user_and_is_counted(desk: Desk) -> None:
    """It begins the next step in the same write, and the next turn counts anew."""
    hands = await desk.open()
    await hands.say()
    await hands.results(correction="Again.", start=StepStart(2, 1, "model-a"))
    assert await desk.contents(hands.id) == ["Hi", [input_block("Hello.")], [input_block("Again.")]]
    assert (hands.run.corrections, hands.run.step, hands.run.seq) == (1, 2, 3)
    assert await desk.kinds(hands.id) == ["StepFinished"]
    await hands.answer(text_answer(2))
    await hands.settle(replace(COMPLETED, output={"word": "pelican"}))
    assert (await desk.run(hands.id)).output == {"word": "pelican"}
    await desk.sent(hands.id, "next")
    run = await desk.run(hands.id)
    assert (run.corrections, run.output) == (0, None)


async def test_queued_input_takes_a_corrections_place(desk: Desk) -> None:
    """It asks for another answer anyway; nothing is counted."""
    hands = await desk.open()
    await hands.say()
    await desk.queue(hands.id, "more")
    await hands.results(correction="Again.", start=StepStart(2, 1, "model-a"))
    assert (await desk.contents(hands.id))[-1] == [input_block("more")]
    assert (hands.run.corrections, hands.run.pending) == (0, ())


async def test_a_flagged_cancel_leaves_a_correction_untold(desk: Desk) -> None:
    """The run ends as CANCELLED with the answer as it was given, and has no output."""
    hands = await desk.open()
    await hands.say()
    await desk.cancel(hands.id)
    before = await desk.everything()
    await hands.results(correction="Again.", start=StepStart(2, 1, "model-a"))
    assert await desk.everything() == before
    await hands.settle(replace(COMPLETED, output={"word": "pelican"}))
    run = await desk.run(hands.id)
    assert (run.status, run.output, run.corrections) == (RunStatus.CANCELLED, None, 0)


async def test_calls_that_nobody_will_run_are_closed_by_a_correction(desk: Desk) -> None:
    """Their results stand before it."""
    hands = await desk.open()
    await hands.call_tools()
    done = await hands.results(correction="Again.", start=StepStart(2, 1, "model-a"))
    assert [call.state for call in done.calls] == [ToolCallState.CANCELLED]
    assert [block["type"] for block in (await desk.contents(hands.id))[-1]] == ["tool_result", "text"]


async def test_a_flagged_cancel_leaves_results_and_input_to_settle(desk: Desk) -> None:
    """Nothing is written, and the run that comes back says why."""
    hands = await desk.open()
    await hands.run_calls(await hands.call_tools())
    await desk.queue(hands.id, "more")
    await desk.cancel(hands.id)
    before = await desk.everything()
    done = await hands.results(start=StepStart(2, 1, "model-a"))
    assert done.run.cancel_requested
    assert (done.messages, done.events) == ((), ())
    assert await desk.everything() == before


async def test_what_an_interrupt_cut_is_kept_where_a_cancel_came_first(desk: Desk) -> None:
    """What was shown is stored all the same; input and results are left to settle."""
    hands = await desk.open()
    await hands.begin()
    item = await desk.queue(hands.id, "stop that", mode=SteerMode.INTERRUPT)
    await desk.cancel(hands.id)
    done = await hands.results(cut=calls_answer(1, 1, stop_reason=None), start=StepStart(2, 1, "model-a"))
    assert [message.role for message in done.messages] == [Role.ASSISTANT]
    assert [waiting.id for waiting in done.run.pending] == [item]
    assert (done.run.steps, done.run.step) == (1, 1)
    await hands.settle()
    last = (await desk.contents(hands.id))[-1]
    assert [block["type"] for block in last] == ["tool_result", "text"]


async def test_an_answer_of_a_step_taken_over_is_stored_once(desk: Desk) -> None:
    """The new owner begins the step again with the next attempt; its answer is message 2."""
    hands = await desk.open()
    await hands.begin()
    await desk.lapse()
    second = await desk.taken()
    await second.begin(1, 2, reason="taken over")
    await second.answer(text_answer(1, attempt=2))
    messages = await desk.messages(hands.id)
    assert [(message.seq, message.fence) for message in messages] == [(1, 1), (2, 2)]


@pytest.mark.parametrize("name", ["add", "\u00e9\u4e2d" * 100, "n" * 2_000, ""])
async def test_any_name_of_a_tool_is_held(desk: Desk, name: str) -> None:
    """The model names what it likes."""
    hands = await desk.open()
    await hands.begin()
    answer = calls_answer(1)
    answer.blocks[0]["name"] = name
    await hands.answer(text_answer(1, blocks=answer.blocks, calls=(type(answer.calls[0])(0, name, name, "cut {"),)))
    (call,) = await desk.calls(hands.id, 1)
    assert (call.name, call.provider_id, call.input) == (name, name, "cut {")
