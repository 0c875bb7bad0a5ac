"""Plain functions, run beside the event loop: a thread for each call, so that one that hangs starves nobody."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
_log = logging.getLogger("steersman.tool")


@dataclass(frozen=True, slots=True)
class Ended(Generic[T]):
    """How a function ended: its value, or what it raised, whatever that was."""

    value: T | None = None
    raised: BaseException | None = None


async def run_in_thread(function: Callable[[], T], name: str) -> T:
    """Run a function in a daemon thread named so, and give its value or raise what it raised, as a coroutine would.

    A thread can't be stopped: where the caller is cancelled, it runs on and what it gives is dropped. The caller's
    context variables are seen in the thread. A pool would do for functions that end; hung ones would fill it up.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Ended[T]] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            ended = Ended(value=context.run(function))
        except BaseException as error:  # noqa: BLE001  # SystemExit too: the caller decides what it means
            ended = Ended(raised=error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_deliver, future, ended, name)

    threading.Thread(target=work, name=name, daemon=True).start()
    ended = await future
    if ended.raised is not None:
        raise ended.raised
    return ended.value  # type: ignore[return-value]  # a T where nothing was raised


def _deliver(future: asyncio.Future[Ended[T]], ended: Ended[T], name: str) -> None:
    if future.done():
        if inspect.iscoroutine(ended.value):
            ended.value.close()
        _log.debug("%s ended after it was given up; dropped: %r", name, ended.raised or type(ended.value).__name__)
    else:
        future.set_result(ended)
