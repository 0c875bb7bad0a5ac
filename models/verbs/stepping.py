"""begin_step, append_answer, append_results, announce: the journal of a turn's steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Update, insert, update

from models.call import ToolCall, call_to_row, calls_of_step, tool_calls
from models.content import NOT_RUN, result_blocks, user_content
from models.enums import Role, ToolCallState
from models.events import InputApplied, InputQueued, StepFinished, StepRestarted
from models.message import Message, messages_after
from models.model_call import ModelCall, model_call_to_row, model_calls, usage_columns
from models.run import PendingInput, Run
from models.usage import Usage
from models.verbs.closing import dangling_calls, tell_finished, tell_started
from models.verbs.errors import LeaseLost
from models.verbs.journal import Journal, told_before
from models.verbs.row import Done, NewId, Numbers, change_run, fenced, store_messages, user_message


@dataclass(frozen=True, slots=True)
class StepStart:
    """The model call about to be made. `reason` says why the step begins again, where `attempt` is above 1."""

    step: int
    attempt: int
    model: str
    reason: str = ""
    reported: Usage | None = None  # what the attempt before it had reported


@dataclass(frozen=True, slots=True)
class NewCall:
    """A tool call of an answer; `input` is the raw text where it was no JSON object."""

    index: int
    provider_id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to store: whole, or, with stop_reason None, as much as was shown of one that was cut.

    `model` is the one that was asked, `reported_model` the name that the provider gave it.
    """

    step: int
    attempt: int
    blocks: list[dict[str, Any]]
    stop_reason: str | None
    usage: Usage
    model: str
    reported_model: str
    request_id: str | None
    calls: tuple[NewCall, ...] = ()


def begin_step(
    c: Connection, *, run_id: str, fence: int, start: StepStart, numbers: Numbers, ids: NewId, at: int
) -> Done:
    """Record the model call about to be made; a later attempt tells watchers to drop the step. Raises LeaseLost."""
    run = fenced(c, run_id, fence)
    if _is_begun(run, start):
        return _told_again(c, run, numbers)
    journal = Journal(c, numbers, at)
    changes = begin_in(c, run, journal, start, ids, at)
    run = change_run(c, "begin_step", run, at, **changes)
    return Done(run, journal.write(), tuple(journal.events))


def _is_begun(run: Run, start: StepStart) -> bool:
    """Whether an earlier try under the same fence has begun this attempt."""
    return (run.step, run.attempt, run.step_fence) == (start.step, start.attempt, run.fence)


def _told_again(c: Connection, run: Run, numbers: Numbers) -> Done:
    """What an earlier try of a verb that stores no message has done."""
    events, left = told_before(c, numbers)
    return Done(run, left, events)


def begin_in(c: Connection, run: Run, journal: Journal, start: StepStart, ids: NewId, at: int) -> dict[str, Any]:
    """The same within another verb's transaction; the changes to make to the run."""
    close_model_calls(c, run, at, start.reported)
    assert run.stream_id is not None  # noqa: S101 - a RUNNING run has a stream
    call = ModelCall(
        ids("mdl"), run.id, run.user_id, run.stream_id, start.step, start.attempt, start.model, Usage(), at
    )
    c.execute(insert(model_calls).values(model_call_to_row(call)))
    if start.attempt > 1:
        journal.add(StepRestarted, start.step, start.attempt, reason=start.reason)
    return {"step": start.step, "attempt": start.attempt, "step_fence": run.fence}


def close_model_calls(c: Connection, run: Run, at: int, reported: Usage | None = None) -> None:
    """Close what is still open of this generation's own model calls, with what was reported of them."""
    if reported is not None:
        c.execute(_open_model_calls(run).where(_OWN).values(usage_columns(reported)))
    c.execute(_open_model_calls(run).values(finished_at=at))


_OWN = model_calls.c.tool_call_id.is_(None)  # made by the loop, not by a tool


def _open_model_calls(run: Run) -> Update:
    """An update of the generation's model calls that are under way."""
    return update(model_calls).where(model_calls.c.stream_id == run.stream_id, model_calls.c.finished_at.is_(None))


