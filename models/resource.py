"""Resources: what an agent is extended with, key by key; `kind` says what the value is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, ForeignKey, Index, Row, Select, String, Table, func, select

from models.agent import agents
from models.page import Slice, Window
from models.paging import by_column
from models.tables import Json, metadata

agent_resources = Table(
    "agent_resources",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("agent_id", String(64), ForeignKey("agents.id"), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("key", String(64), nullable=False),
    Column("value", Json, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index("ix_agent_resources_agent_id_kind_key", "agent_id", "kind", "key", unique=True),
    Index("ix_agent_resources_agent_id_id", "agent_id", "id"),
)
TOOLS = "tools"
DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of an agent as its row has it; `key` is its only one of that kind."""

    id: str
    agent_id: str
    kind: str
    key: str
    value: dict[str, Any]
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class ResourceQuery:
    """Which resources of an agent; None means of any kind."""

    agent_id: str
    kind: str | None = None


def resource_to_row(resource: Resource) -> dict[str, Any]:
    """The row's columns."""
    return {name: getattr(resource, name) for name in Resource.__slots__}


def resource_from_row(row: Row[Any]) -> Resource:
    """A Resource from a row of all of its table's columns."""
    return Resource(**{name: row._mapping[name] for name in Resource.__slots__})


def resources_of(c: Connection, agent_id: str, kind: str) -> list[Resource]:
    """All of an agent's resources of a kind, in the order of their keys."""
    found = _query(ResourceQuery(agent_id, kind), agent_resources).order_by(agent_resources.c.key)
    return [resource_from_row(row) for row in c.execute(found)]


def resources_of_user(c: Connection, user_id: str, resource_ids: Sequence[str]) -> dict[str, Resource]:
    """Those of the resources that belong to this user's agents, by id."""
    mine = select(agent_resources).join(agents, agents.c.id == agent_resources.c.agent_id)
    rows = c.execute(mine.where(agents.c.user_id == user_id, agent_resources.c.id.in_(list(resource_ids))))
    return {row.id: resource_from_row(row) for row in rows}


def find_resources(c: Connection, query: ResourceQuery, window: Window) -> Slice[Resource]:
    """A window of an agent's resources, oldest first; positions are ids. Raises BadCursor."""
    return by_column(c, _query(query, agent_resources), agent_resources.c.id, window, resource_from_row, prefix="res_")


def count_resources(c: Connection, query: ResourceQuery) -> int:
    """How many resources there are."""
    return int(c.execute(_query(query, func.count(agent_resources.c.id))).scalar_one())


def _query(query: ResourceQuery, *columns: Any) -> Select[Any]:
    found = select(*columns).where(agent_resources.c.agent_id == query.agent_id)
    return found if query.kind is None else found.where(agent_resources.c.kind == query.kind)
