"""The database is away: loops live through it, and nothing is done twice or lost because of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.context import Context
from engine.outages import FIRST_SECONDS, LONGEST_SECONDS, pauses, repeated, seen_through
from engine.tool import tool
from models.away import DatabaseAway
from models.enums import RunStatus
from models.events import InputQueued, RunResult
from tests.support.messages_script import Script
from tests.support.stage import LEASE_SECONDS, Node, Stage, quiet
from tests.support.weather import Weather


class Storm:
    """A stage with one node whose database has weather."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.weather = Weather(stage.database)

    async def open(self, **options: Any) -> Node:
        """The node."""
        return await self.stage.open(database=self.weather, sleep=asyncio.sleep, **options)


@pytest.fixture
def storm(stage: Stage) -> Storm:
    """A stage on which the weather can be made."""
    return Storm(stage)


# ---------------------------------------------------------------- repeating


def test_pauses_grow_to_their_longest_and_differ_by_chance() -> None:
    """From a twentieth of a second to two seconds, so that a thousand loops do not come back at once."""
    late, early = pauses(lambda: 1.0), pauses(lambda: 0.0)
    longest = [next(late) for _ in range(10)]
    assert longest[0] == FIRST_SECONDS
    assert longest == sorted(longest)
    assert longest[-1] == LONGEST_SECONDS
    assert [next(early) for _ in range(10)] == [pause / 2 for pause in longest]


class Work:
    """Something that fails so many times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.tries = 0
        self.pauses: list[float] = []

    async def __call__(self) -> str:
        """Try."""
        self.tries += 1
        if self.tries <= self.failures:
            raise DatabaseAway("away")
        return "done"

    async def sleep(self, seconds: float) -> None:
        """Pause."""
        self.pauses.append(seconds)
        await asyncio.sleep(0)


async def test_work_is_repeated_until_the_database_is_there() -> None:
    """With a pause before each further try; anything else that is raised goes on at once."""
    work = Work(4)
    assert await repeated(work, lambda: 1.0, work.sleep) == "done"
    assert (work.tries, work.pauses) == (5, [0.05, 0.1, 0.2, 0.4])

    async def broken() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await repeated(broken, lambda: 1.0, work.sleep)


async def test_who_is_cancelled_waits_for_no_further_try() -> None:
    """The try under way is awaited; a pause is cut short."""
    work = Work(1_000)
    task = asyncio.create_task(seen_through(work, lambda: 1.0, asyncio.sleep))
    while work.tries < 2:
        await asyncio.sleep(0)
    tries = work.tries
    task.cancel()
    await asyncio.wait((task,))
    assert task.cancelled()
    assert work.tries <= tries + 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


# ---------------------------------------------------------------- runs


async def test_a_run_waits_for_the_database_and_completes(storm: Storm) -> None:
    """An answer that has come while it was away is stored when it is back; the model is asked no second time."""
    node = await storm.open()
    release = asyncio.Event()
    storm.stage.play(Script().text("Whole").hold(release).text("."))
    run_id = await node.start()
    screen = storm.stage.screen(run_id)
    await screen.shows("Whole")
    storm.weather.away = True
    release.set()
    for _ in range(3):
        await storm.weather.until_tried()
    assert node.runner(run_id).patience._working, "the time counts as idle"
    storm.weather.away = False
    run = await node.settled(run_id)
    assert (run.status, run.takeovers, len(storm.stage.server.requests)) == (RunStatus.COMPLETED, 0, 1)


async def test_a_response_goes_on_while_the_database_is_away(storm: Storm) -> None:
    """Its deltas reach who watches: only verbs wait."""
    node = await storm.open()
    releases = [asyncio.Event(), asyncio.Event()]
    script = Script().text("One").hold(releases[0]).text(" two").hold(releases[1]).text(" three.")
    storm.stage.play(script)
    run_id = await node.start()
    screen = storm.stage.screen(run_id)
    await screen.shows("One")
    storm.weather.away = True
    releases[0].set()
    await screen.shows("One two")
    storm.weather.away = False
    releases[1].set()
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert screen.text == "One two three."


async def test_a_run_that_begins_while_the_database_is_away_waits_with_its_reads(storm: Storm) -> None:
    """A loop reads its transcript again until it can."""
    node = await storm.open()
    storm.weather.away = True
    storm.stage.play(Script().text("Hello."))
    run_id = await node.start()
    for _ in range(2):
        await storm.weather.until_tried()
    storm.weather.away = False
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


async def test_a_tools_question_waits_for_the_database_and_is_one_model_call(storm: Storm) -> None:
    """Its row is begun once, though the first answer was lost, and finished once."""

    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        storm.weather.lose |= {"begin_subcall", "finish_subcall"}
        return (await ctx.llm("2 + 2?")).text

    node = await storm.open(tools=[ask])
    storm.stage.play(Script().tool("ask"), Script().text("4"), Script().text("Four."))
    run = await node.settled(await node.start())
    assert run.status is RunStatus.COMPLETED
    assert storm.weather.lose == set()
    calls = await storm.stage.model_calls(run.id)
    assert [(call.tool_call_id is None, call.finished_at is None) for call in calls] == [
        (True, False),
        (False, False),
        (True, False),
    ]


async def test_a_turn_that_a_lost_settle_began_is_gone_on_with(storm: Storm) -> None:
    """Though a beat comes in between, when the loop does not know its new fence: nobody has to take it over."""
    node = await storm.open()
    storm.stage.play(Script().half_text("Half").hold(asyncio.Event()), Script().text("After."))
    run_id = await node.start()
    await storm.stage.screen(run_id).shows("Half")
    other = await storm.stage.open()
    await other.cancel(run_id)
    await other.steer(run_id, "after")
    storm.weather.lose = {"settle"}
    fence = (await storm.stage.run(run_id)).fence
    node.worker.cancelled(run_id, fence)
    await storm.weather.until_tried()
    assert (await storm.stage.run(run_id)).fence == fence + 1
    await node.beat()
    run = await node.settled(run_id)
    assert (run.status, run.fence, run.generation, run.takeovers) == (RunStatus.COMPLETED, fence + 1, 2, 0)
    assert storm.stage.screen(run_id).text.endswith("After.")


async def test_a_run_that_others_took_during_the_outage_is_let_go(storm: Storm) -> None:
    """The repeated verb finds another owner: the loop stops without another write."""
    node = await storm.open(watch_seconds=0.02)
    release = asyncio.Event()
    storm.stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    await storm.stage.screen(run_id).shows("One.")
    storm.weather.away = True
    release.set()
    await storm.weather.until_tried()
    await storm.stage.leases.advance(LEASE_SECONDS + 1)
    other = await storm.stage.open(watch_seconds=0.02)
    run = await other.settled(run_id)
    storm.weather.away = False
    await node.idle(run_id)
    assert await storm.stage.run(run_id) == run
    await storm.stage.screen(run_id).sees(RunResult)
    assert storm.stage.screen(run_id).text == "Two."


async def test_a_cancel_and_an_input_made_meanwhile_are_heeded_when_it_is_back(storm: Storm) -> None:
    """What others committed while this process could not reach the rows stops it at its next look."""
    node, other = await storm.open(), await storm.stage.open()
    storm.stage.play(Script().half_text("Half").hold(asyncio.Event()))
    run_id = await node.start()
    await storm.stage.screen(run_id).shows("Half")
    storm.weather.away = True
    await other.cancel(run_id)
    with pytest.raises(DatabaseAway):
        await node.beat()
    storm.weather.away = False
    await node.beat()
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED


# ---------------------------------------------------------------- the worker


async def test_a_worker_that_closes_while_the_database_is_away_ends(storm: Storm) -> None:
    """It can't hand its runs back: their leases run out, and another worker goes on with them."""
    node = await storm.open(drain_seconds=0, watch_seconds=0.02)
    releases = [asyncio.Event() for _ in range(2)]
    storm.stage.play(Script().half_text("Half").hold(releases[1]), Script().text("Whole.").hold(releases[0]))
    waits = await node.start("waits for its model")
    await storm.stage.screen(waits).shows("Half")
    stores = await node.start("waits for its verb")
    await storm.stage.screen(stores).shows("Whole.")
    storm.weather.away = True
    releases[0].set()
    await storm.weather.until_tried()
    await node.worker.close()
    assert len(node.worker) == 0
    assert {(await storm.stage.run(run_id)).worker for run_id in (waits, stores)} == {node.shop.worker}
    storm.stage.server.answer(lambda request: Script().text("Later."))
    await storm.stage.leases.advance(LEASE_SECONDS + 1)
    other = await storm.stage.open(watch_seconds=0.02)
    for run_id in (waits, stores):
        assert (await other.settled(run_id)).status is RunStatus.COMPLETED


