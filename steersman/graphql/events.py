"""Server-sent events: results as the frames of the graphql-sse protocol (distinct connections mode)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any

from steersman.graphql.encoding import encode

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    # Proxies such as nginx pass each event on at once.
    "X-Accel-Buffering": "no",
}
KEEP_ALIVE = ":\n\n"
COMPLETE = "event: complete\ndata: \n\n"


def next_event(payload: dict[str, Any]) -> str:
    """One result as an event."""
    return f"event: next\ndata: {encode(payload)}\n\n"


class EventStreams:
    """The event streams that are open, so that a shutdown can end them."""

    def __init__(self, keep_alive: float = 15.0) -> None:
        self._keep_alive = keep_alive
        self._open: set[asyncio.Task[None]] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """End all streams, and each that is opened later, without `complete`, so that clients come again elsewhere."""
        self._closed = True
        for task in list(self._open):
            task.cancel()

    async def frames(
        self, results: AsyncGenerator[dict[str, Any]], seconds_left: float | None = None
    ) -> AsyncGenerator[str]:
        """The results as frames, with a comment now and then so that idle proxies keep the connection.

        After `seconds_left` (the token's end) it is cut as by a shutdown. The results are closed in any case, and by
        one task throughout, so that what they hold in context variables stays together.
        """
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(maxsize=1)
        task = asyncio.create_task(_drain(results, queue))
        self._open.add(task)
        task.add_done_callback(lambda done: self._ended(done, queue))
        end = _cancel_after(task, 0.0 if self._closed else seconds_left)
        try:
            while not (task.done() and queue.empty()):
                try:
                    async with asyncio.timeout(self._keep_alive):
                        payload = await queue.get()
                except TimeoutError:
                    yield KEEP_ALIVE
                    continue
                if payload is not None:
                    yield next_event(payload)
            if not task.cancelled():
                yield COMPLETE
        finally:
            if end is not None:
                end.cancel()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _ended(self, task: asyncio.Task[None], queue: asyncio.Queue[dict[str, Any] | None]) -> None:
        self._open.discard(task)
        if queue.empty():
            queue.put_nowait(None)  # wakes a reader that waits


async def _drain(results: AsyncGenerator[dict[str, Any]], queue: asyncio.Queue[dict[str, Any] | None]) -> None:
    async with aclosing(results):
        async for result in results:
            await queue.put(result)


def _cancel_after(task: asyncio.Task[None], seconds: float | None) -> asyncio.TimerHandle | None:
    cancel: Callable[[], object] = task.cancel
    return None if seconds is None else asyncio.get_running_loop().call_later(max(seconds, 0.0), cancel)
