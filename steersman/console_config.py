"""What the console must know before anybody is signed in: /console/config.json, for all who ask."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def route(*, development: bool) -> Route:
    """The route of /console/config.json. `development`: a development user signs in everybody who brings no token."""
    config: dict[str, Any] = {"development": development, "oidc": None, "version": version("steersman")}

    async def answer(request: Request) -> Response:
        return JSONResponse(config, headers={"Cache-Control": "no-cache"})

    return Route("/console/config.json", answer)
