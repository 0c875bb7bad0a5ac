"""request_cancel, and settle where a cancel is flagged: the contract's "Cancel", line by line."""

from __future__ import annotations

import pytest

from models.enums import ErrorCode, FinishReason, RunStatus, SteerMode, ToolCallState
from models.events import Failure, InputApplied, RunResult, StepRestarted
from models.verbs.errors import LeaseLost
from models.verbs.settling import End
from tests.support.desk import COMPLETED, Desk, calls_answer, text_answer

BROKEN = End(RunStatus.FAILED, FinishReason.ERROR, Failure(ErrorCode.PROVIDER_ERROR, "It broke."))


async def test_a_generating_run_is_flagged_and_goes_on_until_its_worker_settles_it(desk: Desk) -> None:
    """Nothing else changes: the fence stands, and its next beat tells the worker."""
    hands = await desk.open()
    done, flagged = await desk.cancel(hands.id, "enough")
    assert flagged
    assert (done.run.status, done.run.fence, done.run.cancel_reason) == (RunStatus.RUNNING, 1, "enough")
    assert (await desk.beat(hands.pair))[hands.id].cancel
    await hands.begin()
    await hands.settle(COMPLETED)
    run = await desk.run(hands.id)
    assert (run.status, run.finish, run.cancel_requested) == (RunStatus.CANCELLED, FinishReason.ABORTED, False)


async def test_a_generation_that_would_have_finished_ends_cancelled(desk: Desk) -> None:
    """Whatever end it had come to."""
    for end in (COMPLETED, BROKEN):
        hands = await desk.open()
        await hands.say()
        await desk.cancel(hands.id)
        await hands.settle(end)
        run = await desk.run(hands.id)
        assert (run.status, run.finish, run.error) == (RunStatus.CANCELLED, FinishReason.ABORTED, None)
        result = (await desk.events(hands.id))[-1]
        assert isinstance(result, RunResult)
        assert (result.cancelled, result.status, result.text) == (True, RunStatus.CANCELLED, "Hello.")


async def test_what_was_shown_of_a_response_is_kept(desk: Desk) -> None:
    """As the assistant's turn, without a stop reason; whole calls in it have their results."""
    hands = await desk.open()
    await hands.begin()
    await desk.cancel(hands.id)
    await hands.settle(COMPLETED, cut=calls_answer(1, 2, stop_reason=None))
    messages = await desk.messages(hands.id)
    assert messages[1].stop_reason is None
    assert [block["type"] for block in messages[2].content] == ["tool_result", "tool_result"]
    run = await desk.run(hands.id)
    assert (run.status, run.steps, run.seq) == (RunStatus.CANCELLED, 1, 3)


async def test_results_of_tools_that_ended_are_kept_and_the_others_closed(desk: Desk) -> None:
    """Every tool_use of a cancelled transcript has exactly one result, directly behind it."""
    hands = await desk.open()
    calls = await hands.call_tools(3)
    await hands.start(calls[0])
    await hands.start(calls[1])
    await desk.cancel(hands.id)
    await hands.finish(calls[0], "three")
    await hands.settle()
    last = (await desk.contents(hands.id))[-1]
    assert [(block["tool_use_id"], block["is_error"]) for block in last] == [
        ("toolu_1_0", False),
        ("toolu_1_1", True),
        ("toolu_1_2", True),
    ]
    assert last[0]["content"] == "three"
    states = [call.state for call in await desk.calls(hands.id, 1)]
    assert states == [ToolCallState.SUCCEEDED, ToolCallState.INTERRUPTED, ToolCallState.CANCELLED]


async def test_input_queued_before_the_cancel_is_kept_unanswered_and_announced(desk: Desk) -> None:
    """A user turn of its own, behind results, with InputApplied before RunResult."""
    hands = await desk.open()
    await hands.call_tools()
    first, second = [await desk.queue(hands.id, text) for text in ("a", "b")]
    await desk.cancel(hands.id)
    await hands.settle()
    last = (await desk.contents(hands.id))[-1]
    assert [block["type"] for block in last] == ["tool_result", "text", "text"]
    assert (await desk.kinds(hands.id))[-2:] == ["InputApplied", "RunResult"]
    applied = (await desk.events(hands.id))[-2]
    assert isinstance(applied, InputApplied)
    assert (applied.input_ids, applied.message_seq) == ([first, second], 3)
    assert (await desk.run(hands.id)).pending == ()


