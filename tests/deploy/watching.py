"""Who watches through the proxy: where the connection is lost, it comes again and goes on behind its last event."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import httpx2
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.deploy.container import PATIENCE
from tests.support import documents
from tests.support.clients import connected, event_stream
from tests.support.page import Page

Json = dict[str, Any]
Events = Callable[[int], AsyncGenerator[Json]]


class Watcher:
    """Shows a stream on a page until its RunResult. `cuts` counts how often its connection was lost."""

    def __init__(self, events: Events) -> None:
        self.page = Page()
        self.kinds: list[str] = []
        self.cuts = 0
        self._events = events
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while "RunResult" not in self.kinds:
            try:
                async with aclosing(self._events(max(self.page.last.values(), default=0))) as events:
                    async for event in events:
                        self.page.show(event)
                        self.kinds.append(event["__typename"])
                assert self.kinds[-1:] == ["RunResult"], f"completed before its end: {self.kinds}"
            except (ConnectionClosed, InvalidHandshake, OSError, httpx2.HTTPError):
                self.cuts += 1
                await asyncio.sleep(0.05)

    async def shows(self, text: str) -> None:
        """Wait until the page shows this text."""
        await self._until(lambda: text in self.page.text)

    async def sees(self, kind: str) -> None:
        """Wait for an event of this type."""
        await self._until(lambda: kind in self.kinds)

    async def end(self) -> str:
        """The text that it shows at the end."""
        async with asyncio.timeout(PATIENCE):
            await self._task
        assert self.page.problems == []
        return self.page.text

    async def leave(self) -> None:
        """Want no more of it."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                assert not self._task.done(), f"it is over: {self._task}, {self.kinds}"
                await asyncio.sleep(0.02)


def by_socket(url: str, token: str, stream_id: str) -> Watcher:
    """One who watches over a WebSocket."""

    async def events(after: int) -> AsyncGenerator[Json]:
        async with connected(f"ws{url.removeprefix('http')}/graphql", token) as client:
            operation = await client.subscribe(documents.WATCH_STREAM, {"streamId": stream_id, "after": after})
            async for data in operation:
                yield data["stream"]

    return Watcher(events)


def by_events(url: str, token: str, stream_id: str) -> Watcher:
    """One who watches by server-sent events."""

    async def events(after: int) -> AsyncGenerator[Json]:
        variables = {"streamId": stream_id, "after": after}
        async with event_stream(f"{url}/graphql", documents.WATCH_STREAM, variables, token=token) as found:
            async for event in found:
                if event.event == "next":
                    payload = json.loads(event.data)
                    yield payload["data"]["stream"]
                elif event.event == "complete":
                    return
        raise ConnectionError("the events ended without `complete`")

    return Watcher(events)
