"""Clients that offer tools: registered, connected while they listen, asked by runs, answering once."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from engine.errors import NotFound
from engine.run_overrides import RunOverrides
from engine.tool import tool
from engine.user import User
from tests.support import documents
from tests.support.client import Client, Feed
from tests.support.messages_script import Script
from tests.support.world import World, helper, world

Json = dict[str, Any]
ALICE = User("alice", frozenset({"user"}))
READ = {
    "name": "read",
    "description": "Read a page that is open.",
    "inputSchema": {
        "type": "object",
        "properties": {"tab": {"type": "integer", "minimum": 1}},
        "required": ["tab"],
        "additionalProperties": False,
    },
}
GRACE = 10.0
OFTEN = {"cancel_poll_seconds": 0.05}
"""The sweep looks often; what it looks for is a matter of the clock."""


async def register(client: Client, name: str = "browser", *tools: Json) -> Json:
    """Register a client's tools; the remote."""
    offered = list(tools or (READ,))
    remote: Json = (await client.done(documents.REGISTER_REMOTE, name=name, kind="CLIENT", tools=offered))["remote"]
    return remote


async def listening(client: Client, remote: Json) -> Feed:
    """A subscription to a remote's calls, which has begun."""
    feed = await client.watch(documents.WATCH_REMOTE_CALLS, id=remote["id"])
    while not (await client.ask(documents.REMOTE, id=remote["id"]))["node"]["connected"]:
        await asyncio.sleep(0.01)
    return feed


async def start(w: World, *remotes: Json, text: str = "Look") -> str:
    """Start a run of Alice's that may use these remotes; its id."""
    overrides = RunOverrides(remotes=tuple(remote["id"] for remote in remotes))
    return (await w.engine.runs.start(ALICE, agent="helper", input=text, overrides=overrides)).run.id


async def answer(client: Client, call: Json, result: Any, **more: Any) -> Json:
    """Answer a call; the payload."""
    return await client.do(documents.ANSWER_REMOTE_CALL, callId=call["id"], result=result, **more)


async def test_a_registered_client_is_asked_and_its_answer_is_the_tools_result(tmp_path: Path) -> None:
    """The model is told of its tools under both names; the run waits without a worker until the client answers."""
    async with world(tmp_path) as w:
        w.play(Script().tool("browser_read", {"tab": 2}), Script().text("It says hello."))
        alice = w.client("alice")
        remote = await register(alice)
        assert remote == {
            "__typename": "Remote",
            "id": remote["id"],
            "name": "browser",
            "kind": "CLIENT",
            "connected": False,
            "tools": [READ],
        }
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        await feed.until(lambda feed: feed.items)
        (call,) = feed.items
        assert (call["remoteId"], call["runId"], call["tool"]) == (remote["id"], run_id, "read")
        assert call["input"] == {"tab": 2}
        assert call["id"].startswith("rcl_")
        run = await alice.run(run_id)
        assert (run["status"], run["finish"]) == ("WAITING", "CLIENT_TOOL")
        waits = run["pendingCalls"][0]
        assert datetime.fromisoformat(call["deadline"]) == datetime.fromisoformat(waits["expiresAt"])
        assert await answer(alice, call, {"title": "Hello"}) == {"accepted": True, "errors": []}
        run = await alice.settled(run_id)
        assert run["toolCalls"]["nodes"][0]["result"] == '{"title":"Hello"}'
        assert run["toolCalls"]["nodes"][0]["state"] == "SUCCEEDED"
        (told,) = w.model.requests[0].body["tools"]
        del told["cache_control"]
        assert told == {"name": "browser_read", "description": READ["description"], "input_schema": READ["inputSchema"]}
        assert [one["name"] for one in w.model.requests[1].body["tools"]] == ["browser_read"]


