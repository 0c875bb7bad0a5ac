"""Tool calls without a run: for tests of tools and of what executes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from engine.cancelled import Cancelled
from engine.context import Context
from engine.executing import Outcome, execute
from engine.tool import Tool


def call_context(**changes: Any) -> Context[Any]:
    """The context of a call, with these changes."""
    return Context(**{"user_id": "alice", "run_id": "run_1", "agent": "helper", "tool_call_id": "call_1", **changes})


async def run_tool(made: Tool[..., Any], ctx: Context[Any] | None = None, **given: Any) -> Outcome:
    """Check the arguments and run the call."""
    arguments = made.check(given.pop("arguments", {}))
    return await execute(made, arguments, ctx or call_context(), **{"stop": Cancelled(), **given})


async def until(condition: Callable[[], bool]) -> None:
    """Wait until it holds."""
    while not condition():
        await asyncio.sleep(0.001)
