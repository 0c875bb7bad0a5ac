"""A client that watches one run through all its generations, and what it shows of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import TypeVar

from engine.watching import Watching
from models.events import RunResult, StreamEvent
from tests.support.live_stream import Viewer

Event = TypeVar("Event", bound=StreamEvent)


class Screen:
    """Follows runStream from a stream on; one Viewer a stream, in the order in which they came."""

    def __init__(self, watching: Watching, run_id: str, stream_id: str | None = None) -> None:
        self.watching = watching
        self.run_id = run_id
        self._first = stream_id
        self.viewers: dict[str, Viewer] = {}
        self.events: list[StreamEvent] = []
        self._changed = asyncio.Event()
        self._reconnecting = False
        self._task = asyncio.create_task(self._follow(stream_id, 0), name=f"screen {run_id}")

    async def _follow(self, stream_id: str | None, after: int) -> None:
        try:
            async with aclosing(self.watching.run_stream(self.run_id, stream_id, after)) as events:
                async for event in events:
                    self.viewers.setdefault(event.stream_id, Viewer()).see(event)
                    self.events.append(event)
                    self._changed.set()
        finally:
            self._changed.set()

    @property
    def text(self) -> str:
        """All text that is shown now, step after step."""
        return "".join(text for viewer in self.viewers.values() for _, text in sorted(viewer.texts.items()))

    def of(self, kind: type[Event]) -> list[Event]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def names(self) -> list[str]:
        """The names of the lasting events, in order."""
        return [type(event).__name__ for event in self.events if event.lasting]

    def ended(self, stream_id: str | None) -> bool:
        """Whether the stream's RunResult has been seen."""
        return any(isinstance(event, RunResult) and event.stream_id == stream_id for event in self.events)

    async def until(self, condition: Callable[[Screen], bool]) -> None:
        """Wait until it holds of this screen; what went wrong with the screen is raised."""
        while not condition(self):
            if self._task.done() and not self._reconnecting:
                self._task.result()
                raise AssertionError(f"the screen was left: {self.events}")
            self._changed.clear()
            await self._changed.wait()

    async def shows(self, text: str) -> None:
        """Wait until this text is shown."""
        await self.until(lambda screen: text in screen.text)

    async def sees(self, kind: type[StreamEvent], count: int = 1) -> None:
        """Wait for so many events of a kind."""
        await self.until(lambda screen: len(screen.of(kind)) >= count)

    async def reconnect(self, watching: Watching) -> None:
        """The connection broke: go on elsewhere, after the last number that was seen."""
        self._reconnecting = True
        await self.leave()
        self.watching = watching
        stream_id, after = (self.events[-1].stream_id, self.events[-1].seq) if self.events else (self._first, 0)
        self._task = asyncio.create_task(self._follow(stream_id, after), name=f"screen {self.run_id}")
        self._reconnecting = False

    async def leave(self) -> None:
        """The client goes away; what went wrong with it is raised."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


async def viewed(events: AsyncIterator[StreamEvent]) -> Viewer:
    """What a viewer makes of events up to their end."""
    viewer = Viewer()
    async for event in events:
        viewer.see(event)
    return viewer
