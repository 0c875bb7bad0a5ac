"""What is measured: an agent that looks things up, and waits when it is told to."""

import asyncio

from steersman import Agent, tool

ANSWER = "It is so, as far as anybody knows. " * 57  # about 2,000 characters


@tool
async def look_up(word: str) -> str:
    """Look something up.

    Args:
        word: what to look for.
    """
    return ANSWER


@tool(timeout=3_600)
async def wait(word: str) -> str:
    """Wait for an hour, and say nothing meanwhile.

    Args:
        word: what for.
    """
    await asyncio.sleep(3_600)
    return ANSWER


agent = Agent(system="You look things up.", model="claude-sonnet-5-5", tools=[look_up, wait], timeout=3_600)