async def test_a_call_is_answered_once(tmp_path: Path) -> None:
    """The first answer counts; a second is told that it does not, and nothing else happens."""
    async with world(tmp_path) as w:
        w.play(Script().tool("browser_read", {"tab": 1}), Script().text("I see."))
        alice = w.client("alice")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        (call,) = (await feed.until(lambda feed: feed.items)).items
        given = await asyncio.gather(*(answer(alice, call, f"answer {number}") for number in range(4)))
        assert sorted(one["accepted"] for one in given) == [False, False, False, True]
        assert all(one["errors"] == [] for one in given)
        accepted = next(number for number, one in enumerate(given) if one["accepted"])
        run = await alice.settled(run_id)
        assert run["toolCalls"]["nodes"][0]["result"] == f"answer {accepted}"
        assert (await answer(alice, call, "late"))["accepted"] is False


async def test_an_answer_may_say_that_it_failed(tmp_path: Path) -> None:
    """The model reads it as an error."""
    async with world(tmp_path) as w:
        w.play(Script().tool("browser_read", {"tab": 1}), Script().text("I see."))
        alice = w.client("alice")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        (call,) = (await feed.until(lambda feed: feed.items)).items
        assert (await answer(alice, call, "no such tab", isError=True))["accepted"] is True
        (made,) = (await alice.settled(run_id))["toolCalls"]["nodes"]
        assert (made["state"], made["result"], made["isError"]) == ("FAILED", "no such tab", True)


async def test_a_call_of_anothers_is_answered_as_one_that_is_not_there(tmp_path: Path) -> None:
    """NOT_FOUND, word for word, and the call waits on."""
    async with world(tmp_path) as w:
        w.play(Script().tool("browser_read", {"tab": 1}), Script().text("I see."))
        alice, bob = w.client("alice"), w.client("bob", "admin")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        (call,) = (await feed.until(lambda feed: feed.items)).items
        refused = await answer(bob, call, "mine")
        assert refused == await answer(bob, {"id": w.engine.shop.ids("rcl")}, "mine")
        assert refused == await answer(bob, {"id": "nonsense"}, "mine")
        assert refused["accepted"] is False
        assert [(one["code"], one["field"]) for one in refused["errors"]] == [("NOT_FOUND", ["input", "callId"])]
        assert (await answer(alice, call, "hers"))["accepted"] is True
        await alice.settled(run_id)


async def test_unanswered_calls_come_again_at_each_subscription(tmp_path: Path) -> None:
    """To every device that listens, those that wait first; what is answered does not come again."""
    async with world(tmp_path) as w:
        w.play(
            Script().tool("browser_read", {"tab": 1}).tool("browser_read", {"tab": 2}), Script().text("Both are read.")
        )
        alice, phone = w.client("alice"), w.client("alice")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        await feed.until(lambda feed: len(feed.items) == 2)
        await answer(alice, feed.items[0], "one")
        await feed.leave()
        again = await phone.watch(documents.WATCH_REMOTE_CALLS, id=remote["id"])
        await again.until(lambda feed: feed.items)
        assert again.items == [feed.items[1]]
        await answer(phone, again.items[0], "two")
        run = await alice.settled(run_id)
        assert [call["result"] for call in run["toolCalls"]["nodes"]] == ["one", "two"]


async def test_a_restart_in_the_middle_of_a_call_loses_nothing(tmp_path: Path) -> None:
    """The client comes back, finds the call that waits, and its answer lets the run go on."""
    async with world(tmp_path, settings=OFTEN) as w:
        w.play(Script().tool("browser_read", {"tab": 7}), Script().text("Seven."))
        alice = w.client("alice")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        (call,) = (await feed.until(lambda feed: feed.items)).items
        await w.restart()
        feed = await alice.watch(documents.WATCH_REMOTE_CALLS, id=remote["id"])
        await feed.until(lambda feed: feed.items)
        assert feed.items == [call]
        assert (await answer(alice, call, "seven"))["accepted"] is True
        assert (await alice.settled(run_id))["status"] == "COMPLETED"


