"""compact: what a run's requests are built from, and the calls of a model that summaries come from."""

from __future__ import annotations

from typing import Any

import pytest

from models.compaction import Compacted, compactions_of, newest_compaction
from models.events import ContextCompacted
from models.model_call import get_model_calls, model_of_step, usage_of_runs
from models.spending import Ask, Bounds
from models.usage import Usage
from models.verbs.compacting import SummedUp, compact
from models.verbs.errors import LeaseLost
from models.verbs.subcalling import begin_subcall
from tests.support.desk import SPENT, Desk, Hands

ENDED = SummedUp(Usage(300, 20), "model-b-2027", "end_turn", "req_1")


async def begun(hands: Hands, summed_to: int, **values: Any) -> str:
    """A call that sums the transcript up, under way; its id."""
    desk = hands.desk
    given: dict[str, Any] = {"run_id": hands.id, "fence": hands.run.fence, "tool_call_id": None, "model": "model-b"}
    made = await desk.database.write(
        begin_subcall, **given, model_call_id=desk.ids("mdl"), at=desk.clock(), summed_to=summed_to, **values
    )
    return str(made.id)


def compacted(hands: Hands, *, trimmed_to: int = 0, summed_to: int = 0, **values: Any) -> Compacted:
    """A compaction of the run as it is now."""
    summary = f"to {summed_to}" if summed_to else None
    given: dict[str, Any] = {"model_call_id": None, "tokens_before": 900, "tokens_after": 90, **values}
    desk = hands.desk
    return Compacted(
        desk.ids("cmp"), hands.id, hands.run.seq, trimmed_to, summed_to, summary, created_at=desk.clock(), **given
    )


async def two_turns(desk: Desk) -> Hands:
    """A run of two turns, the second one's step not yet begun."""
    hands = await desk.open("one")
    await hands.say()
    await hands.settle()
    return await desk.sent(hands.id, "two")


async def test_a_summary_is_stored_with_its_event_and_the_end_of_its_call(desk: Desk) -> None:
    """In one transaction; the transcript is what it was."""
    hands = await two_turns(desk)
    before = await desk.messages(hands.id)
    call_id = await begun(hands, 2)
    made = compacted(hands, trimmed_to=1, summed_to=2, model_call_id=call_id)
    done = await hands.verb(compact, compaction=made, summed_up=ENDED)
    (event,) = done.events
    assert isinstance(event, ContextCompacted)
    assert (event.step, event.attempt, event.tokens_before, event.tokens_after) == (2, 1, 900, 90)
    assert await desk.database.read(newest_compaction, hands.id) == made
    call = (await desk.database.read(get_model_calls, [call_id]))[call_id]
    assert (call.finished_at, call.model, call.stop_reason) == (desk.clock(), "model-b-2027", "end_turn")
    assert (await desk.database.read(usage_of_runs, [hands.id]))[hands.id].input_tokens == 310
    assert await desk.messages(hands.id) == before


async def test_a_compaction_that_is_stored_twice_is_one(desk: Desk) -> None:
    """After an acknowledgement that was lost: the same row, the same event, usage counted once."""
    hands = await two_turns(desk)
    call_id = await begun(hands, 2)
    arguments: dict[str, Any] = {"compaction": compacted(hands, summed_to=2, model_call_id=call_id), "summed_up": ENDED}
    first = await hands.again(compact, **arguments)
    before = await desk.everything()
    again = await hands.verb(compact, **arguments)
    assert (again.events, again.numbers) == (first.events, first.numbers)
    assert await desk.everything() == before


async def test_the_newest_compaction_is_the_one_that_reaches_furthest(desk: Desk) -> None:
    """Whatever the ids of two machines are: each goes on from the one before it."""
    hands = await two_turns(desk)
    for trimmed_to, summed_to in ((1, 0), (2, 0), (2, 1), (2, 2)):
        await hands.verb(compact, compaction=compacted(hands, trimmed_to=trimmed_to, summed_to=summed_to))
        newest = await desk.database.read(newest_compaction, hands.id)
        assert newest is not None
        assert (newest.trimmed_to, newest.summed_to) == (trimmed_to, summed_to)
    assert len(await desk.database.read(compactions_of, hands.id)) == 4


async def test_one_who_has_lost_the_run_stores_no_compaction(desk: Desk) -> None:
    """The fence refuses the row, and the call is the new owner's to close."""
    hands = await two_turns(desk)
    call_id = await begun(hands, 2)
    await desk.lapse()
    await desk.taken()
    with pytest.raises(LeaseLost):
        await hands.again(compact, compaction=compacted(hands, summed_to=2, model_call_id=call_id), summed_up=ENDED)
    assert await desk.database.read(newest_compaction, hands.id) is None
    with pytest.raises(LeaseLost):
        await begun(hands, 2)


async def test_a_new_owners_call_closes_the_one_that_a_dead_owner_left(desk: Desk) -> None:
    """By its estimated input; what it had reserved is given back before the new one draws."""
    ask = Ask(100, 50)
    hands = await desk.open("one", budget=Bounds(tokens=260))
    left = await begun(hands, 1, ask=ask)
    await desk.lapse()
    second = await desk.taken()
    made = await begun(second, 1, ask=ask)
    calls = await desk.database.read(get_model_calls, [left, made])
    assert (calls[left].finished_at, calls[left].usage.input_tokens) == (desk.clock(), 100)
    assert (calls[made].finished_at, calls[made].max_tokens) == (None, 50)


async def test_a_step_is_begun_and_answered_beside_a_summary(desk: Desk) -> None:
    """The loop's own call is another: neither closes the other's, and a step's model is the step's."""
    hands = await two_turns(desk)
    await hands.begin()
    call_id = await begun(hands, 2)
    await hands.begin(2, 2, reason="it was too long", reported=Usage())
    assert (await desk.database.read(get_model_calls, [call_id]))[call_id].finished_at is None
    assert await desk.database.read(model_of_step, str(hands.run.stream_id), 2) == "model-a"
    await hands.verb(compact, compaction=compacted(hands, summed_to=2, model_call_id=call_id), summed_up=ENDED)
    await hands.answer()
    await hands.settle()
    used = (await desk.database.read(usage_of_runs, [hands.id]))[hands.id]
    assert used.input_tokens == 300 + 2 * SPENT.input_tokens


@pytest.mark.parametrize(("seq", "expected"), [(1, (1, 0)), (2, (1, 0)), (3, (3, 2)), (4, (3, 2))])
async def test_a_fork_has_what_stands_for_a_part_of_its_copy_alone(
    desk: Desk, seq: int, expected: tuple[int, int]
) -> None:
    """The newest compaction that leaves a message of the copy as it is; never one that stands for what came later."""
    hands = await two_turns(desk)
    await hands.verb(compact, compaction=compacted(hands, trimmed_to=1))
    await hands.verb(compact, compaction=compacted(hands, trimmed_to=3, summed_to=2))
    await hands.say()
    await hands.settle()
    copy = await desk.fork(hands.id, seq)
    made = await desk.database.read(newest_compaction, copy.id)
    assert made is not None
    assert (made.trimmed_to, made.summed_to) == expected
    assert made.seq <= seq
    assert made.model_call_id is None
