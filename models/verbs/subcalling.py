"""begin_subcall, finish_subcall: the calls of a model beside a run's steps, counted on the run.

A tool makes them for itself, or the loop does, to sum the transcript up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, insert, update

from models.model_call import ModelCall, get_model_calls, model_call_to_row, model_calls, usage_columns
from models.run import Run
from models.spending import Ask
from models.usage import Usage
from models.verbs.row import change_run, fenced, lock
from models.verbs.spending import correct, draw, give_back, hold_together
from models.verbs.stepping import close_summing_up


def begin_subcall(
    c: Connection,
    *,
    run_id: str,
    fence: int,
    model_call_id: str,
    tool_call_id: str | None,
    model: str,
    at: int,
    ask: Ask | None = None,
    summed_to: int | None = None,
) -> ModelCall:
    """Record a model call that is about to be made, and reserve what it may take; repeated, it finds its own row.

    It is the call of a tool, or else sums the transcript up, to the message `summed_to`: of these one at a time is
    under way, and what an owner before has left of them is closed. The call says how long its answer may be. Raises
    LeaseLost, and Unaffordable where it can't be paid for.
    """
    run = fenced(c, run_id, fence)
    assert run.stream_id is not None  # noqa: S101 - a RUNNING run has a stream
    if (begun := get_model_calls(c, [model_call_id]).get(model_call_id)) is not None:
        return begun
    if summed_to is not None:
        hold_together(c, run, ask, at)
        close_summing_up(c, run, at)
    call = ModelCall(
        model_call_id,
        run.id,
        run.user_id,
        run.stream_id,
        run.steps,
        1,
        model,
        Usage(),
        at,
        tool_call_id=tool_call_id,
        summed_to=summed_to,
        **draw(c, run, model, ask, at).columns,
    )
    c.execute(insert(model_calls).values(model_call_to_row(call)))
    return call


def finish_subcall(
    c: Connection,
    *,
    model_call_id: str,
    usage: Usage | None,
    model: str | None,
    stop_reason: str | None,
    request_id: str | None,
    at: int,
) -> Run:
    """Record what a tool's model call used: also after the fence has moved, since the money is spent.

    Where `usage` is None nothing is known of it, and its estimated input counts. The run, whose usage has changed.
    """
    call = get_model_calls(c, [model_call_id])[model_call_id]
    run, _ = lock(c, call.run_id)  # who closes the generation's calls holds it too: purses are locked behind it
    call = get_model_calls(c, [model_call_id])[model_call_id]
    usage = call.estimate if usage is None else usage
    values: dict[str, Any] = {"stop_reason": stop_reason, "request_id": request_id, "finished_at": at}
    if model is not None:
        values["model"] = model
    c.execute(update(model_calls).where(model_calls.c.id == model_call_id).values(**values, **usage_columns(usage)))
    if call.finished_at is None:
        give_back(c, [replace(call, usage=usage)])
    elif call.usage == usage:  # an earlier try has counted it
        return run
    else:
        correct(c, call, usage)
    return change_run(c, "finish_subcall", run, at)
