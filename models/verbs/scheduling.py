"""create_schedule, delete_schedule; fire, pass_over: each tick of a schedule is taken once, by one transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from models.key import Key, claim_key, keep_answer
from models.schedule import Schedule, get_schedules, schedule_of, schedule_to_row, schedules
from models.verbs.errors import NoSuchSchedule, TickPassed, TooMany
from models.verbs.row import Done, NewId

MAX_SCHEDULES = 100


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """What a schedule is created with (see models.schedule.Schedule)."""

    user_id: str
    created_by: str
    roles: list[str]
    agent: str
    input: str
    cron: str
    time_zone: str
    next_at: int
    agent_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of a schedule that has come, and the one to wait for after it: None where there is none."""

    schedule_id: str
    at: int
    next_at: int | None


def create_schedule(
    c: Connection, *, new: NewSchedule, key: Key | None, ids: NewId, at: int, most: int = MAX_SCHEDULES
) -> Schedule:
    """Write the schedule; the same key gives the same one, as it is now.

    Raises TooMany where its creator has `most` already, KeyUsedOtherwise, and NoSuchSchedule where the one that the key
    has made is there no more.
    """
    if (known := claim_key(c, key, at)) is not None:
        made = get_schedules(c, [known["schedule_id"]]).get(known["schedule_id"])
        if made is None:
            raise NoSuchSchedule(known["schedule_id"])
        return made
    mine = select(func.count(schedules.c.id)).where(schedules.c.created_by == new.created_by)
    if c.execute(mine).scalar_one() >= most:
        raise TooMany(new.created_by)
    values = {name: getattr(new, name) for name in NewSchedule.__slots__}
    schedule = Schedule(id=ids("sch"), created_at=at, updated_at=at, **values)
    c.execute(insert(schedules).values(schedule_to_row(schedule)))
    keep_answer(c, key, {"schedule_id": schedule.id})
    return schedule


def delete_schedule(c: Connection, *, user_id: str, schedule_id: str) -> None:
    """Remove a schedule of the user's; its runs stay. Raises NoSuchSchedule."""
    if not c.execute(delete(schedules).where(schedules.c.id == schedule_id, schedule_of(user_id))).rowcount:
        raise NoSuchSchedule(schedule_id)


def fire(
    c: Connection, /, *, begin: Callable[..., tuple[Done, dict[str, Any]]], tick: Tick, **arguments: Any
) -> tuple[Done, dict[str, Any]]:
    """Take a tick: begin its run by another verb, and wait for the next tick, in this one transaction.

    Raises TickPassed where the tick is taken, or somebody is about to take it, and what `begin` raises.
    """
    _take(c, tick)
    done, answer = begin(c, **arguments)
    _go_on(c, tick, arguments["at"], last_run_id=done.run.id, last_error=None)
    return done, answer


def pass_over(c: Connection, *, tick: Tick, error: str, at: int) -> None:
    """Take a tick whose run can't be begun: `error` says why. Raises TickPassed."""
    _take(c, tick)
    _go_on(c, tick, at, last_error=error)


def _take(c: Connection, tick: Tick) -> None:
    """Lock the row as long as it waits for this tick. Raises TickPassed."""
    waits = select(schedules.c.id).where(schedules.c.id == tick.schedule_id, schedules.c.next_at == tick.at)
    if c.execute(waits.with_for_update(skip_locked=True)).first() is None:
        raise TickPassed(tick.schedule_id)


def _go_on(c: Connection, tick: Tick, at: int, **changes: Any) -> None:
    changes |= {"next_at": tick.next_at, "enabled": tick.next_at is not None, "updated_at": at}
    c.execute(update(schedules).where(schedules.c.id == tick.schedule_id).values(changes))
