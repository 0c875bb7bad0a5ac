"""MCP servers as remotes, with real processes of the official package: over HTTP, and over standard streams."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.run_overrides import RunOverrides
from engine.user import User
from tests.support import documents
from tests.support.client import Client
from tests.support.mcp_server import McpServer, mcp_server, notes_in
from tests.support.messages_script import Script
from tests.support.world import World, world

Json = dict[str, Any]
ALICE = User("alice", frozenset({"user"}))
PRIVATE = {"remotes_private": True}


async def register(client: Client, server: McpServer) -> Json:
    """Register the server under the name "sums"; the remote."""
    given = {"name": "sums", "kind": "MCP", "url": server.url}
    remote: Json = (await client.done(documents.REGISTER_REMOTE, **given))["remote"]
    return remote


async def start(w: World, remote_id: str, user: User = ALICE) -> str:
    """Start a run that may use this remote; its id."""
    overrides = RunOverrides(remotes=(remote_id,))
    return (await w.engine.runs.start(user, agent="helper", input="Go", overrides=overrides)).run.id


async def called(client: Client, run_id: str) -> list[tuple[str, str]]:
    """The state and the result of each call of a run, once it has settled."""
    run = await client.settled(run_id)
    assert run["status"] == "COMPLETED", run
    return [(call["state"], call["result"]) for call in run["toolCalls"]["nodes"]]


async def test_a_server_over_http_offers_its_tools_and_answers(tmp_path: Path) -> None:
    """What it lists is shown, told to the model, and called; its errors are read by the model."""
    async with mcp_server(tmp_path) as server, world(tmp_path, settings=PRIVATE) as w:
        w.play(
            Script().tool("sums_add", {"a": 2, "b": 3}).tool("sums_fail", {"why": "no"}).tool("sums_add", {"a": "x"}),
            Script().text("Five."),
        )
        alice = w.client("alice")
        remote = await register(alice, server)
        assert (remote["kind"], remote["connected"]) == ("MCP", True)
        assert [one["name"] for one in remote["tools"]] == ["add", "fail", "work", "slowly", "die"]
        assert remote["tools"][0]["description"] == "Add two numbers."
        assert remote["tools"][0]["inputSchema"]["required"] == ["a", "b"]
        added, failed, refused = await called(alice, await start(w, remote["id"]))
        assert added == ("SUCCEEDED", "5")
        assert failed[0] == "FAILED"
        assert refused[1].startswith("The arguments do not fit:")
        assert server.notes().count("add 2 3") == 1


async def test_a_cancel_in_the_middle_of_a_call_reaches_the_server(tmp_path: Path) -> None:
    """The run is cancelled, the server has stopped its work, and the connection serves the next call."""
    async with mcp_server(tmp_path) as server, world(tmp_path, settings=PRIVATE) as w:
        alice = w.client("alice")
        remote = await register(alice, server)
        for _ in range(3):
            w.play(Script().tool("sums_work"))
            run_id = await start(w, remote["id"])
            await server.noted("work begun", server.notes().count("work begun") + 1)
            assert (await alice.cancel(run_id))["id"] == run_id
            assert (await alice.settled(run_id))["status"] == "CANCELLED"
        await server.noted("work cancelled", 3)
        w.play(Script().tool("sums_add", {"a": 1, "b": 1}), Script().text("Two."))
        assert await called(alice, await start(w, remote["id"])) == [("SUCCEEDED", "2")]


async def test_a_call_that_takes_too_long_is_told_to_the_model_and_to_the_server(tmp_path: Path) -> None:
    """The server is told to stop."""
    settings = PRIVATE | {"remote_call_seconds": 2.0}
    async with mcp_server(tmp_path) as server, world(tmp_path, settings=settings) as w:
        w.play(Script().tool("sums_work"), Script().text("It takes too long."))
        alice = w.client("alice")
        remote = await register(alice, server)
        ((state, result),) = await called(alice, await start(w, remote["id"]))
        assert state == "TIMED_OUT"
        assert result.startswith("timed out after 2 s")
        await server.noted("work cancelled")


async def test_a_server_that_dies_in_the_middle_is_told_to_the_model(tmp_path: Path) -> None:
    """The run goes on; while the server is away it is not offered, and once it is back it is again."""
    async with world(tmp_path, settings=PRIVATE) as w:
        alice = w.client("alice")
        async with mcp_server(tmp_path) as server:
            w.play(Script().tool("sums_die"), Script().tool("sums_add", {"a": 1, "b": 1}), Script().text("It died."))
            remote = await register(alice, server)
            died, away = await called(alice, await start(w, remote["id"]))
        assert died[0] == "FAILED"
        assert died[1] == "the connection to the remote sums was lost during the call; what it did is not known"
        assert away[0] == "FAILED"
        assert away[1].startswith("not run: the remote sums can't be reached: ")
        assert (await alice.ask(documents.REMOTE, id=remote["id"]))["node"]["connected"] is False
        w.play(Script().text("Nothing to use."))
        await alice.settled(await start(w, remote["id"]))
        assert "tools" not in w.model.requests[-1].body
        async with mcp_server(tmp_path, int(server.url.split(":")[2].split("/")[0])):
            w.engine.remotes._pool._links.clear()  # the pause before the next try is over
            w.play(Script().tool("sums_add", {"a": 2, "b": 2}), Script().text("Four."))
            assert await called(alice, await start(w, remote["id"])) == [("SUCCEEDED", "4")]
            assert (await alice.ask(documents.REMOTE, id=remote["id"]))["node"]["connected"] is True


async def test_a_restart_connects_anew(tmp_path: Path) -> None:
    """What was registered is used by the next process."""
    async with mcp_server(tmp_path) as server, world(tmp_path, settings=PRIVATE) as w:
        alice = w.client("alice")
        remote = await register(alice, server)
        await w.restart()
        w.play(Script().tool("sums_add", {"a": 2, "b": 3}), Script().text("Five."))
        assert await called(alice, await start(w, remote["id"])) == [("SUCCEEDED", "5")]


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:{port}/mcp",
        "https://localhost:{port}/mcp",
        "https://[::1]:{port}/mcp",
        "https://10.0.0.1/mcp",
        "https://169.254.169.254/latest/meta-data",
        "https://0x7f000001:{port}/mcp",
        "http://127.0.0.1:{port}/mcp",
        "https://user:secret@example.com/mcp",
    ],
)
async def test_a_private_address_is_refused_unless_it_is_allowed(tmp_path: Path, url: str) -> None:
    """Nothing is connected to, and nothing is kept."""
    async with mcp_server(tmp_path) as server, world(tmp_path) as w:
        alice = w.client("alice")
        given = {"name": "sums", "kind": "MCP", "url": url.format(port=server.url.split(":")[2].split("/")[0])}
        (error,) = (await alice.do(documents.REGISTER_REMOTE, **given))["errors"]
        assert (error["code"], error["field"]) == ("INVALID_INPUT", ["input", "url"])
        assert (await alice.ask(documents.REMOTES))["remotes"]["nodes"] == []


async def test_a_link_local_address_is_refused_even_where_private_ones_are_allowed(tmp_path: Path) -> None:
    """There clouds keep a machine's credentials."""
    async with world(tmp_path, settings=PRIVATE) as w:
        given = {"name": "x", "kind": "MCP", "url": "http://169.254.169.254/mcp"}
        (error,) = (await w.client("alice").do(documents.REGISTER_REMOTE, **given))["errors"]
        assert "its address is not on the public internet" in error["message"]