def append_answer(
    c: Connection, *, run_id: str, fence: int, seq: int, answer: Answered, numbers: Numbers, ids: NewId, at: int
) -> Done:
    """Store the assistant's blocks as message `seq`, its calls as READY, its usage and StepFinished.

    Repeated after a commit that was acknowledged too late, it finds its own row. Raises LeaseLost.
    """
    run = fenced(c, run_id, fence)
    if (again := found_again(c, run, seq, numbers)) is not None:
        return again
    journal = Journal(c, numbers, at)
    changes, message, calls = store_answer(c, run, seq, answer, journal, ids, at)
    run = change_run(c, "append_answer", run, at, **changes)
    return Done(run, journal.write(), tuple(journal.events), (message,), tuple(calls))


def found_again(c: Connection, run: Run, seq: int, numbers: Numbers) -> Done | None:
    """What an earlier try of the same verb stored as message `seq` and behind it, where there was one."""
    if run.seq < seq:
        return None
    messages = tuple(messages_after(c, run.id, seq - 1))
    if messages[0].fence != run.fence:
        raise LeaseLost(f"{run.id}: message {seq} is another's")
    events, left = told_before(c, numbers)
    calls = calls_of_step(c, run.id, messages[0].step) if messages[0].role is Role.ASSISTANT else ()
    return Done(run, left, events, messages, tuple(calls))


def store_answer(
    c: Connection, run: Run, seq: int, answer: Answered, journal: Journal, ids: NewId, at: int
) -> tuple[dict[str, Any], Message, list[ToolCall]]:
    """Store an answer within a verb's transaction; the changes to make to the run, the message and the calls.

    The whole calls of an answer that was cut are answered as not run.
    """
    message = Message(
        ids("msg"), run.id, run.user_id, seq, Role.ASSISTANT, answer.blocks, answer.step, at, run.fence, answer.model,
        answer.stop_reason, answer.usage,
    )  # fmt: skip
    store_messages(c, [message])
    _finish_model_call(c, run, answer, at)
    journal.add(
        StepFinished, answer.step, answer.attempt, message_seq=seq, stop_reason=answer.stop_reason, usage=answer.usage
    )
    calls = [_call_of(run, answer, new, ids) for new in answer.calls]
    if answer.stop_reason is None:
        calls = [_not_run(call, journal, at) for call in calls]
    if calls:
        c.execute(insert(tool_calls), [call_to_row(call) for call in calls])
    changes = {"seq": seq, "steps": run.steps + 1, "turn_steps": run.turn_steps + 1, "takeovers": 0}
    return changes, message, calls


def _finish_model_call(c: Connection, run: Run, answer: Answered, at: int) -> None:
    """Close the generation's own open model call with what its answer reported."""
    c.execute(
        _open_model_calls(run)
        .where(_OWN)
        .values(
            **usage_columns(answer.usage),
            model=answer.reported_model,
            stop_reason=answer.stop_reason,
            request_id=answer.request_id,
            finished_at=at,
        )
    )


def _not_run(call: ToolCall, journal: Journal, at: int) -> ToolCall:
    """A call of an answer that was cut, answered as not run."""
    closed = replace(call, state=ToolCallState.CANCELLED, result=NOT_RUN, is_error=True, finished_at=at)
    tell_started(journal, closed)
    tell_finished(journal, closed)
    return closed


def _call_of(run: Run, answer: Answered, new: NewCall, ids: NewId) -> ToolCall:
    return ToolCall(
        ids("call"), run.id, run.agent, run.user_id, answer.step, new.index, new.provider_id, new.name, new.input
    )


