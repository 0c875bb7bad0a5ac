"""Watching a run from several devices, slowly or briefly; leaving is never a cancel, and nothing remains of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support import documents
from tests.support.clients import bearer, connected, event_stream, raw_socket
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.page import Page
from tests.support.world import helper, kinds, world

ALL = [
    (documents.WATCH_RUN, "id"),
    (documents.WATCH_MESSAGES, "runId"),
    (documents.WATCH_RUN_STREAM, "runId"),
    (documents.WATCH_STREAM, "streamId"),
]


async def test_two_devices_see_the_same_run(tmp_path: Path) -> None:
    """One over a socket and one over events: both show the same text, the same events and the same result."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().half_text("To ", "all ").hold(held).event(_more("of you.")))
        phone, laptop = w.client("alice"), w.client("alice")
        run = await phone.start("Hi")
        first = await phone.watch_stream(run["streamId"])
        await first.shows("To all ")
        second = await laptop.watch_events(documents.WATCH_STREAM, streamId=run["streamId"])
        await second.shows("To all ")
        held.set()
        await first.end()
        await second.end()
        assert first.text == second.text == "To all of you."
        lasting = [[e for e in feed.items if e["__typename"] != "TextDelta"] for feed in (first, second)]
        assert lasting[0] == lasting[1]


def _more(text: str) -> dict[str, object]:
    """One more delta of the first block."""
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


async def test_the_run_subscription_gives_the_row_now_and_at_each_change(tmp_path: Path) -> None:
    """Steering, its withdrawal, a cancel and the end are all seen; the last row is the run as it is."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().tool("work"))
        alice = w.client("alice")
        run = await alice.start("Work")
        await gate.begun.wait()
        feed = await alice.watch_run(run["id"])
        await feed.until(lambda feed: feed.items)
        assert (feed.items[0]["id"], feed.items[0]["status"]) == (run["id"], "RUNNING")
        sent = await alice.steer(run["id"], "and that")
        await feed.until(lambda feed: feed.items[-1]["pendingInput"])
        await alice.done(documents.WITHDRAW, runId=run["id"], inputId=sent["inputId"])
        await feed.until(lambda feed: not feed.items[-1]["pendingInput"])
        await alice.cancel(run["id"])
        await feed.until(lambda feed: feed.items[-1]["status"] == "CANCELLED")
        row = (await alice.ask(documents.document("query ($id: ID!) { run(id: $id) { ...Row } }"), id=run["id"]))["run"]
        assert feed.items[-1] == row
        updated = [item["updatedAt"] for item in feed.items]
        assert updated == sorted(updated)


async def test_messages_come_once_and_in_order(tmp_path: Path) -> None:
    """Stored ones first, then each as it is stored, from `afterSeq` on, over several turns."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("One"))["id"])
        whole = await alice.watch(documents.WATCH_MESSAGES, runId=run["id"])
        later = await alice.watch(documents.WATCH_MESSAGES, runId=run["id"], afterSeq=1)
        await later.until(lambda feed: len(feed.items) == 1)
        for _ in range(3):
            await alice.start("More", runId=run["id"])
            await alice.settled(run["id"])
        await whole.until(lambda feed: len(feed.items) == 8)
        await later.until(lambda feed: len(feed.items) == 7)
        stored = (await alice.run(run["id"]))["messages"]["nodes"]
        assert whole.items == stored
        assert later.items == stored[1:]


async def test_changes_of_all_runs_are_told_from_the_subscription_on(tmp_path: Path) -> None:
    """Subscribe, then query: whatever is not in the list yet is ADDED once, then CHANGED to its end."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        alice, bob = w.client("alice"), w.client("bob")
        old = await alice.settled((await alice.start("Old"))["id"])
        changes = await alice.watch(documents.WATCH_RUNS)
        listed = await (await alice.socket()).execute("{ runs { nodes { id } } }")
        assert [node["id"] for node in listed["runs"]["nodes"]] == [old["id"]]
        await bob.settled((await bob.start("Not hers"))["id"])
        fresh = await alice.settled((await alice.start("Fresh"))["id"])
        await alice.start("Again", runId=old["id"])
        await changes.until(
            lambda feed: (
                {item["runId"] for item in feed.items if item["run"]["status"] == "COMPLETED"}
                == {old["id"], fresh["id"]}
            )
        )
        added = [item["runId"] for item in changes.items if item["kind"] == "ADDED"]
        assert added == [fresh["id"]]
        assert all(item["run"]["userId"] == "alice" for item in changes.items)
        assert changes.items[-1]["run"]["id"] == changes.items[-1]["runId"]


async def test_a_filtered_list_gains_and_loses_runs(tmp_path: Path) -> None:
    """With a filter, ADDED says that a run begins to match and REMOVED that it ceases to."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().hold(held).text("Done."))
        alice = w.client("alice")
        changes = await alice.watch(documents.WATCH_RUNS, filter={"status": ["RUNNING"], "metadata": {"team": "red"}})
        await (await alice.socket()).execute("{ viewer { id } }")
        run = await alice.start("Hi", metadata={"team": "red", "x": 1})
        await changes.until(lambda feed: feed.items)
        held.set()
        await changes.until(lambda feed: feed.items[-1]["kind"] == "REMOVED")
        assert (changes.items[0]["kind"], changes.items[0]["runId"]) == ("ADDED", run["id"])
        assert changes.items[-1] == {"kind": "REMOVED", "runId": run["id"], "run": None}


