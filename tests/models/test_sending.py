"""send, withdraw, retry: what a run's owner says to it."""

from __future__ import annotations

import asyncio

import pytest

from models.enums import ErrorCode, FinishReason, RunStatus, SteerMode, ToolCallState
from models.events import Failure
from models.key import KeyUsedOtherwise
from models.verbs.errors import Busy, NothingToAnswer, QueueFull, RunMissing
from models.verbs.settling import End
from tests.support.desk import COMPLETED, Desk, a_key, calls_answer, text_answer

BROKEN = End(RunStatus.FAILED, FinishReason.ERROR, Failure(ErrorCode.PROVIDER_ERROR, "It broke."))


async def test_input_to_a_running_run_is_queued_whatever_its_lease(desk: Desk) -> None:
    """Also where its worker is dead, and where nobody has claimed it yet."""
    alive, unclaimed = await desk.open(), await desk.open(worker=None)
    for run_id in (alive.id, unclaimed.id):
        await desk.queue(run_id, "more")
    await desk.lapse()
    await desk.queue(alive.id, "and more")
    run = await desk.run(alive.id)
    assert [item.text for item in run.pending] == ["more", "and more"]
    assert (run.status, run.fence, run.seq) == (RunStatus.RUNNING, 1, 1)


async def test_input_to_a_waiting_run_is_queued(desk: Desk) -> None:
    """It neither begins a turn nor ends the waiting."""
    hands = await desk.open()
    await desk.force(hands.id, status="WAITING", lease_until=0)
    await desk.queue(hands.id, "more")
    assert (await desk.run(hands.id)).status is RunStatus.WAITING


@pytest.mark.parametrize("end", [COMPLETED, BROKEN])
async def test_input_to_an_ended_run_begins_its_next_turn(desk: Desk, end: End) -> None:
    """A new stream and fence; what was said of the last turn is cleared; steps and seq go on."""
    hands = await desk.open()
    await hands.say()
    await hands.settle(end)
    before = await desk.run(hands.id)
    now = (await desk.sent(hands.id, "next")).run
    assert (now.status, now.finish, now.error, now.output) == (RunStatus.RUNNING, None, None, None)
    assert (now.fence, now.generation, now.seq, now.steps) == (before.fence + 1, 2, 3, 1)
    assert (now.turn_steps, now.step, now.attempt, now.takeovers) == (0, 1, 1, 0)
    assert now.stream_id != before.stream_id
    assert (await desk.contents(hands.id))[-1] == "next"


async def test_a_success_keeps_no_error_of_the_failure_before_it(desk: Desk) -> None:
    """The run's error is that of its last end."""
    hands = await desk.open()
    await hands.settle(BROKEN)
    assert (await desk.run(hands.id)).error == BROKEN.error
    again = await desk.sent(hands.id, "next")
    await again.say()
    await again.settle()
    run = await desk.run(hands.id)
    assert (run.status, run.error) == (RunStatus.COMPLETED, None)


async def test_calls_that_dangle_are_answered_in_the_same_user_message_as_the_input(desk: Desk) -> None:
    """Results first, each tool_use exactly once, then the input."""
    hands = await desk.open()
    calls = await hands.call_tools(3)
    await hands.start(calls[0])
    await hands.finish(calls[0], "three")
    await hands.start(calls[1])
    await hands.settle(BROKEN)
    await desk.sent(hands.id, "next")
    contents = await desk.contents(hands.id)
    assert len(contents) == 3
    assert [block["type"] for block in contents[2]] == ["tool_result"] * 3 + ["text"]
    assert [block.get("tool_use_id") for block in contents[2][:3]] == ["toolu_1_0", "toolu_1_1", "toolu_1_2"]
    assert [block.get("is_error") for block in contents[2][:3]] == [False, True, True]
    assert contents[2][0]["content"] == "three"
    assert contents[2][3] == {"type": "text", "text": "next"}
    states = [call.state for call in await desk.calls(hands.id, 1)]
    assert states == [ToolCallState.SUCCEEDED, ToolCallState.INTERRUPTED, ToolCallState.CANCELLED]


