"""The worker: what wakes it, what it looks at, and what that costs the database."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from engine.control import StopReason
from engine.worker import CLAIM_BATCH, yielded
from models.enums import RunStatus
from models.events import InputQueued
from models.run import RunQuery, matching_run_ids
from tests.support.messages_script import Script
from tests.support.stage import ALICE, HANG, LEASE_SECONDS, Node, Stage, quiet
from tests.support.weather import Weather


async def held(stage: Stage, **options: Any) -> tuple[Node, str]:
    """A node with a run in the middle of an answer, and its id."""
    node = await stage.open(**options)
    stage.play(Script().half_text("Half").hold(asyncio.Event()), Script().text("Whole."))
    run_id = await node.start()
    await stage.screen(run_id).shows("Half")
    return node, run_id


# ---------------------------------------------------------------- what others changed


async def test_a_cancel_from_another_process_is_heard_without_a_beat(stage: Stage) -> None:
    """The bell names the run; its row is looked at, and the loop stops."""
    node, run_id = await held(stage)
    other = await stage.open()
    await other.cancel(run_id)
    node.worker.heard(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED


async def test_an_interrupting_input_from_another_process_is_heard(stage: Stage) -> None:
    """The response is cut for it, as by one from here."""
    node, run_id = await held(stage)
    other = await stage.open()
    await other.interrupt(run_id, "now")
    node.worker.heard(run_id)
    run = await node.settled(run_id)
    assert run.status is RunStatus.COMPLETED
    assert stage.screen(run_id).text.endswith("Whole.")


async def test_an_input_from_another_process_is_announced(stage: Stage) -> None:
    """Who watches is told that it waits, while the answer goes on."""
    node, run_id = await held(stage)
    other = await stage.open()
    await other.steer(run_id, "more")
    node.worker.heard(run_id)
    await stage.screen(run_id).sees(InputQueued)
    await node.cancel(run_id)
    await node.settled(run_id)


async def test_a_run_that_another_has_taken_over_is_let_go_as_soon_as_it_rings(stage: Stage) -> None:
    """A worker that was frozen past its lease hears it from the row, before its next beat."""
    node, run_id = await held(stage, watch_seconds=0.02)
    await stage.leases.advance(LEASE_SECONDS + 1)
    other = await stage.open(watch_seconds=0.02)
    await other.settled(run_id)
    node.worker.heard(run_id)
    await node.idle(run_id)
    await stage.server.requests[0].cut_off()


async def test_rings_of_runs_that_live_elsewhere_cost_nothing(stage: Stage) -> None:
    """No row is looked at for them."""
    weather = Weather(stage.database)
    node = await stage.open(database=weather)
    before = weather.asked.copy()
    for number in range(1_000):
        node.worker.heard(f"run_{number}")
    await quiet()
    assert weather.asked == before


async def test_many_rings_are_one_look_and_one_more(stage: Stage) -> None:
    """What rang while a look was under way is looked at once more after it, and no ring is missed."""
    weather = Weather(stage.database)
    node, run_id = await held(stage, database=weather)
    for _ in range(100):
        node.worker.heard(run_id)
    await asyncio.sleep(0)  # the look begins
    for _ in range(100):
        node.worker.heard(run_id)
    while node.worker._hearing:
        await asyncio.sleep(0)
    assert weather.asked["signals"] == 2
    await (await stage.open()).cancel(run_id)
    node.worker.heard(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED


async def test_a_ring_while_the_database_is_away_is_made_up_for_by_the_next_beat(stage: Stage) -> None:
    """Nothing is raised; what was rung for is in the row."""
    weather = Weather(stage.database)
    node, run_id = await held(stage, database=weather)
    await (await stage.open()).cancel(run_id)
    weather.away = True
    node.worker.heard(run_id)
    await weather.until_tried()
    weather.away = False
    await node.beat()
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED


# ---------------------------------------------------------------- work to take


async def test_a_worker_that_is_woken_takes_what_is_free_at_once(stage: Stage) -> None:
    """It need not wait for its timer."""
    node = await stage.open()
    front = await stage.open(works=False, watch_seconds=0.02)
    stage.play(Script().text("Taken."))
    run_id = await front.start()
    node.worker.wake()
    assert (await front.settled(run_id)).status is RunStatus.COMPLETED


async def test_waking_renews_no_lease_and_looks_no_oftener_than_it_can(stage: Stage) -> None:
    """However many rings come: those of one look's time are one look, and a thousand leases are left as they are."""
    weather = Weather(stage.database)
    node, run_id = await held(stage, database=weather)
    before = weather.asked["take_over"]
    for _ in range(1_000):
        node.worker.wake()
        await asyncio.sleep(0)
    while weather.asked["take_over"] == before:
        await asyncio.sleep(0)
    assert weather.asked["beat"] == weather.asked["signals"] == 0
    assert weather.asked["take_over"] - before < 100
    await node.cancel(run_id)
    await node.settled(run_id)


