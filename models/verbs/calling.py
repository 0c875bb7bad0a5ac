"""start_call, finish_call: one tool call's journal."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from models.call import ToolCall, call_from_row, tool_calls
from models.enums import ToolCallState
from models.run import Run
from models.verbs.closing import stop_children, tell_finished, tell_started
from models.verbs.errors import LeaseLost
from models.verbs.journal import Journal, told_before
from models.verbs.row import Done, Numbers, change_call, change_run, fenced


def start_call(
    c: Connection, *, run_id: str, fence: int, call_id: str, attempt: int, numbers: Numbers, at: int
) -> Done:
    """Record that a call begins, before it does: a crash after this leaves its outcome unknown, and said to be so.

    `attempt` above 1 runs a call again that had begun under an earlier fence. Raises LeaseLost.
    """
    run = fenced(c, run_id, fence)
    call = _get(c, call_id)
    if call.state is ToolCallState.RUNNING and call.fence == fence:
        return _found_again(c, run, call, numbers)
    if not call.is_open:
        raise LeaseLost(f"{call_id} is {call.state}")
    started = change_call(c, call, state=ToolCallState.RUNNING, attempt=attempt, fence=fence, started_at=at)
    journal = Journal(c, numbers, at)
    tell_started(journal, started)
    run = change_run(c, "start_call", run, at)
    return Done(run, journal.write(), tuple(journal.events), calls=(started,))


def finish_call(
    c: Connection,
    *,
    run_id: str,
    fence: int,
    call_id: str,
    state: ToolCallState,
    result: Any,
    is_error: bool,
    numbers: Numbers,
    at: int,
) -> Done:
    """Record a call's result; one that never began (a bad call, one that was not run) is told as begun too.

    What a call that did not succeed has begun is stopped. Raises LeaseLost.
    """
    run = fenced(c, run_id, fence)
    call = _get(c, call_id)
    if not call.is_open:
        return _found_again(c, run, call, numbers)
    finished = change_call(c, call, state=state, result=result, is_error=is_error, finished_at=at)
    others: list[Done] = []
    if state is not ToolCallState.SUCCEEDED:
        stop_children(c, run.id, at, others, of_call=finished)
    journal = Journal(c, numbers, at)
    if call.state is not ToolCallState.RUNNING:
        tell_started(journal, finished)
    tell_finished(c, journal, finished)
    run = change_run(c, "finish_call", run, at)
    return Done(run, journal.write(), tuple(journal.events), calls=(finished,), others=tuple(others))


def _found_again(c: Connection, run: Run, call: ToolCall, numbers: Numbers) -> Done:
    """What an earlier try, whose commit was acknowledged too late, has done."""
    events, left = told_before(c, numbers)
    return Done(run, left, events, calls=(call,))


def _get(c: Connection, call_id: str) -> ToolCall:
    return call_from_row(c.execute(select(tool_calls).where(tool_calls.c.id == call_id)).one())
