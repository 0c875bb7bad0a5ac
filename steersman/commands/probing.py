"""The probes of `steersman worker`, which serves nothing else: a small application in the loop of its work."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware

from engine.engine import Engine
from steersman import health
from steersman.commands.complaints import Complaint
from steersman.commands.listening import address_of, listen
from steersman.edge import Edge
from steersman.serving import serving_beside
from steersman.settings import Settings

logger = logging.getLogger("steersman.worker")


class Duty:
    """How far a worker is: `engine` is None until it works, `stopping` holds from the signal to its end."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.stopping = False

    async def state(self) -> health.State:
        """What its readiness tells."""
        if self.stopping:
            return health.unavailable("This worker is stopping.")
        if self.engine is None:
            return health.unavailable("This worker is starting.")
        return await health.state_of(self.engine)


@asynccontextmanager
async def probed(settings: Settings, duty: Duty) -> AsyncIterator[None]:
    """Answer /healthz and /readyz for as long as the context lasts.

    Nobody's work depends on it: where the port can't be had, that is a warning in the log, and nothing answers.
    """
    listening = _listen(settings)
    if listening is None:
        yield
        return
    logger.info("probes are answered at %s/readyz", address_of(listening))
    app = Starlette(routes=health.probes(duty.state), middleware=[Middleware(Edge)])
    async with serving_beside(app, listening):
        yield


def _listen(settings: Settings) -> socket.socket | None:
    try:
        return listen(settings.host, settings.worker_port, setting="STEERSMAN_WORKER_PORT")
    except Complaint as complaint:
        logger.warning("%s This worker works all the same, but answers no probes.", complaint.message)
        return None
