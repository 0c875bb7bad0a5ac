"""What is found in the tools' notes."""

from __future__ import annotations

from typing import Any

import pytest

from models.call import ToolCall
from models.enums import ToolCallState
from tests.cluster.executions import INTERRUPTED, Note, Verdict, judge_call
from tests.cluster.stories import AGAIN, ONCE
from tests.support.rows import NOW, a_call, a_run

RUN = a_run()


def call_of(name: str, state: ToolCallState = ToolCallState.SUCCEEDED, attempt: int = 1, **values: Any) -> ToolCall:
    """A finished call, with the result that it ought to have."""
    call = a_call(RUN, 1, name=name, state=state, attempt=attempt, finished_at=NOW)
    told = f"{call.id} was done at attempt {attempt}" if state is ToolCallState.SUCCEEDED else INTERRUPTED
    return ToolCall(**{**{slot: getattr(call, slot) for slot in ToolCall.__slots__}, "result": told, **values})


def notes_of(call: ToolCall, *lines: tuple[str, int, int]) -> list[Note]:
    """Notes of a call: what, at which attempt, how many ms after its end."""
    return [Note(what, call.run_id, call.id, call.id, attempt, 1, NOW + after) for what, attempt, after in lines]


def test_a_call_that_ran_once_is_right() -> None:
    """One beginning and one end before the row's end is as it should be."""
    call = call_of(ONCE)
    assert judge_call(call, notes_of(call, ("begin", 1, -20), ("end", 1, -10))) == Verdict([], [], [])


def test_a_call_that_ran_again_with_leave_is_counted() -> None:
    """A tool that may be repeated may have begun before, at an earlier attempt."""
    call = call_of(AGAIN, attempt=2)
    verdict = judge_call(call, notes_of(call, ("begin", 1, -50), ("begin", 2, -20), ("end", 2, -10)))
    assert verdict == Verdict([], [], [], again=1)


def test_a_frozen_worker_may_begin_late() -> None:
    """What a frozen worker begins after its call was given away is counted, and breaks nothing."""
    call = call_of(AGAIN, attempt=2)
    verdict = judge_call(call, notes_of(call, ("begin", 2, -20), ("end", 2, -10), ("begin", 1, 30)))
    assert verdict == Verdict([], [], [], again=1, late=1)


@pytest.mark.parametrize("name", [ONCE, AGAIN])
def test_a_finished_call_that_ran_again_is_found(name: str) -> None:
    """A beginning at a later attempt than the one that ended the call, or at the same one after its end, is wrong."""
    call = call_of(name)
    done = [("begin", 1, -20), ("end", 1, -10)]
    assert judge_call(call, notes_of(call, *done, ("begin", 2, 30))).ran_after_its_end
    assert judge_call(call, notes_of(call, *done, ("begin", 1, 30))).ran_after_its_end


def test_a_call_without_leave_that_ran_twice_is_found() -> None:
    """A tool that must not be repeated has begun once at most; no attempt of any tool begins twice."""
    once, again = call_of(ONCE, attempt=2), call_of(AGAIN)
    assert judge_call(once, notes_of(once, ("begin", 1, -50), ("begin", 2, -20), ("end", 2, -10))).ran_twice
    assert judge_call(again, notes_of(again, ("begin", 1, -50), ("begin", 1, -20), ("end", 1, -10))).ran_twice


def test_a_result_that_no_tool_gave_is_found() -> None:
    """A call is SUCCEEDED only with what its tool gave at that attempt, under the call's own key."""
    call = call_of(ONCE)
    assert judge_call(call, notes_of(call, ("begin", 1, -20))).untrue
    done = notes_of(call, ("begin", 1, -20), ("end", 1, -10))
    assert judge_call(call_of(ONCE, id=call.id), done).untrue, "the result names another call"
    assert judge_call(call, [Note(n.what, n.run, n.call, "other", 1, 1, n.at) for n in done]).untrue
    assert judge_call(call_of(ONCE, ToolCallState.INTERRUPTED, result="fine"), []).untrue
