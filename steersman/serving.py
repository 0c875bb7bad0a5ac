"""The HTTP servers: uvicorn, told to drain before it closes what is open, or beside other work."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import uvicorn
from starlette.types import ASGIApp

from steersman.edge import MAX_BODY

Drain = Callable[[], Awaitable[None]]


class Server(uvicorn.Server):
    """A server that, when told to stop, drains first: meanwhile it goes on answering, its readiness included.

    A second Ctrl-C ends the draining at once.
    """

    def __init__(self, config: uvicorn.Config, drain: Drain | None = None) -> None:
        super().__init__(config)
        self._drain = drain

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then close connections and the application."""
        if self._drain is not None and not self.force_exit:
            draining = asyncio.ensure_future(self._drain())
            while not draining.done() and not self.force_exit:
                await asyncio.wait({draining}, timeout=0.1)
            draining.cancel()
            with suppress(asyncio.CancelledError):
                await draining
        await super().shutdown(sockets)

    @property
    def address(self) -> str:
        """Where it listens, as http://host:port, once it has started."""
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def make_server(app: ASGIApp, *, host: str, port: int, drain: Drain | None = None) -> Server:
    """A server for the application, not yet started; port 0 takes any free one.

    Log lines go where `steersman.log` sends them, and requests are logged by the application, without their queries.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        ws="websockets-sansio",
        ws_max_size=MAX_BODY,
        # Small frames at a high rate: compressing each costs more than it saves.
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
        lifespan="on",
    )
    return Server(config, drain)


class _SideServer(uvicorn.Server):
    """A server beside other work of its loop: signals are not its business, and its owner tells it when to stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to who has them."""
        yield


@asynccontextmanager
async def serving_beside(app: ASGIApp, listening: socket.socket) -> AsyncIterator[None]:
    """Serve a small application at this socket for as long as the context lasts; the socket is closed at its end."""
    config = uvicorn.Config(
        app,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        lifespan="off",
    )
    server = _SideServer(config)
    task = asyncio.create_task(server.serve(sockets=[listening]), name="side server")
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.wait((task,))
