"""The message: the transcript is append-only, its `seq` counts from 1 without gaps within the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Integer,
    Row,
    String,
    Table,
    UniqueConstraint,
    func,
    select,
)

from models.enums import Role
from models.page import Slice, Window
from models.paging import by_column
from models.tables import Json, metadata
from models.usage import Usage

agent_messages = Table(
    "agent_messages",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("run_id", String(64), ForeignKey("agent_runs.id"), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("role", String(16), nullable=False),
    Column("content", Json, nullable=False),
    Column("step", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("model", String(255)),
    Column("stop_reason", String(255)),
    Column("usage", Json),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("run_id", "seq"),
)


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it is stored: a plain user turn's content is its text, any other's a list of blocks.

    An assistant message's `step` is the one it ended, and `stop_reason` is None where it was cut. A user message's
    `step` is the one whose results it holds, else the number of steps before it.
    """

    id: str
    run_id: str
    user_id: str
    seq: int
    role: Role
    content: Any
    step: int
    created_at: int
    fence: int = 0
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None


def message_to_row(message: Message) -> dict[str, Any]:
    """The row's columns."""
    values = {name: getattr(message, name) for name in Message.__slots__}
    values["usage"] = message.usage.to_json() if message.usage else None
    return values


def message_from_row(row: Row[Any]) -> Message:
    """A Message from a row of all of agent_messages' columns."""
    values = dict(row._mapping)
    values["role"] = Role(values["role"])
    values["usage"] = Usage.from_json(values["usage"]) if values["usage"] else None
    return Message(**values)


def find_messages(c: Connection, run_id: str, window: Window) -> Slice[Message]:
    """The messages of a window of a run, by seq; positions are seqs. Raises BadCursor."""
    of_run = select(agent_messages).where(agent_messages.c.run_id == run_id)
    return by_column(c, of_run, agent_messages.c.seq, window, message_from_row)


def messages_after(c: Connection, run_id: str, after_seq: int, limit: int | None = None) -> list[Message]:
    """The messages that follow `after_seq`, in order, at most `limit` of them."""
    found = select(agent_messages).where(agent_messages.c.run_id == run_id, agent_messages.c.seq > after_seq)
    return [message_from_row(row) for row in c.execute(found.order_by(agent_messages.c.seq).limit(limit))]


def get_messages(c: Connection, ids: Sequence[str]) -> dict[str, Message]:
    """Those of the messages that exist, by id."""
    rows = c.execute(select(agent_messages).where(agent_messages.c.id.in_(ids)))
    return {row.id: message_from_row(row) for row in rows}


def count_messages(c: Connection, run_id: str) -> int:
    """How many messages the run has."""
    return c.execute(select(func.count()).where(agent_messages.c.run_id == run_id)).scalar_one()
