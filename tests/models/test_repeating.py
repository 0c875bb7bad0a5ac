"""A verb repeated with the same arguments, because its commit was acknowledged too late, finds its own row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from models.enums import ErrorCode, FinishReason, RunStatus, SteerMode, ToolCallState
from models.events import Failure
from models.verbs.calling import finish_call, start_call
from models.verbs.claiming import reserve
from models.verbs.errors import LeaseLost
from models.verbs.settling import End, settle
from models.verbs.stepping import StepStart, announce, append_answer, append_results, begin_step
from models.verbs.subcalling import begin_subcall, finish_subcall
from tests.support.desk import SPENT, Desk, Hands, calls_answer, text_answer

Case: TypeAlias = Callable[[Desk], Awaitable[tuple[Hands, Callable[..., Any], dict[str, Any]]]]
BROKEN = End(RunStatus.FAILED, FinishReason.ERROR, Failure(ErrorCode.PROVIDER_ERROR, "It broke."))


async def first_step(desk: Desk) -> Any:
    """The first step's beginning."""
    return await desk.open(), begin_step, {"start": StepStart(1, 1, "model-a")}


async def later_attempt(desk: Desk) -> Any:
    """A step that begins again."""
    hands = await desk.open()
    await hands.begin()
    return hands, begin_step, {"start": StepStart(1, 2, "model-a", "it broke")}


async def an_answer(desk: Desk) -> Any:
    """An answer with calls."""
    hands = await desk.open()
    await hands.begin()
    return hands, append_answer, {"seq": 2, "answer": calls_answer(1, 2)}


async def a_start(desk: Desk) -> Any:
    """A tool call's beginning."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    return hands, start_call, {"call_id": call.id, "attempt": 1}


async def a_finish(desk: Desk) -> Any:
    """A tool call's end."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    await hands.start(call)
    state = ToolCallState.SUCCEEDED
    return hands, finish_call, {"call_id": call.id, "state": state, "result": "3", "is_error": False}


async def a_bad_call(desk: Desk) -> Any:
    """The end of a call that never began."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    state = ToolCallState.FAILED
    return hands, finish_call, {"call_id": call.id, "state": state, "result": "no", "is_error": True}


async def an_announcement(desk: Desk) -> Any:
    """Two inputs' InputQueued."""
    hands = await desk.open()
    for text in ("a", "b"):
        await desk.queue(hands.id, text)
    return hands, announce, {}


async def results(desk: Desk) -> Any:
    """Results with input behind them, and the next step."""
    hands = await desk.open()
    await hands.run_calls(await hands.call_tools(2))
    await desk.queue(hands.id, "more")
    return hands, append_results, {"seq": 3, "start": StepStart(2, 1, "model-a")}


async def an_interrupted_answer(desk: Desk) -> Any:
    """A cut answer, its results and the input that cut it."""
    hands = await desk.open()
    await hands.begin()
    await desk.queue(hands.id, "stop that", mode=SteerMode.INTERRUPT)
    cut = calls_answer(1, 1, stop_reason=None)
    return hands, append_results, {"seq": 2, "cut": cut, "start": StepStart(2, 1, "model-a")}


async def a_correction(desk: Desk) -> Any:
    """What the model is told of an answer that does not fit, and the next step."""
    hands = await desk.open()
    await hands.say()
    return hands, append_results, {"seq": 3, "correction": "Again.", "start": StepStart(2, 1, "model-a")}


async def a_restart_without_input(desk: Desk) -> Any:
    """A step that begins again with nothing to append."""
    hands = await desk.open()
    await hands.begin()
    return hands, append_results, {"seq": 2, "start": StepStart(1, 2, "model-a", "again")}


async def completion(desk: Desk) -> Any:
    """A generation's end."""
    hands = await desk.open()
    await hands.say()
    return hands, settle, hands.ending()


async def failure(desk: Desk) -> Any:
    """A failed end that keeps a cut answer and queued input."""
    hands = await desk.open()
    await hands.begin()
    await desk.queue(hands.id, "more")
    cut = calls_answer(1, 1, stop_reason=None)
    return hands, settle, {**hands.ending(BROKEN), "cut": cut}