async def test_input_sent_after_the_cancel_begins_the_next_turn(desk: Desk) -> None:
    """As soon as the run has settled, in the same transaction: CANCELLED is never seen on the row."""
    hands = await desk.open()
    await hands.begin()
    await desk.queue(hands.id, "before")
    await desk.cancel(hands.id)
    after = [await desk.queue(hands.id, text) for text in ("after", "and more")]
    done = await hands.settle(COMPLETED)
    run = done.run
    assert (run.status, run.finish, run.cancel_requested, run.cancel_reason) == (RunStatus.RUNNING, None, False, None)
    assert (run.generation, run.fence, run.pending, run.worker) == (2, 2, (), "worker-1")
    contents = await desk.contents(hands.id)
    assert contents[1] == [{"type": "text", "text": "before"}]
    assert [block["text"] for block in contents[2]] == ["after", "and more"]
    assert (await desk.kinds(hands.id, 1))[-1] == "RunResult"
    applied = (await desk.events(hands.id, 2))[-1]
    assert isinstance(applied, InputApplied)
    assert (applied.input_ids, applied.message_seq) == (after, 3)
    await hands.say()
    await hands.settle()
    assert (await desk.run(hands.id)).status is RunStatus.COMPLETED


async def test_one_input_after_the_cancel_is_a_plain_turn(desk: Desk) -> None:
    """As if it had been sent to the settled run."""
    hands = await desk.open()
    await desk.cancel(hands.id)
    await desk.queue(hands.id, "after")
    await hands.settle()
    assert await desk.contents(hands.id) == ["Hi", "after"]


async def test_the_turn_that_follows_a_cancel_is_free_to_claim_where_nobody_holds_it(desk: Desk) -> None:
    """A settle without a worker leaves the next turn to whoever looks."""
    hands = await desk.open()
    await desk.cancel(hands.id)
    await desk.queue(hands.id, "after")
    await hands.settle(worker=None)
    (taken,) = await desk.take()
    assert (taken.run.id, taken.why) == (hands.id, "claim")
    last = (await desk.events(hands.id))[-1].seq
    assert taken.numbers.next > last


async def test_cancelling_again_moves_the_line_to_the_queues_end(desk: Desk) -> None:
    """What came between the two is now before; nothing else changes."""
    hands = await desk.open()
    await desk.cancel(hands.id, "first")
    await desk.queue(hands.id, "between")
    before = await desk.run(hands.id)
    done, flagged = await desk.cancel(hands.id)
    assert flagged
    assert (done.run.fence, done.run.pending, done.run.cancel_reason) == (before.fence, before.pending, "first")
    await desk.queue(hands.id, "after")
    await hands.settle()
    assert await desk.contents(hands.id) == ["Hi", [{"type": "text", "text": "between"}], "after"]


async def test_withdrawn_input_leaves_the_line_where_it_was(desk: Desk) -> None:
    """Ordinals only rise: taking one back does not move what is before and what is after."""
    hands = await desk.open()
    first = await desk.queue(hands.id, "a")
    await desk.queue(hands.id, "b")
    await desk.cancel(hands.id)
    await desk.queue(hands.id, "c")
    assert await desk.withdraw(hands.id, first)
    await hands.settle()
    assert await desk.contents(hands.id) == ["Hi", [{"type": "text", "text": "b"}], "c"]


async def test_an_ordinal_is_never_used_twice(desk: Desk) -> None:
    """Input that comes after the cancel is after it, though one before it was taken back."""
    hands = await desk.open()
    first = await desk.queue(hands.id, "a")
    await desk.queue(hands.id, "b")
    assert await desk.withdraw(hands.id, first)
    await desk.cancel(hands.id)
    await desk.queue(hands.id, "c")
    await hands.settle()
    assert await desk.contents(hands.id) == ["Hi", [{"type": "text", "text": "b"}], "c"]


