"""graphql-transport-ws as its protocol has it: what is wrong with one operation ends that operation alone.

The library's handler is followed in all but these points: a connection_init without a payload may say so by null; every
message is checked before it is looked into; a syntax error is an `error` message of its operation, not the end of the
socket; who asks is known before the context is made; the server pings; the socket ends with the token.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, cast

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from strawberry.asgi import ASGIWebSocketAdapter
from strawberry.http.exceptions import NonJsonMessageReceived, NonTextMessageReceived, WebSocketDisconnected
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import BaseGraphQLTransportWSHandler, Operation

from steersman import log
from steersman.auth import KeysUnavailable, SignedIn, TokenRefused
from steersman.graphql.encoding import NotJson, decode
from steersman.graphql.params import BadRequest, NoOperation, Params, check

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from steersman.graphql.endpoint import GraphQLEndpoint

logger = logging.getLogger("steersman.graphql")

INVALID_MESSAGE = 4400
NOT_ACKNOWLEDGED = 4401
FORBIDDEN = 4403
SUBSCRIBER_EXISTS = 4409
TOO_MANY_INITS = 4429
GOING_AWAY = 1001
TRY_AGAIN = 1013

# RFC 6455 section 5.5: a close frame holds 123 bytes of reason.
_MAX_REASON = 123
_MAX_ID = 256
# Sending to a socket that can be written to never gives way to other tasks, not even to learn that the client has gone.
_FRAMES_IN_A_ROW = 64


class Adapter(ASGIWebSocketAdapter):
    """The socket as the handler sees it: JSON in text frames; one that has gone is WebSocketDisconnected."""

    ws: WebSocket
    _sent = 0

    async def iter_json(self, *, ignore_parsing_errors: bool = False) -> AsyncGenerator[object]:
        """The messages until the socket closes."""
        while self.ws.application_state is not WebSocketState.DISCONNECTED:
            message = await self.ws.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            if text is None:
                raise NonTextMessageReceived
            try:
                yield decode(text)
            except NotJson as error:
                raise NonJsonMessageReceived from error

    async def send_json(self, message: Mapping[str, object]) -> None:
        """Send a message; waits while the client takes none."""
        self._sent += 1
        if self._sent % _FRAMES_IN_A_ROW == 0:
            await asyncio.sleep(0)
        if self.ws.application_state is not WebSocketState.CONNECTED:
            raise WebSocketDisconnected
        try:
            await self.ws.send_text(cast(str, self.view.encode_json(message)))
        except (WebSocketDisconnect, OSError) as error:
            raise WebSocketDisconnected from error

    async def close(self, code: int, reason: str) -> None:
        """Close the socket, where it is still open."""
        if self.ws.application_state is WebSocketState.CONNECTED:
            with suppress(WebSocketDisconnect, OSError):
                await self.ws.close(code=code, reason=reason.encode()[:_MAX_REASON].decode(errors="ignore"))


class SocketOperation(Operation[Any, None]):
    """One operation of a socket."""

    def __init__(self, handler: SocketHandler, operation_id: str, params: Params) -> None:
        super().__init__(handler, operation_id, params.query, params.variables, params.operation_name)
        self.params = params

    async def send_payload(self, payload: dict[str, Any]) -> None:
        """Send a result; one that tells of the request as a whole is an `error` message, and ends the operation."""
        if "data" in payload:
            await self.send_operation_message(cast(Any, {"id": self.id, "type": "next", "payload": payload}))
        else:
            await self.send_operation_message({"id": self.id, "type": "error", "payload": payload["errors"]})


class SocketHandler(BaseGraphQLTransportWSHandler[Any, None]):
    """One socket."""

    view: GraphQLEndpoint
    websocket: Adapter

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.signed_in: SignedIn | None = None
        self._unanswered = 0
        self._pinger: asyncio.Task[None] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._closer: asyncio.Task[None] | None = None

    async def handle_message(self, message: Any) -> None:
        """Act on one message; what the protocol has no place for closes the socket with 4400."""
        self._unanswered = 0
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "connection_init":
            await self.handle_connection_init(cast(Any, message))
        elif kind == "subscribe":
            await self.handle_subscribe(cast(Any, message))
        elif kind == "complete" and _is_id(message.get("id")):
            await self.handle_complete(cast(Any, message))
        elif kind == "ping":
            await self.send_message({"type": "pong"})
        elif kind != "pong":
            await self.handle_invalid_message("A message that graphql-transport-ws does not know")

    async def handle_connection_init(self, message: Any) -> None:
        """Find out who asks, and acknowledge."""
        if self.connection_timed_out:
            return
        if self.connection_init_timeout_task:
            self.connection_init_timeout_task.cancel()
        payload = message.get("payload")
        if not isinstance(payload, dict | None):
            await self.handle_invalid_message("The payload of connection_init must be an object or null")
        elif self.connection_init_received:
            await self.websocket.close(TOO_MANY_INITS, "Too many initialisation requests")
        else:
            self.connection_init_received = True
            await self._sign_in(payload)

    async def _sign_in(self, payload: dict[str, Any] | None) -> None:
        try:
            self.signed_in = await self.view.sign_in(self.websocket.ws, payload)
        except TokenRefused as error:
            await self.websocket.close(FORBIDDEN, f"Forbidden: {error}")
            return
        except KeysUnavailable as error:
            await self.websocket.close(TRY_AGAIN, str(error))
            return
        self.context = self.view.make_context(self.signed_in.user if self.signed_in else None)
        await self.send_message({"type": "connection_ack"})
        self.connection_acknowledged = True
        self._pinger = asyncio.create_task(self._ping())
        if self.signed_in is not None and self.signed_in.expires_at is not None:
            left = max(self.signed_in.expires_at - time.time(), 0.0)
            self._expiry = asyncio.get_running_loop().call_later(left, self._expire)

    async def handle_subscribe(self, message: Any) -> None:
        """Begin an operation."""
        if not self.connection_acknowledged:
            await self.websocket.close(NOT_ACKNOWLEDGED, "Unauthorized")
            return
        operation_id = message.get("id")
        if not _is_id(operation_id):
            await self.handle_invalid_message(f"`id` must be a string of 1 to {_MAX_ID} characters")
        elif operation_id in self.operations:
            await self.websocket.close(SUBSCRIBER_EXISTS, f"Subscriber for {operation_id} already exists")
        elif len(self.operations) >= (self.max_subscriptions_per_connection or 0):
            words = f"This socket has {len(self.operations)} operations under way, which is the most it may have."
            await self._refuse(operation_id, words, "RATE_LIMITED")
        else:
            await self._begin(operation_id, message.get("payload"))

    async def _begin(self, operation_id: str, payload: Any) -> None:
        try:
            params = check(payload)
        except NoOperation as error:
            await self._refuse(operation_id, error.message, "BAD_USER_INPUT")
            return
        except BadRequest as error:
            await self.handle_invalid_message(error.message)
            return
        operation = SocketOperation(self, operation_id, params)
        operation.task = asyncio.create_task(self.run_operation(operation))
        operation.task.add_done_callback(self._task_done)
        self.operations[operation_id] = operation

    async def _refuse(self, operation_id: str, words: str, code: str) -> None:
        """Answer one operation that is not begun; the others of the socket go on."""
        error = {"message": words, "extensions": {"code": code}}
        await self.send_message(cast(Any, {"id": operation_id, "type": "error", "payload": [error]}))

    async def run_operation(self, operation: Operation[Any, None]) -> None:
        """Run one operation to its end, in a task of its own."""
        operation = cast(SocketOperation, operation)
        user_id = self.signed_in.user.id if self.signed_in else None
        with log.bound(request_id=log.new_request_id()), suppress(WebSocketDisconnected):
            results = self.view.results(operation.params, self.context, user_id=user_id)
            async with aclosing(results):
                async for payload in results:
                    await operation.send_payload(payload)
            await operation.send_operation_message({"id": operation.id, "type": "complete"})

    async def _ping(self) -> None:
        """Ping at an interval; a client that has said nothing since the last two has died."""
        with suppress(WebSocketDisconnected):
            while True:
                await asyncio.sleep(self.view.ping_seconds)
                if self._unanswered == 2:
                    await self.websocket.close(GOING_AWAY, "No answer to pings")
                    return
                self._unanswered += 1
                await self.send_message({"type": "ping"})

    def _expire(self) -> None:
        self._closer = asyncio.create_task(self.websocket.close(FORBIDDEN, "Forbidden: the token has expired"))

    async def shutdown(self) -> None:
        """End whatever belongs to this socket."""
        if self._expiry is not None:
            self._expiry.cancel()
        for task in (self._pinger, self._closer):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        await super().shutdown()


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= _MAX_ID
