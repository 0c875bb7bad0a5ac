"""What the console must know before anybody is signed in: /console/config.json, for all who ask."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from steersman.settings import Settings


def route(settings: Settings, *, development: bool) -> Route:
    """The route of /console/config.json. `development`: a development user signs in everybody who brings no token."""
    config: dict[str, Any] = {
        "development": development,
        "oidc": _provider(settings),
        "version": version("steersman"),
    }

    async def answer(request: Request) -> Response:
        return JSONResponse(config, headers={"Cache-Control": "no-cache"})

    return Route("/console/config.json", answer)


def sign_in_origins(settings: Settings) -> tuple[str, ...]:
    """Where the console's pages ask for tokens, beside their own server."""
    if settings.oidc_issuer is None:
        return ()
    parts = urlsplit(settings.oidc_issuer)
    return (f"{parts.scheme}://{parts.netloc}", *settings.oidc_origins)


def _provider(settings: Settings) -> dict[str, Any] | None:
    if settings.oidc_issuer is None:
        return None
    return {
        "authority": settings.oidc_issuer,
        "clientId": settings.oidc_client_id,
        "scope": settings.oidc_scope,
        "audience": settings.oidc_audience,
        "token": settings.oidc_token,
    }
