"""The inputs and payloads of the mutations on chats and threads."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry.scalars import JSON

from schema.chat import Chat, ChatMessage, Thread
from schema.errors import UserError
from schema.operations import ERRORS, KEY

UNSET: Any = strawberry.UNSET
_CHAT_TITLE = "Its title, in at most 512 characters."
_AGENTS = "Stored agents that the viewer may use, by their ids."
_USERS = "Users, by their ids."


@strawberry.input(description="The chat to create.")
class CreateChatInput:
    """The input of createChat."""

    title: str | None = strawberry.field(description=_CHAT_TITLE, default=UNSET)
    temporary: bool | None = strawberry.field(
        description="Whether it is gone a day after the last message posted in it, and after a restart.", default=False
    )
    agents: list[strawberry.ID] | None = strawberry.field(description=_AGENTS, default=UNSET)
    users: list[str] | None = strawberry.field(
        description="Users beside the viewer, who is always a member, by their ids.", default=UNSET
    )
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of createChat.")
class CreateChatPayload:
    """The payload of createChat."""

    chat: Chat | None = strawberry.field(description="The chat; null where the mutation was refused.")
    thread: Thread | None = strawberry.field(description="Its first thread; null where the mutation was refused.")
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="Who comes into a chat and who goes; who is there already, or not there, is no matter.")
class UpdateChatMembersInput:
    """The input of updateChatMembers."""

    chat_id: strawberry.ID = strawberry.field(description="The chat; any user in it may change who is.")
    add_agents: list[strawberry.ID] | None = strawberry.field(description=_AGENTS, default=UNSET)
    remove_agents: list[strawberry.ID] | None = strawberry.field(
        description="Agents, by their ids; not one whose main chat it is.", default=UNSET
    )
    add_users: list[str] | None = strawberry.field(description=_USERS, default=UNSET)
    remove_users: list[str] | None = strawberry.field(
        description=(
            "Users, by their ids: oneself too, to leave it. A chat that the last user leaves is removed with all that "
            "is in it. The owner of an agent stays in the agent's main chat."
        ),
        default=UNSET,
    )


@strawberry.type(description="What came of updateChatMembers.")
class UpdateChatMembersPayload:
    """The payload of updateChatMembers."""

    chat: Chat | None = strawberry.field(
        description="The chat as it is now; null where the mutation was refused, and where the viewer has left it."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="The thread to create.")
class CreateThreadInput:
    """The input of createThread."""

    chat_id: strawberry.ID = strawberry.field(description="The chat that it is for.")
    title: str | None = strawberry.field(description=_CHAT_TITLE, default=UNSET)
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of createThread.")
class CreateThreadPayload:
    """The payload of createThread."""

    thread: Thread | None = strawberry.field(description="The thread; null where the mutation was refused.")
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="A resource of a thread to write, in the place of the one with the same kind and key.")
class SetThreadResourceInput:
    """The input of setThreadResource."""

    thread_id: strawberry.ID = strawberry.field(description="The thread that it is for.")
    key: str = strawberry.field(description="Its name: 1 to 64 letters, digits, _ or -.")
    kind: str = strawberry.field(description='What its value is for: "remote".')
    value: JSON | None = strawberry.field(
        description="A remote that agents may use in the thread, {remoteId}; null removes the resource.", default=UNSET
    )


@strawberry.type(description="What came of setThreadResource.")
class SetThreadResourcePayload:
    """The payload of setThreadResource."""

    thread: Thread | None = strawberry.field(description="The thread; null where the mutation was refused.")
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="A message to post.")
class PostMessageInput:
    """The input of postMessage."""

    thread_id: strawberry.ID = strawberry.field(description="The thread to post it in.")
    text: str = strawberry.field(
        description=(
            "What to say, in at most 32,768 characters. `@` and the handle of an agent in the chat asks that agent; "
            "without any such mention all agents in the chat answer."
        )
    )
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of postMessage.")
class PostMessagePayload:
    """The payload of postMessage."""

    message: ChatMessage | None = strawberry.field(
        description="The message; the answers follow it in the thread. Null where the mutation was refused."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)
