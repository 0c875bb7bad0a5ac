"""A tool that begins, and ends when the test lets it."""

from __future__ import annotations

import asyncio

from engine.context import Context
from engine.tool import Tool, tool


class Gate:
    """`tool` is `work`; `begun` and `stopped` are set as it begins and as it is asked to stop, `open` lets it end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.stopped = asyncio.Event()
        self.calls: list[str] = []
        self.tool: Tool[..., object] = tool(self.work)

    async def work(self, ctx: Context, place: str = "door") -> str:
        """Work at a place.

        Args:
            place: where to work.
        """
        self.calls.append(place)
        ctx.progress(f"at the {place}", 0.5)
        self.begun.set()
        waiting = [asyncio.create_task(self.open.wait()), asyncio.create_task(ctx.cancelled.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            if ctx.cancelled:
                self.stopped.set()
        return f"worked at the {place}"
