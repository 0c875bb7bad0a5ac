"""A stop signal that coroutines and threads can both wait for."""

from __future__ import annotations

import asyncio
import contextlib
import threading


class Cancelled:
    """Set once, when the work should stop; never cleared. Every method may be called from any thread.

    Its truth is whether it is set, so that `if ctx.cancelled:` means what it says.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._waiters: set[asyncio.Future[None]] = set()

    def __repr__(self) -> str:
        return f"Cancelled({'set' if self.is_set() else 'not set'})"

    def __bool__(self) -> bool:
        return self._event.is_set()

    def is_set(self) -> bool:
        """Whether the work should stop."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask the work to stop and wake all who wait; doing it again changes nothing. For the engine, and for tests."""
        with self._lock:
            self._event.set()
            waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            with contextlib.suppress(RuntimeError):  # the loop of that waiter is closed: nobody waits any more
                waiter.get_loop().call_soon_threadsafe(_wake, waiter)

    async def wait(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109  # ending without the signal is no error
        """Wait in a coroutine until it is set, or for so many seconds; True where it is set."""
        waiter = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._event.is_set():
                return True
            self._waiters.add(waiter)
        try:
            await asyncio.wait({waiter}, timeout=timeout)
        finally:
            waiter.cancel()
            with self._lock:
                self._waiters.discard(waiter)
        return self._event.is_set()

    def wait_sync(self, timeout: float | None = None) -> bool:
        """Wait in a thread until it is set, or for so many seconds; True where it is set. It blocks."""
        return self._event.wait(timeout)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