def append_results(
    c: Connection,
    *,
    run_id: str,
    fence: int,
    seq: int,
    numbers: Numbers,
    ids: NewId,
    at: int,
    cut: Answered | None = None,
    start: StepStart | None = None,
) -> Done:
    """Append all results of the last answer's calls as one user message, queued input folded in behind them.

    With `cut`, what was shown of a response that an input interrupted is stored first. With `start`, the next step is
    begun. A cancel that is flagged leaves results, input and step to settle: then only what was shown is stored, and
    the run says so. Raises LeaseLost.
    """
    run = fenced(c, run_id, fence)
    if (again := found_again(c, run, seq, numbers)) is not None:
        return again
    if start is not None and _is_begun(run, start):
        return _told_again(c, run, numbers)
    if run.cancel_requested and cut is None:
        return Done(run, numbers)
    journal = Journal(c, numbers, at)
    messages: list[Message] = []
    changes: dict[str, Any] = {}
    if cut is not None:
        changes, message, calls = store_answer(c, run, seq, cut, journal, ids, at)
        messages.append(message)
    else:
        calls = dangling_calls(c, run)
    if not run.cancel_requested:
        changes |= _fold(c, replace(run, **changes), calls, messages, journal, ids, at)
        changes |= begin_in(c, run, journal, start, ids, at) if start is not None else {}
    run = change_run(c, "append_results", run, at, **changes)
    return Done(run, journal.write(), tuple(journal.events), tuple(messages), tuple(calls))


def _fold(
    c: Connection,
    run: Run,
    calls: Sequence[ToolCall],
    messages: list[Message],
    journal: Journal,
    ids: NewId,
    at: int,
) -> dict[str, Any]:
    """Store results and queued input as one user message, where there are any; the changes to make to the run."""
    content = user_content(result_blocks(calls), [item.text for item in run.pending])
    if not content:
        return {}
    messages.append(user_message(run, ids, run.seq + 1, content, run.steps, at))
    store_messages(c, messages[-1:])
    apply_inputs(journal, run.pending, run.seq + 1, run.steps, run.attempt)
    return {"seq": run.seq + 1, "pending": ()}


def apply_inputs(journal: Journal, inputs: Sequence[PendingInput], message_seq: int, step: int, attempt: int) -> None:
    """Tell that inputs have become part of a message, and before that of any that was not yet announced."""
    announce_in(journal, inputs, step, attempt)
    if inputs:
        ids = [item.id for item in inputs]
        journal.add(InputApplied, max(step, 1), attempt, input_ids=ids, message_seq=message_seq)


def announce_in(journal: Journal, inputs: Sequence[PendingInput], step: int, attempt: int) -> None:
    """Write InputQueued for each input that lacks it; `queued` is how many wait up to it."""
    for position, item in enumerate(inputs, start=1):
        if not item.announced:
            journal.add(InputQueued, max(step, 1), attempt, input_id=item.id, queued=position)


def announce(c: Connection, *, run_id: str, fence: int, numbers: Numbers, at: int) -> Done:
    """Write InputQueued for the inputs that wait and lack it. Raises LeaseLost."""
    run = fenced(c, run_id, fence)
    before, left = told_before(c, numbers)
    if all(item.announced for item in run.pending):
        return Done(run, left, before)
    journal = Journal(c, left, at)
    announce_in(journal, run.pending, run.step, run.attempt)
    told = tuple(replace(item, announced=True) for item in run.pending)
    run = change_run(c, "announce", run, at, pending=told)
    return Done(run, journal.write(), (*before, *journal.events))


def begin_subcall(
    c: Connection, *, run_id: str, fence: int, tool_call_id: str, model: str, ids: NewId, at: int
) -> ModelCall:
    """Record a model call that a tool is about to make. Raises LeaseLost."""
    run = fenced(c, run_id, fence)
    assert run.stream_id is not None  # noqa: S101 - a RUNNING run has a stream
    call = ModelCall(
        ids("mdl"),
        run.id,
        run.user_id,
        run.stream_id,
        run.steps,
        1,
        model,
        Usage(),
        at,
        tool_call_id=tool_call_id,
    )
    c.execute(insert(model_calls).values(model_call_to_row(call)))
    return call


def finish_subcall(
    c: Connection,
    *,
    model_call_id: str,
    usage: Usage,
    model: str | None,
    stop_reason: str | None,
    request_id: str | None,
    at: int,
) -> None:
    """Record what a tool's model call used: also after the fence has moved, since the money is spent."""
    values: dict[str, Any] = {"stop_reason": stop_reason, "request_id": request_id, "finished_at": at}
    if model is not None:
        values["model"] = model
    c.execute(update(model_calls).where(model_calls.c.id == model_call_id).values(**values, **usage_columns(usage)))