async def test_a_configured_server_over_standard_streams_is_everybodys(tmp_path: Path) -> None:
    """It has the same id for all and after a restart, nobody removes it, and it can't be listened for."""
    notes = tmp_path / "stdio-notes.txt"
    command: Json = {"command": sys.executable, "args": ["-m", "tests.support.mcp_server", str(notes), "stdio"]}
    command["env"] = {"PYTHONPATH": str(Path(__file__).parents[2])}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"sums": command, "gone": {"command": "no-such-command-anywhere"}}))
    async with world(tmp_path, settings={"mcp_servers": file}) as w:
        alice, bob = w.client("alice"), w.client("bob")
        found = await connected(alice, "sums")
        assert (await connected(bob, "sums"))["id"] == found["id"]
        gone = next(one for one in (await alice.ask(documents.REMOTES))["remotes"]["nodes"] if one["name"] == "gone")
        assert (gone["connected"], gone["tools"]) == (False, [])
        for user, client in ((ALICE, alice), (User("bob", frozenset({"user"})), bob)):
            w.play(Script().tool("sums_add", {"a": 2, "b": 3}), Script().text("Five."))
            run_id = await start(w, found["id"], user)
            assert await called(client, run_id) == [("SUCCEEDED", "5")]
        assert notes_in(notes).count("started") == 1
        (error,) = (await alice.do(documents.DELETE_REMOTE, id=found["id"]))["errors"]
        assert error["code"] == "NOT_FOUND"
        assert await alice.codes(documents.WATCH_REMOTE_CALLS, id=found["id"])
        await w.restart()
        assert (await connected(alice, "sums"))["id"] == found["id"]
        w.play(Script().tool("sums_die"), Script().tool("sums_add", {"a": 1, "b": 1}), Script().text("It is back."))
        died, again = await called(alice, await start(w, found["id"]))
        assert "was lost during the call" in died[1]
        assert again == ("SUCCEEDED", "2")
        w.settings = dataclasses.replace(w.settings, mcp_servers=None)
        await w.restart()
        if w.engine.database.is_sqlite:  # else another machine may have them
            while (await alice.ask(documents.REMOTE, id=found["id"]))["node"]["connected"]:
                await asyncio.sleep(0.01)
        else:
            assert (await alice.ask(documents.REMOTE, id=found["id"]))["node"]["connected"] is True
        file.write_text("{}")
        w.settings = dataclasses.replace(w.settings, mcp_servers=file)
        await w.restart()
        while (await alice.ask(documents.REMOTES))["remotes"]["nodes"]:
            await asyncio.sleep(0.01)


