"""AgentRun: a conversation with an agent, and the work on it."""

from __future__ import annotations

from typing import Any, cast

import strawberry
from strawberry.scalars import JSON

from models.call import count_calls, find_calls
from models.message import count_messages, find_messages
from models.model_call import count_model_calls, find_model_calls
from models.run import Run, RunQuery, count_runs, find_runs
from schema.call import ToolCall
from schema.connections import After, Before, Connection, First, Last, Paging, page
from schema.context import Info
from schema.enums import ChangeKind, ErrorCode, FinishReason, RunStatus, SteerMode
from schema.message import AgentMessage
from schema.model_call import ModelCall
from schema.node import Node
from schema.scalars import DateTime
from schema.usage import Budget, Usage, allowance

UNSET: Any = strawberry.UNSET


@strawberry.type(description="Why a run failed, as its owner may read it.")
class RunError:
    """Read from models.events.Failure."""

    code: ErrorCode = strawberry.field(description="The stable code that programs can rely on.")
    message: str = strawberry.field(
        description="The same in words, for people; never a provider's raw words, keys or addresses."
    )


@strawberry.type(description="An input that waits to be folded into the transcript.")
class PendingInput:
    """Read from models.run.PendingInput."""

    id: strawberry.ID = strawberry.field(description="Its id: `withdrawInput` takes it, InputApplied names it.")
    text: str = strawberry.field(description="What will be said.")
    mode: SteerMode = strawberry.field(description="How it reaches the generation under way.")
    created_at: DateTime = strawberry.field(description="When it was sent.")


def _pending_input(root: strawberry.Parent[Run]) -> Any:
    return root.pending


async def _pending_calls(root: strawberry.Parent[Run], info: Info) -> Any:
    is_active = root.status in (RunStatus.RUNNING, RunStatus.WAITING)
    return await info.context.loaders.pending_calls(root.id) if is_active else []


async def _usage(root: strawberry.Parent[Run], info: Info) -> Any:
    return await info.context.loaders.usage(root.id)


async def _budget(root: strawberry.Parent[Run], info: Info) -> Any:
    if not root.purses:
        return None
    purse = await info.context.loaders.purse(root.purses[-1])
    return None if purse is None else allowance(purse.bounds, purse.spent)


async def _parent(root: strawberry.Parent[Run], info: Info) -> Any:
    return None if root.parent_id is None else await info.context.loaders.run(root.parent_id)


async def _children(root: strawberry.Parent[Run], info: Info, first: First = UNSET, after: After = UNSET) -> Any:
    query = RunQuery(user_id=root.user_id, status=None, agent=None, parent_id=root.id, search=None, metadata=None)
    paging = Paging(first=first, after=after)
    return await page(info.context, f"children/{root.id}", paging, find=find_runs, count=count_runs, of=query)


async def _forked_from(root: strawberry.Parent[Run], info: Info) -> Any:
    return None if root.forked_from is None else await info.context.loaders.message(root.forked_from)


async def _messages(
    root: strawberry.Parent[Run],
    info: Info,
    first: First = UNSET,
    after: After = UNSET,
    last: Last = UNSET,
    before: Before = UNSET,
) -> Any:
    paging = Paging(first, after, last, before)
    name = f"messages/{root.id}"
    return await page(info.context, name, paging, find=find_messages, count=count_messages, of=root.id)


async def _tool_calls(
    root: strawberry.Parent[Run],
    info: Info,
    first: First = UNSET,
    after: After = UNSET,
    last: Last = UNSET,
    before: Before = UNSET,
) -> Any:
    paging = Paging(first, after, last, before)
    return await page(info.context, f"toolCalls/{root.id}", paging, find=find_calls, count=count_calls, of=root.id)


async def _model_calls(
    root: strawberry.Parent[Run],
    info: Info,
    first: First = UNSET,
    after: After = UNSET,
    last: Last = UNSET,
    before: Before = UNSET,
) -> Any:
    paging = Paging(first, after, last, before)
    name = f"modelCalls/{root.id}"
    return await page(info.context, name, paging, find=find_model_calls, count=count_model_calls, of=root.id)


