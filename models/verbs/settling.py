"""settle, request_cancel: how a generation ends, from inside and from outside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select

from models.content import result_blocks, text_of, user_content
from models.enums import FinishReason, Role, RunStatus
from models.events import Failure, InputApplied, RunResult, StepFinished, StepRestarted
from models.message import Message, agent_messages, message_from_row, messages_after
from models.model_call import usage_of_stream
from models.run import PendingInput, Run
from models.stream import Stream, get_stream
from models.usage import Usage
from models.verbs.closing import close_dangling
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
from models.verbs.stepping import Answered, apply_inputs, close_model_calls, store_answer


@dataclass(frozen=True, slots=True)
class End:
    """How a generation would end: the status and why, where no cancel and no queued input has it otherwise."""

    status: RunStatus
    finish: FinishReason
    error: Failure | None = None


_CANCELLED = End(RunStatus.CANCELLED, FinishReason.ABORTED)


@dataclass(slots=True)
class _Ending:
    """A settle under way: the run as it becomes, and what is stored on the way."""

    c: Connection
    run: Run
    journal: Journal
    ids: NewId
    at: int
    messages: list[Message]

    def append_user(self, results: list[dict[str, Any]], inputs: tuple[PendingInput, ...]) -> None:
        content = user_content(results, [item.text for item in inputs])
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
    end: End,
    numbers: Numbers,
    holder: Holder,
    ids: NewId,
    at: int,
    cut: Answered | None = None,
    reported: Usage | None = None,
    withdrawn: str | None = None,
) -> Done:
    """End the generation, in one transaction with its RunResult.

    A cancel that is flagged makes it CANCELLED, whatever `end` says: results and input queued before the cancel are
    appended unanswered, and input that came after it begins the next turn at once, held by `holder`. Else, where it
    would be COMPLETED and input is queued, that is appended and the run goes on (status RUNNING, the same fence). A
    FAILED end appends queued input unanswered. `cut` is what was shown of a response that was stopped; `withdrawn`
    says why what was shown of the step is taken back; that of an earlier owner always is.

    Repeated after a commit that was acknowledged too late, it finds what it did. A turn that it began at once is then
    a claim whose acknowledgement was lost: its lease runs out, and another takes it. Raises LeaseLost.
    """
    run, _ = lock(c, run_id)
    if (again := _settled_before(c, run, fence, end, numbers)) is not None:
        return again
    run = fenced(c, run_id, fence)
    ending = _Ending(c, run, Journal(c, numbers, at), ids, at, [])
    if cut is not None:
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
        return _settle_cancelled(ending, run, holder, fence_after=run.fence)
    if end.status is RunStatus.COMPLETED and run.pending:
        return _go_on(ending, run)
    return _settle_as(ending, run, end)


def _settled_before(c: Connection, run: Run, fence: int, end: End, numbers: Numbers) -> Done | None:
    """What an earlier try has done, while nobody has gone on from there; None where there was none."""
    if run.fence != fence:
        return None
    events, left = told_before(c, numbers)
    ended = run.status is not RunStatus.RUNNING and any(isinstance(event, RunResult) for event in events)
    applied = any(isinstance(event, InputApplied) for event in events)
    went_on = run.status is RunStatus.RUNNING and end.status is RunStatus.COMPLETED and applied
    if not ended and not went_on:
        return None
    named = [event.message_seq for event in events if isinstance(event, StepFinished | InputApplied)]
    return Done(run, left, events, tuple(messages_after(c, run.id, min(named) - 1)) if named else ())


def _go_on(ending: _Ending, run: Run) -> Done:
    """Queued input extends the turn: it is appended, and the loop asks the model again."""
    closed = close_dangling(ending.c, ending.run, ending.at, ending.journal)
    ending.append_user(result_blocks(closed), run.pending)
    now = change_run(ending.c, "settle", run, ending.at, pending=(), **_heads(ending.run))
    return Done(now, ending.journal.write(), tuple(ending.journal.events), tuple(ending.messages))


def _settle_as(ending: _Ending, run: Run, end: End) -> Done:
    """The terminal status. Calls that dangle are closed; their results go with queued input, or with the next one."""
    closed = close_dangling(ending.c, ending.run, ending.at, ending.journal)
    if run.pending:
        ending.append_user(result_blocks(closed), run.pending)
    _tell_result(ending, end)
    now = change_run(
        ending.c, "settle", run, ending.at, lease_until=0, worker=None, **_heads(ending.run), **_ended(end)
    )
    return Done(now, ending.journal.write(), tuple(ending.journal.events), tuple(ending.messages))


def _settle_cancelled(ending: _Ending, run: Run, holder: Holder, *, fence_after: int) -> Done:
    """CANCELLED, and the next turn at once where input came after the cancel."""
    before = tuple(item for item in run.pending if item.ordinal <= run.cancel_ordinal)
    after = run.pending[len(before) :]
    closed = close_dangling(ending.c, ending.run, ending.at, ending.journal)
    ending.append_user(result_blocks(closed), before)
    _tell_result(ending, _CANCELLED)
    left = ending.journal.write()
    events = tuple(ending.journal.events)
    cleared = {"cancel_requested": False, "cancel_ordinal": 0, "cancel_reason": run.cancel_reason}
    now = change_run(
        ending.c, "settle", run, ending.at, lease_until=0, worker=None, fence=fence_after, **cleared,
        **_heads(ending.run), **_ended(_CANCELLED),
    )  # fmt: skip
    if not after:
        return Done(now, left, events, tuple(ending.messages))
    turn, numbers = begin_turn(
        ending.c, "send", now, stream_id=ending.ids("str"), holder=holder, at=ending.at, seq=now.seq + 1
    )
    content: Any = after[0].text if len(after) == 1 else user_content([], [item.text for item in after])
    message = user_message(turn, ending.ids, turn.seq, content, turn.steps, ending.at)
    store_messages(ending.c, [message])
    opened = Journal(ending.c, numbers, ending.at)
    apply_inputs(opened, after, message.seq, turn.steps + 1, 1)
    numbers = opened.write()
    return Done(turn, numbers, (*events, *opened.events), (*ending.messages, message))


def _heads(run: Run) -> dict[str, Any]:
    """What storing a cut answer and user messages, or withdrawing a step, has moved."""
    names = ("seq", "steps", "turn_steps", "takeovers", "attempt")
    return {name: getattr(run, name) for name in names}


def _ended(end: End) -> dict[str, Any]:
    return {"status": end.status, "finish": end.finish, "error": end.error, "pending": ()}


def _tell_result(ending: _Ending, end: End) -> None:
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
        output=None,
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
    if run.status is RunStatus.RUNNING:
        flagged: dict[str, Any] = {
            "cancel_requested": True,
            "cancel_ordinal": run.next_ordinal - 1,
            "cancel_reason": reason if reason is not None else run.cancel_reason,
        }
        if live:
            return Done(change_run(c, "request_cancel", run, at, **flagged)), True
        return _settle_dead(c, replace(run, **flagged), ids, at), False
    if run.status is RunStatus.CANCELLED:
        return Done(run), False
    dropped: dict[str, Any] = {"status": RunStatus.CANCELLED, "pending": (), "cancel_reason": reason}
    if run.status is RunStatus.WAITING:
        dropped["finish"] = FinishReason.ABORTED
        close_dangling(c, run, at, None)
    return Done(change_run(c, "request_cancel", run, at, fence=run.fence + 1, **dropped)), False


def _settle_dead(c: Connection, run: Run, ids: NewId, at: int) -> Done:
    """Settle in a dead worker's place: text that was shown and never stored is withdrawn first."""
    assert run.stream_id is not None  # noqa: S101 - a RUNNING run has a stream
    journal = Journal.beyond_reserved(c, run.stream_id, at)
    if run.step > run.steps:
        run = replace(run, attempt=run.attempt + 1)
        journal.add(StepRestarted, run.step, run.attempt, reason="the run was cancelled after its worker had died")
    close_model_calls(c, run, at)
    return _settle_cancelled(_Ending(c, run, journal, ids, at, []), run, Holder(), fence_after=run.fence + 1)
