"""Calls that wait: approvals, decideToolCalls, completeToolCall."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any

import strawberry

from engine.errors import Refused
from engine.verdicts import Decision as GivenDecision
from engine.verdicts import decider_of
from models.call import ToolCall, count_decidable, find_decidable
from schema.approvals import (
    CompleteToolCallInput,
    CompleteToolCallPayload,
    DecideToolCallsInput,
    DecideToolCallsPayload,
    ToolCallDecisionInput,
)
from schema.connections import After, Before, First, Last, Page, Paging, page
from schema.context import Info
from schema.enums import Decision
from schema.errors import user_errors
from schema.given import given
from schema.run import as_agent_run

UNSET: Any = strawberry.UNSET

Decide = Annotated[DecideToolCallsInput, strawberry.argument(description="What is decided.")]
Complete = Annotated[CompleteToolCallInput, strawberry.argument(description="What is answered.")]


async def list_approvals(
    info: Info, first: First = UNSET, after: After = UNSET, last: Last = UNSET, before: Before = UNSET
) -> Page[ToolCall]:
    """A page of what waits for the viewer's decision, oldest first. Raises BadUserInput."""
    who = decider_of(info.context.viewer)
    paging = Paging(first, after, last, before)
    return await page(info.context, "approvals", paging, find=find_decidable, count=count_decidable, of=who)


async def watch_approvals(info: Info) -> AsyncGenerator[ToolCall, None]:
    """What waits for the viewer's decision now, then each change of that."""
    return info.context.engine.watching.approvals(decider_of(info.context.viewer))


async def decide_tool_calls(info: Info, input: Decide) -> DecideToolCallsPayload:  # noqa: A002 - the argument's promised name
    """Decide calls that wait."""
    context = info.context
    try:
        run, own = await context.engine.runs.decide(
            context.viewer,
            run_id=input.run_id,
            decisions=[_as_given(one) for one in input.decisions],
            key=given(input.key),
        )
    except Refused as refused:
        return DecideToolCallsPayload(run=None, errors=user_errors(refused))
    return DecideToolCallsPayload(run=as_agent_run(run) if own else None, errors=[])


def _as_given(one: ToolCallDecisionInput) -> GivenDecision:
    return GivenDecision(one.tool_call_id, one.decision is Decision.APPROVE, given(one.reason), given(one.input))


async def complete_tool_call(info: Info, input: Complete) -> CompleteToolCallPayload:  # noqa: A002 - the argument's promised name
    """Answer a call that waits for a client."""
    context = info.context
    try:
        run = await context.engine.runs.complete(
            context.viewer,
            run_id=input.run_id,
            call_id=input.tool_call_id,
            result=given(input.result),
            is_error=bool(given(input.is_error)),
            key=given(input.key),
        )
    except Refused as refused:
        return CompleteToolCallPayload(run=None, errors=user_errors(refused))
    return CompleteToolCallPayload(run=as_agent_run(run), errors=[])
