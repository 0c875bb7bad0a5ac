"""Schedules on several nodes of one database: once a tick, caught up once, and never in the way of the next one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from engine.errors import Refused
from engine.runs import Runs, Verb
from engine.schedules import Schedules
from engine.user import User
from models.agent import StoredAgent
from models.away import DatabaseAway
from models.enums import ErrorCode, RunStatus
from models.run import Run
from models.schedule import Schedule, get_schedules
from models.verbs.keeping import NewAgent, create_agent, delete_agent
from tests.support.messages_script import Script
from tests.support.stage import ALICE, Node, Stage, helper
from tests.support.truths import all_run_ids
from tests.support.weather import Weather

MINUTE = 60.0
DAY = 86_400.0


def clockwork(node: Node) -> Schedules:
    """The schedules of a node."""
    return Schedules(node.shop, node.runs)


async def created(node: Node, cron: str = "* * * * *", *, user: User = ALICE, **given: Any) -> Schedule:
    """A schedule that tells the helper to look, every minute unless told otherwise."""
    return await clockwork(node).create(user, **{"agent": "helper", "input": "Look", "cron": cron, **given})


async def now(stage: Stage, schedule: Schedule) -> Schedule:
    """The schedule as it is."""
    return (await stage.database.read(get_schedules, [schedule.id]))[schedule.id]


async def ended(stage: Stage, *nodes: Node) -> list[Run]:
    """All runs there are, the oldest first, once they have ended, wherever they run."""
    runs = [await stage.run(run_id) for run_id in await stage.database.read(all_run_ids)]
    for run in runs:
        for node in nodes:
            await node.idle(run.id)
    return [await stage.run(run.id) for run in sorted(runs, key=lambda run: run.id)]


class Broken(Runs):
    """Runs with a defect."""

    tries = 0

    def within(self, wider: Callable[[Verb], Verb]) -> Runs:
        """Fail in a way that nobody foresaw."""
        self.tries += 1
        raise ZeroDivisionError("a secret")


def answering(stage: Stage) -> None:
    """Let the model answer everything."""
    stage.server.answer(lambda request: Script().text("Looked."))


async def test_three_nodes_fire_a_tick_once(stage: Stage) -> None:
    """However they fall together, a node with itself included; none of them begins a second run."""
    nodes = [await stage.open(watch_seconds=0.02) for _ in range(3)]
    answering(stage)
    schedule = await created(nodes[0])
    runs: list[Run] = []
    for tick in (1, 2, 3):
        stage.clock.advance(MINUTE)
        await asyncio.gather(*(clockwork(node).fire_due() for node in (*nodes, nodes[0])))
        runs = await ended(stage, *nodes)
        assert len(runs) == tick
        after = await now(stage, schedule)
        assert (after.last_run_id, after.last_error) == (runs[-1].id, None)
        assert after.next_at is not None
        assert after.next_at > stage.clock()
    assert {(run.status, run.user_id, run.agent) for run in runs} == {(RunStatus.COMPLETED, "alice", "helper")}
    assert [run.metadata for run in runs] == [{"schedule": schedule.id}] * 3


async def test_before_its_tick_nothing_comes(stage: Stage) -> None:
    """Not a millisecond early."""
    node = await stage.open()
    schedule = await created(node)
    assert schedule.next_at is not None
    stage.clock.now = schedule.next_at - 1
    await clockwork(node).fire_due()
    assert await ended(stage, node) == []
    answering(stage)
    stage.clock.now = schedule.next_at
    await clockwork(node).fire_due()
    assert len(await ended(stage, node)) == 1


async def test_ticks_that_were_missed_are_made_up_for_once_together(stage: Stage) -> None:
    """All nodes were down for a day of minutes: one run comes of it, and then the next minute's."""
    node = await stage.open()
    answering(stage)
    schedule = await created(node)
    await stage.retire(node)
    stage.clock.advance(DAY)
    nodes = [await stage.open(watch_seconds=0.02) for _ in range(2)]
    for _ in range(3):
        await asyncio.gather(*(clockwork(one).fire_due() for one in nodes))
    assert len(await ended(stage, *nodes)) == 1
    after = await now(stage, schedule)
    assert after.next_at is not None
    assert 0 < after.next_at - stage.clock() <= MINUTE * 1000
    stage.clock.advance(MINUTE)
    await clockwork(nodes[0]).fire_due()
    assert len(await ended(stage, *nodes)) == 2


