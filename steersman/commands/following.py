"""A run in the terminal, wherever it runs: show its events, and stop it at Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from steersman.commands.event_json import Event
from steersman.commands.loop import leave_at_once
from steersman.commands.screen import Screen
from steersman.commands.showing import Show

EXIT_CODES = {"COMPLETED": 0, "WAITING": 0, "FAILED": 1, "CANCELLED": 130}


class Source(Protocol):
    """A turn under way."""

    def events(self) -> AsyncGenerator[Event]:
        """Its events, as the API gives them, up to the RunResult that ends it."""
        ...

    async def cancel(self) -> bool:
        """Stop its run, durably; False where that could not be said yet."""
        ...


async def follow(source: Source, show: Show, screen: Screen) -> int:
    """Show a turn to its end, and give the exit code: 0 completed, 1 failed, 130 cancelled.

    The first Ctrl-C stops the run and waits until it has settled, the second one leaves at once.
    """
    stopping: list[asyncio.Task[None]] = []
    told = False

    async def stop() -> None:
        nonlocal told
        told = await source.cancel()
        screen.note("Stopping the run. Ctrl-C again leaves at once.", "dim")

    def interrupt() -> None:
        if not stopping:
            stopping.append(asyncio.create_task(stop()))
        elif told:
            leave_at_once("left at once; the run is asked to stop, and settles as soon as a server works on it")
        else:
            leave_at_once("left at once; the run could not be told to stop, and goes on")

    loop, status = asyncio.get_running_loop(), "FAILED"
    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        async with aclosing(source.events()) as events:
            async for event in events:
                show(event)
                if event["__typename"] == "RunResult":
                    status = event["status"]
        await asyncio.gather(*stopping)
    finally:
        loop.remove_signal_handler(signal.SIGINT)
    return EXIT_CODES.get(status, 1)
