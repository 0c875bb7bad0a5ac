"""A turn's budget: it is never overdrawn, and what was done within it is kept and told."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from engine.budget import Budget
from engine.context import Context
from engine.errors import KeyReused, PriceUnknown
from engine.limits import ByRole, Limits
from engine.providers.prices import Prices
from engine.tool import tool
from engine.tool_error import ToolError
from engine.user import User
from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import RunResult, ToolCallStarted
from models.model_call import usage_of_runs
from models.purse import BALANCE, Purse, get_purses
from models.run import Run
from models.spending import Bounds
from models.verbs.spending import add_to_balance
from tests.support.messages_script import Script
from tests.support.stage import ALICE, LEASE_SECONDS, Stage

STAFF = User("sam", frozenset({"user", "staff"}))
NO_PRICES = Prices({})


async def purse_of(stage: Stage, run: Run) -> Purse:
    """The purse of the run's turn."""
    assert run.purses
    return (await stage.database.read(get_purses, run.purses))[run.purses[-1]]


@tool
async def look() -> str:
    """Look."""
    return "Nothing there."


async def test_a_turn_within_its_budget_is_like_any_other(stage: Stage) -> None:
    """What it has used is what its calls report; nothing stays reserved."""
    node = await stage.open(budget=Budget(cost="0.20", tokens=50_000))
    stage.play(Script(input_tokens=100).text("Hello."))
    run = await node.settled(await node.start())
    used = (await stage.database.read(usage_of_runs, [run.id]))[run.id]
    held = await purse_of(stage, run)
    assert run.status is RunStatus.COMPLETED
    assert held.reserved == Bounds(0, 0)
    assert held.spent == Bounds(int((used.cost or 0) * 10**12), 100 + used.output_tokens)


async def test_an_answer_is_asked_for_that_can_be_paid_for(stage: Stage) -> None:
    """max_tokens is lowered to what is left; the agent's own where enough is."""
    node = await stage.open(budget=Budget(tokens=1_000), max_tokens=8_000)
    stage.play(Script(input_tokens=10).text("Short."), Script(input_tokens=10).text("Longer."))
    await node.settled(await node.start())
    await node.settled(await node.start(budget=Budget(tokens=100_000)))
    short, full = (request.body["max_tokens"] for request in stage.server.requests)
    assert 900 < short < 1_000
    assert full == 8_000


async def test_a_spent_budget_ends_the_turn_and_keeps_what_was_done(stage: Stage) -> None:
    """The results are in the transcript, the error says what ran out, and a new turn goes on from there."""
    node = await stage.open(tools=[look], budget=Budget(tokens=2_000), max_tokens=500)
    stage.play(Script(input_tokens=1_950).text("Let me look.").tool("look").stop("tool_use", output_tokens=20))
    run = await node.settled(await node.start())
    assert (run.status, run.finish) == (RunStatus.FAILED, FinishReason.BUDGET)
    assert run.error is not None
    assert run.error.code is ErrorCode.BUDGET_SPENT
    assert "1,970 of 2,000 tokens" in run.error.message
    result = stage.screen(run.id).of(RunResult)[0]
    assert (result.finish, result.text, result.steps, result.error) == (
        FinishReason.BUDGET, "Let me look.", 1, run.error,
    )  # fmt: skip
    messages = await stage.messages(run.id)
    assert messages[-1].content[0]["content"] == "Nothing there."
    stage.play(Script(input_tokens=30).text("There is nothing."))
    await node.runs.retry(ALICE, run_id=run.id, budget=Budget(tokens=9_000))
    again = await node.settled(run.id)
    assert again.status is RunStatus.COMPLETED
    held = await purse_of(stage, again)
    assert (held.bounds, held.spent.tokens) == (Bounds(tokens=9_000), 30 + messages_output(again, stage))


def messages_output(run: Run, stage: Stage) -> int:
    """What the last answer took of output."""
    return stage.screen(run.id).of(RunResult)[-1].usage.output_tokens


async def test_a_budget_too_small_for_any_call_asks_nobody(stage: Stage) -> None:
    """The run is there with what was said, and can be retried with more."""
    node = await stage.open(budget=Budget(cost="0.000001"))
    run = await node.settled(await node.start())
    assert run.finish is FinishReason.BUDGET
    assert "of 0.000001 USD" in (run.error.message if run.error else "")
    assert stage.server.requests == []
    assert await stage.model_calls(run.id) == []


