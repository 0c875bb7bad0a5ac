"""begin_step, append_answer, append_results, announce: the journal of a turn's steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Update, func, insert, update

from models.call import ToolCall, call_to_row, calls_of_step, tool_calls
from models.content import NOT_RUN, input_blocks, noted, result_blocks, user_content
from models.enums import Role, ToolCallState
from models.events import InputApplied, InputQueued, ModelFellBack, StepFinished, StepRestarted
from models.message import Message, messages_after
from models.model_call import (
    IS_STEP,
    ModelCall,
    model_call_from_row,
    model_call_to_row,
    model_calls,
    usage_columns,
)
from models.run import PendingInput, Run
from models.spending import Ask, tokens_of
from models.usage import Usage
from models.verbs.closing import close_dangling, tell_finished, tell_started
from models.verbs.errors import LeaseLost
from models.verbs.journal import Journal, told_before
from models.verbs.row import Done, NewId, Numbers, change_run, fenced, store_messages, user_message
from models.verbs.spending import draw, give_back, hold_together


@dataclass(frozen=True, slots=True)
class StepStart:
    """The model call about to be made. `reason` says why the step begins again, where `attempt` is above 1.

    `reported` is what the attempt before it had reported; where that is not known, it counts its estimated input.
    `ask` is what the call would like to take, what the verb itself appends left away. `fell_back_from` names the model
    that has failed, where this one takes its place.
    """

    step: int
    attempt: int
    model: str
    reason: str = ""
    reported: Usage | None = None
    ask: Ask | None = None
    fell_back_from: str | None = None


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

    `model` is the one that was asked, `reported_model` the name that the provider gave it. `first_token_at` is when its
    first text came (ms since the epoch); None where it has none.
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
    first_token_at: int | None = None


def begin_step(
    c: Connection, *, run_id: str, fence: int, start: StepStart, numbers: Numbers, ids: NewId, at: int
) -> Done:
    """Record the model call about to be made, and reserve what it may take; the run says how long its answer may be.

    A later attempt tells watchers to drop the step, and which model takes it now, where that is another. Raises
    LeaseLost, and Unaffordable where it can't be paid for.
    """
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


def begin_in(
    c: Connection,
    run: Run,
    journal: Journal,
    start: StepStart,
    ids: NewId,
    at: int,
    appended: Sequence[Message] = (),
) -> dict[str, Any]:
    """The same within another verb's transaction; the changes to make to the run.

    `appended` is what the verb has added to the transcript since the ask was made. Raises Unaffordable.
    """
    if start.attempt > 1 or run.step_fence != run.fence:  # there are calls to close
        hold_together(c, run, start.ask, at)
    # What tools of this very owner still ask is under way, also where nobody waits for these tools any more.
    close_model_calls(c, run, at, start.reported, own_alone=run.step_fence == run.fence)
    assert run.stream_id is not None  # noqa: S101 - a RUNNING run has a stream
    ask = start.ask
    if ask is not None and appended:
        added = sum(tokens_of({"role": message.role, "content": message.content}) for message in appended)
        ask = replace(ask, input_tokens=ask.input_tokens + added)
    drawn = draw(c, run, start.model, ask, at)
    call = ModelCall(
        ids("mdl"), run.id, run.user_id, run.stream_id, start.step, start.attempt, start.model, Usage(), at,
        **drawn.columns,
    )  # fmt: skip
    c.execute(insert(model_calls).values(model_call_to_row(call)))
    if start.attempt > 1:
        journal.add(StepRestarted, start.step, start.attempt, reason=start.reason)
    if start.fell_back_from is not None:
        models = {"from_": start.fell_back_from, "to": start.model}
        journal.add(ModelFellBack, start.step, start.attempt, **models, reason=start.reason)
    begun = {"step": start.step, "attempt": start.attempt, "step_fence": run.fence}
    return {**begun, "step_max_tokens": drawn.max_tokens}


def close_model_calls(
    c: Connection, run: Run, at: int, reported: Usage | None = None, *, own_alone: bool = False
) -> None:
    """Close the generation's model calls that are still open, or those of the loop alone, and let their purses know.

    `reported` is what was reported of the loop's own; of which nothing is known counts its estimated input.
    """
    closed = _open_model_calls(run).values(finished_at=at).returning(*model_calls.c)
    if reported is None:
        statements = [(closed.where(_OWN) if own_alone else closed).values(_ESTIMATE)]
    else:
        statements = [closed.where(_OWN).values(usage_columns(reported))]
        statements += [] if own_alone else [closed.values(_ESTIMATE)]
    give_back(c, [model_call_from_row(row) for statement in statements for row in c.execute(statement)])


def close_summing_up(c: Connection, run: Run, at: int) -> None:
    """Close the generation's calls that sum the transcript up and are open still, by their estimated input."""
    left = _open_model_calls(run).where(model_calls.c.summed_to.is_not(None))
    closed = c.execute(left.values(finished_at=at, **_ESTIMATE).returning(*model_calls.c))
    give_back(c, [model_call_from_row(row) for row in closed])


