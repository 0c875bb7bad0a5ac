"""Event loops of commands, and what Ctrl-C and SIGTERM do to them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
STOPPING = (signal.SIGINT, signal.SIGTERM)
_INTERRUPTED = 130  # what a shell says of a program that Ctrl-C ended


def run_on_fast_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run work on the loop that servers use: uvloop's, where there is one."""
    from uvicorn.loops.auto import auto_loop_factory  # noqa: PLC0415 - only servers need it

    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        return runner.run(work)


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
