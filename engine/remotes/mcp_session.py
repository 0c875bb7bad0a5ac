"""How a session with an MCP server is opened, over HTTP or with a process, and what it is asked.

The package `mcp` is imported here alone, and only when a server is connected to.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.remotes.foreign_schema import BadSchema, checked_schema, size_of
from engine.remotes.guarded_http import guarded_client
from engine.remotes.offer import MAX_DESCRIPTION, MAX_NAME, MAX_OFFER, MAX_TOOLS
from engine.remotes.remote_policy import RemotePolicy, ServerSpec
from engine.result_text import cut
from engine.threads import run_in_thread
from models.json_codec import dump_json
from models.remote import RemoteTool
from models.text import clean

if TYPE_CHECKING:
    from mcp.client import Client

log = logging.getLogger("steersman.remote")
_MAX_PAGES = 50
_RESULT = 4_000_000  # characters that are put together of one result before its tool's own limit cuts it


@asynccontextmanager
async def mcp_session(spec: ServerSpec, policy: RemotePolicy, *, guarded: bool) -> AsyncIterator[Client]:
    """A session with a server; `guarded`, it is connected to only where its address may be. Raises whatever fails."""
    from mcp.client import Client  # noqa: PLC0415 - heavy, and needed only where there are such remotes
    from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - likewise
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - likewise
    from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: PLC0415 - likewise

    async with AsyncExitStack() as stack:
        if spec.url is None:
            started = StdioServerParameters(command=spec.command or "", args=list(spec.args), env=dict(spec.env))
            quiet = stack.enter_context(Path(os.devnull).open("w"))  # noqa: ASYNC230, SIM115 - the stack closes it
            transport: Any = stdio_client(started, errlog=quiet)
        else:
            opened = guarded_client(policy.net) if guarded else create_mcp_http_client(headers=dict(spec.headers))
            http = await stack.enter_async_context(opened)
            transport = streamable_http_client(spec.url, http_client=http)
        yield await stack.enter_async_context(Client(transport, cache=None))


async def tools_of(client: Client) -> list[RemoteTool]:
    """What the server offers, as far as a model can be told of it."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or len(found) > MAX_TOOLS:
            break
    return await run_in_thread(lambda: _fitting(found), "check the tools of an MCP server")


def _fitting(listed: list[Any]) -> list[RemoteTool]:
    """As many of the listed tools as a remote may have, without those that a model can't be told of."""
    kept: list[RemoteTool] = []
    size = 0
    for tool in listed:
        try:
            made = _remote_tool(tool)
        except BadSchema as error:
            log.warning("the tool %r of an MCP server is left out: %s", tool.name[:80], error)
            continue
        size += len(made.name) + len(made.description) + size_of(made.input_schema)
        if size > MAX_OFFER or len(kept) == MAX_TOOLS:
            log.warning("an MCP server offers more than fits; the first %d of its tools are kept", len(kept))
            break
        kept.append(made)
    return kept


def _remote_tool(tool: Any) -> RemoteTool:
    """A tool as it is kept. Raises BadSchema."""
    if tool.name != clean(tool.name) or not 0 < len(tool.name) <= MAX_NAME:
        raise BadSchema(f"its name is none of 1 to {MAX_NAME} characters")
    said = clean(tool.description or tool.title or "")[:MAX_DESCRIPTION]
    hints = tool.annotations
    repeatable = hints is not None and bool(hints.idempotent_hint or hints.read_only_hint)
    return RemoteTool(tool.name, said, checked_schema(tool.input_schema), repeatable)


async def ask(client: Client, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """Call a tool: what came, as text, and whether it is an error. Raises MCPError, and whatever else fails.

    Cancelled, it tells the server so. The result is not held to the server's own output schema, which would run
    regular expressions that somebody else has written.
    """
    from mcp import types  # noqa: PLC0415 - heavy, and needed only where there are such remotes

    params = types.CallToolRequestParams(name=tool, arguments=arguments)
    result = await client.session.send_request(types.CallToolRequest(params=params), types.CallToolResult)
    return _text_of(result), bool(result.is_error)


def is_lost(error: Exception) -> bool:
    """Whether a failure says that the connection is of no use any more, rather than that the call was refused."""
    from mcp import MCPError, types  # noqa: PLC0415 - heavy, and needed only where there are such remotes

    if not isinstance(error, MCPError):
        return True
    refused = (types.METHOD_NOT_FOUND, types.INVALID_PARAMS, types.INTERNAL_ERROR)
    return error.code not in refused and not (error.code < -32_768 or error.code > -32_000)


def _text_of(result: Any) -> str:
    parts: Sequence[str] = [_part(block) for block in result.content]
    if not parts and result.structured_content is not None:
        return dump_json(result.structured_content)
    return cut("\n".join(parts), _RESULT)


def _part(block: Any) -> str:
    """A block of a result as a model reads it; what is no text is told of."""
    match block.type:
        case "text":
            return str(block.text)
        case "resource_link":
            return f"{block.name}: {block.uri}"
        case "resource" if hasattr(block.resource, "text"):
            return str(block.resource.text)
        case "image" | "audio":
            return f"[{block.type}: {block.mime_type}, not shown]"
    return f"[{block.type}, not shown]"
