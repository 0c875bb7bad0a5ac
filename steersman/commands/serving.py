"""One server process, from an open engine to the last run handed back."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

from engine.loading import Agents
from steersman.app import create_app, drain
from steersman.commands.loop import leave_at_once, on_signal
from steersman.process import opened
from steersman.provider import Choice
from steersman.serving import Server, make_server
from steersman.settings import Settings


async def serve_until_stopped(
    settings: Settings,
    choice: Choice,
    agents: Agents,
    listening: socket.socket,
    *,
    ready: Callable[[], None],
    dev_user: str | None = None,
    parent: int | None = None,
    patience: int = 10,
) -> None:
    """Serve until SIGINT or SIGTERM, then drain; a second SIGINT leaves at once.

    `ready` is called when the first request can come. `parent` is a pipe whose end means the same as SIGTERM.
    `patience` is how many seconds open connections get to close. Raises what opening the engine raises.
    """
    stop = _Stop()
    with on_signal(stop):
        try:
            async with opened(settings, choice, agents) as engine:
                app = create_app(settings, lambda: nullcontext(engine), dev_user=dev_user)
                server = make_server(app, host=settings.host, port=settings.port, drain=partial(drain, app))
                server.config.timeout_graceful_shutdown = patience
                await _serve(server, listening, ready, parent, stop)
                if server.force_exit:
                    leave_at_once("left at once; what was under way goes on when a worker takes it over")
        except asyncio.CancelledError:
            if not stop.asked:
                raise


class _Stop:
    """What a signal does outside of the server's own handling: it cancels the start, and means nothing afterwards."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self.asked = False
        self.served = False

    def __call__(self) -> None:
        if not self.served and self._task is not None:
            self.asked = True
            self._loop.call_soon_threadsafe(self._task.cancel)


async def _serve(
    server: Server, listening: socket.socket, ready: Callable[[], None], parent: int | None, stop: _Stop
) -> None:
    loop = asyncio.get_running_loop()

    def orphaned() -> None:
        if parent is not None:
            loop.remove_reader(parent)
        server.should_exit = True

    if parent is not None:
        loop.add_reader(parent, orphaned)
    telling = asyncio.create_task(_tell(server, ready))
    stop.served = True  # the server handles signals from here, and hands each on to us when it has stopped
    try:
        await server.serve(sockets=[listening])
    finally:
        telling.cancel()
        if parent is not None:
            loop.remove_reader(parent)


async def _tell(server: Server, ready: Callable[[], None]) -> None:
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    # What lives from the start lives to the end: the collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    ready()
