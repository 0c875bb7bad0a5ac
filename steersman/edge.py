"""What every request passes first: an id, headers that keep browsers careful, and a line in the log."""

from __future__ import annotations

import logging
import re
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from steersman import log

logger = logging.getLogger("steersman.http")

MAX_BODY = 32 * 1024 * 1024
"""The most bytes that a request's body, or a WebSocket's message, may have: room for an input's attachments."""
MAX_BODY_OF_NOBODY = 8 * 1024 * 1024
"""The same for a request of somebody who is not signed in."""
REQUEST_ID = "X-Request-ID"
_TAKEN_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_PROBES = ("/healthz", "/readyz")

# What a response is given where it does not say otherwise; pages have a policy of their own (pages.py).
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Edge:
    """The outermost layer. A WebSocket's messages pass it untouched: there are many."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or one WebSocket, under its id."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        name = given if _TAKEN_ID.fullmatch(given) else log.new_request_id()
        with log.bound(request_id=name):
            if scope["type"] == "websocket":
                await self._app(scope, receive, send)
            else:
                await self._serve(scope, receive, send, name)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, name: str) -> None:
        began, status = time.monotonic(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = name
                for header, value in HEADERS.items():
                    headers.setdefault(header, value)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            level = logging.DEBUG if scope["path"] in _PROBES else logging.INFO
            milliseconds = round((time.monotonic() - began) * 1000)
            # Without the query: what is asked for is the users' own.
            logger.log(level, "%s %s %s %sms", scope["method"], scope["path"], status or "cut", milliseconds)
