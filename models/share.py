"""Shares: the roles whose holders may use an agent beside its owner."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Column, Connection, ForeignKey, Index, String, Table, delete, insert, select

from models.tables import metadata

agent_shares = Table(
    "agent_shares",
    metadata,
    Column("agent_id", String(64), ForeignKey("agents.id"), primary_key=True),
    Column("role", String(64), primary_key=True),
    Index("ix_agent_shares_role", "role"),
)


def shared_with_any(roles: Collection[str]) -> Any:
    """The ids of the agents that are shared with one of these roles, as a subquery."""
    return select(agent_shares.c.agent_id).where(agent_shares.c.role.in_(sorted(roles)))


def shares_of(c: Connection, agent_ids: Sequence[str]) -> dict[str, list[str]]:
    """The roles that these agents are shared with, in order, by the agents' ids; an agent without any is left out."""
    found: dict[str, list[str]] = {}
    mine = select(agent_shares).where(agent_shares.c.agent_id.in_(list(agent_ids)))
    for row in c.execute(mine.order_by(agent_shares.c.agent_id, agent_shares.c.role)):
        found.setdefault(row.agent_id, []).append(row.role)
    return found


def share(c: Connection, agent_id: str, roles: Collection[str]) -> None:
    """Share an agent, whose row is locked, with these roles and no others."""
    c.execute(delete(agent_shares).where(agent_shares.c.agent_id == agent_id))
    if roles:
        c.execute(insert(agent_shares), [{"agent_id": agent_id, "role": role} for role in sorted(set(roles))])