async def test_the_queue_holds_32_messages(desk: Desk) -> None:
    """The next one is refused and changes nothing; there is room again when one is withdrawn."""
    hands = await desk.open()
    ids = [await desk.queue(hands.id, f"m{number}") for number in range(32)]
    before = await desk.everything()
    with pytest.raises(QueueFull):
        await desk.send(hands.id, "one too many", key=a_key())
    assert await desk.everything() == before
    assert await desk.withdraw(hands.id, ids[3])
    await desk.queue(hands.id, "again", key=a_key())


async def test_the_queue_holds_32_times_1024_characters(desk: Desk) -> None:
    """Counted over all that wait; exactly that many fit."""
    hands = await desk.open()
    await desk.queue(hands.id, "x" * 32_767)
    with pytest.raises(QueueFull):
        await desk.send(hands.id, "yy")
    await desk.queue(hands.id, "y")
    with pytest.raises(QueueFull):
        await desk.send(hands.id, "z")


async def test_forty_inputs_at_once_fill_the_queue_and_no_more(desk: Desk) -> None:
    """32 are taken, 8 are refused; ordinals rise without a double."""
    hands = await desk.open()
    ends = await asyncio.gather(*(desk.send(hands.id, str(n)) for n in range(40)), return_exceptions=True)
    assert sum(isinstance(end, QueueFull) for end in ends) == 8
    pending = (await desk.run(hands.id)).pending
    assert [item.ordinal for item in pending] == list(range(1, 33))
    assert len({item.id for item in pending}) == 32


async def test_two_inputs_to_an_ended_run_begin_one_turn(desk: Desk) -> None:
    """The first begins it, the second is queued: status and queue are read under one lock."""
    hands = await desk.open()
    await hands.say()
    await hands.settle()
    answers = [answer for _, answer in await asyncio.gather(desk.send(hands.id, "a"), desk.send(hands.id, "b"))]
    assert sorted(answer["queued"] for answer in answers) == [False, True]
    run = await desk.run(hands.id)
    assert (run.generation, len(run.pending)) == (2, 1)


async def test_an_input_under_a_key_is_taken_once(desk: Desk) -> None:
    """The same key gives the same receipt, also after the input was folded in; with another input it is refused."""
    hands = await desk.open()
    key = a_key(operation="steerRun")
    first = await desk.queue(hands.id, "more", key=key)
    assert await desk.queue(hands.id, "more", key=key) == first
    assert len((await desk.run(hands.id)).pending) == 1
    await hands.say()
    await hands.settle()
    assert await desk.queue(hands.id, "more", key=key) == first
    assert (await desk.contents(hands.id)).count([{"type": "text", "text": "more"}]) == 1
    with pytest.raises(KeyUsedOtherwise):
        await desk.send(hands.id, "other", key=a_key(operation="steerRun", digest="other"))


async def test_title_and_metadata_replace_the_runs_where_given(desk: Desk) -> None:
    """Both where the input is queued and where it begins a turn."""
    hands = await desk.open(metadata={"a": 1})
    await desk.send(hands.id, "more", changes={"title": "New", "metadata": {"b": 2}})
    run = await desk.run(hands.id)
    assert (run.title, run.metadata) == ("New", {"b": 2})


async def test_sending_to_a_run_that_is_not_there_keeps_no_key(desk: Desk) -> None:
    """Failures are not kept under a key."""
    before = await desk.everything()
    with pytest.raises(RunMissing):
        await desk.send("run_missing", "x", key=a_key())
    with pytest.raises(RunMissing):
        await desk.withdraw("run_missing", "inp_1")
    with pytest.raises(RunMissing):
        await desk.cancel("run_missing")
    with pytest.raises(RunMissing):
        await desk.retry("run_missing")
    assert await desk.everything() == before


async def test_a_queued_input_can_be_withdrawn_once(desk: Desk) -> None:
    """It never reaches the transcript; the others keep their order."""
    hands = await desk.open()
    first, second, third = [await desk.queue(hands.id, text) for text in ("a", "b", "c")]
    assert await desk.withdraw(hands.id, second)
    assert not await desk.withdraw(hands.id, second)
    assert [item.id for item in (await desk.run(hands.id)).pending] == [first, third]
    await hands.say()
    await hands.results()
    assert (await desk.contents(hands.id))[-1] == [{"type": "text", "text": "a"}, {"type": "text", "text": "c"}]
    assert not await desk.withdraw(hands.id, first)


