"""Agents that are shared with roles, and agents that are only for now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.agent import TEMPORARY_MS, get_agents
from models.verbs.chatting import drop_temporary_chats
from models.verbs.expiring import drop_temporary
from tests.protocol.test_api_agents import created, system_of
from tests.support import documents
from tests.support.client import Client
from tests.support.messages_script import Script
from tests.support.world import world


async def listed(client: Client) -> list[str]:
    """The names of the agents that the viewer is shown."""
    return [agent["name"] for agent in (await client.ask(documents.AGENTS, first=50))["agents"]["nodes"]]


async def test_an_agent_that_is_shared_with_a_role_is_seen_and_run_by_its_holders(tmp_path: Path) -> None:
    """By id and handle, on their own account; its configuration and resources stay its owner's."""
    async with world(tmp_path) as w:
        w.play(Script().text("One."), Script().text("Two."))
        alice, carol = w.client("alice"), w.client("carol", "sales")
        agent = await created(alice, handle="ada", config={"system_prompt": "You sell."}, sharedWith=["sales", "x"])
        assert agent["sharedWith"] == ["sales", "x"]
        assert await listed(carol) == ["Ada"]
        for found in ({"id": agent["id"]}, {"handle": "ada"}):
            seen = (await carol.ask(documents.AGENT, **found))["agent"]
            shown = (seen["userId"], seen["config"], seen["resources"], seen["sharedWith"])
            assert shown == ("alice", None, None, None)
        assert (await carol.ask("query ($id: ID!) { node(id: $id) { ... on Agent { name } } }", id=agent["id"]))[
            "node"
        ]["name"] == "Ada"
        run = await carol.settled((await carol.start("Hi", agent="ada"))["id"])
        assert (run["status"], run["userId"]) == ("COMPLETED", "carol")
        assert system_of(w, 0) == "You sell."
        await alice.settled((await alice.start("Hi", agent="ada"))["id"])
        runs = [(await client.ask(documents.AGENT, handle="ada"))["agent"]["runs"] for client in (alice, carol)]
        assert [one["totalCount"] for one in runs] == [1, 1]


async def test_only_its_owner_changes_an_agent_that_is_shared(tmp_path: Path) -> None:
    """Those whom it is shared with get FORBIDDEN, everybody else NOT_FOUND."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        agent = await created(alice, sharedWith=["sales"])
        document = {"agentId": agent["id"], "key": "a", "kind": "document"}
        changes: list[tuple[str, dict[str, Any], str]] = [
            (documents.UPDATE_AGENT, {"id": agent["id"], "name": "Mine"}, "id"),
            (documents.DELETE_AGENT, {"id": agent["id"]}, "id"),
            (documents.SET_RESOURCE, {**document, "value": {"title": "A", "text": "B"}}, "agentId"),
            (documents.DELETE_RESOURCE, document, "agentId"),
        ]
        for change, given, field in changes:
            assert await w.client("carol", "sales").refusal(change, **given) == ("FORBIDDEN", ["input", field])
            assert await w.client("bob").refusal(change, **given) == ("NOT_FOUND", ["input", field])
        assert (await alice.ask(documents.AGENT, id=agent["id"]))["agent"]["name"] == "Ada"


async def test_an_agent_that_is_shared_no_more_is_gone_for_the_others(tmp_path: Path) -> None:
    """What they have said with it stays theirs, and goes on where it was begun."""
    async with world(tmp_path) as w:
        w.play(Script().text("One."))
        alice, carol = w.client("alice"), w.client("carol", "sales")
        agent = await created(alice, handle="ada", sharedWith=["sales"])
        run = await carol.settled((await carol.start("Hi", agent="ada"))["id"])
        await alice.done(documents.UPDATE_AGENT, id=agent["id"], sharedWith=[])
        assert await listed(carol) == []
        assert await carol.refusal(documents.START, agent="ada", input="Hi") == ("AGENT_NOT_FOUND", ["input", "agent"])
        assert (await carol.run(run["id"]))["messages"]["totalCount"] == 2
        assert await carol.refusal(documents.STEER, runId=run["id"], input="x") == (
            "AGENT_NOT_FOUND",
            ["input", "agent"],
        )


@pytest.mark.parametrize("roles", [["x" * 65], [""], [f"role{number}" for number in range(21)]])
async def test_roles_that_can_be_none_are_refused(tmp_path: Path, roles: list[str]) -> None:
    """An empty one, one that is too long, and too many of them."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        why = await alice.refusal(documents.CREATE_AGENT, kind="expert", name="Ada", sharedWith=roles)
        assert why == ("INVALID_INPUT", ["input", "sharedWith"])