async def test_a_slow_client_holds_up_nobody_and_still_gets_it_all(tmp_path: Path) -> None:
    """One that reads nothing while four megabytes pass has the whole text when it reads again."""
    said = [f"{number:04} {'x' * 4_000} " for number in range(1_000)]
    async with world(tmp_path) as w:
        w.play(Script().text(*said))
        alice = w.client("alice")
        run = await alice.start("Much")
        async with raw_socket(w.server.socket) as socket:
            hello = {"type": "connection_init", "payload": bearer(alice.token)}
            await socket.send(json.dumps(hello))
            await socket.recv()
            asked = {"query": documents.WATCH_STREAM, "variables": {"streamId": run["streamId"]}}
            await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": asked}))
            quick = await alice.watch_stream(run["streamId"])
            await quick.end()
            assert quick.text == "".join(said)
            page = Page()
            while (message := json.loads(await socket.recv()))["type"] != "complete":
                if message["type"] == "next":
                    page.show(message["payload"]["data"]["stream"])
            assert (page.text, page.problems) == ("".join(said), [])


@pytest.mark.parametrize("over", ["socket", "events"])
async def test_dropping_a_connection_is_never_a_cancel(tmp_path: Path, over: str) -> None:
    """The run goes on to its end with nobody watching, and nothing remains of those who watched."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().half_text("Well, ").hold(held).event(_more("and so on.")))
        alice = w.client("alice")
        run = await alice.start("Hi")
        watched = {**run, "runId": run["id"]}
        feeds = []
        for document, name in ALL:
            watch = alice.watch if over == "socket" else alice.watch_events
            feeds.append(await watch(document, **{name: watched[name]}))
        for feed in feeds:
            await feed.until(lambda feed: feed.items)
        assert w.watched[:2] == (1, 2)
        if over == "socket":
            (await alice.socket()).socket.transport.abort()
        else:
            for feed in feeds:
                await feed.leave()
        await w.until(lambda: w.watched[1:] == (0, 0))
        assert w.engine.watching._streams.followers(run["streamId"]) == 0
        held.set()
        await w.until(lambda: not w.engine.worker)
        other = w.client("alice")
        end = await other.run(run["id"])
        assert (end["status"], end["messages"]["nodes"][-1]["text"]) == ("COMPLETED", "Well, and so on.")
        assert w.model.requests[0].was_cut_off is False


async def test_leaving_one_subscription_leaves_the_others(tmp_path: Path) -> None:
    """`complete` from the client ends that operation alone; the socket and the rest go on."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().half_text("Well").hold(held))
        alice = w.client("alice")
        run = await alice.start("Hi")
        one, two = await alice.watch_stream(run["streamId"]), await alice.watch_stream(run["streamId"])
        await one.shows("Well")
        await two.shows("Well")
        await one.leave()
        await w.until(lambda: w.engine.watching._streams.followers(run["streamId"]) == 1)
        held.set()
        await two.end()


async def test_tasks_do_not_grow_with_clients_that_come_and_go(tmp_path: Path) -> None:
    """After thirty sockets and thirty event streams that were dropped, there are as many tasks as before."""
    async with world(tmp_path) as w:
        w.play(Script().half_text("Well").hold(asyncio.Event()))
        alice = w.client("alice")
        run = await alice.start("Hi")
        await w.model.arrived(1)
        await w.until(lambda: w.watched[1:] == (0, 0))
        before = len(asyncio.all_tasks())
        variables = {"streamId": run["streamId"]}
        for _ in range(30):
            async with connected(w.server.socket, alice.token) as socket:
                await anext(aiter((await socket.subscribe(documents.WATCH_STREAM, variables)).payloads()))
                socket.socket.transport.abort()
            async with event_stream(w.server.graphql, documents.WATCH_STREAM, variables, token=alice.token) as events:
                await anext(events)
        await w.until(lambda: w.engine.watching._streams.followers(run["streamId"]) == 0)
        await w.until(lambda: len(asyncio.all_tasks()) <= before)
        await alice.cancel(run["id"])
        assert kinds(await alice.stream(run["streamId"]))[-1] == "RunResult"
