"""Finding runs, and beginning turns: run, runs; startRun, retryRun, forkRun."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from engine.errors import Refused
from engine.user import User
from models.run import Run, RunQuery, count_runs, find_runs
from models.text import clean
from resolvers.attachments import attachments_of
from schema.connections import After, Before, First, Last, Page, Paging, page
from schema.context import Info
from schema.errors import BadUserInput, user_errors
from schema.given import given
from schema.operations import (
    ForkRunInput,
    ForkRunPayload,
    RetryRunInput,
    RetryRunPayload,
    StartRunInput,
    StartRunPayload,
)
from schema.overrides import overrides_of
from schema.run import RunFilter, as_agent_run
from schema.usage import budget_of

UNSET: Any = strawberry.UNSET

RunId = Annotated[strawberry.ID, strawberry.argument(name="id", description="The run's id.")]
Filter = Annotated[
    RunFilter | None, strawberry.argument(description="Which runs are meant; all of the viewer's without it.")
]


async def get_run(info: Info, run_id: RunId) -> Run | None:
    """The viewer's run, or None."""
    return await info.context.loaders.run(run_id)


async def list_runs(
    info: Info,
    filter: Filter = UNSET,  # noqa: A002 - the argument's promised name
    first: First = UNSET,
    after: After = UNSET,
    last: Last = UNSET,
    before: Before = UNSET,
) -> Page[Run]:
    """A page of the viewer's runs, newest first. Raises BadUserInput."""
    query = query_of(info.context.viewer, filter)
    paging = Paging(first, after, last, before)
    return await page(info.context, "runs", paging, find=find_runs, count=count_runs, of=query)


def query_of(user: User, wanted: RunFilter | None) -> RunQuery:
    """The user's own runs that fulfil the filter. Raises BadUserInput."""
    conditions = given(wanted)
    if conditions is None:
        return RunQuery(user_id=user.id)
    status, metadata = given(conditions.status), given(conditions.metadata)
    if metadata is not None and not isinstance(metadata, dict):
        raise BadUserInput("`metadata` must be an object.")
    agent, parent_id, search = (given(text) for text in (conditions.agent, conditions.parent_id, conditions.search))
    return RunQuery(
        user_id=user.id,
        status=None if status is None else tuple(status),
        agent=None if agent is None else clean(agent),
        parent_id=None if parent_id is None else clean(parent_id),
        search=None if search is None else clean(search).strip(),
        metadata=metadata,
    )


Start = Annotated[StartRunInput, strawberry.argument(description="What to start.")]
Retry = Annotated[RetryRunInput, strawberry.argument(description="What to retry.")]
Fork = Annotated[ForkRunInput, strawberry.argument(description="What to fork.")]


async def start_run(info: Info, input: Start) -> StartRunPayload:  # noqa: A002 - the argument's promised name
    """Begin a run, or the next turn of one."""
    context = info.context
    overrides = overrides_of(given(input.overrides))
    try:
        if overrides is not None:
            context.engine.runs.may_override(context.viewer, field="overrides")
        accepted = await context.engine.runs.start(
            context.viewer,
            agent=input.agent,
            input=input.input,
            run_id=given(input.run_id),
            title=given(input.title),
            metadata=given(input.metadata),
            key=given(input.key),
            attachments=attachments_of(input.attachments),
            budget=budget_of(input.budget),
            overrides=overrides,
        )
    except Refused as refused:
        return StartRunPayload(run=None, queued=False, input_id=None, errors=user_errors(refused))
    return StartRunPayload(
        run=as_agent_run(accepted.run),
        queued=accepted.queued,
        input_id=None if accepted.input_id is None else strawberry.ID(accepted.input_id),
        errors=[],
    )


async def retry_run(info: Info, input: Retry) -> RetryRunPayload:  # noqa: A002 - the argument's promised name
    """Go on with a FAILED or CANCELLED run."""
    context = info.context
    try:
        retried = await context.engine.runs.retry(
            context.viewer, run_id=input.run_id, key=given(input.key), budget=budget_of(input.budget)
        )
    except Refused as refused:
        return RetryRunPayload(run=None, errors=user_errors(refused))
    return RetryRunPayload(run=as_agent_run(retried), errors=[])


async def fork_run(info: Info, input: Fork) -> ForkRunPayload:  # noqa: A002 - the argument's promised name
    """Copy a run's transcript into a new run."""
    context = info.context
    try:
        forked = await context.engine.runs.fork(
            context.viewer, run_id=input.run_id, seq=input.seq, input=given(input.input), key=given(input.key)
        )
    except Refused as refused:
        return ForkRunPayload(run=None, errors=user_errors(refused))
    return ForkRunPayload(run=as_agent_run(forked), errors=[])
