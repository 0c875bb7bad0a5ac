"""settle, request_cancel, settle_flagged: how a generation ends, from inside and from outside."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, select

from models.call import ToolCall
from models.content import plain_or_blocks, result_blocks, text_of, user_content
from models.enums import FinishReason, Role, RunStatus
from models.events import Failure, InputApplied, RunResult, StepRestarted
from models.message import Message, agent_messages, message_from_row, messages_after
from models.model_call import open_calls_of_streams, usage_of_stream
from models.run import PendingInput, Run, agent_runs, run_from_row
from models.stream import Stream, get_stream
from models.tables import NOW
from models.usage import Usage
from models.verbs.closing import cancel_waiting, close_dangling, hold_below, stop_children
from models.verbs.journal import Journal, told_before
from models.verbs.row import (
    Done,
    Holder,
    NewId,
    Numbers,
    begin_turn,
    change_run,
    fenced,
    lock,
    store_messages,
    user_message,
)
from models.verbs.spending import budget_of, hold_open_calls, hold_together
from models.verbs.stepping import Answered, apply_inputs, close_model_calls, store_answer


@dataclass(frozen=True, slots=True)
class End:
    """How a generation would end: the status and why, where no cancel and no queued input has it otherwise.

    `output` is the checked answer, as JSON, where the agent has an output type.
    """

    status: RunStatus
    finish: FinishReason
    error: Failure | None = None
    output: Any = None


CANCELLED = End(RunStatus.CANCELLED, FinishReason.ABORTED)


@dataclass(slots=True)
class Ending:
    """A settle under way: the run as it becomes, what is stored on the way, and what is done to other runs."""

    c: Connection
    run: Run
    journal: Journal
    ids: NewId
    at: int
    messages: list[Message] = field(default_factory=list)
    others: list[Done] = field(default_factory=list)

    def close_dangling(self) -> list[ToolCall]:
        """Close the calls that dangle, and stop what they have begun."""
        return close_dangling(self.c, self.run, self.at, self.journal, self.others)

    def done(self, now: Run) -> Done:
        """What it all came to; the events are written."""
        left = self.journal.write()
        return Done(now, left, tuple(self.journal.events), tuple(self.messages), others=tuple(self.others))

    def append_user(self, results: list[dict[str, Any]], inputs: tuple[PendingInput, ...]) -> None:
        """Store results and inputs as one user message, where there are any."""
        content = user_content(results, [item.blocks for item in inputs])
        if not content:
            return
        seq = self.run.seq + 1
        message = user_message(self.run, self.ids, seq, content, self.run.steps, self.at)
        store_messages(self.c, [message])
        self.messages.append(message)
        apply_inputs(self.journal, inputs, seq, self.run.step, self.run.attempt)
        self.run = replace(self.run, seq=seq)


def settle(
    c: Connection,
    *,
    run_id: str,
    fence: int,
    seq: int,
    end: End,
    numbers: Numbers,
    holder: Holder,
    next_stream: str,
    ids: NewId,
    at: int,
    cut: Answered | None = None,
    reported: Usage | None = None,
    withdrawn: str | None = None,
) -> Done:
    """End the generation, in one transaction with its RunResult.

    A cancel that is flagged makes it CANCELLED, whatever `end` says: results and input queued before the cancel are
    appended unanswered, and input that came after it begins the next turn at once, held by `holder` with the stream
    `next_stream`. Else, where it would be COMPLETED and input is queued, that is appended and the run goes on (status
    RUNNING, the same fence). A FAILED end appends queued input unanswered. `cut` is what was shown of a response that
    was stopped; `withdrawn` says why what was shown of the step is taken back; that of an earlier owner always is.

    `seq` is that of the first message that it may store. Repeated after a commit that was acknowledged too late, it
    finds what it did, a turn that it began at once included: its stream is the one that was named. Raises LeaseLost.
    """
    run, _ = lock(c, run_id)
    if (again := settled_before(c, run, fence, seq, end, numbers, next_stream)) is not None:
        return again
    run = fenced(c, run_id, fence)
    ending = Ending(c, run, Journal(c, numbers, at), ids, at)
    if run.cancel_requested or end.status is not RunStatus.COMPLETED:
        hold_below(c, [run.id])
    if cut is not None:
        hold_together(c, run, None, at)
        changes, message, _ = store_answer(c, run, run.seq + 1, cut, ending.journal, ids, at)
        ending.messages.append(message)
        ending.run = replace(run, **changes)
    if withdrawn is None and cut is None and run.step_fence != fence:
        withdrawn = "another worker took the run over"  # who watches still holds what the one before it had shown
    if withdrawn is not None and run.step > run.steps:
        ending.journal.add(StepRestarted, run.step, run.attempt + 1, reason=withdrawn)
        ending.run = replace(ending.run, attempt=run.attempt + 1)
    close_model_calls(c, run, at, reported)
    if run.cancel_requested:
        return settle_cancelled(ending, run, holder, next_stream, fence_after=run.fence)
    if end.status is RunStatus.COMPLETED and run.pending:
        return _go_on(ending, run)
    return _settle_as(ending, run, end)


def settled_before(
    c: Connection, run: Run, fence: int, seq: int, end: End, numbers: Numbers, next_stream: str
) -> Done | None:
    """What an earlier try of settling has done, while nobody has gone on from there; None where there was none."""
    began = (run.fence, run.stream_id) == (fence + 1, next_stream) and run.status is RunStatus.RUNNING
    if run.fence != fence and not began:
        return None
    events, left = told_before(c, numbers)
    ended = run.status is not RunStatus.RUNNING and any(isinstance(event, RunResult) for event in events)
    applied = any(isinstance(event, InputApplied) for event in events)
    went_on = run.status is RunStatus.RUNNING and end.status is RunStatus.COMPLETED and applied
    if began:
        opened, left = told_before(c, _first_numbers(c, next_stream))
        events = (*events, *opened)
    elif not ended and not went_on:
        return None
    return Done(run, left, events, tuple(messages_after(c, run.id, seq - 1)))


def _first_numbers(c: Connection, stream_id: str) -> Numbers:
    stream = get_stream(c, stream_id)
    assert stream is not None  # noqa: S101 - the run names it
    return Numbers(stream_id, 1, stream.reserved)


def _go_on(ending: Ending, run: Run) -> Done:
    """Queued input extends the turn: it is appended, and the loop asks the model again."""
    closed = ending.close_dangling()
    ending.append_user(result_blocks(closed), run.pending)
    return ending.done(change_run(ending.c, "settle", run, ending.at, pending=(), **heads(ending.run)))


def _settle_as(ending: Ending, run: Run, end: End) -> Done:
    """The terminal status. Calls that dangle are closed; their results go with queued input, or with the next one."""
    closed = ending.close_dangling()
    if end.status is RunStatus.FAILED:
        stop_children(ending.c, run.id, ending.at, ending.others)
    if run.pending:
        ending.append_user(result_blocks(closed), run.pending)
    tell_result(ending, end)
    now = change_run(ending.c, "settle", run, ending.at, lease_until=0, worker=None, **heads(ending.run), **_ended(end))
    return ending.done(now)


def settle_cancelled(ending: Ending, run: Run, holder: Holder, next_stream: str, *, fence_after: int) -> Done:
    """CANCELLED, and the next turn at once where input came after the cancel."""
    before = tuple(item for item in run.pending if item.ordinal <= run.cancel_ordinal)
    after = run.pending[len(before) :]
    closed = ending.close_dangling()
    stop_children(ending.c, run.id, ending.at, ending.others)
    ending.append_user(result_blocks(closed), before)
    tell_result(ending, CANCELLED)
    cleared = {"cancel_requested": False, "cancel_ordinal": 0, "cancel_reason": run.cancel_reason}
    now = change_run(
        ending.c, "settle", run, ending.at, lease_until=0, worker=None, fence=fence_after, **cleared,
        **heads(ending.run), **_ended(CANCELLED),
    )  # fmt: skip
    ended = ending.done(now)
    if not after:
        return ended
    budget = budget_of(ending.c, now)  # nobody has given the turn one that begins by itself: that of the one before
    turn, numbers = begin_turn(
        ending.c, "send", now, stream_id=next_stream, holder=holder, at=ending.at, budget=budget, seq=now.seq + 1
    )
    content = plain_or_blocks(user_content([], [item.blocks for item in after]))
    message = user_message(turn, ending.ids, turn.seq, content, turn.steps, ending.at)
    store_messages(ending.c, [message])
    opened = Journal(ending.c, numbers, ending.at)
    apply_inputs(opened, after, message.seq, turn.steps + 1, 1)
    numbers = opened.write()
    events, messages = (*ended.events, *opened.events), (*ended.messages, message)
    return Done(turn, numbers, events, messages, others=ended.others)


def heads(run: Run) -> dict[str, Any]:
    """What storing a cut answer and user messages, or withdrawing a step, has moved."""
    names = ("seq", "steps", "turn_steps", "takeovers", "attempt")
    return {name: getattr(run, name) for name in names}


def _ended(end: End) -> dict[str, Any]:
    return {"status": end.status, "finish": end.finish, "error": end.error, "output": end.output, "pending": ()}


def tell_result(ending: Ending, end: End) -> None:
    """Write RunResult."""
    run = ending.run
    assert run.stream_id is not None  # noqa: S101 - a RUNNING run has a stream
    stream = get_stream(ending.c, run.stream_id)
    assert stream is not None  # noqa: S101 - written in the transaction that named it
    answer = _last_answer(ending.c, run, stream)
    ending.journal.add(
        RunResult,
        max(run.step, 1),
        run.attempt,
        run_id=run.id,
        status=end.status,
        finish=end.finish,
        text=text_of(answer.content) if answer else "",
        output=end.output,
        model=answer.model if answer else None,
        steps=run.steps - stream.steps_before,
        usage=usage_of_stream(ending.c, stream.id),
        cancelled=end.status is RunStatus.CANCELLED,
        error=end.error,
    )


def _last_answer(c: Connection, run: Run, stream: Stream) -> Message | None:
    """The generation's last assistant turn."""
    row = c.execute(
        select(agent_messages)
        .where(
            agent_messages.c.run_id == run.id,
            agent_messages.c.seq > stream.seq_before,
            agent_messages.c.role == Role.ASSISTANT,
        )
        .order_by(agent_messages.c.seq.desc())
        .limit(1)
    ).first()
    return message_from_row(row) if row else None


