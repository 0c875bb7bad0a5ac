"""The GraphQL endpoint: POST, GET, server-sent events and graphql-transport-ws on one path, for any schema."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Any, cast

import strawberry
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from engine.user import User
from steersman import log
from steersman.auth import KeysUnavailable, SignedIn, SignIn, TokenRefused
from steersman.graphql import accept, responses
from steersman.graphql.checks import with_checks
from steersman.graphql.encoding import encode
from steersman.graphql.events import EventStreams
from steersman.graphql.limits import Limits
from steersman.graphql.masking import defect, mask
from steersman.graphql.params import BadRequest, Params, read
from steersman.graphql.socket import Adapter, SocketHandler

MakeContext = Callable[[User | None], Any]
Page = Callable[[], Response]

BY_STREAM = (
    "A subscription is no single response. Open a WebSocket on this address with the subprotocol graphql-transport-ws, "
    "or send the same request with `Accept: text/event-stream` alone."
)


class GraphQLEndpoint(GraphQL[Any, None]):
    """An ASGI application that serves a schema; `sign_in` tells who asks, and `make_context` what resolvers are handed.

    `page` answers browsers that open the address. `ping_seconds` is how often an open WebSocket is pinged, and an event
    stream is given a comment: idle proxies keep the connection, and clients that have died are noticed.
    `init_seconds` is how long a new WebSocket may take to say who it is.
    """

    graphql_transport_ws_handler_class = SocketHandler
    websocket_adapter_class = Adapter

    def __init__(
        self,
        schema: strawberry.Schema,
        *,
        sign_in: SignIn,
        make_context: MakeContext,
        page: Page | None = None,
        introspection: bool = True,
        any_origin: bool = True,
        ping_seconds: float = 15.0,
        init_seconds: float = 15.0,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(
            with_checks(schema, introspection=introspection, most=limits),
            graphql_ide=None,
            connection_init_wait_timeout=timedelta(seconds=init_seconds),
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
            # Tokens are sent by programs, never by browsers on their own: a page of another origin gains nothing. Where
            # there is a development user, only pages of this server may open a socket.
            allowed_origins=("*",) if any_origin else (),
        )
        self.sign_in = sign_in
        self.make_context = make_context
        self.ping_seconds = ping_seconds
        self.streams = EventStreams(ping_seconds)
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or one WebSocket."""
        if scope["type"] == "websocket":
            await self.run(WebSocket(scope, receive=receive, send=send))
            return
        response = await self.respond(Request(scope, receive))
        await response(scope, receive, send)

    def encode_json(self, data: object) -> str:
        """JSON text for a WebSocket frame."""
        return encode(data)

    async def respond(self, request: Request) -> Response:
        """The response to an HTTP request."""
        wanted = request.headers.get("accept")
        if self._page is not None and _is_for_page(request):
            return self._page()
        media_type = accept.choose(wanted)
        if media_type is None:
            names = f"{accept.RESPONSE_JSON}, {accept.JSON} or {accept.EVENTS}"
            return responses.refusal(f"Accept must allow {names}.", 406, code="BAD_USER_INPUT")
        try:
            signed_in = await self.sign_in(request)
            params = await read(request, signed_in=signed_in is not None)
            if media_type == accept.EVENTS:
                return self._stream(request, params, signed_in)
            with log.bound(user_id=_id_of(signed_in)):
                return responses.result(await self._execute(request, params, signed_in), media_type)
        except BadRequest as error:
            return responses.refusal(
                error.message, error.status, code="BAD_USER_INPUT", media_type=media_type, headers=error.headers
            )
        except TokenRefused as error:
            challenge = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
            return responses.refusal(
                str(error), 401, code="AGENT_REQUIRES_USER", media_type=media_type, headers=challenge
            )
        except KeysUnavailable as error:
            return responses.refusal(
                str(error), 503, code="AGENT_REQUIRES_USER", media_type=media_type, headers={"Retry-After": "5"}
            )

    async def _execute(self, request: Request, params: Params, signed_in: SignedIn | None) -> dict[str, Any]:
        allowed = {OperationType.QUERY} if request.method == "GET" else {OperationType.QUERY, OperationType.MUTATION}
        try:
            result = await self.schema.execute(
                params.query,
                variable_values=params.variables,
                context_value=self.make_context(signed_in.user if signed_in else None),
                operation_name=params.operation_name,
                operation_extensions=params.extensions,
                allowed_operation_types=allowed,
            )
        except InvalidOperationTypeError as error:
            if error.operation_type is OperationType.SUBSCRIPTION:
                raise BadRequest(BY_STREAM) from error
            raise BadRequest("GET is for queries: send mutations by POST.", 405, {"Allow": "POST"}) from error
        except Exception as error:  # noqa: BLE001 - it is logged, and the client told no more than its id
            return {"errors": [defect(error)]}
        return payload_of(result)

    def _stream(self, request: Request, params: Params, signed_in: SignedIn | None) -> Response:
        context = self.make_context(signed_in.user if signed_in else None)
        results = self.results(params, context, user_id=_id_of(signed_in), method=request.method)
        left = None if signed_in is None or signed_in.expires_at is None else signed_in.expires_at - time.time()
        return responses.EventResponse(self.streams.frames(results, left))

    async def results(
        self, params: Params, context: Any, *, user_id: str | None, method: str = "POST"
    ) -> AsyncGenerator[dict[str, Any]]:
        """The results of an operation as payloads, errors masked; a mutation is refused where the method is GET."""
        allowed = set(OperationType) - ({OperationType.MUTATION} if method == "GET" else set())
        with log.bound(user_id=user_id):
            try:
                stream = await self.schema.stream(
                    params.query,
                    variable_values=params.variables,
                    context_value=context,
                    operation_name=params.operation_name,
                    operation_extensions=params.extensions,
                    allowed_operation_types=allowed,
                )
                async with aclosing(cast(AsyncGenerator[Any], stream)):
                    async for result in stream:
                        yield payload_of(cast(ExecutionResult, result))
            except Exception as error:  # noqa: BLE001 - as above
                yield {"errors": [defect(error)]}

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Any:
        """None: a socket's context is made when its connection_init has told who asks."""
        return None


def payload_of(result: ExecutionResult) -> dict[str, Any]:
    """A result as a response carries it: errors masked, and no `data` where nothing was executed."""
    if not result.errors:
        return {"data": result.data}
    # Errors of the execution name the field they happened in; only those of the request as a whole name none.
    executed = result.data is not None or any(error.path is not None for error in result.errors)
    errors = mask(result.errors)
    return {"data": result.data, "errors": errors} if executed else {"errors": errors}


def _id_of(signed_in: SignedIn | None) -> str | None:
    return signed_in.user.id if signed_in is not None else None


def _is_for_page(request: Request) -> bool:
    return (
        request.method == "GET"
        and "query" not in request.query_params
        and accept.wants_page(request.headers.get("accept"))
    )
