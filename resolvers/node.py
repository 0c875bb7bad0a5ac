"""Anything by its id."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias

import strawberry

from models.agent import StoredAgent
from models.call import ToolCall
from models.chat import Chat
from models.chat_message import ChatMessage
from models.ids import prefix_of
from models.message import Message
from models.model_call import ModelCall
from models.page import MAX_SIZE
from models.remote import Remote
from models.resource import Resource
from models.run import Run
from models.schedule import Schedule
from models.thread import Thread, ThreadResource
from models.webhook import Webhook
from schema.context import Info, RequestContext
from schema.errors import BadUserInput

Record: TypeAlias = (
    Run
    | Message
    | ToolCall
    | ModelCall
    | StoredAgent
    | Resource
    | Chat
    | Thread
    | ThreadResource
    | ChatMessage
    | Remote
    | Schedule
    | Webhook
)


async def get_node(
    info: Info,
    node_id: Annotated[strawberry.ID, strawberry.argument(name="id", description="The id of what is wanted.")],
) -> Record | None:
    """The record with this id, where the viewer may see it."""
    return await _load(info.context, node_id)


async def get_nodes(
    info: Info,
    ids: Annotated[list[strawberry.ID], strawberry.argument(description="The ids of what is wanted, at most 100.")],
) -> list[Record | None]:
    """The records with these ids, in order; None for each that the viewer may not see. Raises BadUserInput."""
    if len(ids) > MAX_SIZE:
        raise BadUserInput(f"At most {MAX_SIZE} ids at a time.")
    return await asyncio.gather(*(_load(info.context, node_id) for node_id in ids))


async def _load(context: RequestContext, node_id: str) -> Record | None:
    loaders = context.loaders
    by_prefix: dict[str | None, Callable[[str], Awaitable[Record | None]]] = {
        "run": loaders.run,
        "msg": loaders.message,
        "call": loaders.tool_call,
        "mdl": loaders.model_call,
        "agt": loaders.agent,
        "res": loaders.resource,
        "rmt": loaders.remote,
        "cht": loaders.chat,
        "thr": loaders.thread,
        "trs": loaders.thread_resource,
        "cms": loaders.chat_message,
        "sch": loaders.schedule,
        "whk": loaders.webhook,
    }
    load = by_prefix.get(prefix_of(node_id))
    return None if load is None else await load(node_id)