async def test_options_are_for_the_owner_of_an_agent(tmp_path: Path) -> None:
    """Whom it is shared with runs it as it is."""
    async with world(tmp_path) as w:
        carol = w.client("carol", "sales")
        await created(w.client("alice"), handle="ada", sharedWith=["sales"])
        prompt = {"agent": "ada", "instruction": "Do it.", "options": {"system_prompt": "Tell all."}}
        assert await carol.refusal(documents.PROMPT, **prompt) == ("FORBIDDEN", ["input", "options"])


# ---------------------------------------------------------------- for now


async def test_a_temporary_agent_is_listed_beside_the_others_and_is_as_able(tmp_path: Path) -> None:
    """It is run, changed and extended as any."""
    async with world(tmp_path) as w:
        w.play(Script().tool("calc", {"expression": "1+1"}), Script().text("2."))
        alice = w.client("alice")
        await created(alice, name="Lasting")
        agent = await created(alice, name="For now", temporary=True)
        assert agent["temporary"] is True
        assert await listed(alice) == ["For now", "Lasting"]
        tool = {"agentId": agent["id"], "key": "calc", "kind": "tools", "value": {"type": "calculator"}}
        await alice.done(documents.SET_RESOURCE, **tool)
        run = await alice.settled((await alice.start("1+1?", agent=agent["id"]))["id"])
        assert run["toolCalls"]["nodes"][0]["result"] == "2"


async def test_a_temporary_agent_is_gone_once_nobody_has_used_it_for_a_day(tmp_path: Path) -> None:
    """Each use moves that on; its handle is free then, and its runs stay."""
    async with world(tmp_path) as w:
        w.play(Script().text("One."))
        alice, write = w.client("alice"), w.engine.database.write
        now = w.engine.shop.clock
        made = now()
        agent = await created(alice, handle="ada", temporary=True)
        await created(alice, name="Lasting")
        run = await alice.settled((await alice.start("Hi", agent="ada"))["id"])
        used = (await w.engine.database.read(find_expiry, agent["id"])) - TEMPORARY_MS
        assert made <= used <= now()
        assert await write(drop_temporary, at=used + TEMPORARY_MS - 1) == 0
        assert await write(drop_temporary, at=used + TEMPORARY_MS) == 1
        assert await listed(alice) == ["Lasting"]
        assert (await alice.run(run["id"]))["messages"]["totalCount"] == 2
        await created(alice, handle="ada")
        assert await write(drop_temporary, at=used + 2 * TEMPORARY_MS) == 0


def find_expiry(connection: Any, agent_id: str) -> int:
    """When a temporary agent is gone."""
    expires_at = get_agents(connection, [agent_id])[agent_id].expires_at
    assert expires_at is not None
    return expires_at


async def test_the_main_chat_of_a_temporary_agent_is_temporary(tmp_path: Path) -> None:
    """One of its own, or the one that is named; a lasting one is refused, and both go together."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        agent = await created(alice, name="For now", temporary=True)
        main = await alice.ask("query ($id: ID!) { agent(id: $id) { mainChat { id temporary } } }", id=agent["id"])
        assert main["agent"]["mainChat"]["temporary"] is True
        made = [await alice.done(documents.CREATE_CHAT, temporary=temporary) for temporary in (True, False)]
        fleeting, lasting = (one["chat"]["id"] for one in made)
        given = {"kind": "expert", "name": "Other", "temporary": True}
        why = await alice.refusal(documents.CREATE_AGENT, **given, mainChatId=lasting)
        assert why == ("INVALID_INPUT", ["input", "mainChatId"])
        await created(alice, name="Other", temporary=True, mainChatId=fleeting)
        late = w.engine.shop.clock() + 2 * TEMPORARY_MS
        await w.engine.database.write(drop_temporary, at=late)
        await w.engine.database.write(drop_temporary_chats, at=late)
        chats = (await alice.ask(documents.CHATS))["chats"]["nodes"]
        assert [chat["id"] for chat in chats] == [lasting]


async def test_a_restart_of_a_lone_process_ends_what_is_temporary(tmp_path: Path) -> None:
    """Where several processes share a database, a restart of one ends nothing: there it is the time alone that does."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        await created(alice, name="Lasting")
        await created(alice, name="For now", temporary=True)
        await w.restart()
        alone = w.engine.database.is_sqlite
        assert await listed(alice) == (["Lasting"] if alone else ["For now", "Lasting"])
