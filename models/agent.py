"""Stored agents: data of their owners, each of a kind that code defines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Connection, Index, Row, String, Table, func, select

from models.page import BadCursor, Slice, Window
from models.paging import by_column
from models.tables import Json, metadata

agents = Table(
    "agents",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("user_id", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("handle", String(64)),
    Column("description", String),
    Column("picture", String),
    Column("kind", String(64), nullable=False),
    Column("config", Json, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("temporary", Boolean, nullable=False, server_default="0"),
    Column("expires_at", BigInteger),
    Column("shared_with", Json),
    Column("main_chat_id", String(64)),
    Index("ix_agents_expires_at", "expires_at"),
    Index("ix_agents_user_id_id", "user_id", "id"),
    Index("ix_agents_handle", "handle", unique=True),
)


@dataclass(frozen=True, slots=True)
class StoredAgent:
    """An agent as its row has it. `handle` is nobody else's; `config` is what was given, without the kind's defaults.

    One that is `temporary` is gone at `expires_at`. `shared_with` are the roles whose holders may use it too.
    `main_chat_id` is its main chat, which every agent has.
    Times are milliseconds since the epoch, UTC.
    """

    id: str
    user_id: str
    name: str
    kind: str
    config: dict[str, Any]
    created_at: int
    updated_at: int
    handle: str | None = None
    description: str | None = None
    picture: str | None = None
    temporary: bool = False
    expires_at: int | None = None
    shared_with: list[str] | None = None
    main_chat_id: str | None = None

    @property
    def word(self) -> str:
        """What its runs call it: its handle, else its name."""
        return self.handle or self.name


def agent_to_row(agent: StoredAgent) -> dict[str, Any]:
    """The row's columns."""
    return {name: getattr(agent, name) for name in StoredAgent.__slots__}


def agent_from_row(row: Row[Any]) -> StoredAgent:
    """A StoredAgent from a row of all of its table's columns."""
    return StoredAgent(**{name: row._mapping[name] for name in StoredAgent.__slots__})


def get_agents(c: Connection, agent_ids: Sequence[str]) -> dict[str, StoredAgent]:
    """Those of the agents that exist, by id, whoever owns them."""
    rows = c.execute(select(agents).where(agents.c.id.in_(list(agent_ids))))
    return {row.id: agent_from_row(row) for row in rows}


def agent_named(c: Connection, user_id: str, word: str) -> StoredAgent | None:
    """The user's agent with this id or this handle."""
    mine = agents.c.user_id == user_id
    row = c.execute(select(agents).where(mine, (agents.c.id == word) | (agents.c.handle == word))).first()
    return agent_from_row(row) if row else None


def find_agents(c: Connection, user_id: str, window: Window) -> Slice[StoredAgent]:
    """A window of the user's agents, newest first; positions are ids. Raises BadCursor."""
    for position in (window.after, window.before):
        if position is not None and not position.startswith("agt_"):
            raise BadCursor(position)
    mine = select(agents).where(agents.c.user_id == user_id)
    return by_column(c, mine, agents.c.id, window, agent_from_row, descending=True)


def count_agents(c: Connection, user_id: str) -> int:
    """How many agents the user has."""
    return int(c.execute(select(func.count(agents.c.id)).where(agents.c.user_id == user_id)).scalar_one())