async def test_a_restart_that_takes_longer_than_the_grace_loses_nothing(tmp_path: Path) -> None:
    """While no process was there, no client could say that it is; it has a grace to come back."""
    async with world(tmp_path, settings=OFTEN) as w:
        w.play(Script().tool("browser_read", {"tab": 7}), Script().text("Seven."))
        alice = w.client("alice")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        (call,) = (await feed.until(lambda feed: feed.items)).items
        await w.stop()
        w.advance(GRACE + 20)
        await w.start()
        await asyncio.sleep(0.3)  # several sweeps
        assert (await alice.run(run_id))["status"] == "WAITING"
        again = await listening(alice, remote)
        await again.until(lambda feed: feed.items)
        assert (await answer(alice, call, "seven"))["accepted"] is True
        assert (await alice.settled(run_id))["status"] == "COMPLETED"


async def test_an_answer_after_the_deadline_does_not_count(tmp_path: Path) -> None:
    """Also where nobody has closed the call yet."""
    async with world(tmp_path, settings={"cancel_poll_seconds": 600.0}) as w:
        w.play(Script().tool("browser_read", {"tab": 1}))
        alice, bob = w.client("alice"), w.client("bob")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        (call,) = (await feed.until(lambda feed: feed.items)).items
        w.advance(60)
        assert await answer(alice, call, "late") == {"accepted": False, "errors": []}
        assert [one["code"] for one in (await answer(bob, call, "late"))["errors"]] == ["NOT_FOUND"]
        assert (await alice.run(run_id))["status"] == "WAITING"
        await alice.cancel(run_id)


async def test_a_client_is_connected_while_it_listens_and_for_a_grace_after(tmp_path: Path) -> None:
    """Two subscriptions count as one client; a while after the last one has gone it is not there any more."""
    async with world(tmp_path, settings=OFTEN) as w:
        alice = w.client("alice")
        remote = await register(alice)
        first, second = await listening(alice, remote), await listening(alice, remote)
        await first.leave()
        for _ in range(3):
            w.advance(GRACE - 1)
            await w.engine.remotes.presence.renew()
            assert (await alice.ask(documents.REMOTE, id=remote["id"]))["node"]["connected"] is True
        await second.leave()
        await w.until(lambda: len(w.engine.remotes.presence) == 0)
        assert (await alice.ask(documents.REMOTE, id=remote["id"]))["node"]["connected"] is True
        w.advance(GRACE)
        assert (await alice.ask(documents.REMOTE, id=remote["id"]))["node"]["connected"] is False


async def test_a_remote_that_leaves_in_the_middle_is_told_to_the_model(tmp_path: Path) -> None:
    """The run goes on, and does not fail."""
    async with world(tmp_path, settings=OFTEN) as w:
        w.play(Script().tool("browser_read", {"tab": 1}), Script().text("It has left."))
        alice = w.client("alice")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        await feed.until(lambda feed: feed.items)
        await feed.leave()
        await w.until(lambda: len(w.engine.remotes.presence) == 0)
        w.advance(GRACE)
        run = await alice.settled(run_id)
        assert run["status"] == "COMPLETED"
        (call,) = run["toolCalls"]["nodes"]
        assert (call["state"], call["isError"]) == ("FAILED", True)
        assert call["result"] == (
            "no answer: the remote browser has left; whether it has done what was asked is not known"
        )
        assert [one["name"] for one in w.model.requests[1].body["tools"]] == ["browser_read"]
        assert (await answer(alice, feed.items[0], "late"))["accepted"] is False


async def test_a_removed_remote_has_left(tmp_path: Path) -> None:
    """Its subscription ends, its calls are closed, and it is found no more."""
    async with world(tmp_path, settings=OFTEN) as w:
        w.play(Script().tool("browser_read", {"tab": 1}), Script().text("It has left."))
        alice = w.client("alice")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        await feed.until(lambda feed: feed.items)
        assert (await alice.done(documents.DELETE_REMOTE, id=remote["id"]))["deletedId"] == remote["id"]
        await feed.end()
        w.advance(GRACE)  # since its start the process has heard from those who are there
        run = await alice.settled(run_id)
        assert "has left" in run["toolCalls"]["nodes"][0]["result"]
        assert (await alice.ask(documents.REMOTE, id=remote["id"]))["node"] is None
        (error,) = (await alice.do(documents.DELETE_REMOTE, id=remote["id"]))["errors"]
        assert (error["code"], error["field"]) == ("NOT_FOUND", ["input", "id"])


