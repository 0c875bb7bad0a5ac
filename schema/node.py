"""Everything with an id of its own, and how records become their types without being copied."""

from __future__ import annotations

from typing import Any

import strawberry
from graphql import GraphQLAbstractType, GraphQLResolveInfo

from models.agent import StoredAgent
from models.call import ToolCall
from models.chat import Chat
from models.chat_message import ChatMessage
from models.message import Message
from models.model_call import ModelCall
from models.remote import Remote
from models.resource import Resource
from models.run import Run
from models.schedule import Schedule
from models.thread import Thread, ThreadResource
from models.webhook import Webhook

_TYPES = {
    Run: "AgentRun",
    Message: "AgentMessage",
    ToolCall: "ToolCall",
    ModelCall: "ModelCall",
    StoredAgent: "Agent",
    Resource: "Resource",
    Schedule: "Schedule",
    Webhook: "Webhook",
    Remote: "Remote",
    Chat: "Chat",
    Thread: "Thread",
    ThreadResource: "Resource",
    ChatMessage: "ChatMessage",
}


@strawberry.interface(description="Anything with an id of its own: fetch it again with `node(id:)`.")
class Node:
    """The parent of every type that `node` can give.

    Resolvers return the records of models/ themselves and fields read their attributes, so nothing is converted; the
    two hooks below tell graphql-core which type a record is.
    """

    id: strawberry.ID = strawberry.field(
        description="Its id, unique everywhere: a prefix that names the type, then letters and digits. Opaque."
    )

    @staticmethod
    def resolve_type(record: Any, info: GraphQLResolveInfo[Any], abstract_type: GraphQLAbstractType) -> str:
        """The GraphQL type of a record."""
        return _TYPES[type(record)]

    @staticmethod
    def is_type_of(record: Any, info: GraphQLResolveInfo[Any]) -> bool:
        """Always so: resolvers are typed, and `resolve_type` has told."""
        return True
