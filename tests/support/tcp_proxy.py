"""A proxy before a TCP server: it counts round trips, and is slow, silent or cut when a test says so."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

_CHUNK = 1 << 16


@dataclass(eq=False)
class _Connection:
    """One client's connection. `round_trips` counts how often the client wrote after the server had written, or first.

    `is_silent`: nothing of it is passed on any more, and nobody is told.
    """

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    round_trips: int = 0
    requested: bytearray = field(default_factory=bytearray)
    is_silent: bool = False
    _is_asking: bool = False

    def asks(self, data: bytes) -> None:
        """The client writes."""
        self.round_trips += not self._is_asking
        self._is_asking = True
        self.requested += data

    def answers(self, _data: bytes) -> None:
        """The server writes."""
        self._is_asking = False

    def abort(self) -> None:
        """End it without a word."""
        self.client.transport.abort()
        self.server.transport.abort()


class Proxy:
    """What stands between clients and a server on 127.0.0.1. `delay` is how many seconds everything takes each way."""

    def __init__(self, target: int) -> None:
        self.target = target
        """The server's port; connections that are made from now on go there."""
        self.delay = 0.0
        self.port = 0
        self._open = asyncio.Event()
        self._open.set()
        self.connections: list[_Connection] = []

    @property
    def url(self) -> str:
        """The address of database 0 of the Redis behind it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def cut(self) -> None:
        """Abort every connection."""
        for connection in self.connections:
            connection.abort()

    def hold(self) -> None:
        """Keep what comes, from either end, until it is let go; who connects has to wait too."""
        self._open.clear()

    def let_go(self) -> None:
        """Pass on what was kept, and what comes from now on."""
        self._open.set()

    def fall_silent(self) -> None:
        """Every connection of now is half open: no more comes through, and neither end is told."""
        for connection in self.connections:
            connection.is_silent = True

    def asking(self, command: str) -> list[_Connection]:
        """The connections over which this command was sent."""
        pattern = re.compile(rb"\$\d+\r\n" + command.encode() + rb"\r\n")
        return [connection for connection in self.connections if pattern.search(connection.requested)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on, until either end closes it."""
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        connection = _Connection(writer, to_server)
        self.connections.append(connection)
        both = [
            asyncio.create_task(self._pass_on(connection, reader, to_server)),
            asyncio.create_task(self._pass_on(connection, from_server, writer)),
        ]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            connection.abort()
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _pass_on(self, connection: _Connection, reader: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        note = connection.asks if to is connection.server else connection.answers
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                note(data)
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self._open.wait()
                if not connection.is_silent:
                    to.write(data)
                    await to.drain()


@asynccontextmanager
async def proxied(target: int) -> AsyncIterator[Proxy]:
    """A proxy before the server at this port."""
    proxy = Proxy(target)
    served: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(proxy.serve(reader, writer))
        served.add(task)
        task.add_done_callback(served.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in set(served):
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)
        await server.wait_closed()