async def test_nobody_answers_in_time_and_the_model_reads_so(tmp_path: Path) -> None:
    """The call has timed out; the client's late answer does not count."""
    async with world(tmp_path, settings=OFTEN) as w:
        w.play(Script().tool("browser_read", {"tab": 1}), Script().text("Nobody answers."))
        alice = w.client("alice")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        await feed.until(lambda feed: feed.items)
        w.advance(60)
        run = await alice.settled(run_id)
        (call,) = run["toolCalls"]["nodes"]
        assert (run["status"], call["state"]) == ("COMPLETED", "TIMED_OUT")
        assert call["result"] == "no answer: nobody answered this call in time"
        assert (await answer(alice, feed.items[0], "late"))["accepted"] is False


async def test_a_cancel_closes_the_call(tmp_path: Path) -> None:
    """Who subscribes afterwards does not see it, and an answer does not count."""
    async with world(tmp_path) as w:
        w.play(Script().tool("browser_read", {"tab": 1}))
        alice = w.client("alice")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run_id = await start(w, remote)
        (call,) = (await feed.until(lambda feed: feed.items)).items
        await alice.cancel(run_id)
        w.play(Script().tool("browser_read", {"tab": 2}), Script().text("Two."))
        again = await alice.watch(documents.WATCH_REMOTE_CALLS, id=remote["id"])
        other = await start(w, remote)
        await again.until(lambda feed: feed.items)
        assert [one["input"] for one in again.items] == [{"tab": 2}]
        assert (await answer(alice, call, "late"))["accepted"] is False
        await answer(alice, again.items[0], "two")
        await alice.settled(other)


async def test_arguments_that_do_not_fit_never_reach_the_client(tmp_path: Path) -> None:
    """The model reads what is wrong with them."""
    async with world(tmp_path) as w:
        w.play(
            Script().tool("browser_read", {"tab": "two"}).tool("browser_read", {"tab": 0, "x": 1}),
            Script().text("Never mind."),
        )
        alice = w.client("alice")
        remote = await register(alice)
        feed = await listening(alice, remote)
        run = await alice.settled(await start(w, remote))
        first, second = (call["result"] for call in run["toolCalls"]["nodes"])
        assert first == "The arguments do not fit:\n- tab: 'two' is not of type 'integer'"
        assert "'x' was unexpected" in second
        assert "less than the minimum" in second
        assert feed.items == []


async def test_names_that_would_be_equal_are_numbered(tmp_path: Path) -> None:
    """The agent's own tool keeps its name, and each remote's tool is asked where it belongs."""

    @tool
    def browser_tab_read() -> str:
        """Read what the agent itself has."""
        return "mine"

    async with world(tmp_path, helper=helper(tools=[browser_tab_read])) as w:
        w.play(
            Script()
            .tool("browser_tab_read")
            .tool("browser_tab_read_2", {"tab": 1})
            .tool("browser_tab_read_3", {"tab": 2}),
            Script().text("Three."),
        )
        alice = w.client("alice")
        one = await register(alice, "browser", READ | {"name": "tab_read"}, READ | {"name": "go to!"})
        two = await register(alice, "browser tab", READ, READ | {"name": "x" * 100})
        feeds = [await listening(alice, remote) for remote in (one, two)]
        run_id = await start(w, one, two)
        for feed in feeds:
            await feed.until(lambda feed: feed.items)
        names = [told["name"] for told in w.model.requests[0].body["tools"]]
        assert names == [
            "browser_tab_read",
            "browser_tab_read_2",
            "browser_go_to_",
            "browser_tab_read_3",
            "browser_tab_" + "x" * 52,
        ]
        assert [feed.items[0]["tool"] for feed in feeds] == ["tab_read", "read"]
        await answer(alice, feeds[0].items[0], "one")
        await answer(alice, feeds[1].items[0], "two")
        run = await alice.settled(run_id)
        assert [call["result"] for call in run["toolCalls"]["nodes"]] == ["mine", "one", "two"]


