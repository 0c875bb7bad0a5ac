"""Steersman, as agent authors import it: `from steersman import Agent, Context, ToolError, tool`.

Each name is fetched when it is first asked for, so that an agent file loads neither the server nor its libraries.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.agent import Agent
    from engine.brakes import Brakes
    from engine.budget import Budget
    from engine.compaction import Compaction
    from engine.context import Context
    from engine.run_overrides import RunOverrides
    from engine.tool import Tool, tool
    from engine.tool_error import ToolError
    from models.overrides import RunTool
    from steersman.inprocess import Result, add_run_tools, decide, run, start_run
    from steersman.tool_types import call_tool

__all__ = [
    "Agent",
    "Brakes",
    "Budget",
    "Compaction",
    "Context",
    "Result",
    "RunOverrides",
    "RunTool",
    "Tool",
    "ToolError",
    "add_run_tools",
    "call_tool",
    "decide",
    "run",
    "start_run",
    "tool",
]

_HOMES = {
    "Agent": "engine.agent",
    "Brakes": "engine.brakes",
    "Budget": "engine.budget",
    "Compaction": "engine.compaction",
    "Context": "engine.context",
    "Result": "steersman.inprocess",
    "RunOverrides": "engine.run_overrides",
    "RunTool": "models.overrides",
    "Tool": "engine.tool",
    "ToolError": "engine.tool_error",
    "add_run_tools": "steersman.inprocess",
    "call_tool": "steersman.tool_types",
    "decide": "steersman.inprocess",
    "run": "steersman.inprocess",
    "start_run": "steersman.inprocess",
    "tool": "engine.tool",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'steersman' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
