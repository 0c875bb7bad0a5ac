"""Whether the process lives, and whether it should be sent work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from engine.engine import Engine
from models.away import DatabaseAway

logger = logging.getLogger("steersman.health")

PATIENCE = 5.0  # seconds that the database may take to answer a probe
AWAY = "The database can't be reached; the log has why."
SCHEMA = (
    "The database's schema is not the one that this version needs: run `steersman migrate`, or start the version that "
    "has migrated it."
)


class Status(StrEnum):
    """How a process stands: all is well; it serves, but something that it can do without is away; it can't serve."""

    READY = "ready"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class State:
    """What readiness tells: `problem` is what is wrong, in words without addresses or secrets."""

    status: Status
    problem: str | None = None


async def alive(request: Request) -> Response:
    """Liveness: the process answers. It depends on nothing else."""
    return JSONResponse({"status": "ok"})


def probes(state: Callable[[], Awaitable[State]]) -> list[BaseRoute]:
    """The routes of liveness and readiness, for a process that stands as `state` says."""

    async def ready(request: Request) -> Response:
        return answer(await state())

    return [Route("/healthz", alive), Route("/readyz", ready)]


def answer(state: State) -> Response:
    """What readiness answers: 200 where work may be sent here, also in a degraded state (docs/decisions), else 503."""
    told: dict[str, str] = {"status": state.status}
    if state.problem is not None:
        told["problem"] = state.problem
    if state.status is Status.UNAVAILABLE:
        return JSONResponse(told, 503, headers={"Retry-After": "5"})
    return JSONResponse(told)


async def state_of(engine: Engine) -> State:
    """How an engine stands that is open and does not drain."""
    problem = await _problem_of_database(engine)
    if problem is not None:
        return unavailable(problem)
    problem = engine.degraded()
    return State(Status.READY) if problem is None else State(Status.DEGRADED, problem)


def unavailable(problem: str) -> State:
    """No work should be sent here, because of this problem."""
    return State(Status.UNAVAILABLE, problem)


async def _problem_of_database(engine: Engine) -> str | None:
    try:
        async with asyncio.timeout(PATIENCE):
            current = await engine.is_current()
    except (DatabaseAway, TimeoutError) as error:  # one line, for every probe finds it again
        logger.warning("%s", str(error) or f"The database did not answer within {PATIENCE:g} s")
        return AWAY
    except Exception:
        logger.exception("the database can't be asked")
        return AWAY
    return None if current else SCHEMA
