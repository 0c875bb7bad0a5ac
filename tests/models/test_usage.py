"""Usage: sums over model calls, exact to the last digit on every database."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from models.call import ToolCall
from models.database import Database
from models.model_call import ModelCall, get_model_calls, usage_of_runs, usage_of_stream, usage_since
from models.usage import Usage
from models.verbs.subcalling import begin_subcall, finish_subcall
from tests.support.desk import Desk, Hands
from tests.support.rows import NOW, a_model_call, a_run, store

_costs = st.none() | st.decimals(min_value=0, max_value=10_000, places=12)
_usages = st.builds(Usage, *[st.integers(0, 10**9)] * 4, cost=_costs)


@given(_usages)
def test_usage_survives_json(usage: Usage) -> None:
    """Tokens and cost come back as they were."""
    assert Usage.from_json(usage.to_json()) == usage


def test_a_cost_is_written_in_plain_digits() -> None:
    """Never with an exponent."""
    assert Usage(cost=Decimal("1E-12")).to_json()["cost"] == "0.000000000001"
    assert Usage(cost=Decimal("1E+3")).to_json()["cost"] == "1000"


async def test_sums_of_costs_are_exact(database: Database) -> None:
    """Ten tenths of a cent are a cent; nothing is lost to binary fractions, up to large sums."""
    run, other = a_run(), a_run(user_id="bob")
    tenth = Usage(1, 2, 3, 4, Decimal("0.000000000001"))
    calls = [a_model_call(run, step, tenth, stream_id="str_1") for step in range(1, 11)]
    large = a_model_call(run, 11, Usage(2**40, 0, 0, 0, Decimal("123456.789012345678")), stream_id="str_2")
    await store(database, run, other, *calls, large)
    used = await database.read(usage_of_runs, [run.id, other.id])
    assert used[run.id] == Usage(2**40 + 10, 20, 30, 40, Decimal("123456.789012345688"))
    assert used[other.id] == Usage(cost=Decimal(0))
    assert await database.read(usage_of_stream, "str_1") == Usage(10, 20, 30, 40, Decimal("0.00000000001"))
    kept = (await database.read(get_model_calls, [large.id]))[large.id]
    assert kept.usage == large.usage


async def test_a_users_usage_counts_from_a_moment_on(database: Database) -> None:
    """Over all of the user's runs; a call at that very moment counts."""
    run, second, other = a_run(), a_run(), a_run(user_id="bob")
    one = Usage(1, 0, 0, 0, Decimal("0.1"))
    await store(
        database,
        run,
        second,
        other,
        a_model_call(run, 1, one, started_at=NOW - 1),
        a_model_call(run, 2, one, started_at=NOW),
        a_model_call(second, 1, one, started_at=NOW + 5),
        a_model_call(other, 1, one),
    )
    assert await database.read(usage_since, "alice", NOW) == Usage(2, 0, 0, 0, Decimal("0.2"))
    assert await database.read(usage_since, "nobody", 0) == Usage(cost=Decimal(0))


async def test_a_call_without_a_known_price_makes_the_sum_unknown(database: Database) -> None:
    """Rather than too low."""
    run = a_run()
    await store(database, run, a_model_call(run, 1, Usage(1, cost=Decimal(1))), a_model_call(run, 2, Usage(1)))
    used = (await database.read(usage_of_runs, [run.id]))[run.id]
    assert (used.input_tokens, used.cost) == (2, None)


async def test_a_call_that_has_used_nothing_costs_nothing(desk: Desk) -> None:
    """One under way, or given up before anything was reported, leaves the run's cost known."""
    hands = await desk.open()
    priced: dict[str, Any] = {"reported": Usage(3, 1, cost=Decimal("0.25"))}
    await hands.begin()
    assert (await desk.database.read(usage_of_runs, [hands.id]))[hands.id] == Usage(cost=Decimal(0))
    await hands.begin(1, 2, reason="nothing came")
    await hands.begin(1, 3, reason="it broke", **priced)
    used = (await desk.database.read(usage_of_runs, [hands.id]))[hands.id]
    assert used == Usage(3, 1, cost=Decimal("0.25"))


async def _ask(hands: Hands, call: ToolCall) -> ModelCall:
    """A tool's own question to a model, begun."""
    return await hands.desk.database.write(
        begin_subcall,
        run_id=hands.id,
        fence=hands.run.fence,
        model_call_id=hands.desk.ids("mdl"),
        tool_call_id=call.id,
        model="model-b",
        at=hands.desk.clock(),
    )


async def test_a_tools_own_calls_of_a_model_are_counted_on_the_run(desk: Desk) -> None:
    """Also where the answer comes after the fence has moved, since it was used; each once."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    asked = await _ask(hands, call)
    await desk.lapse()
    second = await desk.taken()
    await second.finish(call)
    await second.results()
    await second.say()
    await second.settle()
    before = (await desk.database.read(usage_of_runs, [hands.id]))[hands.id]
    spent = Usage(100, 50)
    for _ in range(2):
        await desk.database.write(
            finish_subcall,
            model_call_id=asked.id,
            usage=spent,
            model="model-b-2027",
            stop_reason="end_turn",
            request_id="req_1",
            at=desk.clock(),
        )
    after = (await desk.database.read(usage_of_runs, [hands.id]))[hands.id]
    assert after.input_tokens == before.input_tokens + 100
    kept = (await desk.database.read(get_model_calls, [asked.id]))[asked.id]
    assert (kept.usage, kept.model, kept.tool_call_id) == (spent, "model-b-2027", call.id)


async def test_a_tools_open_call_of_a_model_does_not_take_the_answers_usage(desk: Desk) -> None:
    """The step's own model call and a tool's are told apart."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    await hands.finish(call)
    await hands.results()
    await hands.begin(2, 1)
    asked = await _ask(hands, call)  # a tool that has not heard of its time-out
    await hands.begin(2, 2, reason="it broke", reported=Usage(9))
    await hands.answer()
    kept = (await desk.database.read(get_model_calls, [asked.id]))[asked.id]
    assert kept.usage == Usage()