async def test_input_that_interrupts_a_turn_with_a_spent_budget_is_kept(stage: Stage) -> None:
    """What was shown, and the input behind it, unanswered."""
    node = await stage.open(budget=Budget(tokens=1_000), max_tokens=500)
    stage.play(Script(input_tokens=800).half_text("Once").hold(asyncio.Event()))
    run_id = await node.start()
    await stage.screen(run_id).shows("Once")
    await node.interrupt(run_id, "x" * 500)
    run = await node.settled(run_id)
    assert run.finish is FinishReason.BUDGET
    assert [message.role for message in await stage.messages(run_id)] == ["USER", "ASSISTANT", "USER"]


async def test_input_that_interrupts_before_anything_was_shown_is_kept_too(stage: Stage) -> None:
    """Its call counts by its estimate, and the step is withdrawn."""
    node = await stage.open(budget=Budget(tokens=600), max_tokens=500)
    stage.play(Script().hold(asyncio.Event()))
    run_id = await node.start()
    await stage.server.arrived(1)
    await node.interrupt(run_id, "x" * 1_000)
    run = await node.settled(run_id)
    assert run.finish is FinishReason.BUDGET
    assert [message.role for message in await stage.messages(run_id)] == ["USER", "USER"]
    assert (await purse_of(stage, run)).reserved == Bounds(0, 0)


async def test_a_failed_attempt_that_can_not_be_repeated_within_the_budget_ends_the_turn(stage: Stage) -> None:
    """What it had reported is spent."""
    node = await stage.open(budget=Budget(tokens=1_000), max_tokens=500)
    stage.play(Script(input_tokens=900).text("a", "b").fail())
    run = await node.settled(await node.start())
    assert run.finish is FinishReason.BUDGET
    assert (await purse_of(stage, run)).spent.tokens == 901


async def test_five_questions_at_once_share_one_budget(stage: Stage) -> None:
    """A tool that asks a model five times at the same moment gets as many answers as can be paid for."""
    told: list[str] = []

    async def one(ctx: Context) -> str:
        try:
            return (await ctx.llm("2 + 2?", max_tokens=400)).text
        except ToolError as error:
            told.append(str(error))
            return "not asked"

    @tool
    async def ask(ctx: Context) -> list[str]:
        """Ask."""
        return await asyncio.gather(*(one(ctx) for _ in range(5)))

    node = await stage.open(tools=[ask], budget=Budget(tokens=2_000), max_tokens=100)
    held_at_once = asyncio.Event()
    scripts = [Script(input_tokens=20).text("4").hold(held_at_once).stop(output_tokens=380) for _ in range(5)]
    stage.play(Script(input_tokens=700).tool("ask"), *scripts)
    run_id = await node.start()
    await stage.server.arrived(3)
    while not told:
        await asyncio.sleep(0)
    held = await purse_of(stage, await stage.run(run_id))
    assert (held.left(held.bounds).tokens or 0) >= 0
    held_at_once.set()
    run = await node.settled(run_id)
    held = await purse_of(stage, run)
    assert run.finish is FinishReason.BUDGET
    assert (held.spent.tokens or 0) <= 2_000
    assert held.reserved == Bounds(0, 0)
    assert 1 <= len(told) < 5
    assert "budget of this turn is spent" in told[0]


async def test_five_calls_of_tools_at_once_share_one_budget(stage: Stage) -> None:
    """As they do where each asks in a call of its own."""

    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        return (await ctx.llm("2 + 2?", max_tokens=400)).text

    node = await stage.open(tools=[ask], parallel_tools=5, budget=Budget(tokens=2_000), max_tokens=100)
    first = Script(input_tokens=700)
    for _ in range(5):
        first = first.tool("ask")
    stage.play(first, *(Script(input_tokens=20).text("4").stop(output_tokens=380) for _ in range(5)))
    run = await node.settled(await node.start())
    calls = (await stage.story(run.id)).calls
    assert run.finish is FinishReason.BUDGET
    assert {call.is_error for call in calls} == {True, False}
    assert ((await purse_of(stage, run)).spent.tokens or 0) <= 2_000


