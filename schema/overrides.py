"""What a run has of its own: the inputs that say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import strawberry
from strawberry.scalars import JSON

from engine.run_overrides import RunOverrides
from models.overrides import RunTool
from schema.given import given

UNSET: Any = strawberry.UNSET


@strawberry.input(description="A tool by its type: see `toolTypes`.")
class RunToolInput:
    """A tool of a run's own."""

    name: str = strawberry.field(description="The name that the model calls it by: 1 to 64 letters, digits, _ or -.")
    type: str = strawberry.field(description="The identifier of its tool type.")
    config: JSON | None = strawberry.field(description="What the tool type is configured with.", default=UNSET)


@strawberry.input(description="For one run, in its agent's place; what is left out stays the agent's.")
class RunOverridesInput:
    """The overrides of startRun."""

    system: str | None = strawberry.field(description="The system prompt.", default=UNSET)
    history: JSON | None = strawberry.field(
        description=(
            'What was said before the run, oldest first: a list of {role, content}, the role "user" or "assistant", '
            'the content text or a list of blocks {type: "text", text}. It begins with what a user said.'
        ),
        default=UNSET,
    )
    tools: list[RunToolInput] | None = strawberry.field(
        description="All the tools that the run has; those of its agent are left out.", default=UNSET
    )
    remotes: list[strawberry.ID] | None = strawberry.field(
        description="The remotes whose tools the run may use.", default=UNSET
    )


def overrides_of(value: RunOverridesInput | None) -> RunOverrides | None:
    """What the engine checks."""
    if not value:
        return None
    return RunOverrides(
        system=given(value.system),
        history=given(value.history),
        tools=run_tools_of(given(value.tools)),
        remotes=given(value.remotes),
    )


def run_tools_of(tools: Sequence[RunToolInput] | None) -> list[RunTool] | None:
    """What the engine checks of tools."""
    return None if tools is None else [RunTool(one.name, one.type, _config(one)) for one in tools]


def _config(tool: RunToolInput) -> Any:
    """Whatever was given: the engine says whether it is an object."""
    return given(tool.config)
