"""A benchmark's server: it tells its address in its first line of output."""

from __future__ import annotations

import asyncio

from steersman.serving import Server


async def serve(server: Server) -> None:
    """Serve until SIGTERM."""
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    print(server.address, flush=True)
    await serving