async def test_an_interrupting_input_can_not_be_withdrawn(desk: Desk) -> None:
    """It asks for the response in flight to be cut, which is not taken back."""
    hands = await desk.open()
    item = await desk.queue(hands.id, "stop that", mode=SteerMode.INTERRUPT)
    assert not await desk.withdraw(hands.id, item)
    assert (await desk.run(hands.id)).interrupting == (item,)


async def test_withdrawing_what_is_not_queued_changes_nothing(desk: Desk) -> None:
    """An id that names nothing is answered with False."""
    hands = await desk.open()
    before = await desk.everything()
    assert not await desk.withdraw(hands.id, "inp_none")
    assert await desk.everything() == before


async def test_retry_goes_on_from_the_last_completed_step(desk: Desk) -> None:
    """A FAILED run whose transcript ends in the user's turn begins a generation without a message."""
    hands = await desk.open()
    await hands.begin()
    await hands.settle(BROKEN)
    again = await desk.retry(hands.id)
    run = await desk.run(hands.id)
    assert (run.status, run.error, run.seq, run.generation, run.fence) == (RunStatus.RUNNING, None, 1, 2, 2)
    await again.say()
    await again.settle()
    assert (await desk.events(hands.id))[-1].steps == 1  # type: ignore[attr-defined]


async def test_retry_answers_calls_that_dangle(desk: Desk) -> None:
    """Their results are a user message of their own."""
    hands = await desk.open()
    await hands.call_tools(2)
    await hands.settle(BROKEN)
    await desk.retry(hands.id)
    assert [block["type"] for block in (await desk.contents(hands.id))[-1]] == ["tool_result", "tool_result"]


async def test_retry_of_a_run_whose_last_answer_is_whole_needs_an_input(desk: Desk) -> None:
    """COMPLETED, CANCELLED after completion, and IDLE: nothing is written."""
    hands = await desk.open()
    await hands.say()
    await hands.settle()
    idle = await desk.fork(hands.id, 1)
    for run_id in (hands.id, idle.id):
        with pytest.raises(NothingToAnswer):
            await desk.retry(run_id)
    await desk.cancel(hands.id)
    before = await desk.everything()
    with pytest.raises(NothingToAnswer):
        await desk.retry(hands.id)
    assert await desk.everything() == before


async def test_retry_of_an_answer_that_was_cut_or_paused_goes_on(desk: Desk) -> None:
    """Only a whole answer leaves nothing to say."""
    for reason in (None, "pause_turn"):
        hands = await desk.open()
        await hands.begin()
        await hands.answer(text_answer(1, stop_reason=reason))
        await hands.settle(BROKEN)
        assert (await desk.retry(hands.id)).run.status is RunStatus.RUNNING


async def test_retry_of_a_run_at_work_is_refused(desk: Desk) -> None:
    """RUNNING, whatever its lease, and WAITING."""
    hands = await desk.open()
    with pytest.raises(Busy):
        await desk.retry(hands.id)
    await desk.force(hands.id, status="WAITING")
    with pytest.raises(Busy):
        await desk.retry(hands.id)


async def test_retry_under_a_key_begins_one_generation(desk: Desk) -> None:
    """The second call under the key finds the first one's answer, though the run is at work."""
    hands = await desk.open()
    await hands.settle(BROKEN)
    key = a_key(operation="retryRun")
    ends = await asyncio.gather(*(desk.retry(hands.id, key=key) for _ in range(5)))
    assert {end.id for end in ends} == {hands.id}
    assert (await desk.run(hands.id)).generation == 2


async def test_a_refused_answers_calls_are_answered_before_queued_input(desk: Desk) -> None:
    """Where an answer ends the turn though it has calls, input that goes on with it comes behind their results."""
    hands = await desk.open()
    await hands.begin()
    await hands.answer(calls_answer(1, 2, stop_reason="refusal"))
    await desk.queue(hands.id, "go on")
    await hands.settle(COMPLETED)
    last = (await desk.contents(hands.id))[-1]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]
    assert all(not call.is_open for call in await desk.calls(hands.id, 1))
