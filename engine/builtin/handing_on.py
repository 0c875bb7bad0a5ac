"""The tool type `agent`: hands a task to another agent, which answers in a run of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import Field

from engine.builtin.tool_type import ToolConfig, ToolSetting, ToolType
from engine.subagent import subagent
from engine.tool import NAME, Tool


class AgentConfig(ToolConfig):
    """Whom a task is handed to."""

    agent: str = Field(pattern=f"^{NAME.pattern}$", description="The other agent: its name, handle or id.")


def _make(name: str, config: AgentConfig, setting: ToolSetting) -> Tool[..., Any]:
    made = subagent(config.agent)
    return replace(made, name=name, description=config.description or made.description)


AGENT = ToolType(
    identifier="agent",
    description="Hands a task to another agent and gives its answer.",
    config=AgentConfig,
    make=_make,
    example={"agent": "researcher"},
)
