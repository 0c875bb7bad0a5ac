"""Purses: what calls of a model reserve before they are made, and that no two of them spend the same money."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Connection, select, text

from models.enums import FinishReason, RunStatus
from models.model_call import (
    ModelCall,
    model_call_from_row,
    model_calls,
    usage_of_runs,
)
from models.purse import BALANCE, DAY_MS, Purse, day_purse, get_purses, month_purse, month_start, purge_days
from models.spending import LEAST_TOKENS, Ask, Bounds, Caps, Tariff
from models.usage import Usage
from models.verbs.errors import NoPrice, Spent
from models.verbs.settling import End, settle_flagged
from models.verbs.spending import add_to_balance, end_balance, used_by
from models.verbs.stepping import StepStart, append_results
from models.verbs.subcalling import begin_subcall, finish_subcall
from tests.support.desk import Desk, Hands, calls_answer, dice_of, text_answer

TARIFF = Tariff(2_000_000, 10_000_000)  # 2 and 10 USD a million
CENT = 10**10
BROKEN = End(RunStatus.FAILED, FinishReason.BUDGET)


def ask(input_tokens: int = 1_000, max_tokens: int = 1_000, **more: Any) -> Ask:
    """A call that takes 1.2 cents at most, unless told otherwise."""
    return Ask(input_tokens, max_tokens, **{"tariff": TARIFF, **more})


def used(input_tokens: int, output_tokens: int) -> Usage:
    """What a call used, at its cost."""
    return Usage(input_tokens, output_tokens, cost=Decimal(2 * input_tokens + 10 * output_tokens) / 1_000_000)


async def purse(desk: Desk, purse_id: str) -> Purse:
    """A purse that is there."""
    return (await desk.database.read(get_purses, [purse_id]))[purse_id]


async def own_purse(hands: Hands) -> Purse:
    """The purse that the run's turn draws from."""
    assert hands.run.purses
    return await purse(hands.desk, hands.run.purses[-1])


async def ask_aside(hands: Hands, tool_call: str = "call_1", **more: Any) -> ModelCall:
    """A tool's own question to a model, begun."""
    given: dict[str, Any] = {"model_call_id": hands.desk.ids("mdl"), "ask": ask(), **more}
    return await hands.desk.database.write(
        begin_subcall,
        run_id=hands.id,
        fence=hands.run.fence,
        tool_call_id=tool_call,
        model="model-a",
        at=hands.desk.clock(),
        **given,
    )


async def answered_aside(desk: Desk, call: ModelCall, usage: Usage | None) -> None:
    """Its end."""
    told: dict[str, Any] = {"model": None, "stop_reason": None, "request_id": None, "at": desk.clock()}
    await desk.database.write(finish_subcall, model_call_id=call.id, usage=usage, **told)