async def test_the_same_name_again_replaces_what_is_offered(tmp_path: Path) -> None:
    """Under the same id; others' remotes of that name are theirs."""
    async with world(tmp_path) as w:
        alice, bob = w.client("alice"), w.client("bob")
        first = await register(alice)
        second = await register(alice, "browser", READ | {"name": "write"})
        assert second["id"] == first["id"]
        assert [one["name"] for one in second["tools"]] == ["write"]
        theirs = await register(bob)
        assert theirs["id"] != first["id"]
        found = (await alice.ask(documents.REMOTES))["remotes"]
        assert ([one["id"] for one in found["nodes"]], found["totalCount"]) == ([first["id"]], 1)


async def test_a_remote_that_is_not_connected_is_not_offered(tmp_path: Path) -> None:
    """Nor is one of somebody else's, which no run can be begun with."""
    async with world(tmp_path) as w:
        w.play(Script().text("Nothing to use."))
        alice, bob = w.client("alice"), w.client("bob")
        away, theirs = await register(alice), await register(bob, "theirs")
        await listening(bob, theirs)
        with pytest.raises(NotFound):
            await start(w, away, theirs)
        await alice.settled(await start(w, away))
        assert "tools" not in w.model.requests[0].body


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": " "}, ["name"]),
        ({"name": "x" * 65}, ["name"]),
        ({"url": "https://example.com/mcp"}, ["url"]),
        ({"tools": None}, ["tools"]),
        ({"tools": []}, ["tools"]),
        ({"tools": [READ, READ]}, ["tools", "1", "name"]),
        ({"tools": [READ | {"name": ""}]}, ["tools", "0", "name"]),
        ({"tools": [READ | {"inputSchema": []}]}, ["tools", "0", "inputSchema"]),
        ({"tools": [READ | {"inputSchema": {"type": "string"}}]}, ["tools", "0", "inputSchema"]),
        ({"tools": [READ | {"inputSchema": {"type": "object", "required": "x"}}]}, ["tools", "0", "inputSchema"]),
        ({"kind": "MCP", "url": "https://example.com/mcp"}, ["tools"]),
        ({"kind": "MCP", "tools": None}, ["url"]),
        ({"kind": "MCP", "tools": None, "url": "file:///etc/passwd"}, ["url"]),
    ],
)
async def test_what_is_no_remote_is_refused_with_its_place(tmp_path: Path, given: Json, field: list[str]) -> None:
    """And the remote of that name stays as it was."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        before = await register(alice)
        what = {"name": "browser", "kind": "CLIENT", "tools": [READ], **given}
        (error,) = (await alice.do(documents.REGISTER_REMOTE, **what))["errors"]
        assert (error["code"], error["field"]) == ("INVALID_INPUT", ["input", *field])
        assert (await alice.ask(documents.REMOTES))["remotes"]["nodes"] == [before]


async def test_tools_that_take_too_much_room_together_are_refused_at_once(tmp_path: Path) -> None:
    """Before any of them is looked at for long; so is a tool whose schema alone is too large."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        large = {"type": "object", "description": "x" * 32_000}
        many = [{"name": f"t{number}", "description": "", "inputSchema": large} for number in range(9)]
        (error,) = (await alice.do(documents.REGISTER_REMOTE, name="x", kind="CLIENT", tools=many))["errors"]
        assert (error["code"], error["field"]) == ("INVALID_INPUT", ["input", "tools"])
        larger = [READ | {"inputSchema": large | {"description": "x" * 33_000}}]
        (error,) = (await alice.do(documents.REGISTER_REMOTE, name="x", kind="CLIENT", tools=larger))["errors"]
        assert error["field"] == ["input", "tools", "0", "inputSchema"]
        assert (await alice.ask(documents.REMOTES))["remotes"]["nodes"] == []
