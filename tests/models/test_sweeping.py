"""settle_flagged: a run whose worker died with a cancel flagged is settled by whoever looks."""

from __future__ import annotations

import asyncio
from typing import Any

from models.enums import FinishReason, RunStatus, ToolCallState
from models.verbs.row import Done
from models.verbs.settling import settle_flagged
from tests.support.desk import Desk, Hands


async def sweep(desk: Desk, limit: int = 10) -> list[Done]:
    """Settle what is flagged and dead."""
    done: list[Done] = await desk.database.write(settle_flagged, limit=limit, ids=desk.ids, at=desk.clock())
    for one in done:
        await desk.check(one)
    return done


async def flagged(desk: Desk, **values: Any) -> Hands:
    """A run in the middle of a step, with a cancel that its worker has not heard of."""
    hands = await desk.open(**values)
    await hands.begin()
    await desk.cancel(hands.id, "enough")
    return hands


async def test_a_flagged_run_is_settled_when_its_workers_lease_has_ended(desk: Desk) -> None:
    """Not before; then as the cancel itself would have: CANCELLED, what was shown withdrawn, the fence moved."""
    hands = await flagged(desk)
    assert await sweep(desk) == []
    await desk.lapse()
    (done,) = await sweep(desk)
    assert (done.run.status, done.run.finish) == (RunStatus.CANCELLED, FinishReason.ABORTED)
    assert (done.run.fence, done.run.cancel_reason) == (hands.run.fence + 1, "enough")
    assert [type(event).__name__ for event in done.events] == ["StepRestarted", "RunResult"]
    assert await sweep(desk) == []


async def test_a_flagged_run_that_was_handed_back_is_settled_at_once(desk: Desk) -> None:
    """Nobody holds it, and nobody need take it for that."""
    hands = await flagged(desk)
    await hands.hand_back()
    assert [done.run.status for done in await sweep(desk)] == [RunStatus.CANCELLED]


async def test_runs_that_nobody_cancelled_are_left_to_workers(desk: Desk) -> None:
    """However dead theirs is."""
    await desk.open()
    await desk.open(worker=None)
    await desk.lapse()
    assert await sweep(desk) == []


async def test_input_behind_the_cancel_begins_a_turn_that_is_free_to_claim(desk: Desk) -> None:
    """What was said before it is appended unanswered; calls that dangle get their results."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    await hands.start(call)
    await desk.queue(hands.id, "before")
    await desk.cancel(hands.id)
    await desk.queue(hands.id, "after")
    await desk.lapse()
    (done,) = await sweep(desk)
    assert (done.run.status, done.run.worker, done.run.generation) == (RunStatus.RUNNING, None, 2)
    assert (await desk.calls(hands.id, 1))[0].state is ToolCallState.INTERRUPTED
    second = await desk.taken()
    await second.say()
    await second.settle()
    assert (await desk.contents(hands.id))[-2:] == ["after", [{"type": "text", "text": "Hello."}]]


async def test_sweeps_at_once_settle_each_run_once(desk: Desk) -> None:
    """And a batch has no more than was asked for."""
    runs = {(await flagged(desk)).id for _ in range(12)}
    await desk.lapse()
    batches = await asyncio.gather(*(sweep(desk, 3) for _ in range(5)))
    assert all(len(batch) <= 3 for batch in batches)
    settled = [done.run.id for batch in batches for done in batch]
    while rest := await sweep(desk, 3):
        settled += [done.run.id for done in rest]
    assert sorted(settled) == sorted(runs)