async def test_a_full_worker_does_not_look(stage: Stage) -> None:
    """One that has MAX_RUNS loops takes none, and asks for none."""
    weather = Weather(stage.database)
    node, run_id = await held(stage, database=weather, max_runs=1)
    before = weather.asked["take_over"]
    node.worker.wake()
    await node.look()
    assert weather.asked["take_over"] == before
    await node.cancel(run_id)
    await node.settled(run_id)


async def test_a_worker_that_does_not_take_runs_what_was_opened_here(stage: Stage) -> None:
    """It works, renews and settles as any other, and leaves what others have left."""
    front = await stage.open(works=False, watch_seconds=0.02)
    stage.server.answer(lambda request: Script().text("Done."))
    free = await front.start()
    node = await stage.open(takes=False)
    mine = await node.start()
    assert (await node.settled(mine)).status is RunStatus.COMPLETED
    node.worker.wake()
    await node.look()
    await quiet()
    left = await stage.run(free)
    assert (left.status, left.worker) == (RunStatus.RUNNING, None)
    taker = await stage.open()
    taker.worker.wake()
    assert (await front.settled(free)).status is RunStatus.COMPLETED


async def test_more_runs_than_one_batch_are_all_taken(stage: Stage) -> None:
    """A full batch is followed by the next at once."""
    front, release = await stage.open(works=False), asyncio.Event()
    stage.server.answer(lambda request: Script().text("Done.").hold(release))
    for _ in range(CLAIM_BATCH + 5):
        await front.runs.start(ALICE, agent="helper", input="Hi")
    node = await stage.open()
    async with asyncio.timeout(HANG / 2):  # before any model is given up, whose end would make it look again
        while len(node.worker) < CLAIM_BATCH + 5:
            await asyncio.sleep(0.01)
    release.set()
    for run_id in await stage.database.read(matching_run_ids, RunQuery()):
        await node.idle(run_id)


# ---------------------------------------------------------------- beats


async def test_frequent_looks_read_and_rare_ones_renew(stage: Stage) -> None:
    """A worker that looks often for cancels renews its leases no oftener than they need it."""
    weather = Weather(stage.database)
    node, run_id = await held(stage, database=weather, poll_seconds=0.01)
    before = (await stage.run(run_id)).lease_until
    while weather.asked["signals"] + weather.asked["beat"] < 5:
        await asyncio.sleep(0)
    assert weather.asked["beat"] == 0
    assert (await stage.run(run_id)).lease_until == before
    await (await stage.open()).cancel(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED


async def test_a_worker_whose_leases_have_lapsed_renews_them_before_it_takes(stage: Stage) -> None:
    """Frozen past its leases, it does not take another's run first; and what is its own stays its own."""
    weather = Weather(stage.database)
    node, run_id = await held(stage, database=weather)
    node.worker._contact._renewed_at -= LEASE_SECONDS + 1
    await stage.leases.advance(LEASE_SECONDS + 1)
    order: list[str] = []
    weather.asked = _Noted(order)
    await node.look()
    assert order[:2] == ["beat", "take_over"]
    run = await stage.run(run_id)
    assert (run.worker, run.takeovers) == (node.shop.worker, 0)
    await node.cancel(run_id)
    await node.settled(run_id)


class _Noted(Counter[str]):
    """Notes names in the order in which they are counted."""

    def __init__(self, order: list[str]) -> None:
        super().__init__()
        self.order = order

    def __setitem__(self, name: str, count: int) -> None:
        self.order.append(name)
        super().__setitem__(name, count)


async def test_a_loop_whose_verb_is_under_way_is_not_told_that_it_lost_its_run(stage: Stage) -> None:
    """Whether it did, its verb finds out: it may have moved the fence itself."""
    node, run_id = await held(stage)
    runner = node.runner(run_id)
    reasons = []
    for storing in (1, 0):
        runner.storing = storing
        node.worker._tell(runner, None)
        reasons.append(runner.control.reason)
    assert reasons == [None, StopReason.LOST]
    await node.idle(run_id)
    await stage.leases.advance(LEASE_SECONDS + 1)
    await node.look()
    await node.settled(run_id)


def test_a_worker_that_has_more_lets_one_that_has_less_go_first() -> None:
    """All are woken for the same run; nobody waits long, however much he has."""
    waits = [yielded(runs) for runs in (0, 1, 10, 50, 1_000)]
    assert waits == sorted(waits)
    assert (waits[0], waits[1] < waits[2], waits[-1]) == (0, True, 0.05)
