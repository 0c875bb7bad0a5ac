"""Sub-agents as clients see them: two linked runs, and what waits below is seen and decided from above."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.tool import tool
from tests.support import documents
from tests.support.client import Client
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.messages_server import Request
from tests.support.world import helper, kinds, world

Json = dict[str, Any]
TREE = """query ($id: ID!) { run(id: $id) {
  id status finish children { nodes { id agent status parent { id } } }
  toolCalls { nodes { id name childRun { id agent } } }
  pendingCalls { id runId name input }
} }"""
LIVE = "subscription ($id: ID!) { run(id: $id) { status pendingCalls { id runId } } }"


@tool(approval=True)
async def refund(amount: float) -> str:
    """Refund an amount.

    Args:
        amount: how much.
    """
    return f"refunded {amount:g}"


def lead(**values: Any) -> Any:
    """Hands tasks to the expert."""
    return helper(**{"system": "You lead.", "subagents": ["expert"], **values})


def expert(**values: Any) -> Any:
    """Gets them."""
    return helper(**{"system": "You know.", "description": "Knows refunds.", **values})


def decided(call: Json) -> Json:
    """The input that approves a call, under its own run."""
    return {"runId": call["runId"], "decisions": [{"toolCallId": call["id"], "decision": "APPROVE"}]}


async def test_a_refund_below_is_seen_and_approved_from_above(tmp_path: Path) -> None:
    """The run above shows the call, in its pendingCalls and its events; approved, both come to their ends."""
    async with world(tmp_path, helper=lead(), expert=expert(tools=[refund])) as w:
        alice = w.client("alice")
        w.play(Script().tool("expert", {"task": "Refund 5"}), Script().tool("refund", {"amount": 5}))
        run = await alice.start("Refund 5")
        live = await alice.watch(LIVE, id=run["id"])
        await live.until(lambda feed: feed.items and feed.items[-1]["status"] == "WAITING")
        tree = (await alice.ask(TREE, id=run["id"]))["run"]
        (child,) = tree["children"]["nodes"]
        (call,) = tree["pendingCalls"]
        assert (tree["finish"], child["agent"], child["status"]) == ("APPROVAL", "expert", "WAITING")
        assert (child["parent"]["id"], call["runId"], call["name"]) == (run["id"], child["id"], "refund")
        assert tree["toolCalls"]["nodes"][0]["childRun"] == {"id": child["id"], "agent": "expert"}
        assert (await alice.ask(documents.APPROVALS))["approvals"]["nodes"][0]["id"] == call["id"]
        events = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"])
        w.play(Script().text("Refunded."), Script().text("Done."))
        await alice.done(documents.DECIDE, **decided(call))
        await events.sees("RunResult", 2)
        assert [kind for kind in kinds(events.items) if kind != "TextDelta"] == [
            *("StepFinished", "ToolCallStarted", "SubagentStarted", "CallsWaiting", "RunResult"),
            *("SubagentFinished", "ToolCallFinished", "StepFinished", "RunResult"),
        ]
        (waits,) = [event for event in events.items if event["__typename"] == "CallsWaiting"]
        assert [one["id"] for one in waits["calls"]] == [call["id"]]
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"
        assert (await alice.settled(child["id"]))["status"] == "COMPLETED"


async def test_what_begins_to_wait_below_is_live_while_the_run_above_is_at_work(tmp_path: Path) -> None:
    """Its row is given again when a call below begins to wait, and when it is decided."""
    gate = Gate()
    async with world(tmp_path, helper=lead(tools=[gate.tool]), expert=expert(tools=[refund])) as w:
        alice = w.client("alice")
        below = [Script().tool("refund", {"amount": 5}), Script().text("Refunded.")]
        above = [Script().tool("expert", {"task": "Refund 5"}).tool("work"), Script().text("Done.")]

        def choose(request: Request) -> Script:
            return (above if "You lead." in str(request.body["system"]) else below).pop(0)

        w.model.answer(choose)
        run = await alice.start("Refund 5")
        live = await alice.watch(LIVE, id=run["id"])
        await live.until(lambda feed: feed.items and feed.items[-1]["pendingCalls"])
        assert live.items[-1]["status"] == "RUNNING"
        await alice.done(documents.DECIDE, **decided(live.items[-1]["pendingCalls"][0]))
        await live.until(lambda feed: not feed.items[-1]["pendingCalls"])
        gate.open.set()
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"


async def test_an_approval_that_nobody_gives_expires_by_itself(tmp_path: Path) -> None:
    """On a server that works too: the model reads so, above and below."""
    late = tool(approval=True, expires=0.2)(refund.function)
    settings = {"cancel_poll_seconds": 0.1}
    async with world(tmp_path, helper=lead(), expert=expert(tools=[late]), settings=settings) as w:
        alice = w.client("alice")
        w.play(Script().tool("expert", {"task": "Refund 5"}), Script().tool("refund", {"amount": 5}))
        w.play(Script().text("Nobody decided."), Script().text("Not refunded."))
        run = await alice.start("Refund 5")
        events = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"])
        await events.sees("RunResult", 2)
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"


async def test_who_decides_by_a_role_lets_a_tree_go_on_that_is_not_his_to_see(tmp_path: Path) -> None:
    """He sees the call and neither run; the owner sees it below both, and can't decide it; others see nothing."""
    by_role = tool(approval=True, approvers="finance")(refund.function)
    async with world(tmp_path, helper=lead(), expert=expert(tools=[by_role])) as w:
        alice, fay, bob = w.client("alice"), w.client("fay", "finance"), w.client("bob")
        w.play(Script().tool("expert", {"task": "Refund 5"}), Script().tool("refund", {"amount": 5}))
        run = await alice.start("Refund 5")
        events = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"])
        await events.sees("RunResult")
        (call,) = (await alice.ask(TREE, id=run["id"]))["run"]["pendingCalls"]
        for client in (fay, bob):
            for run_id in (run["id"], call["runId"]):
                assert (await client.ask(TREE, id=run_id))["run"] is None
        assert (await bob.ask(documents.APPROVALS))["approvals"]["nodes"] == []
        assert await codes(bob, decided(call)) == ["RUN_NOT_FOUND"]
        assert await codes(alice, decided(call)) == ["NOT_ALLOWED_TO_DECIDE"]
        assert await codes(fay, decided({**call, "runId": run["id"]})) == ["RUN_NOT_FOUND"]
        (shown,) = (await fay.ask(documents.APPROVALS))["approvals"]["nodes"]
        w.play(Script().text("Refunded."), Script().text("Done."))
        payload = (await fay.ask(documents.DECIDE, input=decided(shown)))["decideToolCalls"]
        assert (payload["run"], payload["errors"]) == (None, [])
        await events.sees("RunResult", 2)
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"


async def codes(client: Client, given: Json) -> list[str]:
    """What a decision is refused with."""
    payload = (await client.ask(documents.DECIDE, input=given))["decideToolCalls"]
    return [error["code"] for error in payload["errors"]]
