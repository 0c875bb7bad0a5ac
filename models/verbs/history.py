"""The thread so far, as an agent that is asked in it reads it."""

from __future__ import annotations

from collections.abc import Sequence

from models.chat_message import ChatMessage
from models.content import input_block, plain_or_blocks
from models.enums import ChatMessageStatus, Role
from models.verbs.opening import Said

HISTORY_MESSAGES = 100
HISTORY_CHARACTERS = 100_000
_UNREAD = (ChatMessageStatus.STREAMING, ChatMessageStatus.FAILED)


def history_of(messages: Sequence[ChatMessage], agent_id: str, owner: str) -> tuple[Said, ...]:
    """What this agent reads of the messages, oldest first, in a run of this owner.

    Its own are the assistant's, all others the user's. What is still being written, and what failed, is left out; of
    the rest the newest are taken, so many as fit, and the first of them is never the agent's own. Messages of one role
    in a row are one turn of several blocks.
    """
    left = HISTORY_CHARACTERS
    turns: list[tuple[Role, list[str]]] = []
    for message in reversed(messages[-HISTORY_MESSAGES:]):
        if message.status in _UNREAD or not message.text.strip():
            continue
        own = message.agent_id == agent_id
        text = message.text if own else as_read(message, owner)
        left -= len(text)
        if left < 0:
            break
        role = Role.ASSISTANT if own else Role.USER
        if not turns or turns[-1][0] is not role:
            turns.append((role, []))
        turns[-1][1].append(text)
    if turns and turns[-1][0] is Role.ASSISTANT:
        turns.pop()
    return tuple(Said(role, plain_or_blocks([*map(input_block, reversed(texts))])) for role, texts in reversed(turns))


def as_read(message: ChatMessage, owner: str) -> str:
    """A message of another as the run of this owner reads it: marked with its sender, unless that is the owner."""
    return message.text if message.user_id == owner else f"[{message.name}] {message.text}"
