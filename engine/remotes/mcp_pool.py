"""The connections of one process to MCP servers: opened when they are needed, one a remote, again after a pause."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.remotes.mcp_connection import ConnectionLost, McpConnection
from engine.remotes.remote_policy import RemotePolicy, ServerSpec
from models.clock import Clock
from models.remote import FOREVER, Remote, RemoteTool

log = logging.getLogger("steersman.remote")
FIRST_PAUSE_MS = 1_000
LONGEST_PAUSE_MS = 60_000
_MAX_WORDS = 200


class Unreachable(Exception):
    """The server can't be connected to; the text says why, without its address."""


class Note(Protocol):
    """Keeps what was learnt of a server on its row."""

    async def __call__(self, remote: Remote, *, connected: bool, tools: list[RemoteTool] | None) -> None:
        """Whether it answers, and what it offers where that is known anew."""
        ...


@dataclass
class _Link:
    url: str | None
    connection: McpConnection | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    failures: int = 0
    again_at: int = 0
    why: str = ""


class McpPool:
    """Connections by remote. `note` keeps what is learnt of their servers."""

    def __init__(self, policy: RemotePolicy, clock: Clock, note: Note) -> None:
        self._policy = policy
        self._clock = clock
        self.note = note
        self._links: dict[str, _Link] = {}

    async def call(self, remote: Remote, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Call a tool: what came, and whether it is an error. Raises Unreachable, ConnectionLost, or the refusal."""
        connection = await self.connect(remote)
        try:
            return await connection.call(tool, arguments)
        except ConnectionLost:
            await self.note(remote, connected=False, tools=None)
            raise

    async def connect(self, remote: Remote) -> McpConnection:
        """The connection that is open, or a new one. Raises Unreachable, at once within the pause after a failure."""
        link = self._links.get(remote.id)
        if link is None or link.url != remote.url:  # it was registered anew, elsewhere
            await self.forget(remote.id)
            link = self._links.setdefault(remote.id, _Link(remote.url))
        async with link.lock:
            if link.connection is not None and link.connection.is_open:
                if remote.connected_until < FOREVER:  # another machine has not reached it; this one has
                    await self.note(remote, connected=True, tools=None)
                return link.connection
            wait = link.again_at - self._clock()
            if wait > 0:
                raise Unreachable(f"{link.why}; it is tried again in {wait / 1000:.0f} s")
            return await self._opened(remote, link)

    async def _opened(self, remote: Remote, link: _Link) -> McpConnection:
        connection = self._new(remote)
        try:
            tools = await connection.open(self._policy.connect_seconds)
        except Exception as error:
            link.failures += 1
            pause = min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** min(link.failures - 1, 16))
            link.again_at, link.why = self._clock() + pause, _told(error)
            log.warning("the MCP server of a remote can't be reached: %s", link.why, extra={"remote_id": remote.id})
            await self.note(remote, connected=False, tools=None)
            raise Unreachable(link.why) from error
        link.failures, link.again_at, link.connection = 0, 0, connection
        await self.note(remote, connected=True, tools=tools)
        return connection

    async def tools_at(self, url: str) -> list[RemoteTool]:
        """What a server offers that is not registered yet; the connection is closed again. Raises Unreachable."""
        connection = self._connection(ServerSpec(url=url), guarded=True)
        try:
            return await connection.open(self._policy.connect_seconds)
        except Exception as error:
            raise Unreachable(_told(error)) from error
        finally:
            await connection.close()

    async def forget(self, remote_id: str) -> None:
        """Close the connection of a remote that is gone."""
        link = self._links.pop(remote_id, None)
        if link is not None and link.connection is not None:
            await link.connection.close()

    async def close(self) -> None:
        """Close all of them."""
        links, self._links = self._links, {}
        await asyncio.gather(*(link.connection.close() for link in links.values() if link.connection is not None))

    def _new(self, remote: Remote) -> McpConnection:
        if not remote.is_configured:
            return self._connection(ServerSpec(url=remote.url), guarded=True)
        spec = (self._policy.servers or {}).get(remote.name)
        if spec is None or spec.url != remote.url:
            raise Unreachable("it is not configured on this machine")
        return self._connection(spec, guarded=False)

    def _connection(self, spec: ServerSpec, *, guarded: bool) -> McpConnection:
        from engine.remotes.mcp_session import ask, is_lost, mcp_session, tools_of  # noqa: PLC0415 - it is heavy

        def session() -> Any:
            return mcp_session(spec, self._policy, guarded=guarded)

        idle_seconds = self._policy.idle_seconds if guarded else None  # a command would be started again and again
        return McpConnection(session, tools_of, ask, is_lost, idle_seconds=idle_seconds)


def _told(error: BaseException) -> str:
    """Why a server can't be reached, in words that name no address of it."""
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, FileNotFoundError | PermissionError):
        return "its command can't be started"
    if isinstance(error, Unreachable):
        return str(error)
    words = " ".join(str(error).split())[:_MAX_WORDS]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
