"""Statistics as clients meet them: what was begun in a span, how it went, how long it took, and who may see whose."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine.budget import Budget
from engine.tool import tool
from tests.support import documents
from tests.support.clients import GraphQLFailed
from tests.support.messages_script import Script
from tests.support.world import World, helper, world

FIGURES = "turns completed failed cancelled calls usage { inputTokens outputTokens cost }"
STATISTICS = f"""
query ($from: DateTime, $to: DateTime, $parts: Int, $everyone: Boolean) {{
  statistics(from: $from, to: $to, parts: $parts, everyone: $everyone) {{
    from to
    present {{ queued running waiting oldestQueuedAt }}
    total {{ {FIGURES} }}
    parts {{ from to figures {{ turns calls }} }}
    agents {{ name figures {{ {FIGURES} }} }}
    users {{ name figures {{ turns usage {{ cost }} }} }}
    firstToken {{ count p50 p95 }}
    step {{ count p50 p95 }}
  }}
}}"""


@tool(approval=True)
def careful() -> str:
    """Do it once somebody has agreed."""
    return "done"


async def of(w: World, user: str, *roles: str, **variables: Any) -> Any:
    """What this user is shown."""
    given = {"parts": 24, "everyone": False, **variables}
    return (await w.client(user, *roles).ask(STATISTICS, **given))["statistics"]


async def test_what_was_begun_in_the_span_is_counted_with_how_it_ended(tmp_path: Path) -> None:
    """Turns by their end, calls and what they used; by agent too."""
    async with world(tmp_path, helper=helper(), miser=helper(budget=Budget(tokens=200))) as w:
        alice = w.client("alice")
        w.play(Script(input_tokens=100).text("Hello."))
        await alice.settled((await alice.start("Hi"))["id"])
        await alice.settled((await alice.start("x" * 400, agent="miser"))["id"])
        shown = await of(w, "alice")
    assert {name: shown["total"][name] for name in ("turns", "completed", "failed", "cancelled", "calls")} == {
        "turns": 2, "completed": 1, "failed": 1, "cancelled": 0, "calls": 1,
    }  # fmt: skip
    assert shown["total"]["usage"] == {"inputTokens": 100, "outputTokens": 1, "cost": "0.00021"}
    assert [(each["name"], each["figures"]["turns"]) for each in shown["agents"]] == [("helper", 1), ("miser", 1)]
    assert shown["present"] == {"queued": 0, "running": 0, "waiting": 0, "oldestQueuedAt": None}
    assert sum(part["figures"]["turns"] for part in shown["parts"]) == 2
    assert len(shown["parts"]) == 24
    assert (shown["parts"][0]["from"], shown["parts"][-1]["to"]) == (shown["from"], shown["to"])


async def test_a_run_at_work_is_counted_among_those_that_are(tmp_path: Path) -> None:
    """It has begun a turn, and its call has no time yet."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().text("Hel").hold(held).text("lo."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        feed = await alice.watch_run(run["id"])
        await feed.until(lambda feed: feed.items and feed.items[-1]["startedAt"] is not None)
        shown = await of(w, "alice")
        assert (shown["present"]["running"], shown["present"]["queued"]) == (1, 0)
        assert (shown["total"]["turns"], shown["total"]["completed"]) == (1, 0)
        assert shown["step"] == {"count": 0, "p50": None, "p95": None}
        held.set()
        await alice.settled(run["id"])
        shown = await of(w, "alice")
    assert shown["present"]["running"] == 0
    assert shown["firstToken"]["count"] == shown["step"]["count"] == 1
    assert 0 <= shown["firstToken"]["p50"] <= shown["step"]["p50"] == shown["step"]["p95"]


async def test_a_turn_that_waited_for_a_person_counts_once(tmp_path: Path) -> None:
    """While it waits, and when it has gone on in another generation."""
    async with world(tmp_path, helper=helper(tools=[careful])) as w:
        w.play(Script().tool("careful", {}), Script().text("Done."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        feed = await alice.watch_run(run["id"])
        await feed.until(lambda feed: feed.items and feed.items[-1]["status"] == "WAITING")
        run = feed.items[-1]
        shown = await of(w, "alice")
        assert (shown["total"]["turns"], shown["total"]["completed"], shown["present"]["waiting"]) == (1, 0, 1)
        (call,) = run["pendingCalls"]
        await alice.done(
            documents.DECIDE, runId=run["id"], decisions=[{"toolCallId": call["id"], "decision": "APPROVE"}]
        )
        await alice.settled(run["id"])
        shown = await of(w, "alice")
    assert (shown["total"]["turns"], shown["total"]["completed"], shown["present"]["waiting"]) == (1, 1, 0)


async def test_one_sees_one_s_own_and_administrators_everybody_s(tmp_path: Path) -> None:
    """Split by user for them alone; others are refused, and a viewer is told which it is."""
    async with world(tmp_path, settings={"admin_role": "chief"}) as w:
        for name in ("alice", "bob"):
            w.play(Script().text("Hello."))
            client = w.client(name)
            await client.settled((await client.start("Hi"))["id"])
        own = await of(w, "alice", "chief")
        assert (own["total"]["turns"], own["users"]) == (1, None)
        every = await of(w, "alice", "chief", everyone=True)
        assert every["total"]["turns"] == 2
        assert sorted(each["name"] for each in every["users"]) == ["alice", "bob"]
        with pytest.raises(GraphQLFailed, match="FORBIDDEN"):
            await of(w, "bob", "admin", everyone=True)
        viewer = "{ viewer { isAdmin } }"
        assert (await w.client("alice", "chief").ask(viewer))["viewer"]["isAdmin"] is True
        assert (await w.client("bob").ask(viewer))["viewer"]["isAdmin"] is False


@pytest.mark.parametrize(
    "given",
    [
        {"parts": 0},
        {"parts": 201},
        {"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"},
        {"from": "2026-01-01T00:00:00Z", "to": "2026-06-01T00:00:00Z"},
        {"from": "2026-01-01T00:00:00.000Z", "to": "2026-01-01T00:00:00.010Z"},
    ],
)
async def test_a_span_that_makes_no_sense_is_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    """With a code, before anything is counted."""
    async with world(tmp_path) as w:
        with pytest.raises(GraphQLFailed, match="BAD_USER_INPUT"):
            await of(w, "alice", **given)
