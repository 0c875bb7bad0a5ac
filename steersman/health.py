"""Whether the process lives, and whether it should be sent requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

logger = logging.getLogger("steersman.health")

PATIENCE = 5.0  # seconds that the database may take to answer a probe

# What is wrong, in words without addresses or secrets; None where nothing is.
Problem = Callable[[], Awaitable[str | None]]


async def alive(request: Request) -> Response:
    """Liveness: the process answers. It depends on nothing else."""
    return JSONResponse({"status": "ok"})


def readiness(problem: Problem) -> Callable[[Request], Awaitable[Response]]:
    """Readiness: 200, or 503 with what is wrong."""

    async def ready(request: Request) -> Response:
        wrong = await problem()
        if wrong is None:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "unavailable", "problem": wrong}, 503, headers={"Retry-After": "5"})

    return ready


async def problem_of_database(is_current: Callable[[], Awaitable[bool]]) -> str | None:
    """What keeps the database from serving, or None."""
    try:
        async with asyncio.timeout(PATIENCE):
            current = await is_current()
    except Exception as error:
        logger.warning("the database can't be reached", exc_info=error)
        return "The database can't be reached; the log has why."
    return None if current else "The database's schema is not current: run `steersman migrate`."