@strawberry.type(
    description=(
        "A conversation with an agent, and the work on it. A turn is from an input to the status that ends it; a "
        "generation is the work between, and has one stream of events."
    )
)
class AgentRun(Node):
    """Read from models.run.Run."""

    agent: str = strawberry.field(
        description="The agent's name or handle: of a stored one its handle, else its name, when the run was begun."
    )
    user_id: str = strawberry.field(description="Its owner.")
    status: RunStatus = strawberry.field(description="What can be done with it next.")
    finish: FinishReason | None = strawberry.field(
        description="Why the last generation stopped; null while one is under way."
    )
    title: str | None = strawberry.field(description="Its title: as given, or cut from the first input.")
    stream_id: strawberry.ID | None = strawberry.field(
        description="The stream of the current or last generation, for `stream`; null before the first."
    )
    error: RunError | None = strawberry.field(description="Why the last turn failed; null where it did not.")
    pending_input: list[PendingInput] = strawberry.field(
        resolver=_pending_input, description="What was sent and is not yet in the transcript, in the order it came."
    )
    pending_calls: list[ToolCall] = strawberry.field(
        resolver=_pending_calls,
        description=(
            "The tool calls that wait for a decision or for a client: its own, then those of the runs below it. Each "
            "is decided under its own `runId`."
        ),
    )
    cancel_requested: bool = strawberry.field(description="Whether a cancel is on its way to the generation.")
    steps: int = strawberry.field(description="How many model calls it has made, over all generations; never capped.")
    usage: Usage = strawberry.field(resolver=_usage, description="What all its model calls used, over all generations.")
    budget: Budget | None = strawberry.field(
        resolver=_budget,
        description=(
            "The budget of the current or last turn, and what its finished calls of a model have spent of it; null "
            "where none was set."
        ),
    )
    output: JSON | None = strawberry.field(
        description="The checked structured answer, where the agent has an output type."
    )
    metadata: JSON = strawberry.field(
        description="The caller's own tags, an object of at most 16 KB; {} where none were given."
    )
    parent: AgentRun | None = strawberry.field(
        resolver=_parent, description="The run that began this one as a sub-agent's."
    )
    children: Connection[AgentRun] = strawberry.field(
        resolver=_children, description="The runs of sub-agents that this one began, newest first."
    )
    forked_from: AgentMessage | None = strawberry.field(
        resolver=_forked_from, description="The message of another run up to which this one is a copy of it."
    )
    messages: Connection[AgentMessage] = strawberry.field(
        resolver=_messages, description="The transcript, oldest first."
    )
    tool_calls: Connection[ToolCall] = strawberry.field(
        resolver=_tool_calls, description="Its tool calls, oldest first."
    )
    model_calls: Connection[ModelCall] = strawberry.field(
        resolver=_model_calls, description="Its calls of the model, oldest first."
    )
    created_at: DateTime = strawberry.field(description="When it was begun.")
    started_at: DateTime | None = strawberry.field(
        description="When a worker took up the current or last generation; null while it waits for one."
    )
    updated_at: DateTime = strawberry.field(description="When it last changed.")


def as_agent_run(run: Run) -> AgentRun:
    """The record, which stands for its type: said to the type checker alone."""
    return cast(AgentRun, run)


@strawberry.type(description="A change in a watched list of runs.")
class RunChange:
    """Read from engine.watching.RunChange."""

    kind: ChangeKind = strawberry.field(description="What happened.")
    run_id: strawberry.ID = strawberry.field(description="The run that it happened to.")
    run: AgentRun | None = strawberry.field(description="The run as it is now; null where REMOVED.")


@strawberry.input(description="Which runs are meant: those that fulfil every condition given.")
class RunFilter:
    """The conditions of `runs`."""

    status: list[RunStatus] | None = strawberry.field(description="Its status is one of these.", default=UNSET)
    agent: str | None = strawberry.field(description="It is of the agent with this name or handle.", default=UNSET)
    parent_id: strawberry.ID | None = strawberry.field(
        description="It was begun by the run with this id.", default=UNSET
    )
    search: str | None = strawberry.field(
        description="Its title contains this text, in any case of letters.", default=UNSET
    )
    metadata: JSON | None = strawberry.field(
        description="Its metadata is equal to this object at the keys that this object has.", default=UNSET
    )
    finish: list[FinishReason] | None = strawberry.field(
        description="Its last generation stopped for one of these reasons.", default=UNSET
    )
    created_after: DateTime | None = strawberry.field(description="It was begun then or later.", default=UNSET)
    created_before: DateTime | None = strawberry.field(description="It was begun earlier than this.", default=UNSET)
    user_id: str | None = strawberry.field(
        description="It belongs to this user; to another than the viewer for administrators alone, else FORBIDDEN.",
        default=UNSET,
    )
    everyone: bool | None = strawberry.field(
        description="Whoever it belongs to, rather than the viewer's alone: for administrators, else FORBIDDEN.",
        default=UNSET,
    )


__all__ = ["AgentRun", "PendingInput", "RunChange", "RunError", "RunFilter", "as_agent_run"]
