"""Resources: what people give to their agents, tools under names of their own and documents, and how runs use them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine.tool import tool
from tests.support import documents
from tests.support.messages_script import Script
from tests.support.tool_types import TYPES
from tests.support.world import helper, world

TWO_WORDS = {"hello": {"type": "greeting"}, "goodbye": {"type": "greeting", "config": {"word": "Goodbye"}}}


async def test_tool_types_tell_what_their_tools_take_and_how_they_are_configured(tmp_path: Path) -> None:
    """Both as JSON Schema."""
    async with world(tmp_path, types=TYPES) as w:
        greeting, titles = (await w.client("alice").ask(documents.TOOL_TYPES))["toolTypes"]
        assert (greeting["identifier"], greeting["description"]) == ("greeting", "Greets somebody.")
        assert greeting["inputSchema"]["required"] == ["who"]
        assert list(greeting["configSchema"]["properties"]) == ["description", "word"]
        assert titles["configSchema"]["properties"] == {}


async def test_one_tool_type_is_two_tools_under_two_names(tmp_path: Path) -> None:
    """Each configured by itself; the model is told of both, and calls both."""
    async with world(tmp_path, types=TYPES) as w:
        w.play(Script().tool("hello", {"who": "Bob"}).tool("goodbye", {"who": "Bob"}), Script().text("Greeted."))
        alice = w.client("alice")
        agent = (await alice.done(documents.CREATE_AGENT, kind="expert", name="Ada", handle="ada"))["agent"]
        for key, value in TWO_WORDS.items():
            set_one = {"agentId": agent["id"], "key": key, "kind": "tools", "value": value}
            agent = (await alice.done(documents.SET_RESOURCE, **set_one))["agent"]
        assert {one["key"]: one["value"] for one in agent["resources"]["nodes"]} == TWO_WORDS
        run = await alice.settled((await alice.start("Greet Bob", agent="ada"))["id"])
        calls = run["toolCalls"]["nodes"]
        assert [call["result"] for call in calls] == ["Hello, Bob!", "Goodbye, Bob!"]
        assert [call["inputSchema"]["required"] for call in calls] == [["who"], ["who"]]
        assert [one["name"] for one in w.model.requests[0].body["tools"]] == ["goodbye", "hello"]


async def test_a_call_of_a_tool_that_is_gone_tells_no_schema_of_it(tmp_path: Path) -> None:
    """Null as soon as the agent has no tool of that name, or is deleted; the rest of the call stays."""
    async with world(tmp_path, types=TYPES) as w:
        w.play(Script().tool("hello", {"who": "Bob"}).tool("goodbye", {"who": "Bob"}), Script().text("Greeted."))
        alice = w.client("alice")
        agent = (await alice.done(documents.CREATE_AGENT, kind="expert", name="Ada"))["agent"]["id"]
        for key, value in TWO_WORDS.items():
            await alice.done(documents.SET_RESOURCE, agentId=agent, key=key, kind="tools", value=value)
        run_id = (await alice.settled((await alice.start("Greet Bob", agent=agent))["id"]))["id"]

        async def known() -> list[bool]:
            return [call["inputSchema"] is not None for call in (await alice.run(run_id))["toolCalls"]["nodes"]]

        assert await known() == [True, True]
        await alice.done(documents.DELETE_RESOURCE, agentId=agent, key="hello", kind="tools")
        assert await known() == [False, True]
        await alice.done(documents.DELETE_AGENT, id=agent)
        assert await known() == [False, False]


async def test_tools_read_the_documents_as_they_are_now(tmp_path: Path) -> None:
    """Those of their own agent."""
    async with world(tmp_path, types=TYPES) as w:
        w.play(Script().tool("list"), Script().text("One."))
        alice = w.client("alice")
        ids = []
        for title in ("Ink", "Pens"):
            made = (await alice.done(documents.CREATE_AGENT, kind="expert", name=title))["agent"]["id"]
            document = {"key": "about", "kind": "document", "value": {"title": title, "text": "…"}}
            await alice.done(documents.SET_RESOURCE, agentId=made, **document)
            ids.append(made)
        listing = {"key": "list", "kind": "tools", "value": {"type": "titles"}}
        await alice.done(documents.SET_RESOURCE, agentId=ids[0], **listing)
        run = await alice.settled((await alice.start("What is there?", agent=ids[0]))["id"])
        assert run["toolCalls"]["nodes"][0]["result"] == '["about: Ink"]'


async def test_a_resource_is_set_anew_in_its_place_and_removed(tmp_path: Path) -> None:
    """It keeps its id; its kind and key are its name, so a document may be called as a tool is."""
    async with world(tmp_path, types=TYPES) as w:
        alice = w.client("alice")
        agent = (await alice.done(documents.CREATE_AGENT, kind="expert", name="Ada"))["agent"]["id"]
        of = {"agentId": agent, "key": "hello"}
        text = {"kind": "document", "value": {"title": "Ink", "text": "Blue."}}
        first = (await alice.done(documents.SET_RESOURCE, **of, **text))["agent"]["resources"]["nodes"][0]
        await alice.done(documents.SET_RESOURCE, **of, kind="tools", value={"type": "greeting"})
        text["value"] = {"title": "Ink", "text": "Black."}
        nodes = (await alice.done(documents.SET_RESOURCE, **of, **text))["agent"]["resources"]["nodes"]
        assert nodes[0] == first | {"value": text["value"]}
        assert [one["kind"] for one in nodes] == ["document", "tools"]
        query = 'query ($id: ID!) { agent(id: $id) { resources(kind: "tools") { nodes { id } totalCount } } }'
        assert (await alice.ask(query, id=agent))["agent"]["resources"] == {
            "nodes": [{"id": nodes[1]["id"]}],
            "totalCount": 1,
        }
        node = await alice.ask("query ($id: ID!) { node(id: $id) { ... on Resource { key } } }", id=first["id"])
        assert node == {"node": {"key": "hello"}}
        left = (await alice.done(documents.DELETE_RESOURCE, **of, kind="document"))["agent"]["resources"]["nodes"]
        assert [one["id"] for one in left] == [nodes[1]["id"]]
        payload = await alice.do(documents.DELETE_RESOURCE, **of, kind="document")
        assert [(one["code"], one["field"]) for one in payload["errors"]] == [("NOT_FOUND", ["input", "key"])]


@pytest.mark.parametrize(
    ("given", "code", "field"),
    [
        ({"key": "no spaces"}, "INVALID_INPUT", ["key"]),
        ({"kind": "remote"}, "INVALID_INPUT", ["kind"]),
        ({"value": "greeting"}, "INVALID_INPUT", ["value"]),
        ({"value": {}}, "INVALID_CONFIG", ["value", "type"]),
        ({"value": {"type": "nothing"}}, "INVALID_CONFIG", ["value", "type"]),
        ({"value": {"type": "greeting", "name": "x"}}, "INVALID_CONFIG", ["value", "name"]),
        ({"value": {"type": "greeting", "config": {"word": ""}}}, "INVALID_CONFIG", ["value", "config", "word"]),
        ({"value": {"type": "titles", "config": {"x": 1}}}, "INVALID_CONFIG", ["value", "config", "x"]),
        ({"key": "own", "value": {"type": "greeting"}}, "INVALID_CONFIG", ["key"]),
        ({"kind": "document", "value": {"title": "Ink"}}, "INVALID_CONFIG", ["value", "text"]),
        ({"kind": "document", "value": {"title": "", "text": "x"}}, "INVALID_CONFIG", ["value", "title"]),
        ({"kind": "document", "value": {"title": "a", "text": "b", "url": "c"}}, "INVALID_CONFIG", ["value", "url"]),
        ({"agentId": "agt_nonsense"}, "NOT_FOUND", ["agentId"]),
    ],
)
async def test_what_is_no_resource_is_refused_with_its_place(
    tmp_path: Path, given: dict[str, Any], code: str, field: list[str]
) -> None:
    """When it is set, not when the agent runs."""

    @tool
    def own() -> str:
        """Do what the kind itself can do."""
        return "done"

    async with world(tmp_path, types=TYPES, helper=helper(tools=[own])) as w:
        alice = w.client("alice")
        agent = (await alice.done(documents.CREATE_AGENT, kind="helper", name="Ada"))["agent"]["id"]
        what = {"agentId": agent, "key": "hello", "kind": "tools", "value": {"type": "greeting"}, **given}
        (error,) = (await alice.do(documents.SET_RESOURCE, **what))["errors"]
        assert (error["code"], error["field"]) == (code, ["input", *field])
        assert (await alice.ask(documents.AGENT, id=agent))["agent"]["resources"]["totalCount"] == 0


async def test_a_tool_whose_type_is_gone_is_left_out(tmp_path: Path) -> None:
    """The agent runs with what is left of its tools."""
    async with world(tmp_path, types=TYPES) as w:
        w.play(Script().text("Without."))
        alice = w.client("alice")
        agent = (await alice.done(documents.CREATE_AGENT, kind="expert", name="Ada"))["agent"]["id"]
        await alice.done(documents.SET_RESOURCE, agentId=agent, key="hello", kind="tools", value={"type": "greeting"})
        w.types = {}
        await w.restart()
        run = await alice.settled((await alice.start("Hi", agent=agent))["id"])
        assert run["status"] == "COMPLETED"
        assert "tools" not in w.model.requests[0].body


async def test_resources_that_are_set_at_once_are_all_kept(tmp_path: Path) -> None:
    """Each under its key; of several under one key, one."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        agent = (await alice.done(documents.CREATE_AGENT, kind="expert", name="Ada"))["agent"]["id"]
        keys = [f"k{number % 4}" for number in range(12)]
        value = {"title": "Ink", "text": "Blue."}
        await asyncio.gather(
            *(alice.done(documents.SET_RESOURCE, agentId=agent, key=key, kind="document", value=value) for key in keys)
        )
        nodes = (await alice.ask(documents.AGENT, id=agent))["agent"]["resources"]["nodes"]
        assert sorted(one["key"] for one in nodes) == ["k0", "k1", "k2", "k3"]