async def going_on(desk: Desk) -> Any:
    """An end that queued input extends."""
    hands = await desk.open()
    await hands.say()
    await desk.queue(hands.id, "more")
    return hands, settle, hands.ending()


async def cancellation(desk: Desk) -> Any:
    """An end that a cancel had flagged."""
    hands = await desk.open()
    await hands.begin()
    await desk.queue(hands.id, "before")
    await desk.cancel(hands.id)
    return hands, settle, {**hands.ending(), "cut": text_answer(1, stop_reason=None)}


async def a_turn_begun_at_once(desk: Desk) -> Any:
    """A cancelled end, calls open, input before the cancel and behind it: the next turn begins."""
    hands = await desk.open()
    await hands.start((await hands.call_tools(2))[0])
    await desk.queue(hands.id, "before")
    await desk.cancel(hands.id)
    await desk.queue(hands.id, "after")
    return hands, settle, hands.ending()


async def a_turn_begun_behind_a_cut(desk: Desk) -> Any:
    """The same in the middle of an answer, without a word before it."""
    hands = await desk.open()
    await hands.begin()
    await desk.cancel(hands.id)
    await desk.queue(hands.id, "after")
    return hands, settle, {**hands.ending(), "cut": calls_answer(1, 1, stop_reason=None)}


CASES = [
    first_step,
    later_attempt,
    an_answer,
    a_start,
    a_finish,
    a_bad_call,
    an_announcement,
    results,
    an_interrupted_answer,
    a_correction,
    a_restart_without_input,
    completion,
    failure,
    going_on,
    cancellation,
    a_turn_begun_at_once,
    a_turn_begun_behind_a_cut,
]
_WITHOUT_IDS = (start_call, finish_call, announce)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_a_verb_repeated_finds_its_own_row(desk: Desk, case: Case) -> None:
    """The second call changes nothing, and tells what the first did: run, events, messages, numbers that are free."""
    hands, verb, arguments = await case(desk)
    if verb not in _WITHOUT_IDS:
        arguments |= {"ids": desk.ids}
    first = await hands.again(verb, **arguments)
    after = await desk.everything()
    again = await hands.again(verb, **arguments)
    assert await desk.everything() == after
    assert again.run == first.run or again.run == await desk.run(hands.id)
    assert again.events == first.events
    assert again.messages == first.messages
    assert again.numbers is not None
    assert first.numbers is not None
    assert (again.numbers.stream_id, again.numbers.next) == (first.numbers.stream_id, first.numbers.next)
    assert again.numbers.next <= again.numbers.ceiling <= first.numbers.ceiling


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_the_loop_goes_on_after_a_verb_that_was_repeated(desk: Desk, case: Case) -> None:
    """What the repeated verb gave back is enough to go on with: the run comes to its end without a collision."""
    hands, verb, arguments = await case(desk)
    if verb not in _WITHOUT_IDS:
        arguments |= {"ids": desk.ids}
    await hands.again(verb, **arguments)
    await hands.verb(verb, **arguments)
    if hands.run.status is RunStatus.RUNNING:
        for call in await desk.calls(hands.id, hands.run.steps):
            if call.is_open:
                await hands.finish(call)
        if await desk.calls(hands.id, hands.run.steps):
            await hands.results()
        await hands.say()
        while (await hands.settle()).run.status is RunStatus.RUNNING:
            pass
    run = await desk.run(hands.id)
    assert run.status in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)
    assert [message.seq for message in await desk.messages(hands.id)] == list(range(1, run.seq + 1))
    for generation in range(1, run.generation + 1):
        assert (await desk.kinds(hands.id, generation)).count("RunResult") == 1
        assert (await desk.kinds(hands.id, generation))[-1] == "RunResult"


async def test_a_turn_begun_by_a_settle_is_found_however_far_it_was_steered_and_stopped(desk: Desk) -> None:
    """What clients said to it between the two tries is there, and no row is written a second time."""
    hands, verb, arguments = await a_turn_begun_at_once(desk)
    first = await hands.again(verb, **arguments)
    item = await desk.queue(hands.id, "more")
    await desk.cancel(hands.id)
    before = await desk.everything()
    again = await hands.verb(verb, **arguments)
    assert await desk.everything() == before
    assert (again.events, again.messages, again.numbers) == (first.events, first.messages, first.numbers)
    assert (again.run.cancel_requested, [waiting.id for waiting in again.run.pending]) == (True, [item])
    await hands.settle()
    assert (await desk.run(hands.id)).status is RunStatus.CANCELLED


