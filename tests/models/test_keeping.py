"""create_agent, update_agent, delete_agent, set_resource, delete_resource: each one transaction, on every database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from models.agent import AgentQuery, StoredAgent, agent_named, count_agents
from models.page import Window
from models.resource import ResourceQuery, find_resources
from models.verbs.errors import AgentMissing, HandleInUse, NoSuchResource, TooMany
from models.verbs.keeping import (
    NewAgent,
    create_agent,
    delete_agent,
    delete_resource,
    set_resource,
    update_agent,
)
from tests.support.desk import Desk, a_key

TEXT = {"title": "Ink", "text": "Blue."}


async def created(desk: Desk, **values: Any) -> StoredAgent:
    """A new agent of alice's."""
    new = NewAgent(**{"user_id": "alice", "name": "Ada", "kind": "expert", "config": {}, **values})
    return await desk.database.write(create_agent, new=new, key=None, ids=desk.ids, at=desk.clock())


async def resources(desk: Desk, agent_id: str) -> list[tuple[str, Any]]:
    """The keys and values of an agent's resources."""
    found = await desk.database.read(find_resources, ResourceQuery(agent_id), Window(size=50))
    return [(one.key, one.value) for one in found.rows]


async def test_an_agent_is_found_by_id_and_handle_by_its_owner_alone(desk: Desk) -> None:
    """Whatever else the word could mean."""
    agent = await created(desk, handle="ada")
    for word in (agent.id, "ada"):
        assert await desk.database.read(agent_named, AgentQuery("alice"), word) == agent
        assert await desk.database.read(agent_named, AgentQuery("bob"), word) is None


async def test_a_handle_that_is_in_use_undoes_the_whole_verb(desk: Desk) -> None:
    """The key that was taken for it too: with another handle the same key makes an agent."""
    await created(desk, handle="ada")
    key = a_key(operation="createAgent", user="bob")
    given: dict[str, Any] = {"user_id": "bob", "name": "Bea", "kind": "expert", "config": {}}
    what: dict[str, Any] = {"key": key, "ids": desk.ids, "at": desk.clock()}
    with pytest.raises(HandleInUse):
        await desk.database.write(create_agent, new=NewAgent(**given, handle="ada"), **what)
    made = await desk.database.write(create_agent, new=NewAgent(**given, handle="bea"), **what)
    changes = {"handle": "ada", "name": "Bea II"}
    with pytest.raises(HandleInUse):
        await desk.database.write(update_agent, user_id="bob", agent_id=made.id, changes=changes, at=desk.clock())
    assert await desk.database.read(agent_named, AgentQuery("bob"), "bea") == made


async def test_agents_without_a_handle_do_not_disturb_each_other(desk: Desk) -> None:
    """There may be any number of them."""
    for _ in range(3):
        await created(desk)
    assert await desk.database.read(count_agents, AgentQuery("alice")) == 3


async def test_nobody_writes_to_another_s_agent(desk: Desk) -> None:
    """It is missing to him, in every verb."""
    agent = await created(desk)
    what: dict[str, Any] = {"user_id": "bob", "agent_id": agent.id}
    place: dict[str, Any] = {"kind": "document", "key": "k"}
    with pytest.raises(AgentMissing):
        await desk.database.write(update_agent, **what, changes={"name": "x"}, at=desk.clock())
    with pytest.raises(AgentMissing):
        await desk.database.write(delete_agent, **what)
    with pytest.raises(AgentMissing):
        await desk.database.write(set_resource, **what, **place, value=TEXT, ids=desk.ids, at=desk.clock())
    with pytest.raises(AgentMissing):
        await desk.database.write(delete_resource, **what, **place, at=desk.clock())
    assert await desk.database.read(agent_named, AgentQuery("alice"), agent.id) == agent


async def test_a_removed_agent_takes_its_resources_with_it(desk: Desk) -> None:
    """Others keep theirs."""
    gone, kept = await created(desk), await created(desk)
    for agent in (gone, kept):
        what: dict[str, Any] = {"user_id": "alice", "agent_id": agent.id, "kind": "document", "key": "k"}
        await desk.database.write(set_resource, **what, value=TEXT, ids=desk.ids, at=desk.clock())
    await desk.database.write(delete_agent, user_id="alice", agent_id=gone.id)
    assert (await resources(desk, gone.id), await resources(desk, kept.id)) == ([], [("k", TEXT)])
    what = {"user_id": "alice", "agent_id": kept.id, "kind": "tools", "key": "k"}
    with pytest.raises(NoSuchResource):
        await desk.database.write(delete_resource, **what, at=desk.clock())


async def test_resources_that_are_set_at_once_are_one_a_key(desk: Desk) -> None:
    """The agent's row is locked meanwhile; each change of them moves its time on."""
    agent = await created(desk)
    desk.clock.advance(1)
    what: dict[str, Any] = {"user_id": "alice", "agent_id": agent.id, "kind": "document", "value": TEXT}
    keys = [f"k{number % 3}" for number in range(9)]
    writes = [desk.database.write(set_resource, **what, key=key, ids=desk.ids, at=desk.clock()) for key in keys]
    touched = await asyncio.gather(*writes)
    assert {one.updated_at - agent.updated_at for one in touched} == {1_000}
    assert sorted(await resources(desk, agent.id)) == [(key, TEXT) for key in ("k0", "k1", "k2")]


async def test_an_agent_has_so_many_resources_and_no_more(desk: Desk) -> None:
    """Those that it has can be set anew."""
    agent = await created(desk)
    what: dict[str, Any] = {"user_id": "alice", "agent_id": agent.id, "kind": "document", "value": TEXT, "most": 1}
    for _ in range(2):
        await desk.database.write(set_resource, **what, key="first", ids=desk.ids, at=desk.clock())
    with pytest.raises(TooMany):
        await desk.database.write(set_resource, **what, key="second", ids=desk.ids, at=desk.clock())
