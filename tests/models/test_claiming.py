"""claim, take_over, beat, reserve, hand_back: the right to write, how it is kept and how it passes on."""

from __future__ import annotations

import asyncio

import pytest

from models.enums import RunStatus, SteerMode
from models.stream import get_stream
from models.verbs.claiming import release_all
from models.verbs.errors import LeaseLost
from models.verbs.row import HEADROOM
from tests.support.desk import COMPLETED, LEASE_MS, Desk


async def test_a_dead_workers_run_is_taken_over_when_its_lease_has_ended(desk: Desk) -> None:
    """Not before; the fence rises, the stream stays."""
    hands = await desk.open()
    await desk.leases.advance(LEASE_MS / 1000)
    assert await desk.take() == []
    await desk.leases.advance(0.001)
    (taken,) = await desk.take()
    assert (taken.why, taken.run.fence, taken.run.worker) == ("takeover", 2, "worker-2")
    assert (taken.run.stream_id, taken.run.generation, taken.run.takeovers) == (hands.run.stream_id, 1, 1)
    await desk.beat((hands.id, 2))
    assert await desk.take("worker-3") == []


async def test_a_new_owner_counts_from_above_all_that_was_reserved(desk: Desk) -> None:
    """Whatever the old owner has published, no number is used twice."""
    hands = await desk.open()
    await hands.say()
    old = hands.numbers
    await desk.lapse()
    second = await desk.taken()
    assert second.numbers.next == old.ceiling + 1
    await desk.lapse()
    third = await desk.taken("worker-3")
    assert third.numbers.next == second.numbers.ceiling + 1
    stream = await desk.database.read(get_stream, str(third.run.stream_id))
    assert stream is not None
    assert stream.reserved == third.numbers.ceiling


async def test_a_takeover_keeps_the_queue_and_the_cancel_flag(desk: Desk) -> None:
    """What was asked of the old owner is asked of the new one, through its first beat or its row."""
    hands = await desk.open()
    item = await desk.queue(hands.id, "more", mode=SteerMode.INTERRUPT)
    await desk.cancel(hands.id)
    await desk.lapse()
    second = await desk.taken()
    assert second.run.cancel_requested
    assert [waiting.id for waiting in second.run.pending] == [item]
    (told,) = (await desk.beat(second.pair)).values()
    assert (told.cancel, told.interrupting, told.unannounced) == (True, (item,), 1)


async def test_runs_handed_back_are_taken_at_once_and_count_no_failure(desk: Desk) -> None:
    """The lease is given up, the fence rises, and takeovers stay."""
    hands = await desk.open()
    await hands.say()
    done = await hands.hand_back()
    await desk.check(done)
    assert (done.run.worker, done.run.status) == (None, RunStatus.RUNNING)
    (taken,) = await desk.take()
    assert (taken.why, taken.run.takeovers, taken.run.fence) == ("hand_back", 0, 3)


async def test_takeovers_are_counted_until_a_step_is_completed(desk: Desk) -> None:
    """An answer stored sets the count back; a finished call, a started step or a hand-back does not."""
    hands = await desk.open()
    await desk.lapse()
    hands = await desk.taken()
    await desk.lapse()
    hands = await desk.taken()
    assert hands.run.takeovers == 2
    await hands.begin()
    assert hands.run.takeovers == 2
    await hands.answer()
    assert (await desk.run(hands.id)).takeovers == 0


async def test_a_worker_takes_no_run_that_it_holds(desk: Desk) -> None:
    """Its own lapsed leases are renewed by its beat instead."""
    mine, other = await desk.open(), await desk.open()
    await desk.lapse()
    taken = await desk.take("worker-1", holding=[mine.id])
    assert [one.run.id for one in taken] == [other.id]
    assert set(await desk.beat(mine.pair)) == {mine.id}
    assert await desk.take("worker-3") == []


async def test_a_lapsed_lease_is_renewed_as_long_as_its_fence_stands(desk: Desk) -> None:
    """A worker that was slow and lost nothing goes on."""
    hands = await desk.open()
    await desk.lapse()
    assert set(await desk.beat(hands.pair)) == {hands.id}
    await hands.say()


async def test_a_beat_misses_those_that_are_lost(desk: Desk) -> None:
    """Another fence, a settled run, a run that is not there."""
    taken, settled, kept = await desk.open(), await desk.open(), await desk.open()
    await settled.settle()
    await desk.lapse()
    await desk.beat(kept.pair)
    await desk.take()
    before = await desk.run(taken.id)
    beats = await desk.beat(taken.pair, settled.pair, kept.pair, ("run_none", 1))
    assert set(beats) == {kept.id}
    assert await desk.run(taken.id) == before