async def test_a_turn_begun_by_a_settle_and_taken_by_another_since_is_lost(desk: Desk) -> None:
    """The repeated settle changes nothing once the new turn's lease has run out and another has it."""
    hands, verb, arguments = await a_turn_begun_at_once(desk)
    await hands.again(verb, **arguments)
    await desk.lapse()
    second = await desk.taken()
    before = await desk.everything()
    with pytest.raises(LeaseLost):
        await hands.again(verb, **arguments)
    assert await desk.everything() == before
    await second.say()
    await second.settle()


async def test_a_turn_begun_by_a_client_is_not_taken_for_that_of_a_settle(desk: Desk) -> None:
    """A turn that the same process holds, begun by an input after the settle, has a loop of its own."""
    hands = await desk.open()
    await hands.say()
    await desk.cancel(hands.id)
    arguments = hands.ending()
    await hands.again(settle, **arguments)
    await desk.sent(hands.id, "next")
    before = await desk.everything()
    with pytest.raises(LeaseLost):
        await hands.again(settle, **arguments)
    assert await desk.everything() == before


async def test_a_tools_model_call_that_is_begun_twice_is_one_row(desk: Desk) -> None:
    """The second try finds the first one's row; finishing twice counts once."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    given = {"run_id": hands.id, "fence": hands.run.fence, "tool_call_id": call.id, "model": "model-b"}
    begin: dict[str, Any] = {**given, "model_call_id": desk.ids("mdl"), "at": desk.clock()}
    first = await desk.database.write(begin_subcall, **begin)
    before = await desk.everything()
    assert await desk.database.write(begin_subcall, **begin) == first
    assert await desk.everything() == before
    told: dict[str, Any] = {
        "usage": SPENT,
        "model": "model-b-1",
        "stop_reason": "end_turn",
        "request_id": None,
        "at": desk.clock(),
    }
    await desk.database.write(finish_subcall, model_call_id=first.id, **told)
    before = await desk.everything()
    await desk.database.write(finish_subcall, model_call_id=first.id, **told)
    assert await desk.everything() == before


async def test_numbers_reserved_twice_leave_no_gap(desk: Desk) -> None:
    """The repeated reservation ends where the first one did."""
    hands = await desk.open()
    given: dict[str, Any] = {"run_id": hands.id, "fence": hands.run.fence, "numbers": hands.numbers}
    first = await desk.database.write(reserve, **given)
    before = await desk.everything()
    assert await desk.database.write(reserve, **given) == first
    assert await desk.everything() == before


async def test_a_settle_repeated_when_the_next_turn_is_under_way_has_lost_the_run(desk: Desk) -> None:
    """An input that came between the two tries has begun a turn of another owner."""
    hands = await desk.open()
    await hands.say()
    await hands.again(settle, **hands.ending())
    await desk.sent(hands.id, "next")
    with pytest.raises(LeaseLost):
        await hands.settle()


async def test_a_settle_is_not_mistaken_for_that_of_a_successor(desk: Desk) -> None:
    """Where another has taken the run over and settled it, the repeated settle has lost it."""
    hands = await desk.open()
    await hands.say()
    await desk.lapse()
    second = await desk.taken()
    await second.settle()
    with pytest.raises(LeaseLost):
        await hands.settle()
    again = await desk.open()
    await again.say()
    await desk.lapse()
    await desk.cancel(again.id)
    with pytest.raises(LeaseLost):
        await again.settle()


async def test_a_message_of_an_earlier_fence_is_not_taken_for_ones_own(desk: Desk) -> None:
    """A late writer's seq that another has used is no repetition."""
    hands = await desk.open()
    await hands.say()
    await desk.lapse()
    second = await desk.taken()
    with pytest.raises(LeaseLost):
        await second.again(append_answer, seq=2, answer=text_answer(1), ids=desk.ids)
