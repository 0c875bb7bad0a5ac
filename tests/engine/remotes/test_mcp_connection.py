"""The task that owns a connection: whoever calls may come and go, what it has entered it leaves itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine.remotes.mcp_connection import ConnectionLost, McpConnection
from models.remote import RemoteTool

READ = RemoteTool("read", "Reads.", {"type": "object"})


class Refusal(Exception):
    """The server refuses a call, and stays."""


class Server:
    """A session of the test's: who entered and left it, and what it was asked."""

    def __init__(self) -> None:
        self.entered: asyncio.Task[Any] | None = None
        self.left: asyncio.Task[Any] | None = None
        self.farewell = asyncio.Event()
        self.farewell.set()
        self.refuses: Exception | None = None
        self.asked: list[str] = []
        self.cancelled: list[str] = []
        self.answering = asyncio.Event()
        self.answering.set()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Server]:
        """Enter, and say farewell."""
        self.entered = asyncio.current_task()
        if self.refuses is not None:
            raise ExceptionGroup("as the package does", [self.refuses])
        try:
            yield self
        finally:
            self.left = asyncio.current_task()
            await self.farewell.wait()

    async def tools_of(self, session: Server) -> list[RemoteTool]:
        """What there is."""
        return [READ]

    async def ask(self, session: Server, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Answer as soon as the test lets it."""
        self.asked.append(tool)
        try:
            await self.answering.wait()
        except asyncio.CancelledError:
            self.cancelled.append(tool)
            raise
        if tool == "lose":
            raise ConnectionError("gone")
        if tool == "refuse":
            raise Refusal
        return f"{tool} of {arguments}", False

    def connection(self, idle_seconds: float | None = None) -> McpConnection:
        """A connection to it, not opened yet."""
        is_lost = lambda error: not isinstance(error, Refusal)  # noqa: E731 - it is one
        return McpConnection(self.session, self.tools_of, self.ask, is_lost, idle_seconds=idle_seconds)

    async def until_asked(self, count: int) -> None:
        """Wait until so many calls have reached it."""
        while len(self.asked) < count:
            await asyncio.sleep(0)


async def test_what_one_task_has_entered_the_same_task_leaves() -> None:
    """Whoever opened, called, was cancelled, and closed."""
    server = Server()
    connection = server.connection()
    assert await asyncio.create_task(connection.open(10)) == [READ]
    assert await asyncio.create_task(connection.call("read", {"a": 1})) == ("read of {'a': 1}", False)
    server.answering.clear()
    call = asyncio.create_task(connection.call("work", {}))
    await server.until_asked(2)
    call.cancel()
    await asyncio.wait({call})
    await asyncio.create_task(connection.close())
    assert server.cancelled == ["work"]
    assert server.entered is server.left is not None
    assert server.left not in (call, asyncio.current_task())


async def test_calls_are_answered_beside_each_other_and_one_that_is_cancelled_leaves_the_others() -> None:
    """Also one that was cancelled before the server had it."""
    server = Server()
    connection = server.connection()
    await connection.open(10)
    server.answering.clear()
    calls = [asyncio.create_task(connection.call(name, {})) for name in ("a", "b", "c")]
    await server.until_asked(3)
    early = asyncio.create_task(connection.call("d", {}))
    await asyncio.sleep(0)
    early.cancel()
    calls[1].cancel()
    server.answering.set()
    assert await calls[0] == ("a of {}", False)
    assert await calls[2] == ("c of {}", False)
    await asyncio.wait({early, calls[1]})
    assert server.asked == ["a", "b", "c"]
    assert connection.is_open
    await connection.close()


async def test_a_lost_connection_is_told_to_all_who_wait_and_takes_no_more() -> None:
    """A refusal is told to its caller alone."""
    server = Server()
    connection = server.connection()
    await connection.open(10)
    with pytest.raises(Refusal):
        await connection.call("refuse", {})
    assert connection.is_open
    server.answering.clear()
    calls = [asyncio.create_task(connection.call(name, {})) for name in ("wait", "lose")]
    await server.until_asked(3)
    server.asked.clear()
    server.answering.set()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(outcomes[1], ConnectionLost)
    with pytest.raises(ConnectionLost):
        await connection.call("again", {})
    await connection.close()
    assert server.left is server.entered


async def test_why_it_could_not_be_opened_is_told_without_the_packages_groups() -> None:
    """The first cause itself."""
    server = Server()
    server.refuses = FileNotFoundError("no such command")
    with pytest.raises(FileNotFoundError):
        await server.connection().open(10)


async def test_who_is_cancelled_while_it_opens_leaves_nothing_behind() -> None:
    """The owner has ended by then."""
    server = Server()

    async def never(session: Server) -> list[RemoteTool]:
        await asyncio.Event().wait()
        return []

    connection = McpConnection(server.session, never, server.ask, lambda error: True, idle_seconds=None)
    opening = asyncio.create_task(connection.open(3_600))
    while server.entered is None:
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait({opening})
    assert opening.cancelled()
    assert server.left is server.entered
    assert not connection.is_open


async def test_a_connection_that_is_idle_is_closed() -> None:
    """Then a new one takes its place."""
    server = Server()
    connection = server.connection(idle_seconds=0.01)
    await connection.open(10)
    while connection.is_open:
        await asyncio.sleep(0.01)
    assert server.left is server.entered


async def test_a_farewell_that_takes_too_long_is_cut_short() -> None:
    """The server does not hold up whoever closes."""
    server = Server()
    connection = server.connection()
    await connection.open(10)
    server.farewell.clear()
    await connection.close()
    assert server.left is server.entered
