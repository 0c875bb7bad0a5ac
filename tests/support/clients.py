"""Clients that speak the real protocols: JSON by POST and GET, graphql-transport-ws, and server-sent events."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from types import TracebackType
from typing import Any, Self

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

GRAPHQL_TRANSPORT_WS = Subprotocol("graphql-transport-ws")
TLS = ssl.create_default_context()
"""Made once: each client would make one of its own, which takes long, and none is used here."""


class GraphQLFailed(Exception):
    """The server answered with errors; `errors` has them as they came, `codes` their codes."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        self.errors = errors
        super().__init__(json.dumps(errors))

    @property
    def codes(self) -> list[str]:
        """The errors' codes."""
        return [error.get("extensions", {}).get("code", "") for error in self.errors]


def bearer(token: str | None) -> dict[str, str]:
    """The headers of a request with this token."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


class JsonClient:
    """Sends operations by POST (or GET) and reads JSON."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        self.http = httpx2.AsyncClient(headers=bearer(token), timeout=60, verify=TLS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.http.aclose()

    async def execute(self, query: str, variables: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """The `data` of the answer. Raises GraphQLFailed where it has errors."""
        return _data(await self.answer(query, variables, **more))

    async def answer(self, query: str, variables: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """The whole answer, errors and all."""
        body = {"query": query, "variables": variables, **more}
        response = await self.http.post(self.url, json=body)
        answer: dict[str, Any] = response.json()
        return answer


@dataclass
class Subscription:
    """One operation on a socket: iterate it for its payloads; leaving the iteration early completes it.

    Raises GraphQLFailed on an `error` message, and ConnectionClosed where the socket goes.
    """

    client: TransportWsClient
    id: str
    messages: asyncio.Queue[dict[str, Any] | ConnectionClosed] = field(default_factory=asyncio.Queue)
    ended: bool = False

    async def payloads(self) -> AsyncIterator[dict[str, Any]]:
        """The payloads of `next` messages, with whatever errors they hold."""
        try:
            while True:
                message = await self.messages.get()
                if isinstance(message, ConnectionClosed):
                    self.ended = True
                    raise message
                if message["type"] == "next":
                    yield message["payload"]
                    continue
                self.ended = True
                if message["type"] == "error":
                    raise GraphQLFailed(message["payload"])
                return
        finally:
            await self.stop()

    async def __aiter__(self) -> AsyncIterator[Any]:
        async with aclosing(self.payloads()) as payloads:  # type: ignore[type-var]  # an async generator is closable
            async for payload in payloads:
                yield _data(payload)

    async def stop(self) -> None:
        """Tell the server that no more is wanted."""
        self.client.operations.pop(self.id, None)
        if not self.ended:
            self.ended = True
            with suppress(ConnectionClosed):
                await self.client.send({"id": self.id, "type": "complete"})


class TransportWsClient:
    """A graphql-transport-ws client; made by `connected`."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.operations: dict[str, Subscription] = {}
        self.pings = 0
        self._ids = count(1)
        self._reader: asyncio.Task[None] | None = None

    async def init(self, payload: dict[str, Any] | None) -> dict[str, Any]:
        """Say who it is, and wait for the acknowledgement. Raises ConnectionClosed where it is refused."""
        await self.send({"type": "connection_init", **({} if payload is None else {"payload": payload})})
        while (answer := json.loads(await self.socket.recv()))["type"] != "connection_ack":
            await self._take(answer)
        self._reader = asyncio.create_task(self._read())
        return dict(answer)

    async def send(self, message: Any) -> None:
        """Send a message as JSON."""
        await self.socket.send(json.dumps(message))

    async def subscribe(
        self, query: str, variables: Mapping[str, Any] | None = None, *, operation_id: str | None = None, **more: Any
    ) -> Subscription:
        """Begin an operation."""
        subscription = Subscription(self, operation_id or str(next(self._ids)))
        self.operations[subscription.id] = subscription
        payload = {"query": query, "variables": variables, **more}
        await self.send({"id": subscription.id, "type": "subscribe", "payload": payload})
        return subscription

    async def execute(self, query: str, variables: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """The `data` of a query or mutation. Raises GraphQLFailed where it has errors."""
        async for data in await self.subscribe(query, variables, **more):
            return dict(data)
        raise AssertionError("the operation completed without a result")

    async def close(self) -> None:
        """Close the socket."""
        if self._reader is not None:
            self._reader.cancel()
        await self.socket.close()

    async def _read(self) -> None:
        try:
            async for frame in self.socket:
                await self._take(json.loads(frame))
            raise self.socket.protocol.close_exc
        except ConnectionClosed as closed:
            for operation in list(self.operations.values()):
                operation.messages.put_nowait(closed)

    async def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "ping":
            self.pings += 1
            await self.send({"type": "pong"})
        elif message["type"] in ("next", "error", "complete"):
            operation = self.operations.get(message["id"])
            if operation is not None:
                operation.messages.put_nowait(message)


@asynccontextmanager
async def connected(
    url: str,
    token: str | None = None,
    *,
    payload: dict[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    subprotocol: str = GRAPHQL_TRANSPORT_WS,
) -> AsyncIterator[TransportWsClient]:
    """A client on an open, acknowledged socket; the token goes into connection_init. Closed at the end."""
    async with raw_socket(url, headers=headers, subprotocol=subprotocol) as socket:
        client = TransportWsClient(socket)
        said = payload if token is None else {**(payload or {}), "authorization": f"Bearer {token}"}
        await client.init(said)
        try:
            yield client
        finally:
            await client.close()


@asynccontextmanager
async def raw_socket(
    url: str, *, headers: Mapping[str, str] | None = None, subprotocol: str = GRAPHQL_TRANSPORT_WS
) -> AsyncIterator[ClientConnection]:
    """A socket on which nothing was said yet."""
    async with connect(
        url, subprotocols=[Subprotocol(subprotocol)], additional_headers=headers, proxy=None, max_size=None
    ) as socket:
        yield socket


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event, or a comment (`event` is then None)."""

    event: str | None
    data: str


@asynccontextmanager
async def event_stream(
    url: str,
    query: str,
    variables: Mapping[str, Any] | None = None,
    *,
    token: str | None = None,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[AsyncIterator[Event]]:
    """The events that answer an operation sent with `Accept: text/event-stream`; leaving closes the connection."""
    sent = {"Accept": "text/event-stream", "Content-Type": "application/json", **bearer(token), **(headers or {})}
    asked: dict[str, Any] = {"params": {"query": query, "variables": json.dumps(variables)}}
    if method != "GET":
        asked = {"content": json.dumps({"query": query, "variables": variables})}
    async with (
        httpx2.AsyncClient(timeout=60, verify=TLS) as http,
        http.stream(method, url, headers=sent, **asked) as response,
    ):
        if response.status_code != 200:
            await response.aread()
            raise GraphQLFailed(response.json()["errors"])
        yield _events(response)


async def _events(response: httpx2.Response) -> AsyncIterator[Event]:
    held = ""
    async for text in response.aiter_text():
        held += text
        while (end := held.find("\n\n")) >= 0:
            block, held = held[:end], held[end + 2 :]
            yield _event(block)


def _event(block: str) -> Event:
    name: str | None = None
    data: list[str] = []
    for line in block.split("\n"):
        key, _, value = line.partition(":")
        if key == "event":
            name = value.removeprefix(" ")
        elif key == "data":
            data.append(value.removeprefix(" "))
    return Event(name, "\n".join(data))


def _data(payload: dict[str, Any]) -> dict[str, Any]:
    if payload.get("errors"):
        raise GraphQLFailed(payload["errors"])
    data: dict[str, Any] = payload["data"]
    return data
