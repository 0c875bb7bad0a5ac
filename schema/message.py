"""AgentMessage: one turn of a run's transcript."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry.scalars import JSON

from models.content import text_of
from models.message import Message
from schema.blocks import Block, ContentBlock, blocks_of, has_calls
from schema.context import Info
from schema.enums import Role
from schema.node import Node
from schema.scalars import DateTime
from schema.usage import Usage


async def _blocks(root: strawberry.Parent[Message], info: Info) -> Any:
    call_ids = await info.context.loaders.call_ids(root.run_id, root.step) if has_calls(root) else {}
    blocks: list[Block] = blocks_of(root, call_ids)
    return blocks


def _text(root: strawberry.Parent[Message]) -> str:
    return text_of(root.content)


@strawberry.type(description="One message of a run's transcript. Messages are only ever added, never changed.")
class AgentMessage(Node):
    """Read from models.message.Message."""

    run_id: strawberry.ID = strawberry.field(description="The run it belongs to.")
    user_id: str = strawberry.field(description="The run's owner.")
    seq: int = strawberry.field(description="Its place in the run: from 1, without gaps.")
    role: Role = strawberry.field(description="Who speaks.")
    content: JSON = strawberry.field(
        description="The content as it is stored: text for a plain user turn, else a list of Messages API blocks."
    )
    blocks: list[ContentBlock] = strawberry.field(resolver=_blocks, description="The same content, typed.")
    text: str = strawberry.field(resolver=_text, description="Its text blocks joined, with nothing between them.")
    model: str | None = strawberry.field(description="The model that wrote it; null for a user's message.")
    stop_reason: str | None = strawberry.field(
        description="Why the model stopped, in the provider's word; null for a user's message and for a cut answer."
    )
    usage: Usage | None = strawberry.field(
        description="What the model call that wrote it used; null for a user's message."
    )
    created_at: DateTime = strawberry.field(description="When it was stored.")
