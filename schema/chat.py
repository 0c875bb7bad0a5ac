"""Chat, Thread and ChatMessage: where people and agents talk."""

from __future__ import annotations

from typing import Any, cast

import strawberry

from models.chat import Chat as ChatRow
from models.chat import Member
from models.chat_message import ChatMessage as MessageRow
from models.chat_message import count_chat_messages, find_chat_messages
from models.text import clean
from models.thread import Thread as ThreadRow
from models.thread import (
    ThreadQuery,
    ThreadResourceQuery,
    count_thread_resources,
    count_threads,
    find_thread_resources,
    find_threads,
)
from schema.agent import Agent, Resource, ResourceKind
from schema.connections import After, Before, Connection, First, Last, Paging, page
from schema.context import Info
from schema.enums import ChatMessageStatus
from schema.given import given
from schema.node import Node
from schema.scalars import DateTime

UNSET: Any = strawberry.UNSET


async def _agent_of_member(root: strawberry.Parent[Member], info: Info) -> Any:
    return None if root.agent_id is None else await info.context.loaders.met_agent(root.agent_id)


@strawberry.type(description="Who is in a chat: a user or an agent.")
class ChatMember:
    """Read from models.chat.Member."""

    user_id: str | None = strawberry.field(description="The user's id; null where it is an agent.")
    agent: Agent | None = strawberry.field(
        resolver=_agent_of_member, description="The agent; null where it is a user, or an agent that was deleted."
    )


async def _members(root: strawberry.Parent[ChatRow], info: Info) -> Any:
    members = await info.context.loaders.chat_members(root.id)
    viewer = info.context.viewer.id
    return members if any(member.user_id == viewer for member in members) else []


async def _threads(
    root: strawberry.Parent[ChatRow],
    info: Info,
    first: First = UNSET,
    after: After = UNSET,
    last: Last = UNSET,
    before: Before = UNSET,
) -> Any:
    query = ThreadQuery(root.id, info.context.viewer.id)
    paging, name = Paging(first, after, last, before), f"threads/{root.id}"
    return await page(info.context, name, paging, find=find_threads, count=count_threads, of=query)


async def _thread_resources(
    root: strawberry.Parent[ThreadRow],
    info: Info,
    kind: ResourceKind = UNSET,
    first: First = UNSET,
    after: After = UNSET,
    last: Last = UNSET,
    before: Before = UNSET,
) -> Any:
    wanted = given(kind)
    query = ThreadResourceQuery(root.id, None if wanted is None else clean(wanted))
    paging, name = Paging(first, after, last, before), f"threadResources/{root.id}"
    return await page(info.context, name, paging, find=find_thread_resources, count=count_thread_resources, of=query)


async def _messages(
    root: strawberry.Parent[ThreadRow],
    info: Info,
    first: First = UNSET,
    after: After = UNSET,
    last: Last = UNSET,
    before: Before = UNSET,
) -> Any:
    paging, name = Paging(first, after, last, before), f"chatMessages/{root.id}"
    return await page(info.context, name, paging, find=find_chat_messages, count=count_chat_messages, of=root.id)


@strawberry.type(description="One conversation of a chat.")
class Thread(Node):
    """Read from models.thread.Thread."""

    chat_id: strawberry.ID = strawberry.field(description="The chat it belongs to.")
    title: str | None = strawberry.field(description="Its title, where one was given.")
    resources: Connection[Resource] = strawberry.field(
        resolver=_thread_resources, description="What agents may use in it, oldest first; see `setThreadResource`."
    )
    messages: Connection[ChatMessage] = strawberry.field(
        resolver=_messages, description="What was said in it, oldest first."
    )
    created_at: DateTime = strawberry.field(description="When it was created.")


@strawberry.type(
    description=(
        "Where people and agents talk; its members alone see it. Of a chat that the viewer is not in, as the main chat "
        "of somebody else's agent may be, neither title nor members nor threads are told."
    )
)
class Chat(Node):
    """Read from models.chat.Chat."""

    title: str | None = strawberry.field(description="Its title, where one was given.")
    temporary: bool = strawberry.field(
        description="Whether it is gone some time after the last message that was posted in it, and after a restart."
    )
    members: list[ChatMember] = strawberry.field(resolver=_members, description="Who is in it, people first.")
    threads: Connection[Thread] = strawberry.field(
        resolver=_threads, description="Its threads, oldest first: every chat is made with one."
    )
    created_at: DateTime = strawberry.field(description="When it was created.")


async def _sender_agent(root: strawberry.Parent[MessageRow], info: Info) -> Any:
    return None if root.agent_id is None else await info.context.loaders.met_agent(root.agent_id)


def _sender_user_id(root: strawberry.Parent[MessageRow]) -> str | None:
    return root.user_id


@strawberry.type(description="A message in a thread: a user's, or an agent's, which grows while it is written.")
class ChatMessage(Node):
    """Read from models.chat_message.ChatMessage."""

    thread_id: strawberry.ID = strawberry.field(description="The thread it belongs to.")
    seq: int = strawberry.field(description="Its place in the thread: from 1, without gaps.")
    sender_user_id: str | None = strawberry.field(
        resolver=_sender_user_id, description="The user who posted it; null where an agent did."
    )
    sender_agent: Agent | None = strawberry.field(
        resolver=_sender_agent,
        description="The agent whose answer it is; null where a user posted it, or the agent is gone.",
    )
    text: str = strawberry.field(description="What it says: of an agent all that it said in the turn, in order.")
    reasoning: str = strawberry.field(description="What the agent thought, as far as the model told; else empty.")
    run_id: strawberry.ID | None = strawberry.field(
        description="The run whose turn it is, which its owner can see, and administrators; null where there is none."
    )
    status: ChatMessageStatus = strawberry.field(description="Where it stands.")
    created_at: DateTime = strawberry.field(description="When it was posted, or begun.")


def as_chat(chat: ChatRow) -> Chat:
    """The record, which stands for its type: said to the type checker alone."""
    return cast(Chat, chat)


def as_thread(thread: ThreadRow) -> Thread:
    """The record, which stands for its type: said to the type checker alone."""
    return cast(Thread, thread)


def as_chat_message(message: MessageRow) -> ChatMessage:
    """The record, which stands for its type: said to the type checker alone."""
    return cast(ChatMessage, message)
