"""Chats: chat, chats, chatMessages; createChat, updateChatMembers, createThread, setThreadResource, postMessage."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any

import strawberry

from engine.errors import Refused
from models.chat import Chat, count_chats, find_chats
from models.chat_message import ChatMessage
from schema.chat import as_chat, as_chat_message, as_thread
from schema.chatting import (
    CreateChatInput,
    CreateChatPayload,
    CreateThreadInput,
    CreateThreadPayload,
    PostMessageInput,
    PostMessagePayload,
    SetThreadResourceInput,
    SetThreadResourcePayload,
    UpdateChatMembersInput,
    UpdateChatMembersPayload,
)
from schema.connections import After, Before, First, Last, Page, Paging, page
from schema.context import Info
from schema.errors import BadUserInput, ThreadIsMissing, user_errors
from schema.given import given

UNSET: Any = strawberry.UNSET

ChatId = Annotated[strawberry.ID, strawberry.argument(name="id", description="The chat's id.")]
WatchedThread = Annotated[strawberry.ID, strawberry.argument(description="The thread to watch.")]
AfterSeq = Annotated[
    int | None,
    strawberry.argument(
        description="Only messages behind this `seq`, up to which the client has all as they will stay; 0 for all."
    ),
]
Create = Annotated[CreateChatInput, strawberry.argument(description="The chat to create.")]
Members = Annotated[UpdateChatMembersInput, strawberry.argument(description="Which chat, who comes and who goes.")]
NewThread = Annotated[CreateThreadInput, strawberry.argument(description="The thread to create.")]
SetOne = Annotated[SetThreadResourceInput, strawberry.argument(description="The resource to write or remove.")]
Post = Annotated[PostMessageInput, strawberry.argument(description="What to post, and where.")]


async def get_chat(info: Info, chat_id: ChatId) -> Chat | None:
    """The chat with this id, where the viewer is in it."""
    return await info.context.loaders.chat(chat_id)


async def list_chats(
    info: Info, first: First = UNSET, after: After = UNSET, last: Last = UNSET, before: Before = UNSET
) -> Page[Chat]:
    """A page of the chats that the viewer is in, newest first. Raises BadUserInput."""
    paging, viewer = Paging(first, after, last, before), info.context.viewer
    return await page(info.context, "chats", paging, find=find_chats, count=count_chats, of=viewer.id)


async def create_chat(info: Info, input: Create) -> CreateChatPayload:  # noqa: A002 - the argument's promised name
    """Make a chat with its first thread."""
    context = info.context
    try:
        chat, thread = await context.engine.chats.create(
            context.viewer,
            title=given(input.title),
            temporary=bool(input.temporary),
            agents=given(input.agents) or (),
            users=given(input.users) or (),
            key=given(input.key),
        )
    except Refused as refused:
        return CreateChatPayload(chat=None, thread=None, errors=user_errors(refused))
    return CreateChatPayload(chat=as_chat(chat), thread=as_thread(thread), errors=[])


async def update_chat_members(
    info: Info,
    input: Members,  # noqa: A002 - the argument's promised name
) -> UpdateChatMembersPayload:
    """Let members come and go."""
    context = info.context
    try:
        chat = await context.engine.chats.update_members(
            context.viewer,
            chat_id=input.chat_id,
            add_agents=given(input.add_agents) or (),
            remove_agents=given(input.remove_agents) or (),
            add_users=given(input.add_users) or (),
            remove_users=given(input.remove_users) or (),
        )
    except Refused as refused:
        return UpdateChatMembersPayload(chat=None, errors=user_errors(refused))
    return UpdateChatMembersPayload(chat=None if chat is None else as_chat(chat), errors=[])


async def create_thread(info: Info, input: NewThread) -> CreateThreadPayload:  # noqa: A002 - the promised name
    """Begin a further thread of a chat."""
    context = info.context
    try:
        thread = await context.engine.chats.create_thread(
            context.viewer, chat_id=input.chat_id, title=given(input.title), key=given(input.key)
        )
    except Refused as refused:
        return CreateThreadPayload(thread=None, errors=user_errors(refused))
    return CreateThreadPayload(thread=as_thread(thread), errors=[])


async def set_thread_resource(info: Info, input: SetOne) -> SetThreadResourcePayload:  # noqa: A002 - the promised name
    """Write a resource of a thread, or remove it."""
    context = info.context
    what = {"thread_id": input.thread_id, "key": input.key, "kind": input.kind}
    try:
        thread = await context.engine.chats.set_resource(context.viewer, **what, value=given(input.value))
    except Refused as refused:
        return SetThreadResourcePayload(thread=None, errors=user_errors(refused))
    return SetThreadResourcePayload(thread=as_thread(thread), errors=[])


async def post_message(info: Info, input: Post) -> PostMessagePayload:  # noqa: A002 - the argument's promised name
    """Post a message."""
    context = info.context
    what = {"thread_id": input.thread_id, "text": input.text}
    try:
        message = await context.engine.chats.post(context.viewer, **what, key=given(input.key))
    except Refused as refused:
        return PostMessagePayload(message=None, errors=user_errors(refused))
    return PostMessagePayload(message=as_chat_message(message), errors=[])


async def watch_chat_messages(
    info: Info, thread_id: WatchedThread, after_seq: AfterSeq = 0
) -> AsyncGenerator[ChatMessage, None]:
    """The messages of a thread, and each again as it grows. Raises BadUserInput and ThreadIsMissing."""
    if after_seq is not None and after_seq < 0:
        raise BadUserInput("`afterSeq` must not be negative.")
    thread = await info.context.loaders.thread(thread_id)
    if thread is None:
        raise ThreadIsMissing
    return info.context.engine.conversations.messages(thread.id, info.context.viewer.id, after_seq or 0)
