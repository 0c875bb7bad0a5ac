"""The inputs and payloads of promptAgent and addRunTools."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry.scalars import JSON

from schema.errors import UserError
from schema.operations import ERRORS, KEY
from schema.overrides import RunToolInput
from schema.run import AgentRun
from schema.usage import BudgetInput

UNSET: Any = strawberry.UNSET


@strawberry.input(description="What to ask an agent once, outside any chat.")
class PromptAgentInput:
    """The input of promptAgent."""

    agent: str = strawberry.field(
        description="The name of an agent that code defines, or the id or handle of one that is stored."
    )
    instruction: str = strawberry.field(description="What the agent is to do; not empty.")
    input: JSON | None = strawberry.field(
        description="What it is to do it with, of any structure: the model reads it as JSON behind the instruction.",
        default=UNSET,
    )
    options: JSON | None = strawberry.field(
        description=(
            "Fields of the agent's kind (see `agentKinds`), for this run in the place of its configuration's: an "
            "object. Of an agent that is shared with the viewer it is FORBIDDEN."
        ),
        default=UNSET,
    )
    budget: BudgetInput | None = strawberry.field(
        description="How much it may spend, in the place of the agent's own budget.", default=UNSET
    )
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of promptAgent.")
class PromptAgentPayload:
    """The payload of promptAgent."""

    run: AgentRun | None = strawberry.field(
        description="The run, whose stream is the answer; null where the mutation was refused."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(
    description="Further tools for a run, beside its agent's; one at work has them from its next request on."
)
class AddRunToolsInput:
    """The input of addRunTools."""

    run_id: strawberry.ID = strawberry.field(description="The run that gets them.")
    tools: list[RunToolInput] = strawberry.field(
        description="The tools; one that was added under the same name before is replaced."
    )


@strawberry.type(description="What came of addRunTools.")
class AddRunToolsPayload:
    """The payload of addRunTools."""

    run: AgentRun | None = strawberry.field(description="The run as it is now; null where the mutation was refused.")
    errors: list[UserError] = strawberry.field(description=ERRORS)
