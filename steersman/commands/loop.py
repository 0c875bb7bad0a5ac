"""Event loops of commands, and what Ctrl-C and SIGTERM do to them."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
log = logging.getLogger("steersman.process")
LEFTOVER_SECONDS = 2.0
"""How long what is left when a command ends may take to end too."""
STOPPING = (signal.SIGINT, signal.SIGTERM)
_INTERRUPTED = 130  # what a shell says of a program that Ctrl-C ended


def run_on_fast_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run work on the loop that servers use: uvloop's, where there is one."""
    from uvicorn.loops.auto import auto_loop_factory  # noqa: PLC0415 - only servers need it

    return run(work, auto_loop_factory())


def run(work: Coroutine[Any, Any, T], loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None) -> T:
    """Run work as asyncio.run does, but leave behind what ignores that it is cancelled: a tool may go on for ever."""
    runner = asyncio.Runner(loop_factory=loop_factory)
    try:
        return runner.run(work)
    finally:
        if runner.run(_others_ended()):
            runner.close()  # it would wait without end for what is left


async def _others_ended() -> bool:
    """Cancel what is still under way; whether all of it has ended soon after."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=LEFTOVER_SECONDS)
    left = [task for task in others if not task.done()]
    for task in left:
        log.warning("%s goes on although it was cancelled; the process ends without it", task.get_name())
    return not left


@contextmanager
def on_signal(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` in the main thread at each SIGINT and SIGTERM, for as long as the context lasts."""

    def handle(number: int, frame: FrameType | None) -> None:
        act()

    before = {number: signal.signal(number, handle) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_at_once(words: str) -> None:
    """End this process without tidying up; everything that was promised is in the database."""
    sys.stderr.write(f"steersman: {words}\n")
    sys.stderr.flush()
    os._exit(_INTERRUPTED)