def request_cancel(c: Connection, *, run_id: str, reason: str | None, ids: NewId, at: int) -> tuple[Done, bool]:
    """Stop the run: True where its live worker was told by the flag, False where it was settled here and now.

    Cancelling again moves the line between input before and input after it to the queue's end. Raises RunMissing.
    """
    run, live = lock(c, run_id)
    others: list[Done] = []
    if run.status is RunStatus.RUNNING:
        flagged: dict[str, Any] = {
            "cancel_requested": True,
            "cancel_ordinal": run.next_ordinal - 1,
            "cancel_reason": reason if reason is not None else run.cancel_reason,
        }
        if live:
            now = change_run(c, "request_cancel", run, at, **flagged)
            stop_children(c, run.id, at, others)  # now, rather than when the run's own loop has heard of it
            return Done(now, others=tuple(others)), True
        return _settle_dead(c, replace(run, **flagged), ids, at), False
    if run.status is RunStatus.CANCELLED:
        return Done(run), False
    if run.status is RunStatus.WAITING:
        now = cancel_waiting(c, run, reason, at, others)
        return Done(now, others=tuple(others)), False
    stop_children(c, run.id, at, others)  # a tool may have left one waiting for a person
    dropped: dict[str, Any] = {"status": RunStatus.CANCELLED, "pending": (), "cancel_reason": reason}
    now = change_run(c, "request_cancel", run, at, fence=run.fence + 1, **dropped)
    return Done(now, others=tuple(others)), False