_OWN = IS_STEP
_ESTIMATE: dict[str, Any] = {
    "input_tokens": func.coalesce(model_calls.c.estimated_tokens, 0),
    "cost_pico": model_calls.c.estimated_cost_pico,
}


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
        calls = [_not_run(c, call, journal, at) for call in calls]
    if calls:
        c.execute(insert(tool_calls), [call_to_row(call) for call in calls])
    changes = {"seq": seq, "steps": run.steps + 1, "turn_steps": run.turn_steps + 1, "takeovers": 0}
    return changes, message, calls


def _finish_model_call(c: Connection, run: Run, answer: Answered, at: int) -> None:
    """Close the generation's own open model call with what its answer reported."""
    closed = c.execute(
        _open_model_calls(run)
        .where(_OWN)
        .values(
            **usage_columns(answer.usage),
            model=answer.reported_model,
            stop_reason=answer.stop_reason,
            request_id=answer.request_id,
            first_token_at=answer.first_token_at,
            finished_at=at,
        )
        .returning(*model_calls.c)
    )
    give_back(c, [model_call_from_row(row) for row in closed])


def _not_run(c: Connection, call: ToolCall, journal: Journal, at: int) -> ToolCall:
    """A call of an answer that was cut, answered as not run."""
    closed = replace(call, state=ToolCallState.CANCELLED, result=NOT_RUN, is_error=True, finished_at=at)
    tell_started(journal, closed)
    tell_finished(c, journal, closed)
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
    note: str | None = None,
    correction: str | None = None,
) -> Done:
    """Append all results of the last answer's calls as one user message, queued input folded in behind them.

    `note` is for the model alone: it stands behind the last result. `correction` tells the model what is wrong with its
    answer, and is counted on the run; queued input takes its place, since it asks for another answer anyway. With
    `cut`, what was shown of a response that an input interrupted is stored first. With `start`, the next step is begun.
    A cancel that is flagged leaves results, input and step to settle: then only what was shown is stored, and the run
    says so. Raises LeaseLost, and Unaffordable where the next step can't be paid for: then nothing is stored.
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
    others: list[Done] = []
    if cut is not None:
        hold_together(c, run, start.ask if start is not None else None, at)
        changes, message, calls = store_answer(c, run, seq, cut, journal, ids, at)
        messages.append(message)
    else:
        calls = close_dangling(c, run, at, journal, others)
    if not run.cancel_requested:
        said = None if run.pending else correction
        changes |= _fold(c, replace(run, **changes), calls, messages, journal, ids, at, note, said)
        changes |= begin_in(c, run, journal, start, ids, at, messages) if start is not None else {}
    run = change_run(c, "append_results", run, at, **changes)
    return Done(run, journal.write(), tuple(journal.events), tuple(messages), tuple(calls), tuple(others))


def _fold(
    c: Connection,
    run: Run,
    calls: Sequence[ToolCall],
    messages: list[Message],
    journal: Journal,
    ids: NewId,
    at: int,
    note: str | None,
    correction: str | None,
) -> dict[str, Any]:
    """Store results and queued input as one user message, where there are any; the changes to make to the run."""
    said = [item.blocks for item in run.pending] if correction is None else [input_blocks(correction)]
    content = user_content(noted(result_blocks(calls), note), said)
    if not content:
        return {}
    messages.append(user_message(run, ids, run.seq + 1, content, run.steps, at))
    store_messages(c, messages[-1:])
    apply_inputs(journal, run.pending, run.seq + 1, run.steps, run.attempt)
    return {"seq": run.seq + 1, "pending": (), "corrections": run.corrections + (correction is not None)}


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