async def test_a_dead_workers_run_is_settled_at_once(desk: Desk) -> None:
    """The flag would be read by nobody; the dead worker's fence is gone."""
    hands = await desk.open()
    await hands.say()
    await desk.lapse()
    done, flagged = await desk.cancel(hands.id, "enough")
    assert not flagged
    assert (done.run.status, done.run.finish, done.run.fence) == (RunStatus.CANCELLED, FinishReason.ABORTED, 2)
    assert (await desk.run(hands.id)).cancel_reason == "enough"
    assert await desk.kinds(hands.id) == ["StepFinished", "RunResult"]
    with pytest.raises(LeaseLost):
        await hands.settle()


async def test_text_that_a_dead_worker_showed_and_never_stored_is_withdrawn(desk: Desk) -> None:
    """StepRestarted before RunResult, above all numbers that it may have used."""
    hands = await desk.open()
    await hands.begin()
    await desk.lapse()
    await desk.cancel(hands.id)
    restarted, result = await desk.events(hands.id)
    assert isinstance(restarted, StepRestarted)
    assert isinstance(result, RunResult)
    assert (restarted.step, restarted.attempt) == (1, 2)
    assert hands.numbers.ceiling < restarted.seq < result.seq
    assert (result.text, result.cancelled) == ("", True)


async def test_a_dead_workers_open_calls_are_closed_and_its_queue_kept(desk: Desk) -> None:
    """Results first, then what was queued before the cancel, in one message."""
    hands = await desk.open()
    calls = await hands.call_tools(2)
    await hands.start(calls[0])
    await desk.queue(hands.id, "before")
    await desk.lapse()
    await desk.cancel(hands.id)
    last = (await desk.contents(hands.id))[-1]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]
    assert [call.state for call in await desk.calls(hands.id, 1)] == [
        ToolCallState.INTERRUPTED,
        ToolCallState.CANCELLED,
    ]
    assert (await desk.kinds(hands.id))[-6:] == [
        "ToolCallFinished",
        "ToolCallStarted",
        "ToolCallFinished",
        "InputQueued",
        "InputApplied",
        "RunResult",
    ]


async def test_a_dead_workers_run_that_was_flagged_before_takes_the_later_line(desk: Desk) -> None:
    """Cancelled while alive, and again when dead: all that is queued by then is before."""
    hands = await desk.open()
    await desk.cancel(hands.id)
    await desk.queue(hands.id, "between")
    await desk.lapse()
    done, flagged = await desk.cancel(hands.id)
    assert not flagged
    assert done.run.status is RunStatus.CANCELLED
    assert await desk.contents(hands.id) == ["Hi", [{"type": "text", "text": "between"}]]


async def test_a_flagged_run_whose_worker_died_is_settled_by_the_next_owner(desk: Desk) -> None:
    """Input that came after the line begins the next turn, though it came to a dead worker."""
    hands = await desk.open()
    await desk.cancel(hands.id)
    await desk.lapse()
    await desk.queue(hands.id, "after")
    second = await desk.taken()
    assert second.run.cancel_requested
    done = await second.settle(COMPLETED, worker="worker-2")
    assert (done.run.status, done.run.generation, done.run.worker) == (RunStatus.RUNNING, 2, "worker-2")
    assert await desk.contents(hands.id) == ["Hi", "after"]


async def test_a_run_that_nobody_has_claimed_is_settled_at_once(desk: Desk) -> None:
    """It counts as generating: finish ABORTED, its stream has its end."""
    hands = await desk.open(worker=None)
    await desk.queue(hands.id, "more")
    done, flagged = await desk.cancel(hands.id)
    assert not flagged
    assert (done.run.status, done.run.finish) == (RunStatus.CANCELLED, FinishReason.ABORTED)
    assert await desk.kinds(hands.id) == ["InputQueued", "InputApplied", "RunResult"]
    assert await desk.take() == []


