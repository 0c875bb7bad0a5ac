"""Agent and Resource: what people store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import strawberry
from strawberry.scalars import JSON

from models.agent import StoredAgent
from models.resource import ResourceQuery, count_resources, find_resources
from models.run import RunQuery, count_runs, find_runs
from models.text import clean
from schema.agent_kind import AgentKind, kind_of
from schema.connections import After, Before, Connection, First, Last, Paging, page
from schema.context import Info
from schema.given import given
from schema.node import Node
from schema.run import AgentRun
from schema.scalars import DateTime

if TYPE_CHECKING:
    from schema.chat import Chat

UNSET: Any = strawberry.UNSET
ResourceKind = Annotated[str | None, strawberry.argument(description="Those of this kind alone.")]


@strawberry.type(
    description=(
        'What an agent is extended with. Of the kind "tools" the value is {type, config} and the key the tool\'s name; '
        'of the kind "document" it is {title, text}.'
    )
)
class Resource(Node):
    """Read from models.resource.Resource."""

    key: str = strawberry.field(description="Its name, the only one of its kind that the agent has.")
    kind: str = strawberry.field(description="What its value is for.")
    value: JSON = strawberry.field(description="What it holds.")


async def _kind(root: strawberry.Parent[StoredAgent], info: Info) -> Any:
    return kind_of(root.kind, info.context.engine.roster.kinds.get(root.kind))


def _is_own(agent: StoredAgent, info: Info) -> bool:
    return agent.user_id == info.context.viewer.id


def _config(root: strawberry.Parent[StoredAgent], info: Info) -> Any:
    return root.config if _is_own(root, info) else None


async def _shared_with(root: strawberry.Parent[StoredAgent], info: Info) -> Any:
    return await info.context.loaders.shares(root.id) if _is_own(root, info) else None


async def _main_chat(root: strawberry.Parent[StoredAgent], info: Info) -> Any:
    return await info.context.loaders.any_chat(str(root.main_chat_id))


async def _resources(
    root: strawberry.Parent[StoredAgent],
    info: Info,
    kind: ResourceKind = UNSET,
    first: First = UNSET,
    after: After = UNSET,
    last: Last = UNSET,
    before: Before = UNSET,
) -> Any:
    if not _is_own(root, info):
        return None
    wanted = given(kind)
    query = ResourceQuery(root.id, None if wanted is None else clean(wanted))
    paging, name = Paging(first, after, last, before), f"resources/{root.id}"
    return await page(info.context, name, paging, find=find_resources, count=count_resources, of=query)


async def _runs(
    root: strawberry.Parent[StoredAgent],
    info: Info,
    first: First = UNSET,
    after: After = UNSET,
    last: Last = UNSET,
    before: Before = UNSET,
) -> Any:
    query = RunQuery(user_id=info.context.viewer.id, agent_id=root.id)
    paging, name = Paging(first, after, last, before), f"agentRuns/{root.id}"
    return await page(info.context, name, paging, find=find_runs, count=count_runs, of=query)


@strawberry.type(description="An agent that somebody has stored: data, of a kind that code defines.")
class Agent(Node):
    """Read from models.agent.StoredAgent."""

    name: str = strawberry.field(description="What people call it.")
    handle: str | None = strawberry.field(
        description="A name that no other agent here has: startRun takes it, as it takes the id."
    )
    description: str | None = strawberry.field(description="What it is for.")
    picture: str | None = strawberry.field(description="The address of its picture.")
    kind: AgentKind = strawberry.field(resolver=_kind, description="The code that it is of.")
    user_id: str = strawberry.field(description="Its owner.")
    temporary: bool = strawberry.field(
        description="Whether it is gone a day after its last use, and after a restart where one process does it all."
    )
    shared_with: list[str] | None = strawberry.field(
        resolver=_shared_with,
        description="The roles whose holders may see and run it beside its owner; null for all but the owner.",
    )
    config: JSON | None = strawberry.field(
        resolver=_config,
        description="Its configuration as it was given; null for all but its owner.",
    )
    main_chat: Annotated[Chat, strawberry.lazy("schema.chat")] = strawberry.field(
        resolver=_main_chat, description="The chat that it was created with; it and its owner are always in it."
    )
    resources: Connection[Resource] | None = strawberry.field(
        resolver=_resources,
        description="What it is extended with, oldest first; null for all but its owner.",
    )
    runs: Connection[AgentRun] = strawberry.field(resolver=_runs, description="The viewer's runs of it, newest first.")
    created_at: DateTime = strawberry.field(description="When it was created.")
    updated_at: DateTime = strawberry.field(description="When it or its resources last changed.")


def as_agent(agent: StoredAgent) -> Agent:
    """The record, which stands for its type: said to the type checker alone."""
    return cast(Agent, agent)
