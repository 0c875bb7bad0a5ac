"""Tools that note each of their executions in the file that CLUSTER_EXECUTIONS names."""

import asyncio
import json
import os
import time
from typing import Any

from steersman import Context, Tool, tool

_FILE = os.environ["CLUSTER_EXECUTIONS"]


def note(ctx: Context, what: str) -> None:
    """Add one line, whole, whoever else is writing."""
    line = {
        "what": what,
        "run": ctx.run_id,
        "call": ctx.tool_call_id,
        "key": ctx.idempotency_key,
        "attempt": ctx.attempt,
        "pid": os.getpid(),
        "at": time.time_ns() // 1_000_000,
    }
    file = os.open(_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, json.dumps(line).encode() + b"\n")
    finally:
        os.close(file)


async def work(ctx: Context, seconds: float) -> str:
    """Take so long, and note when it begins and ends."""
    note(ctx, "begin")
    await asyncio.sleep(seconds)
    note(ctx, "end")
    return f"{ctx.tool_call_id} was done at attempt {ctx.attempt}"


@tool
async def once(ctx: Context, story: int, step: int, seconds: float) -> str:
    """Do what must never be done twice.

    Args:
        story: which story it is done for.
        step: in which step.
        seconds: how long it takes.
    """
    return await work(ctx, seconds)


@tool(on_crash="retry")
def again(ctx: Context, story: int, step: int, seconds: float) -> str:
    """Do what may be done again.

    Args:
        story: which story it is done for.
        step: in which step.
        seconds: how long it takes.
    """
    note(ctx, "begin")
    time.sleep(seconds)
    note(ctx, "end")
    return f"{ctx.tool_call_id} was done at attempt {ctx.attempt}"


@tool(approval=True)
async def asked(ctx: Context, story: int, step: int, seconds: float) -> str:
    """Do what a person must allow, and what must never be done twice.

    Args:
        story: which story it is done for.
        step: in which step.
        seconds: how long it takes.
    """
    return await work(ctx, seconds)


TOOLS: list[Tool[..., Any]] = [once, again, asked]