async def test_a_call_cancelled_before_anything_came_counts_its_estimated_input(stage: Stage) -> None:
    """The provider may have counted it."""
    node = await stage.open(budget=Budget(tokens=5_000))
    stage.play(Script().hold(asyncio.Event()))
    run_id = await node.start("x" * 400)
    await stage.server.arrived(1)
    await node.cancel(run_id)
    run = await node.settled(run_id)
    (call,) = await stage.model_calls(run_id)
    assert run.status is RunStatus.CANCELLED
    assert call.usage.input_tokens > 0
    assert (await purse_of(stage, run)).spent.tokens == call.usage.input_tokens + call.usage.output_tokens


async def test_a_turns_budget_goes_before_the_agents_own_part_by_part(stage: Stage) -> None:
    """What it leaves out is the agent's; the agent's alone holds for turns that steering and forks begin."""
    node = await stage.open(budget=Budget(cost="0.20", tokens=50_000))
    stage.play(*(Script(input_tokens=10).text("Hello.") for _ in range(4)))
    run = await node.settled(await node.start(budget=Budget(cost="0.5")))
    assert (await purse_of(stage, run)).bounds == Bounds(5 * 10**11, 50_000)
    await node.steer(run.id, "More")
    again = await node.settled(run.id)
    assert (await purse_of(stage, again)).bounds == Bounds(2 * 10**11, 50_000)
    await node.runs.start(ALICE, agent="helper", input="And more", run_id=run.id, budget=Budget(tokens=7_000))
    third = await node.settled(run.id)
    assert (await purse_of(stage, third)).bounds == Bounds(2 * 10**11, 7_000)
    forked = await node.runs.fork(ALICE, run_id=run.id, seq=2, input="Other")
    assert (await purse_of(stage, await node.settled(forked.id))).bounds == Bounds(2 * 10**11, 50_000)
    assert (await node.runs.fork(ALICE, run_id=run.id, seq=2)).purses is None


async def test_a_budget_is_part_of_what_a_key_stands_for(stage: Stage) -> None:
    """The same key with another budget is another request."""
    node = await stage.open()
    stage.play(Script().text("Hello."))
    run_id = await node.start(key="k", budget=Budget(cost="1.0"))
    assert (await node.runs.start(ALICE, agent="helper", input="Hi", key="k", budget=Budget(cost=1))).run.id == run_id
    with pytest.raises(KeyReused):
        await node.runs.start(ALICE, agent="helper", input="Hi", key="k", budget=Budget(cost=2))
    await node.settled(run_id)


# ---------------------------------------------------------------- the deployment's limits


async def test_a_daily_limit_holds_by_role(stage: Stage) -> None:
    """Over all runs of a user; those with the role have their own, and the error says which limit it was."""
    limits = Limits(daily_tokens=ByRole(1_000, {"staff": 9_000}))
    node = await stage.open(limits=limits, max_tokens=500)
    stage.play(Script(input_tokens=980).text("Hello."))
    assert (await node.settled(await node.start())).status is RunStatus.COMPLETED
    run = await node.settled(await node.start())
    assert (run.status, run.finish) == (RunStatus.FAILED, FinishReason.LIMIT)
    assert run.error is not None
    assert run.error.code is ErrorCode.LIMIT_REACHED
    assert "daily limit" in run.error.message
    stage.play(*(Script(input_tokens=980).text("Hello.") for _ in range(2)))
    for _ in range(2):
        assert (await node.settled(await node.start(user=STAFF))).status is RunStatus.COMPLETED
    stage.clock.advance(24 * 3_600)
    stage.play(Script(input_tokens=10).text("Good morning."))
    await node.runs.retry(ALICE, run_id=run.id)
    assert (await node.settled(run.id)).status is RunStatus.COMPLETED


async def test_a_monthly_limit_holds_for_everybody_together(stage: Stage) -> None:
    """One user's spending ends another's turn."""
    node = await stage.open(limits=Limits(monthly_cost=Decimal("0.002")), max_tokens=500)
    stage.play(Script(input_tokens=950).text("Hello."))
    assert (await node.settled(await node.start())).status is RunStatus.COMPLETED
    run = await node.settled(await node.start(user=STAFF))
    assert (run.finish, run.error.code if run.error else None) == (FinishReason.LIMIT, ErrorCode.LIMIT_REACHED)
    assert "monthly limit" in (run.error.message if run.error else "")


