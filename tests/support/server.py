"""Runs an application on a real server in the test's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp

from steersman.serving import Drain, Server, make_server


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs: `url` is its http:// address, without a path."""

    url: str
    server: Server
    task: asyncio.Task[None]

    @property
    def graphql(self) -> str:
        """The address of the GraphQL endpoint over HTTP."""
        return f"{self.url}/graphql"

    @property
    def socket(self) -> str:
        """The address of the GraphQL endpoint over WebSocket."""
        return f"ws{self.url.removeprefix('http')}/graphql"

    async def stop(self) -> None:
        """Stop as SIGTERM would, and wait until it has."""
        self.server.should_exit = True
        await self.task


@asynccontextmanager
async def running(app: ASGIApp, *, drain: Drain | None = None) -> AsyncIterator[Running]:
    """The application behind uvicorn on a free loopback port; stopped at the end."""
    server = make_server(app, host="127.0.0.1", port=0, drain=drain)
    task = asyncio.create_task(server.serve())
    while not server.started:
        if task.done():
            await task
            raise RuntimeError("the server did not start")
        await asyncio.sleep(0.005)
    it = Running(server.address, server, task)
    try:
        yield it
    finally:
        await it.stop()
