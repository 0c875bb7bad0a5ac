"""Schedules: inputs that are given to agents again and again, when a cron expression says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Index,
    Row,
    String,
    Table,
    func,
    or_,
    select,
    tuple_,
)

from models.page import Slice, Window
from models.paging import by_column
from models.tables import Json, metadata

schedules = Table(
    "schedules",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("user_id", String(255), nullable=False),
    Column("created_by", String(255), nullable=False),
    Column("roles", Json, nullable=False),
    Column("agent", String(255), nullable=False),
    Column("agent_id", String(64)),
    Column("run_id", String(64)),
    Column("input", String, nullable=False),
    Column("cron", String(255), nullable=False),
    Column("time_zone", String(255), nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("next_at", BigInteger),
    Column("last_run_id", String(64)),
    Column("last_error", String),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index("ix_schedules_user_id_id", "user_id", "id"),
    Index("ix_schedules_created_by_id", "created_by", "id"),
    Index("ix_schedules_next_at_id", "next_at", "id"),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as its row has it.

    Its runs belong to `user_id`, and run with `roles`, those that `created_by` had when it was created. `agent` is the
    name of a code-defined agent, or the word of the stored agent `agent_id`. With `run_id` its input goes to that run,
    else each tick begins a new one. `next_at` is the tick that comes next; None, and not `enabled`, where none does.
    `last_run_id` is the run of the last tick that began one, `last_error` why the last tick did not; None where it did.
    Times are milliseconds since the epoch, UTC.
    """

    id: str
    user_id: str
    created_by: str
    roles: list[str]
    agent: str
    input: str
    cron: str
    time_zone: str
    next_at: int | None
    created_at: int
    updated_at: int
    agent_id: str | None = None
    run_id: str | None = None
    enabled: bool = True
    last_run_id: str | None = None
    last_error: str | None = None


def schedule_to_row(schedule: Schedule) -> dict[str, Any]:
    """The row's columns."""
    return {name: getattr(schedule, name) for name in Schedule.__slots__}


def schedule_from_row(row: Row[Any]) -> Schedule:
    """A Schedule from a row of all of its table's columns."""
    return Schedule(**{name: row._mapping[name] for name in Schedule.__slots__})


def get_schedules(c: Connection, schedule_ids: Sequence[str]) -> dict[str, Schedule]:
    """Those of the schedules that exist, by id, whoever owns them."""
    rows = c.execute(select(schedules).where(schedules.c.id.in_(list(schedule_ids))))
    return {row.id: schedule_from_row(row) for row in rows}


def find_schedules(c: Connection, user_id: str, window: Window) -> Slice[Schedule]:
    """A window of the schedules that are the user's, newest first; positions are ids. Raises BadCursor."""
    mine = select(schedules).where(schedule_of(user_id))
    return by_column(c, mine, schedules.c.id, window, schedule_from_row, descending=True, prefix="sch_")


def count_schedules(c: Connection, user_id: str) -> int:
    """How many schedules are the user's."""
    return int(c.execute(select(func.count(schedules.c.id)).where(schedule_of(user_id))).scalar_one())


def due_schedules(c: Connection, at: int, place: tuple[int, str], limit: int) -> list[Schedule]:
    """Schedules whose tick has come, the longest due first, beyond a place: a tick and an id."""
    position = tuple_(schedules.c.next_at, schedules.c.id)
    due = select(schedules).where(schedules.c.next_at <= at, position > place)
    return [schedule_from_row(row) for row in c.execute(due.order_by(schedules.c.next_at, schedules.c.id).limit(limit))]


def schedule_of(user_id: str) -> ColumnElement[bool]:
    """Whether a schedule is the user's: its runs are, or the user has created it."""
    return or_(schedules.c.user_id == user_id, schedules.c.created_by == user_id)
