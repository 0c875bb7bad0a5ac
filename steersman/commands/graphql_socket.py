"""GraphQL over a WebSocket (graphql-transport-ws), as a client."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from ipaddress import ip_address
from typing import Any, Literal
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.typing import Subprotocol

PROTOCOL = Subprotocol("graphql-transport-ws")
OPEN_SECONDS = 20.0
_FORBIDDEN = 4403


class Gone(Exception):
    """The connection can't be made, or was lost; it may come back."""


class Refused(Exception):
    """The server refuses: the token, the operation or an input of it; asking again changes nothing."""


class GraphQLSocket:
    """A connection that was acknowledged. Many operations may be under way at once."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self._operations: dict[str, asyncio.Queue[dict[str, Any] | None]] = {}
        self._closed = False

    async def ask(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The data of a query or a mutation. Raises Gone, Refused."""
        async with aclosing(self.subscribe(query, variables)) as answers:
            async for answer in answers:
                return answer
        raise Gone("The server ended the operation without an answer.")

    async def subscribe(self, query: str, variables: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The data of each event, until the server completes the operation. Raises Gone, Refused."""
        name, queue = str(next(self._numbers)), asyncio.Queue[dict[str, Any] | None]()
        self._operations[name] = queue
        try:
            payload = {"query": query, "variables": dict(variables)}
            await self._send({"id": name, "type": "subscribe", "payload": payload})
            while True:
                message = None if self._closed and queue.empty() else await queue.get()
                if message is None:
                    raise Gone(self._why())
                if message["type"] == "complete":
                    return
                yield _data(message)
        finally:
            del self._operations[name]
            with suppress(Gone):
                await self._send({"id": name, "type": "complete"})

    async def sign_in(self, token: str | None) -> None:
        """Say who asks, and wait for the acknowledgement. Raises Gone, Refused."""
        payload = {"authorization": f"Bearer {token}"} if token else {}
        await self._send({"type": "connection_init", "payload": payload})
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                while json.loads(await self._connection.recv())["type"] != "connection_ack":
                    pass
        except ConnectionClosed:
            if self._connection.close_code == _FORBIDDEN:
                reason = self._connection.close_reason or ""
                raise Refused(reason.removeprefix("Forbidden: ") or "The server refuses the token.") from None
            raise Gone(self._why()) from None
        except TimeoutError:
            raise Gone("The server does not answer.") from None

    async def read(self) -> None:
        """Hand on what comes until the connection ends."""
        try:
            async for text in self._connection:
                message = json.loads(text)
                if message["type"] == "ping":
                    await self._send({"type": "pong"})
                elif (queue := self._operations.get(message.get("id", ""))) is not None:
                    queue.put_nowait(message)
        except (ConnectionClosed, Gone, ValueError):
            pass
        finally:
            self._closed = True
            for queue in self._operations.values():
                queue.put_nowait(None)

    async def _send(self, message: dict[str, Any]) -> None:
        try:
            await self._connection.send(json.dumps(message))
        except ConnectionClosed:
            raise Gone(self._why()) from None

    def _why(self) -> str:
        code, reason = self._connection.close_code, self._connection.close_reason
        return f"The connection was closed ({code}{f': {reason}' if reason else ''})."


@asynccontextmanager
async def open_socket(url: str, token: str | None) -> AsyncIterator[GraphQLSocket]:
    """A connection to the server at `url` (http://host:port), signed in. Raises Gone, Refused."""
    address = socket_address(url)
    # A proxy of the environment could not reach a server on this machine.
    proxy: Literal[True] | None = None if _is_loopback(address) else True
    try:
        connection = await connect(
            address, subprotocols=[PROTOCOL], max_size=None, open_timeout=OPEN_SECONDS, proxy=proxy
        )
    except InvalidURI as error:
        raise Refused(f"{url} is no address of a server.") from error
    except (OSError, TimeoutError, InvalidHandshake) as error:
        words = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise Gone(f"No Steersman answers at {url}: {words}.") from error
    async with connection:
        client = GraphQLSocket(connection)
        await client.sign_in(token)
        reading = asyncio.create_task(client.read())
        try:
            yield client
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


def socket_address(url: str) -> str:
    """The WebSocket address of the API of a server: ws://host:port/graphql. Raises Refused."""
    with suppress(ValueError):
        parts = urlsplit(url)
        scheme = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}.get(parts.scheme)
        if scheme and parts.hostname:
            path = parts.path.rstrip("/").removesuffix("/graphql")
            return f"{scheme}://{parts.netloc}{path}/graphql"
    raise Refused(f"{url} is no address of a server: it should look like http://127.0.0.1:8000.")


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _data(message: dict[str, Any]) -> dict[str, Any]:
    payload = message["payload"]
    errors = payload if message["type"] == "error" else payload.get("errors")
    if errors:
        raise Refused(_words(errors[0]))
    data: dict[str, Any] = payload["data"]
    return data


def _words(error: dict[str, Any]) -> str:
    code = error.get("extensions", {}).get("code")
    if code == "AGENT_REQUIRES_USER":
        return "The server does not know who asks: give a token (--token; `steersman token` makes one)."
    return f"{error.get('message')}{f' ({code})' if code else ''}"
