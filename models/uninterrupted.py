"""Work that is awaited to its end, whatever becomes of who waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")
log = logging.getLogger("steersman.uninterrupted")


async def uninterrupted(work: Awaitable[T]) -> T:
    """Await the end of `work` even where the caller is cancelled meanwhile; the cancellation goes on afterwards.

    A verb that is cancelled often commits all the same, and two verbs of one loop must not overlap.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled() and (failure := task.exception()) is not None:
        log.warning("work failed while its caller was cancelled", exc_info=failure)
    raise cancelled
