"""claim, take_over, beat, reserve, hand_back: the right to write, how it is kept and how it passes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import event

from models.enums import RunStatus, SteerMode
from models.stream import get_stream
from models.verbs.claiming import release_all, signals
from models.verbs.errors import LeaseLost
from models.verbs.row import HEADROOM, Done
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


async def test_after_an_outage_only_what_nobody_can_still_hold_is_taken(desk: Desk) -> None:
    """Runs never begun and runs handed back; one whose lease has run out is left until lapsed ones are wanted."""
    lapsed, handed_back = await desk.open(), await desk.open()
    unclaimed = await desk.open(worker=None)
    await handed_back.hand_back()
    await desk.lapse()
    taken = await desk.take(lapsed=False)
    assert {one.run.id: one.why for one in taken} == {unclaimed.id: "claim", handed_back.id: "hand_back"}
    assert await desk.take(lapsed=False) == []
    assert [one.run.id for one in await desk.take()] == [lapsed.id]


async def test_runs_of_unknown_agents_are_left_to_those_who_know_them(desk: Desk) -> None:
    """Until nobody has taken them for so long; on SQLite, where nobody else can, they are taken at once."""
    wanted: dict[str, Any] = {"known": ["helper"], "patience_ms": 60_000}
    known, unknown = await desk.open(worker=None), await desk.open(worker=None, agent="stranger")
    first = await desk.take(**wanted)
    assert [one.run.id for one in first] == [known.id, *([unknown.id] if desk.database.is_sqlite else [])]
    desk.clock.advance(60)
    second = await desk.take(**wanted)
    desk.clock.advance(0.001)
    third = await desk.take(**wanted)
    assert second == []
    assert [one.run.id for one in third] == ([] if desk.database.is_sqlite else [unknown.id])


async def test_runs_of_unknown_agents_whose_worker_died_are_left_as_long(desk: Desk) -> None:
    """From the end of the lease on, however long before it their last step was."""
    hands = await desk.open(agent="stranger")
    wanted: dict[str, Any] = {"known": ["helper"], "patience_ms": 60_000}
    desk.clock.advance(3_600)
    await desk.lapse()
    first = await desk.take(**wanted)
    assert [one.run.id for one in first] == ([hands.id] if desk.database.is_sqlite else [])
    await desk.leases.advance(60)
    assert [one.run.id for one in await desk.take(**wanted)] == [hands.id]


async def test_runs_of_agents_that_do_not_load_are_left_however_long_they_wait(desk: Desk) -> None:
    """They wait for a mended file."""
    hands = await desk.open(worker=None, agent="broken")
    desk.clock.advance(3_600)
    assert await desk.take(without=["broken"], known=["helper"], patience_ms=60_000) == []
    assert [one.run.id for one in await desk.take()] == [hands.id]


async def test_the_run_of_a_stored_agent_is_for_whoever_knows_its_kind(desk: Desk) -> None:
    """Whatever the agent is called; and nobody takes it while the file of its kind does not load."""
    hands = await desk.open(worker=None, agent="ada", agent_id="agt_1", kind="desk")
    if not desk.database.is_sqlite:
        assert await desk.take(known=["ada"], patience_ms=60_000) == []
    assert await desk.take(without=["desk"]) == []
    (taken,) = await desk.take(known=["desk"], without=["ada"], patience_ms=60_000)
    assert (taken.run.id, taken.run.code) == (hands.id, "desk")


async def test_many_runs_are_taken_in_a_few_statements(desk: Desk) -> None:
    """However many there are, each with its own fence, numbers, reason and count of takeovers."""
    fresh = [await desk.open(worker=None) for _ in range(20)]
    dead = [await desk.open() for _ in range(20)]
    await desk.lapse()
    statements: list[str] = []

    def note(*arguments: Any) -> None:
        statements.append(arguments[2])

    engine = desk.database._writer or desk.database._engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    taken = {one.run.id: one for one in await desk.take(limit=100)}
    event.remove(engine, "before_cursor_execute", note)
    assert len(statements) <= 6, statements
    for hands in (*fresh, *dead):
        one = taken[hands.id]
        await desk.check(Done(one.run))
        stream = await desk.database.read(get_stream, str(one.run.stream_id))
        assert stream is not None
        assert (one.numbers.next, one.numbers.ceiling) == (hands.numbers.ceiling + 1, stream.reserved)
        assert (one.why, one.run.takeovers) == (("claim", 0) if hands in fresh else ("takeover", 1))


async def test_signals_tell_what_a_beat_would_and_renew_nothing(desk: Desk) -> None:
    """A cancel, interrupting and unannounced inputs of the pairs that still stand; no row changes."""
    kept, lost = await desk.open(), await desk.open()
    item = await desk.queue(kept.id, "more", mode=SteerMode.INTERRUPT)
    await desk.cancel(kept.id)
    await lost.hand_back()
    before = await desk.everything()
    told = await desk.database.read(signals, held=[kept.pair, lost.pair])
    assert await desk.everything() == before
    assert told == await desk.beat(kept.pair, lost.pair)
    assert (told[kept.id].cancel, told[kept.id].interrupting, told[kept.id].unannounced) == (True, (item,), 1)
    assert set(told) == {kept.id}
    assert await desk.database.read(signals, held=[]) == {}


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
