"""open_child, end_child, look_below, resume: runs that calls of other runs begin, and how these go on after them.

Rows are locked from the top of a tree downwards. Who lets a child go on commits that first and then looks at the run
above it (`look_below`): no transaction ever goes upwards.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, and_, exists, not_, select

from models.call import CALLS_A_STEP, get_calls, tool_calls
from models.child import MAX_CHILDREN, MAX_DEPTH, as_begun, children_of_turn, depth_of
from models.enums import RunStatus, ToolCallState
from models.events import SubagentFinished, SubagentStarted
from models.run import Run, agent_runs, run_from_row
from models.stream import stream_events
from models.verbs.closing import tell_child_finished, tell_started
from models.verbs.errors import LeaseLost, NoMoreChildren
from models.verbs.journal import Journal, told_before
from models.verbs.opening import NewRun, insert_opened
from models.verbs.row import (
    HEADROOM,
    Done,
    Holder,
    NewId,
    Numbers,
    begin_generation,
    change_call,
    change_run,
    fenced,
    lock,
)


def open_child(
    c: Connection,
    *,
    run_id: str,
    fence: int,
    call_id: str,
    key: str,
    new: NewRun,
    holder: Holder,
    numbers: Numbers,
    ids: NewId,
    at: int,
) -> Done:
    """Begin a run for a call of this one, or find the one that `key` (see models/child.py) has begun: in `others`.

    A call that stands for the run as a whole, `key` being its own id, begins with it. Where a cancel is flagged, no
    run is begun. Raises LeaseLost, and NoMoreChildren where the tree is deep or wide enough.
    """
    run = fenced(c, run_id, fence)
    call = get_calls(c, [call_id])[call_id]
    if not call.is_open:
        raise LeaseLost(f"{call_id} is {call.state}")
    if (known := _child_of(c, key)) is not None:
        events, left = told_before(c, numbers)
        first = _first_numbers(known, holder) if known.fence == 1 else None
        return Done(run, left, events, calls=(call,), others=(Done(known, first),))
    if run.cancel_requested:
        return Done(run, numbers)
    _check_room(c, run)
    child = insert_opened(c, new, holder, ids, at, parent=(run.id, key))
    journal = Journal(c, numbers, at)
    if key == call.id:
        call = change_call(c, call, state=ToolCallState.RUNNING, fence=fence, started_at=at, child_run_id=child.run.id)
        tell_started(journal, call)
    elif call.child_run_id is None:
        call = change_call(c, call, child_run_id=child.run.id)
    journal.add(
        SubagentStarted, call.step, call.attempt, tool_call_id=call.id, run_id=child.run.id, agent=child.run.agent
    )
    run = change_run(c, "open_child", run, at)
    return Done(run, journal.write(), tuple(journal.events), calls=(call,), others=(child,))


def _child_of(c: Connection, key: str) -> Run | None:
    row = c.execute(select(agent_runs).where(agent_runs.c.parent_call == key)).first()
    return run_from_row(row) if row else None


def _first_numbers(run: Run, holder: Holder) -> Numbers | None:
    """The numbers of a generation that this very worker has begun by an earlier try, and has not begun to work on."""
    mine = run.status is RunStatus.RUNNING and holder.worker is not None and run.worker == holder.worker
    return Numbers(str(run.stream_id), 1, HEADROOM) if mine and not run.step_fence else None


def _check_room(c: Connection, run: Run) -> None:
    if depth_of(c, run) >= MAX_DEPTH:
        raise NoMoreChildren(f"an agent at this depth ({MAX_DEPTH}) can't hand anything on; do it yourself")
    if children_of_turn(c, run) >= MAX_CHILDREN:
        raise NoMoreChildren(f"this turn has handed on {MAX_CHILDREN} tasks, and may hand on no more")


def end_child(
    c: Connection, *, run_id: str, fence: int, call_id: str, child_id: str, numbers: Numbers, at: int
) -> Done:
    """Tell that a run which a tool has begun is over for it, or waits; once a generation. Raises LeaseLost."""
    run = fenced(c, run_id, fence)
    call, child = get_calls(c, [call_id])[call_id], as_begun(c, child_id)
    told = select(stream_events.c.body).where(
        stream_events.c.stream_id == run.stream_id, stream_events.c.kind == SubagentFinished.__name__
    )
    if child is None or any(row.body["run_id"] == child_id for row in c.execute(told)):
        events, left = told_before(c, numbers)
        return Done(run, left, events)
    journal = Journal(c, numbers, at)
    tell_child_finished(journal, call, child)
    run = change_run(c, "open_child", run, at)
    return Done(run, journal.write(), tuple(journal.events))


def resume(c: Connection, *, limit: int, ids: NewId, at: int) -> list[Done]:
    """Let up to `limit` runs go on that wait for children alone, of which some does not wait any more.

    What another transaction holds locked is left to it.
    """
    found = select(agent_runs).where(agent_runs.c.status == RunStatus.WAITING, *_waits_for_nobody())
    locked = found.order_by(agent_runs.c.id).limit(limit).with_for_update(of=agent_runs, skip_locked=True)
    return [_go_on(c, run_from_row(row), Holder(), ids("str"), at) for row in c.execute(locked).all()]


def look_below(c: Connection, *, run_id: str, holder: Holder, next_stream: str, at: int) -> Done:
    """Something below a run has begun to wait, or ceased to: let it go on as `resume` does, or show that it changed.

    Repeated after a commit that was acknowledged too late, it finds the generation that it began, whose stream is the
    one that was named. Raises RunMissing.
    """
    run, _ = lock(c, run_id)
    if run.stream_id == next_stream:
        return Done(run, _first_numbers(run, holder))
    if run.status is RunStatus.WAITING:
        if c.execute(select(agent_runs.c.id).where(agent_runs.c.id == run_id, *_waits_for_nobody())).first():
            return _go_on(c, run, holder, next_stream, at)
    elif run.status is not RunStatus.RUNNING:
        return Done(run)
    return Done(change_run(c, "look_below", run, at))


def _waits_for_nobody() -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    child = agent_runs.alias("child")
    last_step = tool_calls.c.position >= agent_runs.c.steps * CALLS_A_STEP  # no other has open calls
    own = and_(tool_calls.c.run_id == agent_runs.c.id, last_step)
    moved = (
        exists()
        .where(own, tool_calls.c.state == ToolCallState.RUNNING, child.c.id == tool_calls.c.child_run_id)
        .where(child.c.status != RunStatus.WAITING)
        .correlate(agent_runs)
    )
    waits = exists().where(and_(own, tool_calls.c.state == ToolCallState.WAITING)).correlate(agent_runs)
    return moved, not_(waits)


def _go_on(c: Connection, run: Run, holder: Holder, stream_id: str, at: int) -> Done:
    now, numbers = begin_generation(c, "resume", run, stream_id=stream_id, holder=holder, at=at)
    return Done(now, numbers)