async def test_a_drain_outlives_an_outage(storm: Storm) -> None:
    """Where it ends within the time for draining, runs are handed back as ever."""
    node = await storm.open(watch_seconds=0.02)
    release = asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        return "worked"

    await storm.stage.retire(node)
    node = await storm.open(tools=[work], watch_seconds=0.02)
    storm.stage.play(Script().text("On it").hold(release).tool("work"), Script().text("Done."))
    run_id = await node.start()
    await storm.stage.screen(run_id).shows("On it")
    storm.weather.away = True
    closing = asyncio.create_task(node.worker.close())
    await quiet()
    release.set()
    await storm.weather.until_tried()
    assert not closing.done()
    storm.weather.away = False
    await closing
    handed = await storm.stage.run(run_id)
    assert (handed.status, handed.worker, handed.lease_until) == (RunStatus.RUNNING, None, 0)
    other = await storm.stage.open(tools=[work], watch_seconds=0.02)
    assert (await other.settled(run_id)).takeovers == 0


async def test_after_an_outage_only_free_runs_are_taken(storm: Storm) -> None:
    """A lapsed lease may be a living worker's who renews it a moment later; a run that was handed back is nobody's."""
    dead = await storm.stage.open(watch_seconds=0.02)
    storm.stage.server.answer(lambda request: Script().half_text("Half").hold(asyncio.Event()))
    lapsed = await dead.start()
    await storm.stage.screen(lapsed).shows("Half")
    node = await storm.open(watch_seconds=0.02)
    storm.weather.away = True
    assert not await node.worker._contact.tried(node.look)
    storm.weather.away = False
    await storm.stage.leases.advance(LEASE_SECONDS + 1)
    front = await storm.stage.open(works=False, watch_seconds=0.02)
    storm.stage.server.answer(lambda request: Script().text("Free."))
    free = await front.start()
    await node.look()
    assert (await node.settled(free)).status is RunStatus.COMPLETED
    assert (await storm.stage.run(lapsed)).worker == dead.shop.worker
    await dead.beat()
    await dead.cancel(lapsed)
    assert (await dead.settled(lapsed)).takeovers == 0


async def test_an_input_that_could_not_be_announced_is_announced_once(storm: Storm) -> None:
    """Its InputQueued is written once, though the answer to the first try was lost."""
    node = await storm.open()
    release = asyncio.Event()
    storm.stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    screen = storm.stage.screen(run_id)
    await screen.shows("One.")
    storm.weather.lose = {"announce"}
    await node.steer(run_id, "more")
    await screen.sees(InputQueued)
    release.set()
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert len(screen.of(InputQueued)) == 1
