"""Budgets as clients meet them: set with the input, live on the run, kept by the server."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.budget import Budget
from engine.context import Context
from engine.limits import ByRole
from engine.tool import tool
from tests.support import documents
from tests.support.messages_script import Script
from tests.support.world import helper, world

LIMIT = "{ viewer { dailyLimit { cost tokens spentCost spentTokens } usageToday { inputTokens cost } } }"


async def test_a_budget_is_set_with_the_input_and_live_on_the_run(tmp_path: Path) -> None:
    """Whoever watches the run sees what is spent as each call of the model ends."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script(input_tokens=100).text("Hello.").hold(held), Script().text("Hello."))
        alice = w.client("alice")
        run = await alice.start(budget={"cost": "0.20", "tokens": 50_000})
        assert run["budget"] == {"cost": "0.2", "tokens": 50_000, "spentCost": "0", "spentTokens": 0}
        feed = await alice.watch_run(run["id"])
        await feed.until(lambda feed: feed.items)
        held.set()
        await feed.until(lambda feed: feed.items[-1]["status"] == "COMPLETED")
        last = feed.items[-1]
        assert last["budget"]["spentTokens"] == 101
        assert last["budget"]["spentCost"] == last["usage"]["cost"] == "0.00021"
        plain = await alice.start()
        assert plain["budget"] is None
        assert (await alice.settled(plain["id"]))["status"] == "COMPLETED"


async def test_a_spent_budget_is_told_and_a_retry_takes_another(tmp_path: Path) -> None:
    """The run has FAILED with BUDGET; the retried turn counts from nothing."""
    async with world(tmp_path, helper=helper(budget=Budget(tokens=200))) as w:
        alice = w.client("alice")
        run = await alice.settled((await alice.start("x" * 400))["id"])
        assert (run["status"], run["finish"], run["error"]["code"]) == ("FAILED", "BUDGET", "BUDGET_SPENT")
        assert run["budget"]["tokens"] == 200
        w.play(Script(input_tokens=210).text("Hello."))
        await alice.done(documents.RETRY, runId=run["id"], budget={"tokens": 4_000})
        again = await alice.settled(run["id"])
        assert again["status"] == "COMPLETED"
        assert again["budget"] == {"cost": None, "tokens": 4_000, "spentCost": "0.00043", "spentTokens": 211}


@pytest.mark.parametrize(
    ("budget", "field"),
    [
        ({}, ["input", "budget"]),
        ({"cost": "0"}, ["input", "budget", "cost"]),
        ({"cost": "-1"}, ["input", "budget", "cost"]),
        ({"cost": "0.0000000000001"}, ["input", "budget", "cost"]),
        ({"cost": "99999999999"}, ["input", "budget", "cost"]),
        ({"tokens": 0}, ["input", "budget", "tokens"]),
    ],
)
async def test_a_budget_that_bounds_nothing_is_refused(
    tmp_path: Path, budget: dict[str, Any], field: list[str]
) -> None:
    """In words, with the argument at fault; nothing is begun."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        refused = await alice.refusal(documents.START, agent="helper", input="Hi", budget=budget)
        assert refused == ("INVALID_INPUT", field)
        assert await w.run_ids() == []


async def test_a_model_without_a_price_is_refused_within_a_budget_in_money(tmp_path: Path) -> None:
    """PRICE_UNKNOWN, by the budget's cost."""
    async with world(tmp_path, helper=helper(model="model-x")) as w:
        alice = w.client("alice")
        refused = await alice.refusal(documents.START, agent="helper", input="Hi", budget={"cost": "1"})
        assert refused == ("PRICE_UNKNOWN", ["input", "budget", "cost"])


async def test_the_viewers_daily_limit_is_live_and_by_role(tmp_path: Path) -> None:
    """What it is, what is spent of it; null for whom nothing limits."""
    limits = {
        "daily_cost_limit": ByRole(None, {"staff": Decimal(50)}),
        "daily_token_limit": ByRole(None, {"staff": 9_000}),
    }
    async with world(tmp_path, settings=limits) as w:
        w.play(Script(input_tokens=100).text("Hello."))
        alice, sam = w.client("alice"), w.client("sam", "staff")
        assert (await alice.ask(LIMIT))["viewer"]["dailyLimit"] is None
        await sam.settled((await sam.start())["id"])
        viewer = (await sam.ask(LIMIT))["viewer"]
        assert viewer["dailyLimit"] == {"cost": "50", "tokens": 9_000, "spentCost": "0.00021", "spentTokens": 101}
        assert viewer["usageToday"] == {"inputTokens": 100, "cost": "0.00021"}


async def test_what_a_tools_question_cost_is_seen_while_the_tool_still_works(tmp_path: Path) -> None:
    """The run's usage and what is spent of its budget are live."""
    asked, goes = asyncio.Event(), asyncio.Event()

    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        await ctx.llm("2 + 2?")
        asked.set()
        await goes.wait()
        return "4"

    live = "subscription ($id: ID!) { run(id: $id) { usage { inputTokens } budget { spentTokens } } }"
    async with world(tmp_path, helper=helper(tools=[ask], budget=Budget(tokens=90_000))) as w:
        w.play(Script(input_tokens=10).tool("ask"), Script(input_tokens=700).text("4"), Script().text("Four."))
        alice = w.client("alice")
        run = await alice.start("How much?")
        feed = await alice.watch(live, id=run["id"])
        await asked.wait()
        await feed.until(lambda feed: feed.items and feed.items[-1]["usage"]["inputTokens"] == 710)
        assert feed.items[-1]["budget"]["spentTokens"] > 710
        goes.set()
        await alice.settled(run["id"])
