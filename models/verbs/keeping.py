"""create_agent, update_agent, delete_agent; set_resource, delete_resource: what owners do with their agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from models.agent import TEMPORARY_MS, AgentQuery, StoredAgent, agent_from_row, agent_named, agent_to_row, agents
from models.key import Key, claim_key, keep_answer
from models.resource import (
    Resource,
    ResourceQuery,
    agent_resources,
    count_resources,
    resource_from_row,
    resource_to_row,
)
from models.share import agent_shares, share
from models.verbs.chatting import NewChat, insert_chat, join_main_chat, leave_chats
from models.verbs.errors import AgentMissing, HandleInUse, NoSuchResource, TooMany
from models.verbs.row import NewId

MAX_RESOURCES = 1_000


@dataclass(frozen=True, slots=True)
class NewAgent:
    """What an agent is created with. Without a main chat that is there already, it gets one of its own."""

    user_id: str
    name: str
    kind: str
    config: dict[str, Any]
    handle: str | None = None
    description: str | None = None
    picture: str | None = None
    temporary: bool = False
    shared_with: tuple[str, ...] = ()
    main_chat_id: str | None = None


def create_agent(c: Connection, *, new: NewAgent, key: Key | None, ids: NewId, at: int) -> StoredAgent:
    """Write the agent, in its main chat; the same key gives the same one, as it is now.

    Raises HandleInUse, KeyUsedOtherwise, AgentMissing where the one that the key has made is there no more, and of the
    main chat that was named ChatMissing, MemberBound, TooMany.
    """
    if (known := claim_key(c, key, at)) is not None:
        made = agent_named(c, AgentQuery(new.user_id), known["agent_id"])
        if made is None:
            raise AgentMissing(known["agent_id"])
        return made
    values = {name: getattr(new, name) for name in NewAgent.__slots__ if name != "shared_with"}
    expires_at = at + TEMPORARY_MS if new.temporary else None
    agent = StoredAgent(id=ids("agt"), created_at=at, updated_at=at, expires_at=expires_at, **values)
    try:
        c.execute(insert(agents).values(agent_to_row(agent)))
    except IntegrityError as error:  # its id is new: the handle is not
        raise HandleInUse(agent.handle) from error
    share(c, agent.id, new.shared_with)
    agent = _with_main_chat(c, agent, ids, at)
    keep_answer(c, key, {"agent_id": agent.id})
    return agent


def _with_main_chat(c: Connection, agent: StoredAgent, ids: NewId, at: int) -> StoredAgent:
    if agent.main_chat_id is not None:
        join_main_chat(c, agent.main_chat_id, agent.user_id, agent.id, at, temporary=agent.temporary)
        return agent
    chat, _ = insert_chat(c, NewChat(agent.user_id, agent.name, agent.temporary, agents=(agent.id,)), ids, at)
    c.execute(update(agents).where(agents.c.id == agent.id).values(main_chat_id=chat.id))
    return replace(agent, main_chat_id=chat.id)


def update_agent(c: Connection, *, user_id: str, agent_id: str, changes: dict[str, Any], at: int) -> StoredAgent:
    """Write changes to an agent's fields; `shared_with` are the roles that it is shared with from now on.

    Raises AgentMissing, HandleInUse.
    """
    agent = _locked(c, user_id, agent_id)
    changes = {**changes, "updated_at": max(at, agent.updated_at)}
    if (roles := changes.pop("shared_with", None)) is not None:
        share(c, agent_id, roles)
    try:
        c.execute(update(agents).where(agents.c.id == agent_id).values(changes))
    except IntegrityError as error:
        raise HandleInUse(changes.get("handle")) from error
    return replace(agent, **changes)


def delete_agent(c: Connection, *, user_id: str, agent_id: str) -> None:
    """Remove an agent with its resources, and take it out of its chats; its runs stay. Raises AgentMissing."""
    _locked(c, user_id, agent_id)
    remove_agents(c, [agent_id])


def remove_agents(c: Connection, agent_ids: Sequence[str]) -> None:
    """Remove agents, whose rows are locked, with all that hangs on them, and take them out of their chats."""
    for agent_id in agent_ids:
        leave_chats(c, agent_id)
    for table in (agent_resources, agent_shares):
        c.execute(delete(table).where(table.c.agent_id.in_(list(agent_ids))))
    c.execute(delete(agents).where(agents.c.id.in_(list(agent_ids))))


def set_resource(
    c: Connection,
    *,
    user_id: str,
    agent_id: str,
    kind: str,
    key: str,
    value: dict[str, Any],
    ids: NewId,
    at: int,
    most: int = MAX_RESOURCES,
) -> StoredAgent:
    """Write a resource in the place of the one with its kind and key. Raises AgentMissing, TooMany beyond `most`."""
    agent = _locked(c, user_id, agent_id)
    there = c.execute(select(agent_resources).where(*_is(agent_id, kind, key))).first()
    if there is not None:
        before = resource_from_row(there)
        changes = {"value": value, "updated_at": max(at, before.updated_at)}
        c.execute(update(agent_resources).where(agent_resources.c.id == before.id).values(changes))
    else:
        if count_resources(c, ResourceQuery(agent_id)) >= most:
            raise TooMany(agent_id)
        fresh = Resource(ids("res"), agent_id, kind, key, value, at, at)
        c.execute(insert(agent_resources).values(resource_to_row(fresh)))
    return _touched(c, agent, at)


def delete_resource(c: Connection, *, user_id: str, agent_id: str, kind: str, key: str, at: int) -> StoredAgent:
    """Remove a resource. Raises AgentMissing, NoSuchResource."""
    agent = _locked(c, user_id, agent_id)
    if not c.execute(delete(agent_resources).where(*_is(agent_id, kind, key))).rowcount:
        raise NoSuchResource(key)
    return _touched(c, agent, at)


def _locked(c: Connection, user_id: str, agent_id: str) -> StoredAgent:
    """Lock the row of the user's agent. Raises AgentMissing."""
    mine = select(agents).where(agents.c.id == agent_id, agents.c.user_id == user_id).with_for_update()
    row = c.execute(mine).first()
    if row is None:
        raise AgentMissing(agent_id)
    return agent_from_row(row)


def _touched(c: Connection, agent: StoredAgent, at: int) -> StoredAgent:
    """An agent has changed with its resources."""
    updated_at = max(at, agent.updated_at)
    c.execute(update(agents).where(agents.c.id == agent.id).values(updated_at=updated_at))
    return replace(agent, updated_at=updated_at)


def _is(agent_id: str, kind: str, key: str) -> tuple[Any, ...]:
    columns = agent_resources.c
    return columns.agent_id == agent_id, columns.kind == kind, columns.key == key
