"""Agents as data: agentKinds, toolTypes, agent, agents; createAgent, updateAgent, deleteAgent, their resources."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from engine.errors import Refused
from models.agent import AgentQuery, StoredAgent, agent_named, count_agents, find_agents
from models.text import clean
from schema.agent import as_agent
from schema.agent_kind import AgentKind, ToolType, kind_of, tool_type_of
from schema.connections import After, Before, First, Last, Page, Paging, page
from schema.context import Info
from schema.errors import BadUserInput, user_errors
from schema.given import given
from schema.keeping import (
    CreateAgentInput,
    CreateAgentPayload,
    DeleteAgentInput,
    DeleteAgentPayload,
    DeleteResourceInput,
    DeleteResourcePayload,
    SetResourceInput,
    SetResourcePayload,
    UpdateAgentInput,
    UpdateAgentPayload,
)

UNSET: Any = strawberry.UNSET

AgentId = Annotated[strawberry.ID | None, strawberry.argument(name="id", description="The agent's id.")]
Handle = Annotated[str | None, strawberry.argument(description="The agent's handle.")]
Create = Annotated[CreateAgentInput, strawberry.argument(description="The agent to create.")]
Update = Annotated[UpdateAgentInput, strawberry.argument(description="Which agent to change, and what of it.")]
Delete = Annotated[DeleteAgentInput, strawberry.argument(description="Which agent to remove.")]
SetOne = Annotated[SetResourceInput, strawberry.argument(description="The resource to write.")]
DeleteOne = Annotated[DeleteResourceInput, strawberry.argument(description="Which resource to remove.")]
_CHANGEABLE = ("name", "handle", "description", "picture", "config", "shared_with")


def list_agent_kinds(info: Info) -> list[AgentKind]:
    """The kinds that there are, by identifier, those whose files do not load among them."""
    roster = info.context.engine.roster
    return [kind_of(name, roster.kinds.get(name)) for name in sorted({*roster.kinds, *roster.broken})]


def list_tool_types(info: Info) -> list[ToolType]:
    """The tool types that there are, by identifier."""
    types = info.context.engine.roster.types
    return [tool_type_of(types[name]) for name in sorted(types)]


async def get_agent(info: Info, agent_id: AgentId = UNSET, handle: Handle = UNSET) -> StoredAgent | None:
    """The viewer's agent with this id or handle. Raises BadUserInput."""
    by_id, by_handle = given(agent_id), given(handle)
    if (by_id is None) == (by_handle is None):
        raise BadUserInput("Give `id` or `handle`, one of them.")
    if by_id is not None:
        return await info.context.loaders.agent(by_id)
    viewer = info.context.viewer
    who = AgentQuery(viewer.id, viewer.roles)
    found = await info.context.loaders.read(agent_named, who, clean(by_handle or ""))
    return found if found is not None and found.handle == by_handle else None


async def list_agents(
    info: Info, first: First = UNSET, after: After = UNSET, last: Last = UNSET, before: Before = UNSET
) -> Page[StoredAgent]:
    """A page of the viewer's agents, newest first. Raises BadUserInput."""
    paging, viewer = Paging(first, after, last, before), info.context.viewer
    return await page(
        info.context, "agents", paging, find=find_agents, count=count_agents, of=AgentQuery(viewer.id, viewer.roles)
    )


async def create_agent(info: Info, input: Create) -> CreateAgentPayload:  # noqa: A002 - the argument's promised name
    """Store a new agent."""
    context = info.context
    try:
        agent = await context.engine.stored.create(
            context.viewer,
            kind=input.kind,
            name=input.name,
            handle=given(input.handle),
            description=given(input.description),
            picture=given(input.picture),
            config=given(input.config),
            temporary=given(input.temporary) or False,
            shared_with=given(input.shared_with),
            main_chat_id=given(input.main_chat_id),
            key=given(input.key),
        )
    except Refused as refused:
        return CreateAgentPayload(agent=None, errors=user_errors(refused))
    return CreateAgentPayload(agent=as_agent(agent), errors=[])


async def update_agent(info: Info, input: Update) -> UpdateAgentPayload:  # noqa: A002 - the argument's promised name
    """Change an agent."""
    context = info.context
    named = {name: getattr(input, name) for name in _CHANGEABLE}
    changes = {name: value for name, value in named.items() if value is not UNSET}
    try:
        agent = await context.engine.stored.update(context.viewer, agent_id=input.id, changes=changes)
    except Refused as refused:
        return UpdateAgentPayload(agent=None, errors=user_errors(refused))
    return UpdateAgentPayload(agent=as_agent(agent), errors=[])


async def delete_agent(info: Info, input: Delete) -> DeleteAgentPayload:  # noqa: A002 - the argument's promised name
    """Remove an agent."""
    context = info.context
    try:
        deleted = await context.engine.stored.delete(context.viewer, agent_id=input.id)
    except Refused as refused:
        return DeleteAgentPayload(deleted_id=None, errors=user_errors(refused))
    return DeleteAgentPayload(deleted_id=strawberry.ID(deleted), errors=[])


async def set_resource(info: Info, input: SetOne) -> SetResourcePayload:  # noqa: A002 - the argument's promised name
    """Write a resource."""
    context = info.context
    what = {"agent_id": input.agent_id, "key": input.key, "kind": input.kind}
    try:
        agent = await context.engine.stored.set_resource(context.viewer, **what, value=input.value)
    except Refused as refused:
        return SetResourcePayload(agent=None, errors=user_errors(refused))
    return SetResourcePayload(agent=as_agent(agent), errors=[])


async def delete_resource(info: Info, input: DeleteOne) -> DeleteResourcePayload:  # noqa: A002 - the promised name
    """Remove a resource."""
    context = info.context
    what = {"agent_id": input.agent_id, "key": input.key, "kind": input.kind}
    try:
        agent = await context.engine.stored.delete_resource(context.viewer, **what)
    except Refused as refused:
        return DeleteResourcePayload(agent=None, errors=user_errors(refused))
    return DeleteResourcePayload(agent=as_agent(agent), errors=[])