def _settle_dead(c: Connection, run: Run, ids: NewId, at: int) -> Done:
    """Settle in a dead worker's place: text that was shown and never stored is withdrawn first."""
    assert run.stream_id is not None  # noqa: S101 - a RUNNING run has a stream
    journal = Journal.beyond_reserved(c, run.stream_id, at)
    hold_below(c, [run.id])
    if run.step > run.steps:
        run = replace(run, attempt=run.attempt + 1)
        journal.add(StepRestarted, run.step, run.attempt, reason="the run was cancelled after its worker had died")
    close_model_calls(c, run, at)
    ending = Ending(c, run, journal, ids, at)
    return settle_cancelled(ending, run, Holder(), ids("str"), fence_after=run.fence + 1)


def settle_flagged(c: Connection, *, limit: int, ids: NewId, at: int) -> list[Done]:
    """Settle, as a cancel would now, up to `limit` runs whose worker has died with a cancel flagged.

    What another transaction holds locked is left to it.
    """
    flagged = (
        select(agent_runs)
        .where(
            agent_runs.c.status == RunStatus.RUNNING,
            agent_runs.c.cancel_requested,
            agent_runs.c.lease_until < NOW,
        )
        .order_by(agent_runs.c.lease_until, agent_runs.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    runs = [run_from_row(row) for row in c.execute(flagged).all()]
    hold_below(c, [run.id for run in runs])
    hold_open_calls(c, open_calls_of_streams(c, [str(run.stream_id) for run in runs]))
    return [_settle_dead(c, run, ids, at) for run in runs]
