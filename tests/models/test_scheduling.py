"""create_schedule, delete_schedule, fire, pass_over: each one transaction, on every database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from models.page import Window
from models.run import get_runs
from models.schedule import Schedule, count_schedules, due_schedules, find_schedules, get_schedules
from models.verbs.errors import NoSuchSchedule, QueueFull, TickPassed, TooMany
from models.verbs.opening import NewRun, open_run
from models.verbs.row import Holder
from models.verbs.scheduling import NewSchedule, Tick, create_schedule, delete_schedule, fire, pass_over
from tests.support.desk import Desk, a_key

MINUTE = 60_000


def a_new(desk: Desk, **values: Any) -> NewSchedule:
    """A schedule of alice's that is due in a minute."""
    given = {
        "user_id": "alice",
        "created_by": "alice",
        "roles": [],
        "agent": "helper",
        "input": "Hi",
        "cron": "* * * * *",
    }
    return NewSchedule(**{**given, "time_zone": "UTC", "next_at": desk.clock() + MINUTE, **values})


async def created(desk: Desk, *, key: Any = None, most: int = 10, **values: Any) -> Schedule:
    """It, stored."""
    what: dict[str, Any] = {"key": key, "ids": desk.ids, "at": desk.clock(), "most": most}
    return await desk.database.write(create_schedule, new=a_new(desk, **values), **what)


async def fired(desk: Desk, schedule: Schedule, next_at: int | None, begin: Any = open_run) -> str:
    """Take the schedule's tick; the id of its run."""
    assert schedule.next_at is not None
    tick, new = Tick(schedule.id, schedule.next_at, next_at), NewRun(schedule.user_id, schedule.agent, schedule.input)
    what: dict[str, Any] = {"key": None, "holder": Holder(), "ids": desk.ids, "at": desk.clock()}
    done, _ = await desk.database.write(fire, begin=begin, tick=tick, new=new, **what)
    return str(done.run.id)


async def now(desk: Desk, schedule: Schedule) -> Schedule:
    """The schedule as it is."""
    return (await desk.database.read(get_schedules, [schedule.id]))[schedule.id]


async def test_a_schedule_is_its_owners_and_its_creators(desk: Desk) -> None:
    """In their lists, newest first, and in nobody else's; either may remove it."""
    mine, service = await created(desk), await created(desk, user_id="svc", created_by="root")
    for user, found in (("alice", [mine]), ("svc", [service]), ("root", [service]), ("bob", [])):
        assert (await desk.database.read(find_schedules, user, Window(size=10))).rows == found
        assert await desk.database.read(count_schedules, user) == len(found)
    for user in ("alice", "bob"):
        with pytest.raises(NoSuchSchedule):
            await desk.database.write(delete_schedule, user_id=user, schedule_id=service.id)
    await desk.database.write(delete_schedule, user_id="svc", schedule_id=service.id)
    with pytest.raises(NoSuchSchedule):
        await desk.database.write(delete_schedule, user_id="root", schedule_id=service.id)


async def test_a_key_makes_one_schedule(desk: Desk) -> None:
    """The same one as it is by then; where it was deleted, that is said."""
    key = a_key(operation="createSchedule")
    first = await created(desk, key=key)
    await fired(desk, first, first.next_at and first.next_at + MINUTE)
    assert await created(desk, key=key) == await now(desk, first) != first
    await desk.database.write(delete_schedule, user_id="alice", schedule_id=first.id)
    with pytest.raises(NoSuchSchedule):
        await created(desk, key=key)


async def test_one_user_creates_so_many_and_no_more(desk: Desk) -> None:
    """For whomever they are; others are not kept from theirs by it."""
    await created(desk, most=2)
    await created(desk, most=2, user_id="svc")
    with pytest.raises(TooMany):
        await created(desk, most=2)
    await created(desk, most=2, created_by="bob")


async def test_a_tick_begins_one_run_whoever_takes_it(desk: Desk) -> None:
    """Of those who take it at once one begins a run; the others are told, and have begun nothing."""
    schedule = await created(desk)
    assert schedule.next_at is not None
    taken = await asyncio.gather(
        *(fired(desk, schedule, 2 * schedule.next_at) for _ in range(5)), return_exceptions=True
    )
    (run_id,) = [one for one in taken if isinstance(one, str)]
    assert [type(one) for one in taken if not isinstance(one, str)] == [TickPassed] * 4
    after = await now(desk, schedule)
    assert (after.last_run_id, after.next_at, after.enabled) == (run_id, 2 * schedule.next_at, True)
    assert list(await desk.database.read(get_runs, [run_id])) == [run_id]


async def test_a_tick_whose_run_can_t_be_begun_is_still_there(desk: Desk) -> None:
    """What fails undoes the whole transaction; the tick is then passed over, with the reason."""
    schedule = await created(desk)

    def refuse(c: Any, **arguments: Any) -> Any:
        open_run(c, **arguments)
        raise QueueFull

    with pytest.raises(QueueFull):
        await fired(desk, schedule, None, refuse)
    assert await now(desk, schedule) == schedule
    assert schedule.next_at is not None
    tick = Tick(schedule.id, schedule.next_at, schedule.next_at + MINUTE)
    await desk.database.write(pass_over, tick=tick, error="too much", at=desk.clock())
    with pytest.raises(TickPassed):
        await desk.database.write(pass_over, tick=tick, error="again", at=desk.clock())
    after = await now(desk, schedule)
    assert (after.last_error, after.last_run_id, after.next_at) == ("too much", None, tick.next_at)
    await fired(desk, after, None)
    last = await now(desk, schedule)
    assert (last.last_error, last.next_at, last.enabled) == (None, None, False), "a success clears the error before it"


async def test_what_is_due_is_given_once_a_look_the_longest_due_first(desk: Desk) -> None:
    """Page by page; what is not due, or comes due no more, is not in it."""
    at = desk.clock()
    order = [(await created(desk, next_at=at + place)).id for place in (30, 10, 20, 10)]
    late, done = await created(desk, next_at=at + 31), await created(desk, next_at=at + 5)
    await fired(desk, done, None)
    found: list[str] = []
    place = (-1, "")
    while page := await desk.database.read(due_schedules, at + 30, place, 2):
        found += [one.id for one in page]
        place = page[-1].next_at or 0, page[-1].id
    assert found == [order[1], order[3], order[2], order[0]]
    assert late.id not in found
