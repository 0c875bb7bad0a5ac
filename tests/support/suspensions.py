"""Doing something at the n-th suspension of one coroutine: so that a task is cancelled at every await it makes."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any


class Suspensions:
    """Counts where the first coroutine of this name that becomes a task is suspended; acts at one of these points.

    `act` is called within the task, right before it is suspended for the `at`th time (from 1).
    """

    def __init__(self, qualname: str, at: int | None, act: Callable[[], None]) -> None:
        self._qualname = qualname
        self._at = at
        self._act = act
        self.count = 0
        self.task: asyncio.Task[Any] | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look out for the coroutine among the tasks that the running loop makes within this context."""
        loop = asyncio.get_running_loop()
        loop.set_task_factory(self._make)
        try:
            yield
        finally:
            loop.set_task_factory(None)

    def _make(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
        **options: Any,
    ) -> asyncio.Task[Any]:
        is_first = self.task is None and getattr(coroutine, "__qualname__", "") == self._qualname
        task = asyncio.Task(self._run(coroutine) if is_first else coroutine, loop=loop, **options)
        if is_first:
            self.task = task
        return task

    async def _run(self, coroutine: Any) -> Any:
        return await self._drive(coroutine)

    @types.coroutine
    def _drive(self, coroutine: Any) -> Generator[Any, Any, Any]:
        go_on, value = coroutine.send, None
        while True:
            try:
                waited = go_on(value)
            except StopIteration as end:
                return end.value
            self.count += 1
            if self.count == self._at:
                self._act()
            try:
                go_on, value = coroutine.send, (yield waited)
            except BaseException as error:  # noqa: BLE001 - what is thrown in goes to where the coroutine waits
                go_on, value = coroutine.throw, error
