"""Stored agents: data of their owners, each of a kind that code defines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Connection, Index, Row, String, Table, func, select

from models.page import Slice, Window
from models.paging import by_column
from models.share import shared_with_any
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
    Column("main_chat_id", String(64)),
    Index("ix_agents_expires_at", "expires_at"),
    Index("ix_agents_user_id_id", "user_id", "id"),
    Index("ix_agents_handle", "handle", unique=True),
)
TEMPORARY_MS = 24 * 60 * 60 * 1000
"""How long a temporary agent stays after it was last used."""


@dataclass(frozen=True, slots=True)
class StoredAgent:
    """An agent as its row has it. `handle` is nobody else's; `config` is what was given, without the kind's defaults.

    One that is `temporary` is gone at `expires_at`, which its use moves on.
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


@dataclass(frozen=True, slots=True)
class AgentQuery:
    """The agents that a user with these roles may use: the user's own, and those that are shared with a role."""

    user_id: str
    roles: frozenset[str] = frozenset()

    @property
    def usable(self) -> Any:
        """As an SQL condition."""
        own = agents.c.user_id == self.user_id
        return own | agents.c.id.in_(shared_with_any(self.roles)) if self.roles else own


def agents_usable(c: Connection, who: AgentQuery, agent_ids: Sequence[str]) -> dict[str, StoredAgent]:
    """Those of the agents that this user may use, by id."""
    rows = c.execute(select(agents).where(who.usable, agents.c.id.in_(list(agent_ids))))
    return {row.id: agent_from_row(row) for row in rows}


def agent_named(c: Connection, who: AgentQuery, word: str) -> StoredAgent | None:
    """The agent that this user may use with this id or this handle."""
    row = c.execute(select(agents).where(who.usable, (agents.c.id == word) | (agents.c.handle == word))).first()
    return agent_from_row(row) if row else None


def find_agents(c: Connection, who: AgentQuery, window: Window) -> Slice[StoredAgent]:
    """A window of the agents that this user may use, newest first; positions are ids. Raises BadCursor."""
    return by_column(
        c, select(agents).where(who.usable), agents.c.id, window, agent_from_row, descending=True, prefix="agt_"
    )


def count_agents(c: Connection, who: AgentQuery) -> int:
    """How many agents this user may use."""
    return int(c.execute(select(func.count(agents.c.id)).where(who.usable)).scalar_one())