async def test_each_day_has_one_tick_when_the_clock_is_changed(stage: Stage) -> None:
    """At half past two in Berlin, through the nights on which that hour is skipped and comes twice."""
    node = await stage.open()
    answering(stage)
    for start, days in (("2027-03-26T12:00Z", 4), ("2027-10-29T12:00Z", 4)):
        stage.clock.now = round(datetime.fromisoformat(start).timestamp() * 1000)
        before = len(await ended(stage, node))
        schedule = await created(node, "30 2 * * *", time_zone="Europe/Berlin")
        for _ in range(days * 24 * 2):
            stage.clock.advance(30 * MINUTE)
            await clockwork(node).fire_due()
        assert len(await ended(stage, node)) - before == days
        await clockwork(node).delete(ALICE, schedule_id=schedule.id)


async def test_a_run_that_can_t_be_begun_is_told_and_the_next_tick_comes(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Its agent is gone: said once a tick, in the log and on the schedule; other schedules are not held up by it."""
    node = await stage.open()
    answering(stage)
    new = NewAgent(user_id="alice", name="Ada", kind="helper", config={}, handle="ada")
    agent: StoredAgent = await stage.database.write(create_agent, new=new, key=None, ids=stage.ids, at=stage.clock())
    broken, whole = await created(node, agent="ada"), await created(node)
    stage.clock.advance(MINUTE)
    await clockwork(node).fire_due()
    assert len(await ended(stage, node)) == 2
    await stage.database.write(delete_agent, user_id="alice", agent_id=agent.id)
    for tick in (1, 2):
        stage.clock.advance(MINUTE)
        with caplog.at_level(logging.WARNING, "steersman.schedules"):
            for _ in range(3):
                await clockwork(node).fire_due()
        assert len([one for one in caplog.records if one.name == "steersman.schedules"]) == tick
        after = await now(stage, broken)
        assert (after.last_error or "").startswith("AGENT_NOT_FOUND: ")
        assert after.enabled
        assert after.last_run_id is not None, "the last run that there was stays visible"
    assert len(await ended(stage, node)) == 4
    assert (await now(stage, whole)).last_error is None


async def test_a_defect_makes_no_hot_loop(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """What nobody foresaw is logged whole, told without its cause, and tried again at the next tick alone."""
    node = await stage.open()
    schedule = await created(node)
    broken = Broken(node.shop, node.worker)
    stage.clock.advance(MINUTE)
    with caplog.at_level(logging.ERROR, "steersman.schedules"):
        for _ in range(3):
            await Schedules(node.shop, broken).fire_due()
    assert broken.tries == 1
    assert "a secret" in caplog.text
    after = await now(stage, schedule)
    assert after.last_error == "The server could not begin the run; its log has the cause."


async def test_each_tick_begins_a_run_whether_the_last_one_has_ended_or_not(stage: Stage) -> None:
    """As cron does: a run that takes long, or waits for a person for days, keeps no later one from coming."""
    node = await stage.open()
    hold = asyncio.Event()
    stage.play(Script().half_text("Loo").hold(hold), Script().text("Looked."))
    await created(node)
    stage.clock.advance(MINUTE)
    await clockwork(node).fire_due()
    (first,) = [await stage.run(run_id) for run_id in await stage.database.read(all_run_ids)]
    stage.clock.advance(MINUTE)
    await clockwork(node).fire_due()
    second = max(await stage.database.read(all_run_ids))
    await node.settled(second)
    assert (await stage.run(first.id)).status is RunStatus.RUNNING
    hold.set()
    await ended(stage, node)


async def test_a_schedule_of_a_run_speaks_to_that_run(stage: Stage) -> None:
    """Its next turn where it rests, queued where it is at work; a queue that is full is told."""
    node = await stage.open()
    hold = asyncio.Event()
    stage.play(Script().text("Hello."), Script().half_text("Loo").hold(hold), Script().text("All seen."))
    run_id = await node.start()
    await node.settled(run_id)
    schedule = await created(node, run_id=run_id)
    for queued in (0, 1, 2):
        stage.clock.advance(MINUTE)
        await clockwork(node).fire_due()
        run = await stage.run(run_id)
        assert (run.status, [item.text for item in run.pending]) == (RunStatus.RUNNING, ["Look"] * queued)
    for _ in range(31):
        stage.clock.advance(MINUTE)
        await clockwork(node).fire_due()
    after = await now(stage, schedule)
    assert (after.last_error or "").startswith("AGENT_INPUT_QUEUE_FULL: ")
    assert after.last_run_id == run_id
    hold.set()
    run = await node.settled(run_id)
    assert (run.status, run.pending, run.metadata) == (RunStatus.COMPLETED, (), {})
    assert await stage.database.read(all_run_ids) == [run_id]


async def test_a_tick_whose_acknowledgement_was_lost_is_not_fired_again(stage: Stage) -> None:
    """The transaction was committed: the run goes on elsewhere once its lease has run out."""
    node = await stage.open(watch_seconds=0.02)
    answering(stage)
    schedule = await created(node)
    weather = Weather(stage.database)
    lossy = await stage.open(database=weather, watch_seconds=0.02)
    weather.lose = {"fire_it"}
    stage.clock.advance(MINUTE)
    with pytest.raises(DatabaseAway):
        await Schedules(lossy.shop, Runs(lossy.shop, lossy.worker)).fire_due()
    for one in (lossy, node):
        await clockwork(one).fire_due()
    assert (await now(stage, schedule)).last_run_id is not None
    await stage.leases.advance(601)
    await node.look()
    (run,) = await ended(stage, node, lossy)
    assert run.status is RunStatus.COMPLETED


async def test_a_node_that_only_serves_fires_too(stage: Stage) -> None:
    """What it begins is free to take."""
    front = await stage.open(works=False)
    answering(stage)
    await created(front)
    stage.clock.advance(MINUTE)
    await clockwork(front).fire_due()
    node = await stage.open(watch_seconds=0.02)
    await node.look()
    (run,) = await ended(stage, node)
    assert (run.status, run.worker) == (RunStatus.COMPLETED, None)


async def test_runs_of_a_schedule_have_the_roles_of_its_creator(stage: Stage) -> None:
    """Those that the creator had then; an administrator's choice of a service user brings the administrator's."""
    node = await stage.open(agents={"boss": helper(auth="boss")})
    answering(stage)
    root = User("root", frozenset({"admin", "boss"}))
    with pytest.raises(Refused) as refused:
        await created(node, agent="boss")
    assert (refused.value.code, refused.value.field) == (ErrorCode.FORBIDDEN, ("agent",))
    with pytest.raises(Refused) as refused:
        await created(node, agent="boss", user=User("eve", frozenset({"boss"})), user_id="svc-nightly")
    assert (refused.value.code, refused.value.field) == (ErrorCode.FORBIDDEN, ("user_id",))
    schedule = await created(node, agent="boss", user=root, user_id="svc-nightly")
    assert (schedule.user_id, schedule.created_by) == ("svc-nightly", "root")
    stage.clock.advance(MINUTE)
    await clockwork(node).fire_due()
    (run,) = await ended(stage, node)
    assert (run.user_id, run.roles, run.status) == ("svc-nightly", ["admin", "boss"], RunStatus.COMPLETED)


async def test_firing_goes_on_after_an_outage(stage: Stage) -> None:
    """A look that the database did not answer is made up for by the next one."""
    weather = Weather(stage.database)
    node = await stage.open(database=weather)
    answering(stage)
    await created(node)
    stage.clock.advance(MINUTE)
    weather.away = True
    firing = asyncio.create_task(clockwork(node).keep_firing(0.01))
    await weather.until_tried()
    weather.away = False
    while not await stage.database.read(all_run_ids):
        await asyncio.sleep(0.01)
    firing.cancel()
    await asyncio.wait((firing,))
    assert [run.status for run in await ended(stage, node)] == [RunStatus.COMPLETED]
