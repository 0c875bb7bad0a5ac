"""The messages of threads: what people post, and what agents answer, which grows as it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    Row,
    String,
    Table,
    UniqueConstraint,
    func,
    select,
)

from models.chat import has_member
from models.enums import ChatMessageStatus, Role
from models.message import agent_messages
from models.page import Slice, Window
from models.paging import by_column
from models.said import shown
from models.tables import metadata
from models.thread import chat_threads, threads_of_user

chat_messages = Table(
    "chat_messages",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("thread_id", String(64), ForeignKey("chat_threads.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("user_id", String(255)),
    Column("agent_id", String(64)),
    Column("name", String(255), nullable=False),
    Column("text", String, nullable=False),
    Column("reasoning", String, nullable=False),
    Column("status", String(16), nullable=False),
    Column("run_id", String(64)),
    Column("stream_id", String(64)),
    Column("run_seq", Integer, nullable=False),
    Column("passed_on", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("thread_id", "seq"),
    Index("ix_chat_messages_run_id", "run_id"),
    Index("ix_chat_messages_passed_on_id", "passed_on", "id"),
)


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as its row has it: a user's, or an agent's; `name` is what the sender was called then.

    An agent's is the answer of the first turn of the run `run_id`, whose first stream is `stream_id` and whose own
    messages follow `run_seq`; while it is STREAMING, its text is that of the run. `passed_on` is False where the agents
    that it mentions are still to hear of it.
    """

    id: str
    thread_id: str
    seq: int
    user_id: str | None
    agent_id: str | None
    name: str
    created_at: int
    text: str = ""
    reasoning: str = ""
    status: ChatMessageStatus = ChatMessageStatus.DONE
    run_id: str | None = None
    stream_id: str | None = None
    run_seq: int = 0
    passed_on: bool = True


def chat_message_to_row(message: ChatMessage) -> dict[str, Any]:
    """The row's columns."""
    return {name: getattr(message, name) for name in ChatMessage.__slots__}


def chat_message_from_row(row: Row[Any]) -> ChatMessage:
    """A ChatMessage from a row of all of its table's columns."""
    values = {name: row._mapping[name] for name in ChatMessage.__slots__}
    return ChatMessage(**{**values, "status": ChatMessageStatus(values["status"])})


def get_chat_messages(c: Connection, message_ids: Sequence[str]) -> dict[str, ChatMessage]:
    """Those of the messages that exist, by id, whoever may see them."""
    rows = c.execute(select(chat_messages).where(chat_messages.c.id.in_(list(message_ids))))
    return {row.id: chat_message_from_row(row) for row in rows}


def chat_messages_of_user(c: Connection, user_id: str, message_ids: Sequence[str]) -> dict[str, ChatMessage]:
    """Those of the messages that are in chats which the user is in, by id."""
    joined = select(chat_messages).join(chat_threads, chat_threads.c.id == chat_messages.c.thread_id)
    mine = has_member(chat_threads.c.chat_id, user_id)
    rows = c.execute(joined.where(chat_messages.c.id.in_(list(message_ids)), mine))
    return {message.id: message for message in as_they_are(c, [chat_message_from_row(row) for row in rows])}


def find_chat_messages(c: Connection, thread_id: str, window: Window) -> Slice[ChatMessage]:
    """A window of a thread's messages, by seq; positions are seqs. Raises BadCursor."""
    of_thread = select(chat_messages).where(chat_messages.c.thread_id == thread_id)
    found = by_column(c, of_thread, chat_messages.c.seq, window, chat_message_from_row)
    return replace(found, rows=as_they_are(c, found.rows))


def count_chat_messages(c: Connection, thread_id: str) -> int:
    """How many messages a thread has."""
    found = select(func.count(chat_messages.c.id)).where(chat_messages.c.thread_id == thread_id)
    return int(c.execute(found).scalar_one())


def seen_messages_after(
    c: Connection, user_id: str, thread_id: str, after_seq: int, limit: int
) -> list[ChatMessage] | None:
    """The messages that follow `after_seq`, in order, at most `limit`; None where the user is not in the chat."""
    if not threads_of_user(c, user_id, [thread_id]):
        return None
    found = select(chat_messages).where(chat_messages.c.thread_id == thread_id, chat_messages.c.seq > after_seq)
    rows = c.execute(found.order_by(chat_messages.c.seq).limit(limit)).all()
    return as_they_are(c, [chat_message_from_row(row) for row in rows])


def as_they_are(c: Connection, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The messages, those that are being written with what their runs have stored so far."""
    growing = {str(one.run_id): one.run_seq for one in messages if one.status is ChatMessageStatus.STREAMING}
    if not growing:
        return [*messages]
    columns = agent_messages.c
    found = select(columns.run_id, columns.seq, columns.content).where(
        columns.run_id.in_(list(growing)), columns.role == Role.ASSISTANT
    )
    said: dict[str, list[Any]] = {run_id: [] for run_id in growing}
    for row in c.execute(found.order_by(columns.run_id, columns.seq)):
        if row.seq > growing[row.run_id]:
            said[row.run_id].append(row.content)
    texts = {run_id: shown(contents) for run_id, contents in said.items()}
    return [
        replace(one, text=texts[str(one.run_id)][0], reasoning=texts[str(one.run_id)][1])
        if one.status is ChatMessageStatus.STREAMING
        else one
        for one in messages
    ]


def newest_before(c: Connection, thread_id: str, before_seq: int, limit: int) -> list[ChatMessage]:
    """The newest messages below `before_seq`, oldest first, at most `limit` of them."""
    columns = chat_messages.c
    found = select(chat_messages).where(columns.thread_id == thread_id, columns.seq < before_seq)
    rows = c.execute(found.order_by(columns.seq.desc()).limit(limit)).all()
    return [chat_message_from_row(row) for row in reversed(rows)]


def growing_in(c: Connection, thread_id: str) -> dict[str, ChatMessage]:
    """The answers in a thread that are being written, by their agents; the newest of each."""
    columns = chat_messages.c
    found = select(chat_messages).where(columns.thread_id == thread_id, columns.status == ChatMessageStatus.STREAMING)
    return {str(row.agent_id): chat_message_from_row(row) for row in c.execute(found.order_by(columns.seq))}


def answers_in_a_row(c: Connection, thread_id: str) -> int:
    """How many messages of agents follow the last one of a person."""
    columns = chat_messages.c
    last = select(func.coalesce(func.max(columns.seq), 0)).where(
        columns.thread_id == thread_id, columns.user_id.is_not(None)
    )
    found = select(func.count(columns.id)).where(columns.thread_id == thread_id, columns.agent_id.is_not(None))
    return int(c.execute(found.where(columns.seq > last.scalar_subquery())).scalar_one())


def to_pass_on(c: Connection, after: str, limit: int) -> list[ChatMessage]:
    """Answers whose mentions are still to be passed on, oldest first, behind the one with the id `after`."""
    columns = chat_messages.c
    found = select(chat_messages).where(columns.passed_on.is_(False), columns.id > after)
    return [chat_message_from_row(row) for row in c.execute(found.order_by(columns.id).limit(limit))]
