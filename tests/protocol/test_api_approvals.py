"""Approvals and client tools as their clients live them: who is told, who may decide, and what comes of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from engine.tool import Tool, tool
from tests.support import documents
from tests.support.client import Client
from tests.support.messages_script import Script
from tests.support.world import World, helper, kinds, world

Json = dict[str, Any]


def refund(**options: Any) -> Tool[..., Any]:
    """A tool that waits for a person."""

    async def refund(order: str, amount: float) -> str:
        """Refund an order.

        Args:
            order: which.
            amount: how much.
        """
        return f"refunded {amount:g} of {order}"

    return tool(**{"approval": True, **options})(refund)


def asks(*amounts: float) -> Script:
    """The model wants to refund."""
    script = Script().text("One moment.")
    for amount in amounts:
        script.tool("refund", {"order": "A-1", "amount": amount})
    return script


def decided(run_id: str, *calls: Json, decision: str = "APPROVE", **more: Any) -> Json:
    """The input of decideToolCalls."""
    return {"runId": run_id, "decisions": [{"toolCallId": c["id"], "decision": decision, **more} for c in calls]}


async def waiting(client: Client, w: World, *amounts: float) -> Json:
    """A run of this client's that waits for its refunds."""
    w.play(asks(*amounts))
    run = await client.start("Refund")
    feed = await client.watch_run(run["id"])
    await feed.until(lambda feed: feed.items and feed.items[-1]["status"] == "WAITING")
    await feed.leave()
    return await client.run(run["id"])


async def test_a_refund_waits_is_approved_and_happens(tmp_path: Path) -> None:
    """The run shows what it waits for; approved from another device, the rest is seen by who was watching."""
    async with world(tmp_path, helper=helper(tools=[refund()])) as w:
        alice, phone = w.client("alice"), w.client("alice")
        run = await waiting(alice, w, 150)
        assert (run["status"], run["finish"]) == ("WAITING", "APPROVAL")
        (call,) = run["pendingCalls"]
        assert (call["name"], call["input"], call["state"], call["approvers"]) == (
            *("refund", {"order": "A-1", "amount": 150}, "WAITING"),
            "owner",
        )
        assert call["inputSchema"]["required"] == ["order", "amount"]
        assert call["inputSchema"]["properties"]["order"] == {"type": "string", "description": "which."}
        events = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"])
        w.play(Script().text("Refunded."))
        done = await phone.done(documents.DECIDE, **decided(run["id"], call))
        assert done["run"]["status"] == "RUNNING"
        await events.sees("RunResult", 2)
        assert [kind for kind in kinds(events.items) if kind != "TextDelta"] == [
            *("StepFinished", "CallsWaiting", "RunResult"),
            *("ToolCallStarted", "ToolCallFinished", "StepFinished", "RunResult"),
        ]
        end = await alice.settled(run["id"])
        assert (end["status"], end["pendingCalls"]) == ("COMPLETED", [])
        assert end["toolCalls"]["nodes"][0]["decidedBy"] == "alice"


async def test_what_waits_survives_a_restart_and_a_replay_shows_it_as_it_is_now(tmp_path: Path) -> None:
    """CallsWaiting, read again after the decision, has the calls with their results."""
    async with world(tmp_path, helper=helper(tools=[refund()])) as w:
        alice = w.client("alice")
        run = await waiting(alice, w, 150)
        await w.restart()
        w.play(Script().text("Refunded."))
        await alice.done(documents.DECIDE, **decided(run["id"], *run["pendingCalls"]))
        await alice.settled(run["id"])
        events = await alice.stream(run["streamId"])
        (waits,) = [event for event in events if event["__typename"] == "CallsWaiting"]
        assert [(call["state"], call["result"]) for call in waits["calls"]] == [("SUCCEEDED", "refunded 150 of A-1")]


async def test_staff_see_and_decide_what_an_owner_may_not(tmp_path: Path) -> None:
    """The role's calls are in `approvals`, by query and live; of the run they see no more than that."""
    async with world(tmp_path, helper=helper(tools=[refund(approvers="staff")])) as w:
        alice, sam, bob = w.client("alice"), w.client("sam", "staff"), w.client("bob", "user")
        live, nothing = await sam.watch(documents.WATCH_APPROVALS), await bob.watch(documents.WATCH_APPROVALS)
        run = await waiting(alice, w, 150)
        (call,) = run["pendingCalls"]
        await live.until(lambda feed: len(feed.items) == 1)
        assert live.items == [call]
        listed = (await sam.ask(documents.APPROVALS))["approvals"]
        assert (listed["nodes"], listed["totalCount"]) == ([call], 1)
        for other in (alice, bob):
            assert (await other.ask(documents.APPROVALS))["approvals"]["totalCount"] == 0
        refused = ("NOT_ALLOWED_TO_DECIDE", ["input", "decisions", "0", "toolCallId"])
        assert await alice.refusal(documents.DECIDE, **decided(run["id"], call)) == refused
        missing = ("RUN_NOT_FOUND", ["input", "runId"])
        assert await bob.refusal(documents.DECIDE, **decided(run["id"], call)) == missing
        assert (await sam.ask(documents.RUN, id=run["id"]))["run"] is None
        node = "query ($id: ID!) { node(id: $id) { id } }"
        assert (await sam.ask(node, id=call["id"]))["node"] == {"id": call["id"]}
        assert (await bob.ask(node, id=call["id"]))["node"] is None
        w.play(Script().text("Refunded."))
        done = await sam.done(documents.DECIDE, **decided(run["id"], call, decision="DENY", reason="no receipt"))
        assert done["run"] is None
        await live.until(lambda feed: len(feed.items) == 2)
        assert [(item["state"], item["decidedBy"], item["reason"]) for item in live.items[1:]] == [
            ("DENIED", "sam", "no receipt")
        ]
        await alice.settled(run["id"])
        assert nothing.items == []


