"""suspend, decide, complete, expire: calls that wait for a person or a client, without worker, lease or connection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from models.call import Decider, ToolCall, calls_of_step, get_calls, tool_calls, waiting_calls
from models.child import pending_calls
from models.content import DENIED, UNANSWERED, UNDECIDED
from models.enums import FinishReason, RunStatus, ToolCallState
from models.events import CallsWaiting, RunResult
from models.key import Key, keep_answer
from models.remote import remote_calls
from models.run import Run, agent_runs, run_from_row
from models.verbs.closing import tell_closed
from models.verbs.errors import AlreadyDecided, NoSuchCall, NotADecider
from models.verbs.journal import Journal, told_before
from models.verbs.row import Done, Holder, NewId, Numbers, begin_generation, change_call, change_run, fenced, lock
from models.verbs.sending import known_answer
from models.verbs.settling import CANCELLED, End, Ending, settle_cancelled, settled_before, tell_result
from models.verbs.stepping import close_model_calls


@dataclass(frozen=True, slots=True)
class Wait:
    """A call that is to wait: for the decision of `approvers`, or, where that is None, for a client's answer.

    `expires_at` is the moment (ms since the epoch) after which nobody need answer any more; None: for ever. A call
    with a `child` waits because that run, which it has begun, waits itself. `asked` is whose answer it waits for, where
    that is a remote's.
    """

    call_id: str
    approvers: str | None
    expires_at: int | None = None
    child: str | None = None
    asked: AskedRemote | None = None


@dataclass(frozen=True, slots=True)
class AskedRemote:
    """The remote that is to answer a call, and what it calls the tool."""

    remote_id: str
    remote: str
    tool: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A person's decision about one call. `input` is what to call the tool with instead."""

    call_id: str
    approve: bool
    reason: str | None = None
    input: dict[str, Any] | None = None


# ---------------------------------------------------------------- suspend


def suspend(
    c: Connection,
    *,
    run_id: str,
    fence: int,
    seq: int,
    waits: Sequence[Wait],
    numbers: Numbers,
    holder: Holder,
    next_stream: str,
    ids: NewId,
    at: int,
) -> Done:
    """End the generation because these calls wait; all others of the step have ended.

    A cancel that is flagged settles the run instead, as `settle` does with `seq`, `holder` and `next_stream`. Where an
    interrupting input is there already, nothing is left to wait for, or a child does not wait any more, the run stays
    as it is and its loop goes on.
    Repeated after a commit that was acknowledged too late, it finds what it did. Raises LeaseLost.
    """
    run, _ = lock(c, run_id)
    if (again := _suspended_before(c, run, fence, numbers)) is not None:
        return again
    if (again := settled_before(c, run, fence, seq, CANCELLED, numbers, next_stream)) is not None:
        return again
    run = fenced(c, run_id, fence)
    ending = Ending(c, run, Journal(c, numbers, at), ids, at)
    if run.cancel_requested:
        return settle_cancelled(ending, run, holder, next_stream, fence_after=run.fence)
    wanted = {wait.call_id: wait for wait in waits}
    calls = [call for call in calls_of_step(c, run.id, run.steps) if call.is_open and call.id in wanted]
    # Locked, so that who lets a child go on sees this run wait, or this sees the child go on.
    children = [lock(c, child_id)[0] for child_id in sorted(wait.child for wait in waits if wait.child is not None)]
    if run.interrupting or not calls or any(child.status is not RunStatus.WAITING for child in children):
        return Done(run, numbers)
    own = [call for call in calls if wanted[call.id].child is None]
    waiting = [_begin_to_wait(c, call, wanted[call.id], ids, at) for call in own]
    close_model_calls(c, run, at)
    below = pending_calls(c, [child.id for child in children])
    told = [*waiting, *(call for calls_below in below.values() for call in calls_below)]
    if told:  # else what was waited for further down is decided, and the children are about to go on
        ending.journal.add(CallsWaiting, run.steps, run.attempt, call_ids=[call.id for call in told])
    end = End(RunStatus.WAITING, _finish_of(told, children))
    tell_result(ending, end)
    spent = run.turn_spent_ms + max(0, at - (run.started_at or at))
    now = change_run(
        c, "suspend", run, at, lease_until=0, worker=None, status=end.status, finish=end.finish, turn_spent_ms=spent
    )
    return Done(now, ending.journal.write(), tuple(ending.journal.events), calls=tuple(waiting))


def _finish_of(told: Sequence[ToolCall], children: Sequence[Run]) -> FinishReason:
    """What is waited for: a person, where any of these calls needs one; without calls, what the children tell."""
    if any(not call.is_for_client for call in told):
        return FinishReason.APPROVAL
    if not told and any(child.finish is FinishReason.APPROVAL for child in children):
        return FinishReason.APPROVAL
    return FinishReason.CLIENT_TOOL


def _suspended_before(c: Connection, run: Run, fence: int, numbers: Numbers) -> Done | None:
    """What an earlier try has done, while nobody has gone on from there; None where there was none."""
    if run.fence != fence or run.status is not RunStatus.WAITING:
        return None
    events, left = told_before(c, numbers)
    if not any(isinstance(event, RunResult) for event in events):
        return None
    return Done(run, left, events, calls=tuple(waiting_calls(c, [run.id])[run.id]))


def _begin_to_wait(c: Connection, call: ToolCall, wait: Wait, ids: NewId, at: int) -> ToolCall:
    if wait.asked is not None:
        names = {"remote_id": wait.asked.remote_id, "remote": wait.asked.remote, "tool": wait.asked.tool}
        c.execute(insert(remote_calls).values(id=ids("rcl"), run_id=call.run_id, call_id=call.id, **names))
    asked = None if wait.approvers is not None else at  # a client has the call from now on
    return change_call(
        c,
        call,
        state=ToolCallState.WAITING,
        approvers=wait.approvers or call.approvers,
        expires_at=wait.expires_at,
        started_at=asked,
    )


