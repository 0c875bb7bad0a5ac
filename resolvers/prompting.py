"""Asking an agent once, and arming a run: promptAgent, addRunTools."""

from __future__ import annotations

from typing import Annotated

import strawberry

from engine.errors import Refused
from schema.context import Info
from schema.errors import user_errors
from schema.given import given
from schema.overrides import run_tools_of
from schema.prompting import AddRunToolsInput, AddRunToolsPayload, PromptAgentInput, PromptAgentPayload
from schema.run import as_agent_run
from schema.usage import budget_of

Prompt = Annotated[PromptAgentInput, strawberry.argument(description="What to ask, and whom.")]
AddTools = Annotated[AddRunToolsInput, strawberry.argument(description="Which tools, and to which run.")]


async def prompt_agent(info: Info, input: Prompt) -> PromptAgentPayload:  # noqa: A002 - the argument's promised name
    """Ask an agent once."""
    context = info.context
    try:
        run = await context.engine.runs.prompt(
            context.viewer,
            agent=input.agent,
            instruction=input.instruction,
            input=given(input.input),
            options=given(input.options),
            budget=budget_of(input.budget),
            key=given(input.key),
        )
    except Refused as refused:
        return PromptAgentPayload(run=None, errors=user_errors(refused))
    return PromptAgentPayload(run=as_agent_run(run), errors=[])


async def add_run_tools(info: Info, input: AddTools) -> AddRunToolsPayload:  # noqa: A002 - the argument's promised name
    """Give a run further tools."""
    context = info.context
    runs = context.engine.runs
    try:
        runs.may_override(context.viewer, field="tools")
        run = await runs.add_tools(context.viewer, run_id=input.run_id, tools=run_tools_of(input.tools) or [])
    except Refused as refused:
        return AddRunToolsPayload(run=None, errors=user_errors(refused))
    return AddRunToolsPayload(run=as_agent_run(run), errors=[])
