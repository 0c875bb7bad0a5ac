"""The HTTP responses of the GraphQL endpoint."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from steersman.graphql import events
from steersman.graphql.accept import JSON, RESPONSE_JSON
from steersman.graphql.encoding import encode


class EventResponse(StreamingResponse):
    """A response of server-sent events, whose source is closed whichever way the response ends."""

    def __init__(self, frames: AsyncGenerator[str]) -> None:
        super().__init__(frames, headers=events.HEADERS)
        self._frames = frames

    async def stream_response(self, send: Send) -> None:
        """Send the frames as they come."""
        async with aclosing(self._frames):
            await super().stream_response(send)


def result(payload: dict[str, Any], media_type: str) -> Response:
    """A result as a response.

    With application/graphql-response+json a request that could not be executed at all is 400 (500 where the fault is
    ours); with application/json it is 200, as clients of that type expect.
    """
    status = 200
    if media_type == RESPONSE_JSON and "data" not in payload:
        status = 500 if _internal(payload) else 400
    return Response(encode(payload), status, media_type=f"{media_type}; charset=utf-8")


def refusal(
    message: str, status: int, *, code: str, media_type: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """A request that is no GraphQL request, or may not be made: the reason in the form of a GraphQL error."""
    payload = {"errors": [{"message": message, "extensions": {"code": code}}]}
    kind = media_type if media_type in (JSON, RESPONSE_JSON) else JSON
    return Response(encode(payload), status, headers=dict(headers or {}), media_type=f"{kind}; charset=utf-8")


def _internal(payload: Mapping[str, Any]) -> bool:
    return any(error["extensions"]["code"] == "INTERNAL" for error in payload["errors"])
