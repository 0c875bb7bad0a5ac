"""The inputs and payloads of the mutations on calls that wait: decideToolCalls, completeToolCall."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry.scalars import JSON

from schema.enums import Decision
from schema.errors import UserError
from schema.operations import ERRORS, KEY
from schema.run import AgentRun

UNSET: Any = strawberry.UNSET


@strawberry.input(description="What a person says about one call that waits for a decision.")
class ToolCallDecisionInput:
    """One decision of decideToolCalls."""

    tool_call_id: strawberry.ID = strawberry.field(description="The call that is decided.")
    decision: Decision = strawberry.field(description="Whether it is run.")
    reason: str | None = strawberry.field(
        description="Why, in at most 1,000 characters; the model reads that of a denial.", default=UNSET
    )
    input: JSON | None = strawberry.field(
        description="With APPROVE: the arguments to call the tool with instead of the model's.", default=UNSET
    )


@strawberry.input(
    description=(
        "Decisions about calls of one run that wait: any subset of them, all or nothing. Nothing of what waits runs "
        "until all is decided."
    )
)
class DecideToolCallsInput:
    """The input of decideToolCalls."""

    run_id: strawberry.ID = strawberry.field(description="The run that the calls belong to.")
    decisions: list[ToolCallDecisionInput] = strawberry.field(description="A decision for each call.")
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of decideToolCalls.")
class DecideToolCallsPayload:
    """The payload of decideToolCalls."""

    run: AgentRun | None = strawberry.field(
        description="The run as it is now; null where it was refused, and for a decider who is not its owner."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="A client's answer to a call that waits for one.")
class CompleteToolCallInput:
    """The input of completeToolCall."""

    run_id: strawberry.ID = strawberry.field(description="The run that the call belongs to.")
    tool_call_id: strawberry.ID = strawberry.field(description="The call that is answered.")
    result: JSON | None = strawberry.field(
        description="What came of it: a text as it is, anything else reaches the model as JSON.", default=UNSET
    )
    is_error: bool | None = strawberry.field(description="Whether the call failed.", default=False)
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of completeToolCall.")
class CompleteToolCallPayload:
    """The payload of completeToolCall."""

    run: AgentRun | None = strawberry.field(description="The run as it is now; null where the mutation was refused.")
    errors: list[UserError] = strawberry.field(description=ERRORS)
