"""Finding runs, and beginning turns: run, runs; startRun, retryRun, forkRun."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from engine.errors import Refused
from models.run import Run, RunQuery, count_runs, find_runs
from models.text import clean
from resolvers.attachments import attachments_of
from schema.connections import After, Before, First, Last, Page, Paging, page
from schema.context import Info, RequestContext
from schema.errors import BadUserInput, Forbidden, user_errors
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
    RunFilter | None, strawberry.argument(description="Which runs are meant; all of the viewer's own without it.")
]


async def get_run(info: Info, run_id: RunId) -> Run | None:
    """The run, where the viewer may see it, or None."""
    return await info.context.loaders.run(run_id)


async def list_runs(
    info: Info,
    filter: Filter = UNSET,  # noqa: A002 - the argument's promised name
    first: First = UNSET,
    after: After = UNSET,
    last: Last = UNSET,
    before: Before = UNSET,
) -> Page[Run]:
    """A page of runs, newest first: the viewer's, or whose the filter names. Raises BadUserInput and Forbidden."""
    query = query_of(info.context, filter)
    paging = Paging(first, after, last, before)
    return await page(info.context, "runs", paging, find=find_runs, count=count_runs, of=query)


def query_of(context: RequestContext, wanted: RunFilter | None) -> RunQuery:
    """The runs that fulfil the filter, where the viewer may list them. Raises BadUserInput and Forbidden."""
    conditions = given(wanted)
    if conditions is None:
        return RunQuery(user_id=context.viewer.id)
    status, finish, metadata = given(conditions.status), given(conditions.finish), given(conditions.metadata)
    if metadata is not None and not isinstance(metadata, dict):
        raise BadUserInput("`metadata` must be an object.")
    agent, parent_id, search = (given(text) for text in (conditions.agent, conditions.parent_id, conditions.search))
    return RunQuery(
        user_id=_owner_of(context, conditions),
        status=None if status is None else tuple(status),
        finish=None if finish is None else tuple(finish),
        agent=None if agent is None else clean(agent),
        parent_id=None if parent_id is None else clean(parent_id),
        search=None if search is None else clean(search).strip(),
        metadata=metadata,
        created_after=given(conditions.created_after),
        created_before=given(conditions.created_before),
    )


def _owner_of(context: RequestContext, wanted: RunFilter) -> str | None:
    """Whose runs are meant, None for everybody's. Raises Forbidden unless they are the viewer's to list."""
    user_id, own = given(wanted.user_id), context.viewer.id
    owner = clean(user_id) if user_id is not None else None if given(wanted.everyone) else own
    if owner != own and not context.is_admin:
        raise Forbidden("Only administrators list the runs of other users.")
    return owner


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
