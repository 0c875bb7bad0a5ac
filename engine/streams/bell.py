"""The bell: tells who listens that rows have changed. It carries ids only; the truth is read from the rows."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

_Key = tuple[str | None, str | None]


class Bell:
    """Rings for changes of runs in this process. Every method belongs to the event loop's thread."""

    def __init__(self) -> None:
        self._listeners: dict[_Key, set[Listener]] = {}

    def __len__(self) -> int:
        """How many listeners there are."""
        return sum(len(listeners) for listeners in self._listeners.values())

    def ring(self, run_id: str, user_id: str) -> None:
        """A change of this run of this user was committed."""
        for key in ((run_id, None), (None, user_id), (None, None), (run_id, user_id)):
            for listener in self._listeners.get(key, ()):
                listener.mark(run_id)

    def listen(self, *, run_id: str | None = None, user_id: str | None = None) -> Listener:
        """A listener for one run, for a user's runs, or for every run; it hears from when it is entered until left."""
        return Listener(self, (run_id, user_id))

    def join(self, key: _Key, listener: Listener) -> None:
        """A listener begins to hear (called by the listener itself)."""
        self._listeners.setdefault(key, set()).add(listener)

    def leave(self, key: _Key, listener: Listener) -> None:
        """A listener hears no more (called by the listener itself)."""
        listeners = self._listeners.get(key, set())
        listeners.discard(listener)
        if not listeners:
            self._listeners.pop(key, None)


class Listener:
    """A context manager that gathers the ids of the runs that rang: each once, however often it rang."""

    def __init__(self, bell: Bell, key: _Key) -> None:
        self._bell = bell
        self._key = key
        self._marks: set[str] = set()
        self._waiter: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        self._bell.join(self._key, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bell.leave(self._key, self)

    def mark(self, run_id: str) -> None:
        """Note that this run rang (called by the bell)."""
        self._marks.add(run_id)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, timeout: float | None = None) -> frozenset[str]:  # noqa: ASYNC109 - empty on timeout, no error
        """The runs that rang since the last wait, as soon as there are any; empty after `timeout` seconds of silence.

        The marks are cleared before this returns: what is read afterwards, in a transaction of its own, is at least
        as new as every ring that was reported. One task at a time may wait.
        """
        if not self._marks:
            await self._silence(timeout)
        return self.take()

    def take(self) -> frozenset[str]:
        """The runs that rang since the last look, without waiting."""
        rung, self._marks = frozenset(self._marks), set()
        return rung

    async def _silence(self, seconds: float | None) -> None:
        if self._waiter is not None:
            raise RuntimeError("another task waits on this listener")
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiter = waiter
        timer = None if seconds is None else loop.call_later(seconds, _settle, waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