# ---------------------------------------------------------------- decide


def decide(
    c: Connection,
    *,
    run_id: str,
    verdicts: Sequence[Verdict],
    decider: Decider,
    key: Key | None,
    holder: Holder,
    ids: NewId,
    at: int,
) -> tuple[Done, dict[str, Any]]:
    """Decide some of the calls that wait, all of them or none; each once, by one who may.

    With the last of what the run waits for its next generation begins, within the same turn. Raises RunMissing,
    NoSuchCall, AlreadyDecided, NotADecider, KeyUsedOtherwise.
    """
    if (known := known_answer(c, key, at)) is not None:
        return known
    run, _ = lock(c, run_id)
    found = get_calls(c, [verdict.call_id for verdict in verdicts])
    for verdict in verdicts:
        _check_decidable(found.get(verdict.call_id), verdict, run, decider)
    for verdict in verdicts:
        _decide(c, found[verdict.call_id], verdict, decider.user_id, at)
    done = go_on(c, "decide", run, holder, ids, at)
    answer = {"run_id": run.id, "queued": False, "input_id": None}
    keep_answer(c, key, answer)
    return done, answer


def _check_decidable(call: ToolCall | None, verdict: Verdict, run: Run, decider: Decider) -> None:
    if call is None or call.run_id != run.id or call.approvers is None:
        raise NoSuchCall(verdict.call_id)
    if not call.may_be_decided_by(decider.user_id, decider.roles):
        raise NotADecider(verdict.call_id)
    is_decided = call.state is not ToolCallState.WAITING or call.decided_at is not None
    if is_decided or run.status is not RunStatus.WAITING:
        raise AlreadyDecided(verdict.call_id)


def _decide(c: Connection, call: ToolCall, verdict: Verdict, user_id: str, at: int) -> None:
    said = {"decided_by": user_id, "decided_at": at, "reason": verdict.reason, "expires_at": None}
    if verdict.approve:
        given = call.input if verdict.input is None else verdict.input
        change_call(c, call, state=ToolCallState.READY, input=given, **said)
        return
    result = DENIED if verdict.reason is None else f"{DENIED}: {verdict.reason}"
    change_call(c, call, state=ToolCallState.DENIED, result=result, is_error=True, finished_at=at, **said)


# ---------------------------------------------------------------- complete


def complete(
    c: Connection,
    *,
    run_id: str,
    call_id: str,
    result: str,
    is_error: bool,
    key: Key | None,
    holder: Holder,
    ids: NewId,
    at: int,
) -> tuple[Done, dict[str, Any]]:
    """Store a client's answer to a call that waits for one; with the last of them the run goes on.

    Raises RunMissing, NoSuchCall, AlreadyDecided, KeyUsedOtherwise.
    """
    if (known := known_answer(c, key, at)) is not None:
        return known
    run, _ = lock(c, run_id)
    call = get_calls(c, [call_id]).get(call_id)
    if call is None or call.run_id != run.id or call.started_at is None:  # only whom a client was asked has begun
        raise NoSuchCall(call_id)
    if not call.is_for_client or run.status is not RunStatus.WAITING:
        raise AlreadyDecided(call_id)
    state = ToolCallState.FAILED if is_error else ToolCallState.SUCCEEDED
    change_call(c, call, state=state, result=result, is_error=is_error, expires_at=None, finished_at=at)
    done = go_on(c, "complete", run, holder, ids, at)
    answer = {"run_id": run.id, "queued": False, "input_id": None}
    keep_answer(c, key, answer)
    return done, answer


# ---------------------------------------------------------------- expire


def expire(c: Connection, *, limit: int, ids: NewId, at: int) -> list[Done]:
    """Close the calls of up to `limit` runs whose time to wait is over, and let those runs go on.

    What another transaction holds locked is left to it.
    """
    late = (
        select(tool_calls.c.run_id)
        .where(tool_calls.c.state == ToolCallState.WAITING, tool_calls.c.expires_at <= at)
        .distinct()
        .limit(limit)
    )
    run_ids = list(c.execute(late).scalars())
    if not run_ids:
        return []
    locked = (
        select(agent_runs)
        .where(agent_runs.c.id.in_(run_ids), agent_runs.c.status == RunStatus.WAITING)
        .order_by(agent_runs.c.id)
        .with_for_update(skip_locked=True)
    )
    return [_expire_of(c, run, ids, at) for run in map(run_from_row, c.execute(locked).all())]


def _expire_of(c: Connection, run: Run, ids: NewId, at: int) -> Done:
    for call in waiting_calls(c, [run.id])[run.id]:
        if call.expires_at is not None and call.expires_at <= at:
            result = UNANSWERED if call.is_for_client else UNDECIDED
            late: dict[str, Any] = {"state": ToolCallState.TIMED_OUT, "result": result, "is_error": True}
            change_call(c, call, **late, expires_at=None, finished_at=at)
    return go_on(c, "expire", run, Holder(), ids, at)


# ---------------------------------------------------------------- what they share


def go_on(c: Connection, verb: str, run: Run, holder: Holder, ids: NewId, at: int) -> Done:
    """Begin the next generation of the turn, unless some call still waits.

    What became of calls that will not run is told at its beginning: the stream in which they began to wait has ended.
    """
    if waiting_calls(c, [run.id])[run.id]:
        return Done(change_run(c, verb, run, at))
    now, numbers = begin_generation(c, verb, run, stream_id=ids("str"), holder=holder, at=at)
    journal = Journal(c, numbers, at)
    tell_closed(c, run, journal)
    return Done(now, journal.write(), tuple(journal.events))