async def test_a_balance_ends_turns_once_it_is_spent(stage: Stage) -> None:
    """Until it is topped up."""
    node = await stage.open(max_tokens=500)
    await stage.database.write(add_to_balance, 2 * 10**9)
    stage.play(Script(input_tokens=950).text("Hello."), Script(input_tokens=10).text("Again."))
    assert (await node.settled(await node.start())).status is RunStatus.COMPLETED
    run = await node.settled(await node.start())
    assert (run.finish, run.error.code if run.error else None) == (FinishReason.BALANCE, ErrorCode.BALANCE_SPENT)
    await stage.database.write(add_to_balance, 10**10)
    await node.runs.retry(ALICE, run_id=run.id)
    assert (await node.settled(run.id)).status is RunStatus.COMPLETED
    assert (await stage.database.read(get_purses, [BALANCE]))[BALANCE].reserved == Bounds(0, 0)


# ---------------------------------------------------------------- models without a price


async def test_a_model_without_a_price_takes_no_budget_in_money(stage: Stage) -> None:
    """Refused at the start, with the model's name, wherever the bound comes from; in tokens it does."""
    bounds: list[dict[str, Any]] = [
        {"limits": Limits(monthly_cost=Decimal(1))},
        {"limits": Limits(daily_cost=ByRole(Decimal(1)))},
    ]
    for more in [*bounds, {"budget": Budget(cost=1)}]:
        node = await stage.open(prices=NO_PRICES, **more)
        with pytest.raises(PriceUnknown, match="claude-sonnet-5-5") as refused:
            await node.start()
        assert refused.value.field == ("agent",)
    node = await stage.open(prices=NO_PRICES)
    with pytest.raises(PriceUnknown) as refused:
        await node.start(budget=Budget(cost=1))
    assert refused.value.field == ("budget", "cost")
    stage.play(Script(input_tokens=10).text("Hello."))
    run = await node.settled(await node.start(budget=Budget(tokens=1_000)))
    assert run.status is RunStatus.COMPLETED
    await stage.database.write(add_to_balance, 10**12)
    with pytest.raises(PriceUnknown, match="balance"):
        await node.start()


async def test_money_that_is_limited_while_a_run_without_a_price_works_ends_it_in_words(stage: Stage) -> None:
    """As a failure that names the model; what was done is kept."""
    asked = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        await asked.wait()
        return "done"

    node = await stage.open(tools=[wait], prices=NO_PRICES)
    stage.play(Script().tool("wait"))
    run_id = await node.start()
    await stage.screen(run_id).sees(ToolCallStarted)
    await stage.database.write(add_to_balance, 10**12)
    asked.set()
    run = await node.settled(run_id)
    assert (run.finish, run.error.code if run.error else None) == (FinishReason.ERROR, ErrorCode.PRICE_UNKNOWN)
    assert len(await stage.messages(run_id)) == 3


async def test_a_question_of_a_model_without_a_price_is_the_tools_failure(stage: Stage) -> None:
    """Within a budget in money."""

    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        return (await ctx.llm("2 + 2?", model="model-x")).text

    node = await stage.open(tools=[ask], budget=Budget(cost=1))
    stage.play(Script().tool("ask"), Script().text("No."))
    run = await node.settled(await node.start())
    (call,) = (await stage.story(run.id)).calls
    assert run.status is RunStatus.COMPLETED
    assert "'model-x' has no known price" in call.result


async def test_a_crash_between_reservation_and_answer_counts_the_estimated_input(stage: Stage) -> None:
    """The next owner's attempt has a reservation of its own, from the same budget."""
    node = await stage.open(budget=Budget(tokens=20_000), watch_seconds=0.02)
    stage.play(Script().half_text("Once").hold(asyncio.Event()), Script(input_tokens=100).text("Hello."))
    run_id = await node.start()
    await stage.screen(run_id).shows("Once")
    await stage.leases.advance(LEASE_SECONDS + 1)
    other = await stage.open(budget=Budget(tokens=20_000), watch_seconds=0.02)
    run = await other.settled(run_id)
    await node.beat()
    await node.idle(run_id)
    await stage.screen(run_id).sees(RunResult)
    first, second = await stage.model_calls(run_id)
    assert run.status is RunStatus.COMPLETED
    assert first.usage.input_tokens == first.estimated_tokens
    assert second.usage.input_tokens == 100
    held = await purse_of(stage, run)
    assert held.spent.tokens == (first.estimated_tokens or 0) + 100 + second.usage.output_tokens
