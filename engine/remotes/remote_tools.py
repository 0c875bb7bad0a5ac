"""Remotes as tools of a run: those that its overrides name, as far as they are the user's and there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from engine.context import Context
from engine.remotes.foreign_schema import ForeignArguments
from engine.remotes.mcp_connection import ConnectionLost
from engine.remotes.mcp_pool import McpPool, Unreachable
from engine.remotes.naming import tool_names
from engine.remotes.remote_policy import RemotePolicy
from engine.tool import Offered, Tool
from engine.tool_error import ToolError
from models.enums import RemoteKind
from models.overrides import Overrides
from models.remote import Remote, RemoteTool, get_remotes
from models.run import Run

log = logging.getLogger("steersman.remote")
_CONTEXT = "\0context"  # no argument of a tool's is called so: what comes in is cleaned of NUL
Read = Callable[..., Awaitable[Any]]


class RemoteTools:
    """Makes tools of remotes; without a `pool`, of clients alone."""

    def __init__(self, policy: RemotePolicy | None = None, pool: McpPool | None = None) -> None:
        self._policy = policy or RemotePolicy()
        self._pool = pool

    async def of_run(self, run: Run, taken: Collection[str], read: Read, now: int) -> list[Tool[..., Any]]:
        """The tools of the remotes that a run may use, under names that are none of `taken`.

        A remote is there that is connected, or was at some time since the turn began: what the model is told of does
        not shrink within a turn, and a call of one that has left says so. Names are given to the tools of all of them,
        connected or not, so that a remote which comes back finds its own.
        """
        own = run.overrides or Overrides()
        named = list(dict.fromkeys((*(own.remotes or ()), *own.lent)))
        if not named:
            return []
        found: dict[str, Remote] = await read(get_remotes, named)
        allowed = [found[one] for one in named if one in found and (one in own.lent or found[one].is_for(run.user_id))]
        usable = [remote for remote in allowed if remote.kind is RemoteKind.CLIENT or self._pool is not None]
        since = min(now, run.turn_started_at or now)
        if await self._reach([remote for remote in usable if remote.connected_until <= now]):
            found = await read(get_remotes, [remote.id for remote in usable])
            usable = [found[remote.id] for remote in usable if remote.id in found]
        offered = [(remote, tool) for remote in usable for tool in remote.tools]
        names = tool_names([(remote.name, tool.name) for remote, tool in offered], taken)
        return [
            self._tool(name, remote, tool)
            for name, (remote, tool) in zip(names, offered, strict=True)
            if remote.connected_until > since
        ]

    async def _reach(self, away: list[Remote]) -> bool:
        """Try to connect to those of these that are servers; whether there were any."""
        servers = [remote for remote in away if remote.kind is RemoteKind.MCP]
        if self._pool is None or not servers:
            return False
        came = await asyncio.gather(*(self._pool.connect(remote) for remote in servers), return_exceptions=True)
        for remote, one in zip(servers, came, strict=True):
            if isinstance(one, BaseException) and not isinstance(one, Unreachable):
                raise one
            if isinstance(one, Unreachable):
                log.info("a run goes without its remote %r: %s", remote.name, one, extra={"remote_id": remote.id})
        return True

    def _tool(self, name: str, remote: Remote, tool: RemoteTool) -> Tool[..., Any]:
        said = tool.description or f"The tool {tool.name} of {remote.name}."
        offered = Offered(remote.id, remote.name, tool.name)
        seconds = self._policy.call_seconds
        if remote.kind is RemoteKind.CLIENT:
            schema = ForeignArguments(tool.input_schema)
            return Tool(name, said, _never, schema, timeout=seconds, client=True, offered=offered)
        assert self._pool is not None  # noqa: S101 - without one a server is not among the usable
        spec = (self._policy.servers or {}).get(remote.name) if remote.is_configured else None
        return Tool(
            name,
            said,
            _asking(self._pool, remote, tool),
            ForeignArguments(tool.input_schema, context=_CONTEXT),
            timeout=seconds,
            on_crash="retry" if tool.repeatable else "report",
            approval=spec is not None and spec.approval,
            offered=offered,
        )


def _never() -> None:
    """A client answers; this is never called."""


def _asking(pool: McpPool, remote: Remote, tool: RemoteTool) -> Callable[..., Any]:
    """The function of a tool that a server has."""

    async def call(**given: Any) -> str:
        context: Context[Any] = given.pop(_CONTEXT)
        asked = asyncio.create_task(_ask(pool, remote, tool, given))
        stopped = asyncio.create_task(context.cancelled.wait())
        try:
            await asyncio.wait({asked, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise ToolError(f"The remote {remote.name} was told to stop.")
            return await asked
        finally:
            asked.cancel()
            stopped.cancel()
            await asyncio.gather(asked, stopped, return_exceptions=True)

    return call


async def _ask(pool: McpPool, remote: Remote, tool: RemoteTool, arguments: dict[str, Any]) -> str:
    """What the server answers. Raises ToolError, in words for the model."""
    from mcp import MCPError  # noqa: PLC0415 - heavy, and needed only where there are such remotes

    try:
        text, is_error = await pool.call(remote, tool.name, arguments)
    except Unreachable as error:
        raise ToolError(f"not run: the remote {remote.name} can't be reached: {error}") from error
    except ConnectionLost as error:
        words = f"the connection to the remote {remote.name} was lost during the call; what it did is not known"
        raise ToolError(words) from error
    except MCPError as error:
        raise ToolError(f"the remote {remote.name} refused the call: {error.message}") from error
    if is_error:
        raise ToolError(text or "the tool failed, and said nothing of why")
    return text
