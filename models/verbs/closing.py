"""Closing the calls that dangle: every tool_use gets its result. The runs that they had begun are stopped with them."""

from __future__ import annotations

from collections.abc import Collection
from heapq import heapify, heappop, heappush

from sqlalchemy import Connection, select

from models.call import ToolCall, calls_of_step
from models.child import active_children, as_begun
from models.content import INTERRUPTED, NOT_RUN
from models.enums import FinishReason, Role, RunStatus, ToolCallState
from models.events import CallsWaiting, SubagentFinished, ToolCallFinished, ToolCallStarted
from models.run import Run
from models.stream import stream_events
from models.verbs.journal import Journal
from models.verbs.row import Done, change_call, change_run, last_message, lock

STOPPED = "the run that had begun it was stopped"


def dangling_calls(c: Connection, run: Run) -> list[ToolCall]:
    """The calls of the transcript's last message, where it is an answer: their results are not in it yet."""
    last = last_message(c, run)
    if last is None or last.role is not Role.ASSISTANT:
        return []
    return calls_of_step(c, run.id, last.step)


def close_dangling(c: Connection, run: Run, at: int, journal: Journal | None, others: list[Done]) -> list[ToolCall]:
    """Close those of them that are open, and give all of them; watchers are told where there is a journal.

    One that had begun is INTERRUPTED, since what it did is unknown; one that had not is CANCELLED. `others` gets the
    runs that were stopped with them.
    """
    return [close_call(c, call, at, journal, others) if call.is_open else call for call in dangling_calls(c, run)]


def close_call(c: Connection, call: ToolCall, at: int, journal: Journal | None, others: list[Done]) -> ToolCall:
    """Close one open call."""
    begun = call.state is ToolCallState.RUNNING
    state = ToolCallState.INTERRUPTED if begun else ToolCallState.CANCELLED
    result = INTERRUPTED if begun else NOT_RUN
    closed = change_call(c, call, state=state, result=result, is_error=True, finished_at=at)
    stop_children(c, call.run_id, at, others, of_call=call)
    if journal is not None:
        if not begun:
            tell_started(journal, closed)
        tell_finished(c, journal, closed)
    return closed


def hold_below(c: Connection, run_ids: Collection[str]) -> None:
    """Lock what these runs have begun and is not over, all the way down; their own rows are locked.

    For one who is about to lock purses and to stop them then: purses are locked last.
    """
    _hold(c, [child_id for run_id in run_ids for child_id in active_children(c, run_id)])


def _hold(c: Connection, run_ids: list[str]) -> None:
    """Lock these runs and what is below them in the order of ids, as beats do: a run's is above that of its parent."""
    heapify(run_ids)
    while run_ids:
        run, _ = lock(c, heappop(run_ids))
        if run.status in (RunStatus.RUNNING, RunStatus.WAITING):
            for child_id in active_children(c, run.id):
                heappush(run_ids, child_id)


def stop_children(c: Connection, run_id: str, at: int, others: list[Done], *, of_call: ToolCall | None = None) -> None:
    """Stop whatever this run, or this call of it, has begun and is not over; its row is locked."""
    if of_call is None or of_call.child_run_id is not None:
        begun = active_children(c, run_id, None if of_call is None else of_call.id)
        _hold(c, list(begun))
        for child_id in begun:
            _stop(c, child_id, at, others)


def _stop(c: Connection, run_id: str, at: int, others: list[Done]) -> None:
    """Cancel a run and all below it, whose rows are locked."""
    run, _ = lock(c, run_id)
    if run.status is RunStatus.WAITING:
        others.append(Done(cancel_waiting(c, run, STOPPED, at, others)))
    elif run.status is RunStatus.RUNNING and not run.cancel_requested:
        flagged = {"cancel_requested": True, "cancel_ordinal": run.next_ordinal - 1, "cancel_reason": STOPPED}
        others.append(Done(change_run(c, "request_cancel", run, at, **flagged)))
        stop_children(c, run.id, at, others)


def cancel_waiting(c: Connection, run: Run, reason: str | None, at: int, others: list[Done]) -> Run:
    """Let a locked run that waits be CANCELLED: what waits is closed, what is queued is dropped."""
    close_dangling(c, run, at, None, others)
    stop_children(c, run.id, at, others)
    return change_run(
        c,
        "request_cancel",
        run,
        at,
        fence=run.fence + 1,
        status=RunStatus.CANCELLED,
        finish=FinishReason.ABORTED,
        pending=(),
        cancel_reason=reason,
    )


def tell_started(journal: Journal, call: ToolCall) -> None:
    """Write ToolCallStarted."""
    journal.add(ToolCallStarted, call.step, call.attempt, tool_call_id=call.id, name=call.name, input=call.input)


def tell_finished(c: Connection, journal: Journal, call: ToolCall) -> None:
    """Write ToolCallFinished, behind the end of the run that the call stood for, where it was such a call."""
    child = None if call.child_run_id is None else as_begun(c, call.child_run_id)
    if child is not None and child.parent_call == call.id:
        tell_child_finished(journal, call, child)
    journal.add(
        ToolCallFinished,
        call.step,
        call.attempt,
        tool_call_id=call.id,
        name=call.name,
        input=call.input,
        result=call.result,
        is_error=call.is_error,
    )


def tell_child_finished(journal: Journal, call: ToolCall, child: Run) -> None:
    """Write SubagentFinished; a child that was stopped with its call is as good as cancelled."""
    status = RunStatus.CANCELLED if child.cancel_requested else child.status
    journal.add(SubagentFinished, call.step, call.attempt, tool_call_id=call.id, run_id=child.id, status=status)


def tell_closed(c: Connection, run: Run, journal: Journal, begun: Collection[str] = ()) -> None:
    """Tell of those calls that waited at the end of the run's last stream, and have their result now.

    `begun` are the ids of those that were told as begun in an earlier stream.
    """
    body = select(stream_events.c.body).where(
        stream_events.c.stream_id == run.stream_id, stream_events.c.kind == CallsWaiting.__name__
    )
    waited = {call_id for row in c.execute(body) for call_id in row.body["call_ids"]}
    for call in calls_of_step(c, run.id, run.steps):
        if call.id in waited and not call.is_open:
            tell_started(journal, call)
        if call.id in (waited | set(begun)) and not call.is_open:
            tell_finished(c, journal, call)
