"""Schedule: an input that an agent is given by cron; the inputs and payloads of its mutations."""

from __future__ import annotations

from typing import Any, cast

import strawberry

from models.schedule import Schedule as ScheduleRecord
from schema.context import Info
from schema.errors import UserError
from schema.node import Node
from schema.operations import ERRORS, KEY
from schema.run import AgentRun
from schema.scalars import DateTime

UNSET: Any = strawberry.UNSET


async def _last_run(root: strawberry.Parent[ScheduleRecord], info: Info) -> Any:
    return None if root.last_run_id is None else await info.context.loaders.run(root.last_run_id)


@strawberry.type(
    description=(
        "An input that an agent is given again and again. Each tick comes once, however many machines there are; ticks "
        "that were missed while none was up are made up for once, together."
    )
)
class Schedule(Node):
    """Read from models.schedule.Schedule."""

    user_id: str = strawberry.field(description="Whose its runs are: its creator, or whom an administrator named.")
    agent: str = strawberry.field(description="The agent's name or handle when the schedule was created.")
    input: str = strawberry.field(description="What the agent is told at each tick.")
    cron: str = strawberry.field(
        description="When: minute, hour, day of the month, month and day of the week, by the clock of `timeZone`."
    )
    time_zone: str = strawberry.field(description="The IANA time zone whose clock it goes by.")
    enabled: bool = strawberry.field(description="Whether it waits for a tick; false where none comes any more.")
    next_at: DateTime | None = strawberry.field(description="The tick that comes next; null where none does.")
    last_run: AgentRun | None = strawberry.field(
        resolver=_last_run,
        description=(
            "The run that its last successful tick began or spoke to; null before the first, and where the viewer may "
            "not read that run."
        ),
    )
    last_error: str | None = strawberry.field(
        description="Why the last tick began no run: a code and a sentence; null where it did, and before the first."
    )


def as_schedule(schedule: ScheduleRecord) -> Schedule:
    """The record, which stands for its type: said to the type checker alone."""
    return cast(Schedule, schedule)


@strawberry.input(description="The schedule to create.")
class CreateScheduleInput:
    """The input of createSchedule."""

    agent: str = strawberry.field(description="A code-defined agent's name, or a stored agent's id or handle.")
    input: str = strawberry.field(description="What to tell the agent at each tick.")
    cron: str = strawberry.field(
        description=(
            "Five fields: minute, hour, day of the month, month, day of the week, such as `0 9 * * MON-FRI`; or "
            "`@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`."
        )
    )
    time_zone: str | None = strawberry.field(
        description="The IANA time zone by whose clock it is meant, such as Europe/Berlin.", default="UTC"
    )
    run_id: strawberry.ID | None = strawberry.field(
        description=(
            "Say the input to this run at each tick, queued where it is generating or waiting; else each tick begins a "
            "run of its own."
        ),
        default=UNSET,
    )
    user_id: str | None = strawberry.field(
        description="Whose its runs are, such as a service user. Only administrators may name somebody else.",
        default=UNSET,
    )
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of createSchedule.")
class CreateSchedulePayload:
    """The payload of createSchedule."""

    schedule: Schedule | None = strawberry.field(description="The schedule; null where the mutation was refused.")
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="Which schedule to remove.")
class DeleteScheduleInput:
    """The input of deleteSchedule."""

    id: strawberry.ID = strawberry.field(description="The schedule to remove; its runs stay, and go on.")


@strawberry.type(description="What came of deleteSchedule.")
class DeleteSchedulePayload:
    """The payload of deleteSchedule."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="The id of the schedule that is gone; null where the mutation was refused."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)