async def test_calls_of_a_configured_server_wait_for_approval_where_the_file_says_so(tmp_path: Path) -> None:
    """Its owner approves the call, and then it is made."""
    async with mcp_server(tmp_path) as server:
        file = tmp_path / "servers.json"
        file.write_text(json.dumps({"sums": {"url": server.url, "approval": True}}))
        async with world(tmp_path, settings={"mcp_servers": file}) as w:
            alice = w.client("alice")
            remote = await connected(alice, "sums")
            w.play(Script().tool("sums_add", {"a": 2, "b": 3}), Script().text("Five."))
            run_id = await start(w, remote["id"])
            feed = await alice.watch_run(run_id)
            await feed.until(lambda feed: feed.items and feed.items[-1]["finish"] == "APPROVAL")
            (call,) = feed.items[-1]["pendingCalls"]
            assert "add 2 3" not in server.notes()
            decision = {"toolCallId": call["id"], "decision": "APPROVE"}
            await alice.done(documents.DECIDE, runId=run_id, decisions=[decision])
            assert await called(alice, run_id) == [("SUCCEEDED", "5")]


async def connected(client: Client, name: str) -> Json:
    """The remote of this name, once it is connected."""
    while True:
        nodes = (await client.ask(documents.REMOTES))["remotes"]["nodes"]
        for one in nodes:
            if one["name"] == name and one["connected"]:
                return dict(one)
        await asyncio.sleep(0.05)