async def test_a_run_handed_back_is_settled_at_once(desk: Desk) -> None:
    """Nobody works on it."""
    hands = await desk.open()
    await hands.hand_back()
    done, flagged = await desk.cancel(hands.id)
    assert not flagged
    assert done.run.status is RunStatus.CANCELLED


@pytest.mark.parametrize("end", [COMPLETED, BROKEN])
async def test_an_ended_run_becomes_cancelled_and_keeps_its_finish(desk: Desk, end: End) -> None:
    """Its transcript and output stay, and its stream gets no second result."""
    hands = await desk.open()
    await hands.say()
    await hands.settle(end)
    contents, events = await desk.contents(hands.id), await desk.events(hands.id)
    done, flagged = await desk.cancel(hands.id)
    assert not flagged
    assert (done.run.status, done.run.finish) == (RunStatus.CANCELLED, end.finish)
    assert await desk.contents(hands.id) == contents
    assert await desk.events(hands.id) == events


async def test_an_idle_run_becomes_cancelled_and_has_no_finish(desk: Desk) -> None:
    """A copy that never ran."""
    source = await desk.open()
    idle = await desk.fork(source.id, 1)
    done, _ = await desk.cancel(idle.id)
    assert (done.run.status, done.run.finish, done.run.stream_id) == (RunStatus.CANCELLED, None, None)


async def test_a_cancelled_run_is_left_as_it_is(desk: Desk) -> None:
    """Cancelling it again changes nothing, finish included."""
    hands = await desk.open()
    await hands.say()
    await hands.settle()
    await desk.cancel(hands.id)
    before = await desk.everything()
    done, flagged = await desk.cancel(hands.id, "again")
    assert not flagged
    assert done.events == ()
    assert await desk.everything() == before


async def test_a_waiting_run_becomes_cancelled_with_its_queue_dropped_and_its_calls_closed(desk: Desk) -> None:
    """It was not generating: finish ABORTED, no event, nothing appended."""
    hands = await desk.open()
    await hands.call_tools()
    await desk.force(hands.id, status="WAITING", lease_until=0)
    await desk.queue(hands.id, "more")
    events, contents = await desk.events(hands.id), await desk.contents(hands.id)
    done, _ = await desk.cancel(hands.id)
    assert (done.run.status, done.run.finish, done.run.pending) == (RunStatus.CANCELLED, FinishReason.ABORTED, ())
    assert await desk.events(hands.id) == events
    assert await desk.contents(hands.id) == contents
    assert not (await desk.calls(hands.id, 1))[0].is_open


async def test_a_cancel_of_an_ended_run_moves_the_fence(desk: Desk) -> None:
    """A turn begun afterwards has its own; no earlier owner can write into it."""
    hands = await desk.open()
    await hands.say()
    await hands.settle()
    await desk.cancel(hands.id)
    again = await desk.sent(hands.id, "next")
    assert again.run.fence == 3
    with pytest.raises(LeaseLost):
        await hands.say()


async def test_a_cancelled_run_goes_on_with_the_next_input(desk: Desk) -> None:
    """A cancel leaves the conversation usable: results are there, the input follows."""
    hands = await desk.open()
    calls = await hands.call_tools()
    await hands.start(calls[0])
    await desk.cancel(hands.id)
    await hands.settle()
    again = await desk.sent(hands.id, "hi")
    assert (again.run.cancel_requested, again.run.cancel_reason) == (False, None)
    await again.say()
    await again.settle()
    assert (await desk.contents(hands.id))[-2] == "hi"
    assert (await desk.run(hands.id)).status is RunStatus.COMPLETED


async def test_an_interrupting_input_before_the_cancel_is_kept_like_any_other(desk: Desk) -> None:
    """Cancel goes before interrupt."""
    hands = await desk.open()
    await hands.begin()
    await desk.queue(hands.id, "stop that", mode=SteerMode.INTERRUPT)
    await desk.cancel(hands.id)
    await hands.settle(COMPLETED, cut=text_answer(1, "Hel", stop_reason=None))
    assert await desk.contents(hands.id) == [
        "Hi",
        [{"type": "text", "text": "Hel"}],
        [{"type": "text", "text": "stop that"}],
    ]
