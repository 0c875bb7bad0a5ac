"""Reaching a run that is at work: steerRun, withdrawInput, cancelRun."""

from __future__ import annotations

from typing import Annotated

import strawberry

from engine.errors import Refused
from resolvers.attachments import attachments_of
from schema.context import Info
from schema.enums import SteerMode
from schema.errors import user_errors
from schema.given import given
from schema.operations import (
    CancelRunInput,
    CancelRunPayload,
    SteerRunInput,
    SteerRunPayload,
    WithdrawInputInput,
    WithdrawInputPayload,
)
from schema.run import as_agent_run

Steer = Annotated[SteerRunInput, strawberry.argument(description="What to say, and to which run.")]
Withdraw = Annotated[WithdrawInputInput, strawberry.argument(description="What to take back.")]
Cancel = Annotated[CancelRunInput, strawberry.argument(description="What to stop.")]


async def steer_run(info: Info, input: Steer) -> SteerRunPayload:  # noqa: A002 - the argument's promised name
    """Say something to a run, whatever it is doing."""
    context = info.context
    try:
        accepted = await context.engine.runs.steer(
            context.viewer,
            run_id=input.run_id,
            input=input.input,
            mode=input.mode or SteerMode.QUEUE,
            key=given(input.key),
            attachments=attachments_of(input.attachments),
        )
    except Refused as refused:
        return SteerRunPayload(run=None, queued=False, input_id=None, errors=user_errors(refused))
    return SteerRunPayload(
        run=as_agent_run(accepted.run),
        queued=accepted.queued,
        input_id=None if accepted.input_id is None else strawberry.ID(accepted.input_id),
        errors=[],
    )


async def withdraw_input(info: Info, input: Withdraw) -> WithdrawInputPayload:  # noqa: A002 - the argument's promised name
    """Take a queued input back."""
    context = info.context
    try:
        run, withdrawn = await context.engine.runs.withdraw(
            context.viewer, run_id=input.run_id, input_id=input.input_id
        )
    except Refused as refused:
        return WithdrawInputPayload(run=None, withdrawn=False, errors=user_errors(refused))
    return WithdrawInputPayload(run=as_agent_run(run), withdrawn=withdrawn, errors=[])


async def cancel_run(info: Info, input: Cancel) -> CancelRunPayload:  # noqa: A002 - the argument's promised name
    """Stop a run."""
    context = info.context
    try:
        run = await context.engine.runs.cancel(context.viewer, run_id=input.run_id, reason=given(input.reason))
    except Refused as refused:
        return CancelRunPayload(run=None, errors=user_errors(refused))
    return CancelRunPayload(run=as_agent_run(run), errors=[])
