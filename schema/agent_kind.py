"""AgentKind and ToolType: what code offers to those who create agents."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry.scalars import JSON

from engine.agent import Agent
from engine.builtin.tool_type import ToolType as EngineToolType


@strawberry.type(description="One field of a kind's configuration.")
class ConfigField:
    """Read from engine.fields.ConfigField."""

    name: str = strawberry.field(description="Its name in the configuration.")
    type: str = strawberry.field(
        description='Its type in the words of JSON Schema, such as string, number or array; several joined by "or".'
    )
    default: JSON | None = strawberry.field(description="What it is where it is left out; null where nothing is.")
    description: str | None = strawberry.field(description="What it is for.")
    required: bool = strawberry.field(description="Whether it must be given.")


@strawberry.type(
    description="A kind is code, an agent is data. Every agent that code defines is a kind, and can be run by its name."
)
class AgentKind:
    """Made of a kind by `kind_of`."""

    identifier: str = strawberry.field(description="The name that createAgent takes.")
    available: bool = strawberry.field(
        description="Whether its code is there; else its agents can be read, and not be run."
    )
    description: str = strawberry.field(description="What agents of this kind are for; empty where nobody has said.")
    examples: list[str] = strawberry.field(description="Things that one can say to it, to begin with.")
    fields: list[ConfigField] = strawberry.field(description="What an agent of this kind is configured with.")
    json_schema: JSON = strawberry.field(description="The same as a JSON Schema.")


def kind_of(identifier: str, kind: Agent | None) -> AgentKind:
    """The kind as clients see it; None stands for code that is not there."""
    if kind is None:
        nothing: Any = {}
        return AgentKind(
            identifier=identifier, available=False, description="", examples=[], fields=[], json_schema=nothing
        )
    rows: Any = kind.config_type.rows  # what ConfigField is read from
    schema: Any = kind.config_type.schema
    return AgentKind(
        identifier=identifier,
        available=True,
        description=kind.description or "",
        examples=list(kind.examples),
        fields=rows,
        json_schema=schema,
    )


@strawberry.type(description="Code that makes tools: a resource of the kind `tools` names one, and configures it.")
class ToolType:
    """Made of a tool type by `tool_type_of`."""

    identifier: str = strawberry.field(description='The name that a tool\'s value has as its "type".')
    description: str = strawberry.field(description="What its tools do.")
    input_schema: JSON = strawberry.field(description="What a model gives to its tools, as a JSON Schema.")
    config_schema: JSON = strawberry.field(description='What a tool\'s "config" may hold, as a JSON Schema.')


def tool_type_of(kind: EngineToolType) -> ToolType:
    """The tool type as clients see it."""
    taken: Any = kind.input_schema
    options: Any = kind.config_schema
    return ToolType(identifier=kind.identifier, description=kind.description, input_schema=taken, config_schema=options)