async def test_a_beat_of_nothing_asks_nothing(desk: Desk) -> None:
    """A worker without runs has an empty answer."""
    assert await desk.beat() == {}


async def test_one_beat_renews_a_thousand_leases(desk: Desk) -> None:
    """As many as a worker may have, and more: one statement that every database takes."""
    hands = await desk.open()
    others = [(f"run_{number}", 1) for number in range(3_000)]
    assert set(await desk.beat(*others, hands.pair)) == {hands.id}
    assert [one.run.id for one in await desk.take(holding=[run_id for run_id, _ in others])] == []


async def test_a_beat_changes_nothing_that_clients_see(desk: Desk) -> None:
    """Only the lease: the revision stays, so nobody is woken."""
    hands = await desk.open()
    before = await desk.run(hands.id)
    await desk.leases.advance(1)
    await desk.beat(hands.pair)
    after = await desk.run(hands.id)
    assert after.revision == before.revision
    assert after.lease_until == before.lease_until + 1_000


async def test_runs_that_wait_longest_are_taken_first_and_in_batches(desk: Desk) -> None:
    """At most as many as asked for, in order of the lease that ended."""
    first = await desk.open()
    await desk.leases.advance(1)
    second = await desk.open()
    await desk.leases.advance(1)
    unclaimed = await desk.open(worker=None)
    await desk.lapse()
    assert [taken.run.id for taken in await desk.take(limit=2)] == [unclaimed.id, first.id]
    assert [taken.run.id for taken in await desk.take(limit=2)] == [second.id]


async def test_workers_that_look_at_once_share_the_runs(desk: Desk) -> None:
    """No run is taken twice, and none is left."""
    opened = {(await desk.open(worker=None)).id for _ in range(12)}
    batches = await asyncio.gather(*(desk.take(f"worker-{number}", limit=3) for number in range(6)))
    taken = [one.run.id for batch in batches for one in batch]
    taken += [one.run.id for one in await desk.take("last", limit=12)]
    assert sorted(taken) == sorted(opened)


async def test_only_running_runs_are_taken(desk: Desk) -> None:
    """Not ended ones, not waiting ones, not copies without input."""
    done, waiting = await desk.open(), await desk.open()
    await done.say()
    await done.settle(COMPLETED)
    await desk.force(waiting.id, status="WAITING", lease_until=0)
    await desk.fork(done.id, 1)
    await desk.lapse()
    assert await desk.take() == []


async def test_further_numbers_are_reserved_before_they_are_used(desk: Desk) -> None:
    """The row's ceiling rises with the owner's, so that a successor begins above."""
    hands = await desk.open()
    first = hands.numbers.ceiling
    hands.numbers = type(hands.numbers)(hands.numbers.stream_id, first - 5, first)
    await hands.reserve()
    assert hands.numbers.ceiling == first - 5 + HEADROOM
    await desk.lapse()
    assert (await desk.taken()).numbers.next == hands.numbers.ceiling + 1


async def test_a_verb_that_runs_out_of_numbers_reserves_more_in_its_own_transaction(desk: Desk) -> None:
    """Its events may pass the old ceiling, never the row's."""
    hands = await desk.open()
    hands.numbers = type(hands.numbers)(hands.numbers.stream_id, hands.numbers.ceiling, hands.numbers.ceiling)
    calls = await hands.call_tools(3)
    await hands.run_calls(calls)
    stream = await desk.database.read(get_stream, str(hands.run.stream_id))
    assert stream is not None
    assert (await desk.events(hands.id))[-1].seq <= hands.numbers.ceiling == stream.reserved


async def test_one_process_lets_every_lease_lapse_when_it_starts(desk: Desk) -> None:
    """Those of the process before it; fences stand, and unclaimed runs stay unclaimed."""
    leased, unclaimed = await desk.open(), await desk.open(worker=None)
    ended = await desk.open()
    await ended.settle()
    assert await desk.database.write(release_all) == 1
    taken = {one.run.id: one.why for one in await desk.take()}
    assert taken == {leased.id: "takeover", unclaimed.id: "claim"}


async def test_giving_back_what_is_no_longer_held_changes_nothing(desk: Desk) -> None:
    """A worker that hands back late does not end its successor's lease."""
    hands = await desk.open()
    await desk.lapse()
    await desk.take()
    before = await desk.everything()
    with pytest.raises(LeaseLost):
        await hands.hand_back()
    assert await desk.everything() == before
