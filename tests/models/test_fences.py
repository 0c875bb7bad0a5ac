"""The fence: whoever has lost a run changes nothing of it, whatever it tries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from models.compaction import Compacted
from models.enums import RunStatus, ToolCallState
from models.verbs.claiming import hand_back, reserve
from models.verbs.compacting import compact
from models.verbs.errors import LeaseLost
from models.verbs.settling import settle
from models.verbs.stepping import StepStart, append_answer, append_results
from models.verbs.subcalling import begin_subcall
from tests.support.desk import Desk, Hands, text_answer


async def _append_answer(hands: Hands) -> None:
    await hands.again(append_answer, seq=hands.run.seq + 1, answer=text_answer(2), ids=hands.desk.ids)


async def _repeat_answer(hands: Hands) -> None:
    await hands.again(append_answer, seq=hands.run.seq, answer=text_answer(1), ids=hands.desk.ids)


async def _append_results(hands: Hands) -> None:
    await hands.again(append_results, seq=hands.run.seq + 1, ids=hands.desk.ids, start=StepStart(2, 1, "model-a"))


async def _settle(hands: Hands) -> None:
    await hands.again(settle, **hands.ending())


async def _start(hands: Hands) -> None:
    call = (await hands.desk.calls(hands.id, 1))[1]
    await hands.start(call)


async def _finish(hands: Hands) -> None:
    call = (await hands.desk.calls(hands.id, 1))[0]
    await hands.finish(call, "late", ToolCallState.FAILED)


async def _hand_back(hands: Hands) -> None:
    await hands.desk.database.write(hand_back, run_id=hands.id, fence=hands.run.fence, at=hands.desk.clock())


async def _reserve(hands: Hands) -> None:
    await hands.desk.database.write(reserve, run_id=hands.id, fence=hands.run.fence, numbers=hands.numbers)


async def _subcall(hands: Hands) -> None:
    call = (await hands.desk.calls(hands.id, 1))[0]
    await hands.desk.database.write(
        begin_subcall,
        run_id=hands.id,
        fence=hands.run.fence,
        model_call_id=hands.desk.ids("mdl"),
        tool_call_id=call.id,
        model="model-a",
        at=hands.desk.clock(),
    )


async def _compact(hands: Hands) -> None:
    made = Compacted(hands.desk.ids("cmp"), hands.id, hands.run.seq, 1, 0, None, None, 9, 1, hands.desk.clock())
    await hands.verb(compact, compaction=made)


async def _beat(hands: Hands) -> None:
    if not await hands.desk.beat(hands.pair):
        raise LeaseLost


VERBS: dict[str, Callable[[Hands], Awaitable[object]]] = {
    "begin_step": Hands.begin,
    "append_answer": _append_answer,
    "append_answer again": _repeat_answer,
    "start_call": _start,
    "finish_call": _finish,
    "append_results": _append_results,
    "announce": Hands.announce,
    "settle": _settle,
    "reserve": _reserve,
    "hand_back": _hand_back,
    "begin_subcall": _subcall,
    "compact": _compact,
    "beat": _beat,
}


async def at_work(desk: Desk) -> Hands:
    """A run with one call begun, one not, and input queued."""
    hands = await desk.open()
    calls = await hands.call_tools(2)
    await hands.start(calls[0])
    await desk.queue(hands.id, "more")
    return hands


async def taken_over(desk: Desk) -> Hands:
    """Its lease has ended and another has it."""
    hands = await at_work(desk)
    await desk.lapse()
    await desk.taken()
    return hands


async def handed_back(desk: Desk) -> Hands:
    """It was given up."""
    hands = await at_work(desk)
    await hands.hand_back()
    return hands


async def cancelled_from_outside(desk: Desk) -> Hands:
    """It was settled in its dead worker's place."""
    hands = await at_work(desk)
    await desk.lapse()
    await desk.cancel(hands.id)
    return hands


async def begun_anew(desk: Desk) -> Hands:
    """It was settled from outside, and a new turn is under way."""
    hands = await cancelled_from_outside(desk)
    await desk.sent(hands.id, "next")
    return hands


async def settled_and_begun_anew(desk: Desk) -> Hands:
    """Its own worker has settled it long ago, and a new turn is under way."""
    hands = await at_work(desk)
    await hands.settle()
    await hands.settle()
    old = Hands(desk, hands.run, hands.numbers)
    await desk.sent(hands.id, "next", worker="worker-2")
    return old


LOSSES = [taken_over, handed_back, cancelled_from_outside, begun_anew, settled_and_begun_anew]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("verb", VERBS)
async def test_a_worker_that_lost_its_run_changes_nothing(
    desk: Desk, verb: str, loss: Callable[[Desk], Awaitable[Hands]]
) -> None:
    """Every verb of a worker is refused with LeaseLost, and no row of any table differs afterwards."""
    hands = await loss(desk)
    before = await desk.everything()
    with pytest.raises(LeaseLost):
        await VERBS[verb](hands)
    assert await desk.everything() == before


async def test_a_worker_frozen_past_its_lease_whom_nobody_replaced_goes_on(desk: Desk) -> None:
    """The fence decides, not the clock."""
    hands = await at_work(desk)
    await desk.lapse()
    await _finish(hands)
    await _start(hands)
    await hands.finish((await desk.calls(hands.id, 1))[1])
    await hands.results()
    await hands.say()
    await hands.settle()
    assert (await desk.run(hands.id)).status is RunStatus.COMPLETED


async def test_the_fence_rises_whenever_the_right_to_write_changes_hands(desk: Desk) -> None:
    """Claim, takeover, hand-back, settling from outside, the next turn: never the same number for two owners."""
    hands = await desk.open(worker=None)
    fences = [hands.run.fence]
    hands = await desk.taken("a")
    fences.append(hands.run.fence)
    await desk.lapse()
    hands = await desk.taken("b")
    fences.append(hands.run.fence)
    fences.append((await hands.hand_back()).run.fence)
    hands = await desk.taken("c")
    fences.append(hands.run.fence)
    await desk.lapse()
    fences.append((await desk.cancel(hands.id))[0].run.fence)
    hands = await desk.sent(hands.id, "next")
    fences.append(hands.run.fence)
    assert fences == sorted(set(fences))
