"""A verb repeated with the same arguments, because its commit was acknowledged too late, finds its own row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from models.enums import ErrorCode, FinishReason, RunStatus, SteerMode, ToolCallState
from models.events import Failure
from models.verbs.calling import finish_call, start_call
from models.verbs.errors import LeaseLost
from models.verbs.settling import End, settle
from models.verbs.stepping import StepStart, announce, append_answer, append_results, begin_step
from tests.support.desk import COMPLETED, Desk, Hands, calls_answer, text_answer

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


async def a_restart_without_input(desk: Desk) -> Any:
    """A step that begins again with nothing to append."""
    hands = await desk.open()
    await hands.begin()
    return hands, append_results, {"seq": 2, "start": StepStart(1, 2, "model-a", "again")}


async def completion(desk: Desk) -> Any:
    """A generation's end."""
    hands = await desk.open()
    await hands.say()
    return hands, settle, {"end": COMPLETED, "holder": desk.holder()}


async def failure(desk: Desk) -> Any:
    """A failed end that keeps a cut answer and queued input."""
    hands = await desk.open()
    await hands.begin()
    await desk.queue(hands.id, "more")
    cut = calls_answer(1, 1, stop_reason=None)
    return hands, settle, {"end": BROKEN, "holder": desk.holder(), "cut": cut}


async def going_on(desk: Desk) -> Any:
    """An end that queued input extends."""
    hands = await desk.open()
    await hands.say()
    await desk.queue(hands.id, "more")
    return hands, settle, {"end": COMPLETED, "holder": desk.holder()}


async def cancellation(desk: Desk) -> Any:
    """An end that a cancel had flagged."""
    hands = await desk.open()
    await hands.begin()
    await desk.queue(hands.id, "before")
    await desk.cancel(hands.id)
    return hands, settle, {"end": COMPLETED, "holder": desk.holder(), "cut": text_answer(1, stop_reason=None)}


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
    a_restart_without_input,
    completion,
    failure,
    going_on,
    cancellation,
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


async def test_a_turn_begun_by_a_settle_whose_acknowledgement_was_lost_is_taken_over(desk: Desk) -> None:
    """The repeated settle has lost the run and changes nothing; the new turn's lease runs out, and another takes it."""
    hands = await desk.open()
    await hands.say()
    await desk.cancel(hands.id)
    await desk.queue(hands.id, "after")
    arguments = {"end": COMPLETED, "holder": desk.holder(), "ids": desk.ids}
    await hands.again(settle, **arguments)
    before = await desk.everything()
    with pytest.raises(LeaseLost):
        await hands.again(settle, **arguments)
    assert await desk.everything() == before
    await desk.lapse()
    second = await desk.taken()
    await second.say()
    await second.settle()
    hello = [{"type": "text", "text": "Hello."}]
    assert await desk.contents(hands.id) == ["Hi", hello, "after", hello]


async def test_a_settle_repeated_when_the_next_turn_is_under_way_has_lost_the_run(desk: Desk) -> None:
    """An input that came between the two tries has begun a turn of another owner."""
    hands = await desk.open()
    await hands.say()
    await hands.again(settle, end=COMPLETED, holder=desk.holder(), ids=desk.ids)
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
