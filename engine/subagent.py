"""Another agent as a tool: what a model hands on to it is a run of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.tool import Tool, tool


def subagent(name: str, description: str | None = None) -> Tool[..., Any]:
    """The tool that hands a task to the agent of this name; `description` is what that agent says of itself."""

    async def hand_on(task: str) -> str:
        """Hand on a task.

        Args:
            task: What the agent is to do, with all that it must know: it sees nothing else of this conversation.
        """
        raise RuntimeError(f"{name} answers in a run of its own")  # the engine begins that run instead

    said = f"Hand a task to the agent {name}, and get its answer."
    if description:
        said = f"{said} What it is for: {description}"
    made: Tool[..., Any] = tool(name=name, description=said, timeout=0)(hand_on)
    return replace(made, agent=name)