async def test_a_reservation_gives_way_to_what_was_used(desk: Desk) -> None:
    """In the transaction that stores the answer; until then it is held, and nothing counts as spent."""
    hands = await desk.open(budget=Bounds(10 * CENT, 10_000))
    await hands.begin(ask=ask())
    before = await own_purse(hands)
    assert (before.reserved, before.spent) == (Bounds(CENT * 12 // 10, 2_000), Bounds(0, 0))
    await hands.answer(text_answer(1, usage=used(900, 100)))
    after = await own_purse(hands)
    assert (after.reserved, after.spent) == (Bounds(0, 0), Bounds(CENT * 28 // 100, 1_000))


async def test_an_answer_is_shortened_to_what_is_left(desk: Desk) -> None:
    """The run says how long it may be, also where the verb is repeated; money and tokens bound it alike."""
    hands = await desk.open(budget=Bounds(CENT))
    await hands.begin(ask=ask())
    assert hands.run.step_max_tokens == 800
    await hands.begin(ask=ask())
    assert hands.run.step_max_tokens == 800
    tokens = await desk.open(budget=Bounds(tokens=1_300))
    await tokens.begin(ask=ask())
    assert tokens.run.step_max_tokens == 300


async def test_a_step_that_nothing_is_left_for_stores_nothing(desk: Desk) -> None:
    """Not at its beginning, and not behind results, which are then still to be appended."""
    hands = await desk.open(budget=Bounds(tokens=1_500 + LEAST_TOKENS))
    await hands.begin(ask=ask(500, LEAST_TOKENS))
    await hands.answer(calls_answer(1, usage=used(500, LEAST_TOKENS)))
    await hands.run_calls(await desk.calls(hands.id, 1))
    before = await desk.everything()
    with pytest.raises(Spent) as refused:
        await hands.results(start=StepStart(2, 1, "model-a", ask=ask(999)))
    assert (refused.value.of_tokens, refused.value.bounds.tokens) == (True, 1_500 + LEAST_TOKENS)
    assert refused.value.taken.tokens == 500 + LEAST_TOKENS
    with pytest.raises(Spent):
        await hands.begin(ask=ask(1_001))
    assert await desk.everything() == before
    await hands.verb(append_results, seq=3, ids=desk.ids, start=None)
    assert hands.run.seq == 3


async def test_what_a_verb_appends_is_part_of_the_next_call(desk: Desk) -> None:
    """Results of tools, and input queued after the ask was made, are added to the estimate."""
    hands = await desk.open(budget=Bounds(tokens=10_000))
    await hands.begin(ask=ask())
    await hands.answer(calls_answer(1, usage=used(900, 100)))
    await hands.run_calls(await desk.calls(hands.id, 1))
    await desk.queue(hands.id, "x" * 4_000)
    await hands.results(start=StepStart(2, 1, "model-a", ask=ask(1_000, 1_000)))
    assert 4_000 < ((await own_purse(hands)).reserved.tokens or 0) < 4_300


@pytest.mark.parametrize("bounds", [Bounds(3 * CENT), Bounds(tokens=5_000), Bounds(5 * CENT, 5_000)])
async def test_five_calls_at_once_can_not_spend_the_money_of_one(desk: Desk, bounds: Bounds) -> None:
    """Tools that ask a model at the same moment share what is left; who comes too late is told."""
    hands = await desk.open(budget=bounds)
    calls = await asyncio.gather(*(ask_aside(hands) for _ in range(5)), return_exceptions=True)
    begun = [call for call in calls if isinstance(call, ModelCall)]
    assert 1 <= len(begun) < 5
    assert all(isinstance(call, ModelCall | Spent) for call in calls)
    held = await own_purse(hands)
    left = held.left(bounds)
    assert (left.cost_pico or 0) >= 0
    assert (left.tokens or 0) >= 0
    await asyncio.gather(*(answered_aside(desk, call, used(1_000, call.max_tokens or 0)) for call in begun))
    assert (await own_purse(hands)).reserved == Bounds(0, 0)


async def test_children_pay_from_the_purse_of_the_turn_that_began_them(desk: Desk) -> None:
    """Each in a run of its own, at the same moment; a budget of their own bounds them beside it."""
    parent = await desk.open(budget=Bounds(3 * CENT))
    inherited = parent.run.purses
    children = [await desk.open(purses=inherited) for _ in range(4)]
    narrow = await desk.open(purses=inherited, budget=Bounds(tokens=1_200))
    begun = await asyncio.gather(*(child.begin(ask=ask()) for child in [*children, narrow]), return_exceptions=True)
    assert 2 <= sum(not isinstance(one, Exception) for one in begun) < 5
    assert ((await own_purse(parent)).left(Bounds(3 * CENT)).cost_pico or 0) >= 0
    assert narrow.run.purses is not None
    assert [one.partition("/")[2].partition("/")[0] for one in narrow.run.purses] == [parent.id, narrow.id]
    assert ((await own_purse(narrow)).reserved.tokens or 0) <= 1_200


async def test_a_call_that_a_crash_cut_short_counts_its_estimated_input(desk: Desk) -> None:
    """Its reservation is let go when another begins the step again."""
    hands = await desk.open(budget=Bounds(10 * CENT))
    await hands.begin(ask=ask(700))
    await desk.lapse()
    second = await desk.taken()
    await second.begin(1, 2, reason="taken over", ask=ask(700))
    held = await own_purse(second)
    assert held.spent == Bounds(700 * 2_000_000, 700)
    assert held.reserved == Bounds(TARIFF.cost(700, 1_000), 1_700)
    await second.answer(text_answer(1, usage=used(650, 10), attempt=2))
    total = (await desk.database.read(usage_of_runs, [hands.id]))[hands.id]
    assert (total.input_tokens, total.cost) == (1_350, Decimal("0.0028"))


async def test_of_a_stopped_call_what_was_reported_counts(desk: Desk) -> None:
    """Where its input was reported, that; what a provider refused counts nothing."""
    hands = await desk.open(budget=Bounds(10 * CENT))
    await hands.begin(ask=ask(700))
    await hands.begin(1, 2, reason="it refused", reported=Usage(), ask=ask(700))
    assert (await own_purse(hands)).spent == Bounds(0, 0)
    await hands.settle(BROKEN, reported=used(600, 3))
    after = await own_purse(hands)
    assert (after.spent.tokens, after.reserved) == (603, Bounds(0, 0))


async def test_a_tools_call_that_is_under_way_keeps_its_reservation(desk: Desk) -> None:
    """Also where its tool has been given up and the next step begins; it is closed with the generation."""
    hands = await desk.open(budget=Bounds(10 * CENT))
    await hands.begin(ask=ask())
    await hands.answer(calls_answer(1, usage=used(1, 1)))
    call = await ask_aside(hands)
    await hands.run_calls(await desk.calls(hands.id, 1))
    await hands.results(start=StepStart(2, 1, "model-a", ask=ask()))
    assert ((await own_purse(hands)).reserved.tokens or 0) >= 4_000
    await hands.answer()
    await hands.settle()
    closed = await own_purse(hands)
    assert closed.reserved == Bounds(0, 0)
    await answered_aside(desk, call, used(1_000, 300))
    after = await own_purse(hands)
    assert (after.spent.tokens or 0) - (closed.spent.tokens or 0) == 300  # its input had been counted by estimate
    await answered_aside(desk, call, used(1_000, 300))
    assert await own_purse(hands) == after


async def test_a_turn_counts_from_its_own_beginning(desk: Desk) -> None:
    """A retry, and the next input, begin one with a budget of its own; without one there is no purse."""
    hands = await desk.open(budget=Bounds(CENT))
    await hands.begin(ask=ask(100, 200))
    await hands.answer(text_answer(1, usage=used(100, 200)))
    await hands.settle(BROKEN)
    first = hands.run.purses
    done, _ = await desk.send(hands.id, "more", budget=Bounds(2 * CENT))
    again = Hands(desk, done.run, done.numbers or hands.numbers)
    assert again.run.purses != first
    assert (await own_purse(again)).left(Bounds(2 * CENT)) == Bounds(2 * CENT)
    await again.begin(ask=ask(100, 200))
    await again.settle(BROKEN)
    assert (await desk.retry(hands.id)).run.purses is None


async def test_a_turn_that_begins_by_itself_has_the_budget_of_the_one_before(desk: Desk) -> None:
    """With input that came after a cancel: nobody was asked for another."""
    hands = await desk.open(budget=Bounds(CENT, 5_000))
    await hands.begin(ask=ask(100, 200))
    before = hands.run.purses
    await desk.cancel(hands.id)
    await desk.queue(hands.id, "after")
    await hands.settle()
    assert hands.run.status is RunStatus.RUNNING
    assert hands.run.purses != before
    assert (await own_purse(hands)).bounds == Bounds(CENT, 5_000)


async def test_a_day_is_one_purse_for_all_runs_of_a_user(desk: Desk) -> None:
    """Begun with what was spent before the limit was set; another user's is another; the next day is new."""
    free = await desk.open()
    await free.begin(ask=ask())
    await free.answer(text_answer(1, usage=used(100, 100)))
    caps = Caps(day=Bounds(tokens=3_700))
    runs = [await desk.open() for _ in range(4)]
    begun = await asyncio.gather(*(run.begin(ask=ask(caps=caps)) for run in runs), return_exceptions=True)
    assert sorted(isinstance(one, Spent) for one in begun) == [False, False, True, True]
    day = await purse(desk, day_purse("alice", desk.clock()))
    assert (day.spent.tokens, day.reserved.tokens) == (200, 3_500)
    bob = await desk.open(user_id="bob")
    await bob.begin(ask=ask(caps=caps))
    await free.begin(ask=ask())  # who has no limit is counted all the same
    assert (await purse(desk, day.id)).reserved.tokens == 5_500
    desk.clock.advance(DAY_MS / 1000)
    late = await desk.open()
    await late.begin(ask=ask(caps=caps))
    assert (await purse(desk, day_purse("alice", desk.clock()))).reserved.tokens == 2_000
    for run in [*runs, bob, late]:
        if run.run.step:
            await run.settle(BROKEN, reported=used(1, 1))
    assert (await purse(desk, day.id)).spent.tokens == 204
    assert await desk.database.write(purge_days, desk.clock()) == 2


async def test_a_month_is_one_purse_for_everybody(desk: Desk) -> None:
    """The first of them to come makes it; what is left is shared."""
    caps = Caps(month=Bounds(3 * CENT))
    runs = [await desk.open(user_id=f"user-{number}") for number in range(5)]
    begun = await asyncio.gather(*(run.begin(ask=ask(caps=caps)) for run in runs), return_exceptions=True)
    refused = [one for one in begun if isinstance(one, Spent)]
    assert len(refused) == 2
    month = await purse(desk, month_purse(desk.clock()))
    assert (month.left(Bounds(3 * CENT)).cost_pico or 0) >= 0
    assert month_start(desk.clock()) <= desk.clock()


async def test_a_balance_counts_from_when_it_is_set_until_it_is_ended(desk: Desk) -> None:
    """What was spent before is not taken from it; a negative amount takes some out."""
    hands = await desk.open()
    await hands.begin(ask=ask())
    await desk.database.write(add_to_balance, 3 * CENT)
    await hands.answer(text_answer(1, usage=used(100, 100)))
    assert (await purse(desk, BALANCE)).spent == Bounds(0, 0)
    await hands.begin(ask=ask())
    await hands.answer(text_answer(2, usage=used(1_000, 1_000)))
    left = (await desk.database.write(add_to_balance, -2 * CENT)).left(Bounds(CENT)).cost_pico or 0
    assert left < 0
    with pytest.raises(Spent):
        await hands.begin(ask=ask())
    assert await desk.database.write(end_balance)
    await hands.begin(ask=ask())
    assert not await desk.database.write(end_balance)
    await hands.settle(BROKEN)


async def test_without_a_price_money_can_not_be_bounded(desk: Desk) -> None:
    """Tokens can."""
    hands = await desk.open(budget=Bounds(CENT))
    with pytest.raises(NoPrice):
        await hands.begin(ask=ask(tariff=None))
    tokens = await desk.open(budget=Bounds(tokens=1_500))
    await tokens.begin(ask=ask(tariff=None))
    assert tokens.run.step_max_tokens == 500


async def test_runs_of_dead_workers_that_are_settled_together_let_go_of_what_they_hold(desk: Desk) -> None:
    """Whatever their purses are."""
    runs = [await desk.open(user_id=f"user-{number}", budget=Bounds(CENT)) for number in range(3)]
    await desk.database.write(add_to_balance, 100 * CENT)
    caps = Caps(Bounds(tokens=9_000), Bounds(90 * CENT))
    for run in runs:
        await run.begin(ask=ask(100, 100, caps=caps))
        await desk.cancel(run.id)
    await desk.lapse()
    done = await desk.database.write(settle_flagged, limit=10, ids=desk.ids, at=desk.clock())
    assert len(done) == 3
    for name in [BALANCE, month_purse(desk.clock()), *(one for run in runs for one in run.run.purses or ())]:
        held = await purse(desk, name)
        assert held.reserved == Bounds(0, 0)
        assert held.spent.tokens == (100 if name.startswith("turn/") else 300)


# ---------------------------------------------------------------- whatever the interleaving


def _calls(c: Connection) -> list[ModelCall]:
    return [model_call_from_row(row) for row in c.execute(select(model_calls))]


async def _check(desk: Desk, caps: Caps, names: list[str]) -> None:
    """Every purse is within its bounds, and is what the rows of its calls say."""

    def both(c: Connection) -> tuple[list[ModelCall], dict[str, Purse]]:
        if c.dialect.name == "postgresql":  # both reads are of one moment
            c.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        return _calls(c), get_purses(c, names)

    calls, held = await desk.database.write(both)
    for one in held.values():
        bounds = {"day": caps.day, "month": caps.month}.get(one.kind, one.bounds)
        left = one.left(bounds)
        assert (left.cost_pico or 0) >= 0, one
        assert (left.tokens or 0) >= 0, one
        own = [call for call in calls if one.id in (call.purses or ())]
        spent = [used_by(call, call.usage) for call in own if call.finished_at is not None]
        under_way = [call for call in own if call.finished_at is None]
        assert one.spent.cost_pico == sum(part.cost_pico or 0 for part in spent)
        assert one.spent.tokens == sum(part.tokens or 0 for part in spent)
        assert one.reserved.cost_pico == sum(call.reserved_cost_pico or 0 for call in under_way)
        assert one.reserved.tokens == sum((call.estimated_tokens or 0) + (call.max_tokens or 0) for call in under_way)


@pytest.mark.parametrize("seed", range(6))
async def test_no_purse_is_ever_overdrawn(desk: Desk, seed: int) -> None:
    """Whatever calls of a tree of runs, and of others, begin and end at once, spent and reserved stay within bounds."""
    dice = dice_of(seed)
    caps = Caps(Bounds(9 * CENT, 20_000), Bounds(15 * CENT))
    await desk.database.write(add_to_balance, 14 * CENT)
    parent = await desk.open(budget=Bounds(6 * CENT, 12_000))
    hands = [parent, *[await desk.open(purses=parent.run.purses, budget=Bounds(3 * CENT)) for _ in range(2)]]
    hands += [await desk.open(user_id=user) for user in ("alice", "bob")]
    names = [BALANCE, month_purse(desk.clock()), *(one for hand in hands for one in hand.run.purses or ())]
    names += [day_purse(user, desk.clock()) for user in ("alice", "bob")]

    async def work(hand: Hands) -> None:
        for _ in range(8):
            asked = ask(dice.randint(1, 1_500), dice.randint(1, 1_500), caps=caps)
            try:
                call = await ask_aside(hand, ask=asked)
            except Spent:
                continue
            await asyncio.sleep(0)
            reported = used(dice.randint(0, asked.input_tokens), dice.randint(0, call.max_tokens or 0))
            await answered_aside(desk, call, dice.choice([reported, reported, None]))

    async def look() -> None:
        for _ in range(10):
            await _check(desk, caps, names)

    await asyncio.gather(*(work(hand) for hand in hands for _ in range(2)), look())
    await _check(desk, caps, names)
    assert all(call.finished_at is not None for call in await desk.database.read(_calls))
