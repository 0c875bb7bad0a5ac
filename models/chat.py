"""Chats: where people and agents talk, in threads. Who is a member sees a chat; to others it is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    Row,
    String,
    Table,
    exists,
    func,
    select,
)

from models.page import Slice, Window
from models.paging import by_column
from models.tables import metadata

TEMPORARY_MS = 24 * 3_600_000
"""How long a temporary chat stays after the last post in it."""
USER, AGENT = "user", "agent"

chats = Table(
    "chats",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("title", String(512)),
    Column("temporary", Boolean, nullable=False),
    Column("expires_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_chats_expires_at", "expires_at"),
)

chat_members = Table(
    "chat_members",
    metadata,
    Column("chat_id", String(64), ForeignKey("chats.id"), primary_key=True),
    Column("kind", String(8), primary_key=True),
    Column("member", String(255), primary_key=True),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_chat_members_kind_member_chat_id", "kind", "member", "chat_id"),
)


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat as its row has it. One that is `temporary` is gone at `expires_at`, which each post puts off.

    Times are milliseconds since the epoch, UTC.
    """

    id: str
    created_at: int
    title: str | None = None
    temporary: bool = False
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """Who is in a chat: a user, or an agent by its id."""

    chat_id: str
    user_id: str | None
    agent_id: str | None


def chat_to_row(chat: Chat) -> dict[str, Any]:
    """The row's columns."""
    return {name: getattr(chat, name) for name in Chat.__slots__}


def chat_from_row(row: Row[Any]) -> Chat:
    """A Chat from a row of all of its table's columns."""
    return Chat(**{name: row._mapping[name] for name in Chat.__slots__})


def has_member(chat_id: ColumnElement[str] | Column[Any], user_id: str) -> ColumnElement[bool]:
    """Whether the user is in the chat whose id this column has."""
    members = chat_members.c
    return exists().where(members.chat_id == chat_id, members.kind == USER, members.member == user_id)


def get_chats(c: Connection, chat_ids: Sequence[str]) -> dict[str, Chat]:
    """Those of the chats that exist, by id, whoever is in them."""
    rows = c.execute(select(chats).where(chats.c.id.in_(list(chat_ids))))
    return {row.id: chat_from_row(row) for row in rows}


def chats_of_user(c: Connection, user_id: str, chat_ids: Sequence[str]) -> dict[str, Chat]:
    """Those of the chats that the user is in, by id."""
    found = select(chats).where(chats.c.id.in_(list(chat_ids)), has_member(chats.c.id, user_id))
    return {row.id: chat_from_row(row) for row in c.execute(found)}


def find_chats(c: Connection, user_id: str, window: Window) -> Slice[Chat]:
    """A window of the chats that the user is in, newest first; positions are ids. Raises BadCursor."""
    mine = select(chats).where(has_member(chats.c.id, user_id))
    return by_column(c, mine, chats.c.id, window, chat_from_row, descending=True, prefix="cht_")


def count_chats(c: Connection, user_id: str) -> int:
    """How many chats the user is in."""
    return int(c.execute(select(func.count(chats.c.id)).where(has_member(chats.c.id, user_id))).scalar_one())


def members_of_chats(c: Connection, chat_ids: Sequence[str]) -> dict[str, list[Member]]:
    """The members of each of these chats: people first, each sort in the order in which they came."""
    found: dict[str, list[Member]] = {chat_id: [] for chat_id in chat_ids}
    members = chat_members.c
    ordered = select(chat_members).order_by(members.kind.desc(), members.created_at, members.member)
    for row in c.execute(ordered.where(members.chat_id.in_(list(chat_ids)))):
        user_id, agent_id = (row.member, None) if row.kind == USER else (None, row.member)
        found[row.chat_id].append(Member(row.chat_id, user_id, agent_id))
    return found
