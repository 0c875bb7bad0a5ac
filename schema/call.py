"""ToolCall: one call of a tool, from the model's wish to the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import strawberry
from strawberry.scalars import JSON

from models.call import ToolCall as ToolCallRecord
from schema.context import Info
from schema.enums import ToolCallState
from schema.node import Node
from schema.scalars import DateTime

if TYPE_CHECKING:
    from schema.run import AgentRun


async def _child_run(root: strawberry.Parent[ToolCallRecord], info: Info) -> Any:
    return None if root.child_run_id is None else await info.context.loaders.run(root.child_run_id)


async def _input_schema(root: strawberry.Parent[ToolCallRecord], info: Info) -> Any:
    agent = await info.context.loaders.agent_of_run(root.run_id)
    tool = None if agent is None else agent.toolbox.get(root.name)
    return None if tool is None else tool.parameters.schema


def _expires_at(root: strawberry.Parent[ToolCallRecord]) -> Any:
    return root.expires_at if root.state is ToolCallState.WAITING else None


@strawberry.type(
    description="One call of a tool. Its id is ours: the provider's own, which may repeat, stands in `content` alone."
)
class ToolCall(Node):
    """Read from models.call.ToolCall."""

    run_id: strawberry.ID = strawberry.field(description="The run that it belongs to.")
    agent: str = strawberry.field(description="The name of the run's agent.")
    user_id: str = strawberry.field(description="The run's owner.")
    step: int = strawberry.field(
        description="The step whose answer asked for it; steps count over the whole run, from 1."
    )
    name: str = strawberry.field(description="The tool's name.")
    input: JSON = strawberry.field(description="The arguments that the tool is called with.")
    input_schema: JSON | None = strawberry.field(
        resolver=_input_schema,
        description=(
            "What the tool takes, as a JSON Schema, by the run's agent as it is now: for a form. Null where that agent "
            "has no such tool any more, and for tools of remotes."
        ),
    )
    state: ToolCallState = strawberry.field(description="Where the call stands.")
    result: JSON | None = strawberry.field(
        description="What came of it, as the model reads it; null while there is nothing."
    )
    is_error: bool = strawberry.field(description="Whether the model is told that the call failed.")
    started_at: DateTime | None = strawberry.field(
        description="When the tool began; null where it has not, or never did."
    )
    finished_at: DateTime | None = strawberry.field(description="When the call had its result; null while it has none.")
    approvers: str | None = strawberry.field(
        description='Who may decide the call: "owner", or a role; null where nobody need.'
    )
    expires_at: DateTime | None = strawberry.field(
        resolver=_expires_at, description="Until when it waits; null where it does not wait, or for ever."
    )
    decided_by: str | None = strawberry.field(description="The user who decided it; null where nobody has.")
    decided_at: DateTime | None = strawberry.field(description="When it was decided; null where it was not.")
    reason: str | None = strawberry.field(description="The reason that was given with the decision.")
    child_run: Annotated[AgentRun, strawberry.lazy("schema.run")] | None = strawberry.field(
        resolver=_child_run, description="The run that the call began, where the tool is another agent."
    )