async def test_two_tabs_approve_and_the_second_is_told(tmp_path: Path) -> None:
    """CALL_ALREADY_DECIDED, and the refund happens once."""
    async with world(tmp_path, helper=helper(tools=[refund()])) as w:
        one, other = w.client("alice"), w.client("alice")
        run = await waiting(one, w, 150)
        w.play(Script().text("Refunded."))
        given = decided(run["id"], *run["pendingCalls"])
        await one.done(documents.DECIDE, **given)
        code, field = await other.refusal(documents.DECIDE, **given)
        assert (code, field) == ("CALL_ALREADY_DECIDED", ["input", "decisions", "0", "toolCallId"])
        end = await one.settled(run["id"])
        assert [call["result"] for call in end["toolCalls"]["nodes"]] == ["refunded 150 of A-1"]


async def test_what_nobody_decides_in_time_is_told_to_the_model(tmp_path: Path) -> None:
    """The call is TIMED_OUT and decided by nobody, and the run goes on by itself."""
    till = refund(expires=0.2)
    async with world(tmp_path, settings={"lease_seconds": 1.0}, helper=helper(tools=[till])) as w:
        w.play(asks(150), Script().text("Nobody was there."))
        alice = w.client("alice")
        end = await alice.settled((await alice.start("Refund"))["id"])
        (call,) = end["toolCalls"]["nodes"]
        assert (end["status"], call["state"], call["decidedBy"]) == ("COMPLETED", "TIMED_OUT", None)


async def test_a_server_without_a_worker_looks_after_what_nobody_decides_too(tmp_path: Path) -> None:
    """The run is free for a worker to take then."""
    async with world(tmp_path, helper=helper(tools=[refund(expires=0.2)])) as w:
        alice = w.client("alice")
        run = await waiting(alice, w, 150)
        usual = w.settings
        w.settings = dataclasses.replace(usual, worker=False, lease_seconds=1.0)
        await w.restart()
        feed = await alice.watch_run(run["id"])
        await feed.until(lambda feed: feed.items and feed.items[-1]["status"] == "RUNNING")
        w.play(Script().text("Nobody was there."))
        w.settings = usual
        await w.restart()
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"


async def test_what_waits_is_paged_oldest_first(tmp_path: Path) -> None:
    """By keys, so that what is decided meanwhile moves nothing."""
    async with world(tmp_path, helper=helper(tools=[refund()])) as w:
        alice = w.client("alice")
        runs = [await waiting(alice, w, 1, 2), await waiting(alice, w, 3)]
        calls = [call["id"] for run in runs for call in run["pendingCalls"]]
        first = (await alice.ask(documents.APPROVALS, first=2))["approvals"]
        assert [node["id"] for node in first["nodes"]] == calls[:2]
        assert (first["pageInfo"]["hasNextPage"], first["totalCount"]) == (True, 3)
        await alice.done(documents.DECIDE, **decided(runs[0]["id"], runs[0]["pendingCalls"][0]))
        rest = await alice.ask(documents.APPROVALS, first=2, after=first["pageInfo"]["endCursor"])
        assert [node["id"] for node in rest["approvals"]["nodes"]] == calls[2:]
        bad = await alice.codes(documents.APPROVALS, after="nonsense")
        assert bad == ["BAD_USER_INPUT"]


async def test_a_client_answers_a_tool_of_its_own(tmp_path: Path) -> None:
    """completeToolCall, once, by the run's owner; anything that JSON can hold."""

    @tool(client=True)
    def locate(precise: bool = False) -> str:
        """Where the user is.

        Args:
            precise: whether to the metre.
        """
        raise AssertionError("a client answers it")

    async with world(tmp_path, helper=helper(tools=[locate])) as w:
        w.play(Script().tool("locate"), Script().text("In Bern."))
        alice, bob = w.client("alice"), w.client("bob")
        run = await alice.start("Where am I?")
        stream = await alice.watch_stream(run["streamId"])
        await stream.end()
        assert (stream.items[-1]["status"], stream.items[-1]["finish"]) == ("WAITING", "CLIENT_TOOL")
        (call,) = (await alice.run(run["id"]))["pendingCalls"]
        assert call["expiresAt"] is not None
        given = {"runId": run["id"], "toolCallId": call["id"], "result": {"city": "Bern", "exact": None}}
        assert await bob.refusal(documents.COMPLETE, **given) == ("RUN_NOT_FOUND", ["input", "runId"])
        wrong = await alice.refusal(documents.COMPLETE, **{**given, "toolCallId": "call_nowhere"})
        assert wrong == ("CALL_NOT_FOUND", ["input", "toolCallId"])
        await alice.done(documents.COMPLETE, **given)
        end = await alice.settled(run["id"])
        assert end["toolCalls"]["nodes"][0]["result"] == '{"city":"Bern","exact":null}'
        assert (await alice.refusal(documents.COMPLETE, **given))[0] == "CALL_ALREADY_DECIDED"
