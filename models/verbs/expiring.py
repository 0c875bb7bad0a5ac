"""What is temporary: it lives on with its use, and is dropped when it has expired, or when its process begins anew."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from models.agent import TEMPORARY_MS, agents
from models.verbs.keeping import remove_agents


def renew_agent(c: Connection, agent_id: str | None, at: int) -> None:
    """A temporary agent is used now."""
    if agent_id is not None:
        mine = agents.c.temporary.is_(True) & (agents.c.id == agent_id)
        c.execute(update(agents).where(mine).values(expires_at=at + TEMPORARY_MS))


def drop_temporary(c: Connection, *, at: int | None, limit: int = 1_000) -> int:
    """Remove the temporary agents that have expired by `at`, or all of them where it is None; how many these were.

    At most `limit` at a time. Their runs stay, as those of any agent that is removed.
    """
    gone = agents.c.temporary.is_(True) if at is None else agents.c.expires_at <= at
    found = select(agents.c.id).where(gone).order_by(agents.c.id).limit(limit).with_for_update(skip_locked=True)
    agent_ids = list(c.execute(found).scalars())
    if agent_ids:
        remove_agents(c, agent_ids)
    return len(agent_ids)
