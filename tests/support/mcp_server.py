"""A real MCP server of the official package, as a process: over HTTP on a free port, or over its standard streams.

    async with mcp_server(tmp_path) as server:
        server.url, server.notes()

`python -m tests.support.mcp_server NOTES [stdio | http PORT]`: what it does it notes in the file, a line each.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass
class McpServer:
    """The process, and what it has noted."""

    url: str
    file: Path
    process: asyncio.subprocess.Process

    def notes(self) -> list[str]:
        """What it has done so far."""
        return notes_in(self.file)

    async def noted(self, line: str, count: int = 1) -> None:
        """Wait until it has noted this so often."""
        while self.notes().count(line) < count:
            await asyncio.sleep(0.01)

    async def kill(self) -> None:
        """End it at once, as a crash would."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


def notes_in(file: Path) -> list[str]:
    """The lines of a file of notes; none where there is no file yet."""
    return file.read_text().splitlines() if file.exists() else []


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def mcp_server(folder: Path, port: int | None = None) -> AsyncIterator[McpServer]:
    """The server over HTTP, from when it answers until the context is left."""
    port, notes = port or free_port(), folder / "mcp-notes.txt"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.mcp_server", str(notes), "http", str(port)),
        cwd=ROOT,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    server = McpServer(f"http://127.0.0.1:{port}/mcp", notes, process)
    try:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            assert process.returncode is None
            await asyncio.sleep(0.05)
        yield server
    finally:
        await server.kill()


def _serve(notes: Path, how: str, port: int) -> None:
    import anyio  # noqa: PLC0415 - in the process alone
    from mcp.server import MCPServer  # noqa: PLC0415 - in the process alone
    from mcp.types import ToolAnnotations  # noqa: PLC0415 - in the process alone

    server = MCPServer("tests")

    def note(line: str) -> None:
        with notes.open("a") as file:
            file.write(f"{line}\n")

    @server.tool(annotations=ToolAnnotations(idempotent_hint=True))
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        note(f"add {a} {b}")
        return a + b

    @server.tool()
    def fail(why: str) -> str:
        """Fail."""
        raise ValueError(why)

    @server.tool()
    async def work() -> str:
        """Work until told to stop."""
        note("work begun")
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            note("work cancelled")
            raise
        return "never"

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def slowly(file: str) -> str:
        """Work until there is a file at this path."""
        note("slowly")
        while not await anyio.Path(file).exists():
            await anyio.sleep(0.02)
        return "done"

    @server.tool()
    async def die() -> str:
        """End the process in the middle of the call."""
        note("dying")
        os._exit(1)

    note("started")
    options: dict[str, Any] = {} if how == "stdio" else {"host": "127.0.0.1", "port": port}
    server.run("stdio" if how == "stdio" else "streamable-http", **options)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2], int((*sys.argv, "0")[3]))
