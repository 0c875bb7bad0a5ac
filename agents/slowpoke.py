"""Takes its time, says how far it is and stops when asked: for trying out steering and stopping."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from steersman import Agent, Context, tool

Steps = Annotated[int, Field(ge=1, le=300)]
Pause = Annotated[float, Field(ge=0, le=10)]


@tool(timeout=3_600)
async def count_slowly(ctx: Context, steps: Steps = 20, pause: Pause = 1.0) -> str:  # noqa: D417  # no model sees ctx
    """Count from 1 upwards, slowly, and tell how far it is.

    Args:
        steps: how far to count, 1 to 300.
        pause: seconds between two numbers, 0 to 10.
    """
    for step in range(1, steps + 1):
        if await ctx.cancelled.wait(pause):
            return f"Stopped by request: counted to {step - 1} of {steps}."
        ctx.progress(f"{step} of {steps}", step / steps)
    return f"Counted to {steps}."


@tool(timeout=3_600)
def grind(ctx: Context, steps: Steps = 20, pause: Pause = 1.0) -> str:  # noqa: D417  # no model sees ctx
    """Do the same as a plain function, which runs in a thread, as blocking code would.

    Args:
        steps: how many rounds to grind, 1 to 300.
        pause: seconds a round, 0 to 10.
    """
    for step in range(1, steps + 1):
        if ctx.cancelled.wait_sync(pause):
            return f"Stopped by request: ground {step - 1} of {steps} rounds."
        ctx.progress(f"round {step} of {steps}", step / steps)
    return f"Ground {steps} rounds."


agent = Agent(
    description="Has slow tools that report progress and can be stopped: try steering and cancelling with it.",
    examples=["Count slowly to 30.", "Grind for 20 rounds."],
    system=(
        "You demonstrate slow work. When asked for something slow, use count_slowly, or grind where a blocking tool is "
        "wanted, with the numbers that were asked for. When you are told something while a tool runs, follow it from "
        "then on. Say in one sentence what came of it."
    ),
    model="claude-sonnet-5-5",
    tools=[count_slowly, grind],
    timeout=3_600,
)
