"""One connection to an MCP server, owned by one task: what is opened in it is closed in it.

The package's contexts hold cancel scopes, which must be left in the task that entered them. So whoever wants a call
puts it into the owner's queue, and is cancelled without touching them: the owner's own task for that call is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from models.remote import RemoteTool

log = logging.getLogger("steersman.remote")
_FAREWELL_SECONDS = 2.0
_TRIES = 5
Session = Any
"""What is opened: the engine's own code asks it through `ask` alone."""


class ConnectionLost(Exception):
    """The connection is gone; what became of a call that was under way is not known."""


@dataclass(eq=False)
class _Call:
    tool: str
    arguments: dict[str, Any]
    answer: asyncio.Future[tuple[str, bool]]
    task: asyncio.Task[None] | None = field(default=None)


class McpConnection:
    """A connection from `open` until it is lost, is idle for too long, or is closed; then a new one takes its place."""

    def __init__(
        self,
        session: Callable[[], AbstractAsyncContextManager[Session]],
        tools_of: Callable[[Session], Awaitable[list[RemoteTool]]],
        ask: Callable[[Session, str, dict[str, Any]], Awaitable[tuple[str, bool]]],
        is_lost: Callable[[Exception], bool],
        *,
        idle_seconds: float | None,
    ) -> None:
        self._session = session
        self._tools_of = tools_of
        self._ask = ask
        self._is_lost = is_lost
        self._idle_seconds = idle_seconds
        self._queue: asyncio.Queue[_Call | None] = asyncio.Queue()
        self._calls: set[_Call] = set()
        self._owner: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def is_open(self) -> bool:
        """Whether calls are still taken."""
        return self._owner is not None and not self._owner.done() and not self._closing

    async def open(self, seconds: float) -> list[RemoteTool]:
        """Connect: what the server offers. Raises what connecting does, TimeoutError after so many seconds."""
        ready: asyncio.Future[list[RemoteTool]] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(ready), name="mcp connection")
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(ready)
        except BaseException:
            await self.close()
            if ready.done():
                ready.exception()  # taken, so that asyncio does not complain of it
            raise

    async def call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Call a tool: what came, and whether it is an error. Raises ConnectionLost, or how the server refused it.

        Cancelled, it has the server told, and does not wait for that.
        """
        call = _Call(tool, arguments, asyncio.get_running_loop().create_future())
        if not self.is_open:
            raise ConnectionLost
        self._calls.add(call)
        self._queue.put_nowait(call)
        try:
            return await call.answer
        finally:
            self._calls.discard(call)
            if call.task is not None and not call.task.done():
                call.task.cancel()

    async def close(self) -> None:
        """End the owner; calls that are under way are lost."""
        self._closing = True
        owner = self._owner
        for _ in range(_TRIES):
            if owner is None or owner.done():
                return
            owner.cancel()  # again where saying farewell to the server takes too long
            await asyncio.wait({owner}, timeout=_FAREWELL_SECONDS)
        log.warning("a connection to an MCP server does not end; it is given up")

    async def _own(self, ready: asyncio.Future[list[RemoteTool]]) -> None:
        try:
            async with self._session() as session:
                tools = await self._tools_of(session)
                if not ready.done():
                    ready.set_result(tools)
                await self._serve(session)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - groups of exceptions of the package's, told to who waits
            if not ready.done():
                ready.set_exception(_innermost(error))
            else:
                log.info("a connection to an MCP server has ended: %s", _innermost(error))
        finally:
            self._closing = True
            if not ready.done():
                ready.set_exception(ConnectionLost())
            for call in self._calls:
                if not call.answer.done():
                    call.answer.set_exception(ConnectionLost())

    async def _serve(self, session: Session) -> None:
        """Take calls until one finds the connection lost, or none comes for long."""
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                try:
                    async with asyncio.timeout(self._idle_seconds):
                        call = await self._queue.get()
                except TimeoutError:
                    if tasks or not self._queue.empty():
                        continue
                    return
                if call is None:
                    return
                if call.answer.done():  # who wanted it has gone
                    continue
                call.task = asyncio.create_task(self._answer(session, call), name=f"mcp call {call.tool[:60]}")
                tasks.add(call.task)
                call.task.add_done_callback(tasks.discard)
        finally:
            self._closing = True
            for task in list(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, session: Session, call: _Call) -> None:
        try:
            came = await self._ask(session, call.tool, call.arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, who has called is told
            lost = self._is_lost(error)
            if not call.answer.done():
                call.answer.set_exception(ConnectionLost() if lost else error)
            if lost:
                log.info("a call found its MCP server gone: %s", error)
                self._closing = True
                self._queue.put_nowait(None)
        else:
            if not call.answer.done():
                call.answer.set_result(came)


def _innermost(error: BaseException) -> BaseException:
    """The first failure within groups of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
