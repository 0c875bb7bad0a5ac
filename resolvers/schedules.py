"""Schedules: schedules, createSchedule, deleteSchedule."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from engine.errors import Refused
from models.schedule import Schedule, count_schedules, find_schedules
from schema.connections import After, Before, First, Last, Page, Paging, page
from schema.context import Info
from schema.errors import user_errors
from schema.given import given
from schema.schedule import (
    CreateScheduleInput,
    CreateSchedulePayload,
    DeleteScheduleInput,
    DeleteSchedulePayload,
    as_schedule,
)

UNSET: Any = strawberry.UNSET

Create = Annotated[CreateScheduleInput, strawberry.argument(description="The schedule to create.")]
Delete = Annotated[DeleteScheduleInput, strawberry.argument(description="Which schedule to remove.")]


async def list_schedules(
    info: Info, first: First = UNSET, after: After = UNSET, last: Last = UNSET, before: Before = UNSET
) -> Page[Schedule]:
    """A page of the viewer's schedules, newest first. Raises BadUserInput."""
    paging, viewer = Paging(first, after, last, before), info.context.viewer
    return await page(info.context, "schedules", paging, find=find_schedules, count=count_schedules, of=viewer.id)


async def create_schedule(info: Info, input: Create) -> CreateSchedulePayload:  # noqa: A002 - the promised name
    """Have an agent told something by cron."""
    context = info.context
    try:
        schedule = await context.engine.schedules.create(
            context.viewer,
            agent=input.agent,
            input=input.input,
            cron=input.cron,
            time_zone=given(input.time_zone) or "UTC",
            run_id=given(input.run_id),
            user_id=given(input.user_id),
            key=given(input.key),
        )
    except Refused as refused:
        return CreateSchedulePayload(schedule=None, errors=user_errors(refused))
    return CreateSchedulePayload(schedule=as_schedule(schedule), errors=[])


async def delete_schedule(info: Info, input: Delete) -> DeleteSchedulePayload:  # noqa: A002 - the promised name
    """Remove a schedule."""
    context = info.context
    try:
        deleted = await context.engine.schedules.delete(context.viewer, schedule_id=input.id)
    except Refused as refused:
        return DeleteSchedulePayload(deleted_id=None, errors=user_errors(refused))
    return DeleteSchedulePayload(deleted_id=strawberry.ID(deleted), errors=[])
