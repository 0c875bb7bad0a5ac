"""Work that is awaited to its end, whatever becomes of who waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from models.away import DatabaseAway

T = TypeVar("T")
log = logging.getLogger("steersman.uninterrupted")


async def uninterrupted(work: Awaitable[T], cancelled_meanwhile: Callable[[], None] = lambda: None) -> T:
    """Await the end of `work` even where the caller is cancelled meanwhile; the cancellation goes on afterwards.

    A verb that is cancelled often commits all the same, and two verbs of one loop must not overlap. Work that may take
    long can be told by `cancelled_meanwhile` to come to its end.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
            cancelled_meanwhile()
    if cancelled is None:
        return task.result()
    if not task.cancelled() and (failure := task.exception()) is not None:
        known = isinstance(failure, DatabaseAway)  # else it is a defect, which is told whole
        log.warning("work failed while its caller was cancelled: %s", failure, exc_info=None if known else failure)
    raise cancelled


async def let_finish(work: Awaitable[T], seconds: float) -> T:
    """Await work that changes nothing; where the caller is cancelled meanwhile it may end within so many seconds.

    Then it is cancelled too. It has ended when this returns or raises, however often the caller is cancelled: what it
    worked with, a connection for one, is free again. For what is worth more ended than broken off.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        ending = asyncio.ensure_future(_end_within(task, seconds))
        while not ending.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(ending)
        raise


async def _end_within(task: asyncio.Future[T], seconds: float) -> None:
    """Wait for the end of a task, and cancel it where that takes longer; nobody asks what came of it."""
    await asyncio.wait((task,), timeout=seconds)
    if not task.done():
        task.cancel()
        await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()
