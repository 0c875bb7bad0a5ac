"""The wire between a client and a PostgreSQL server: a proxy that cuts connections at the commits it is told to.

It speaks enough of PostgreSQL's protocol to know a COMMIT and its answer, as asyncpg sends them.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal, Self

from sqlalchemy.engine import make_url

_COMMIT = b"Q\x00\x00\x00\x0cCOMMIT;\x00"
_COMMITTED = b"C\x00\x00\x00\x0bCOMMIT\x00"
When = Literal["before", "after"]


class Wire:
    """Listens on a port of 127.0.0.1 for the server at `address`; `url` is the address of the same database by it."""

    def __init__(self, address: str) -> None:
        self._address = make_url(address)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._next: When | None = None
        self.flowing = asyncio.Event()
        self.flowing.set()
        """While it is not set, nothing is carried, and nobody is told: as by a network that swallows everything."""
        self.url = ""
        self.cuts = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = self._address.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def cut(self, when: When) -> None:
        """Cut the connection that sends the next COMMIT: before the server hears of it, or after it has committed."""
        self._next = when

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            server_reader, server_writer = await asyncio.open_connection(
                self._address.host or "127.0.0.1", self._address.port or 5432
            )
            connection = _Connection(self, writer, server_writer)
            try:
                await connection.carry(reader, server_reader)
            finally:
                server_writer.transport.abort()
        except (OSError, asyncio.CancelledError):
            pass  # either end has gone, or the test
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    def take(self, sent: bytes) -> When | None:
        """Whether, and when, to cut the connection that sends this (called by it)."""
        if _COMMIT not in sent or self._next is None:
            return None
        when, self._next = self._next, None
        self.cuts += 1
        return when


class _Connection:
    def __init__(self, wire: Wire, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self._wire = wire
        self._client = client
        self._server = server
        self._deaf = False

    async def carry(self, client: asyncio.StreamReader, server: asyncio.StreamReader) -> None:
        """Carry what either end says to the other until one of them has gone, or the connection is cut."""
        ways = [asyncio.create_task(self._up(client)), asyncio.create_task(self._down(server))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _up(self, client: asyncio.StreamReader) -> None:
        while sent := await client.read(65_536):
            await self._wire.flowing.wait()
            when = self._wire.take(sent)
            if when == "before":
                return
            self._deaf = when == "after"
            self._server.write(sent)
            with suppress(ConnectionError):
                await self._server.drain()

    async def _down(self, server: asyncio.StreamReader) -> None:
        heard = b""
        while answered := await server.read(65_536):
            await self._wire.flowing.wait()
            if self._deaf:
                heard += answered
                if _COMMITTED in heard:
                    return
            else:
                self._client.write(answered)
                await self._client.drain()
