"""Clients' sockets: each is to one server, is cut at any moment, and is made again to another."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from websockets.exceptions import WebSocketException

from tests.support.clients import GraphQLFailed, TransportWsClient, connected

_PAUSE = 0.2
_CONNECT = 10.0  # seconds after which a server that does not shake hands is given up for another


class Subscription(Protocol):
    """What a subscriber asks for, and what it makes of what comes."""

    document: str
    reconnects: int
    listening: bool
    """Whether a server has been asked, over a socket that stood when that was last known."""

    def variables(self) -> Mapping[str, Any]:
        """What to ask for now: what follows what it has."""
        ...

    def take(self, item: dict[str, Any]) -> None:
        """One value of the subscription's field."""
        ...

    @property
    def finished(self) -> bool:
        """Whether it wants no more."""
        ...

    def completed(self) -> None:
        """The server says that there is no more."""
        ...


@dataclass(eq=False)
class Device:
    """One user's socket, with all that is watched over it. `server` chooses the address of a server.

    `failures` counts why subscriptions had to be begun again; `odd` is told of errors: their codes, and words.
    """

    token: str
    dice: Random
    server: Callable[[Random], str]
    failures: Counter[str]
    odd: Callable[[str, str], None]
    _client: TransportWsClient | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def cut(self) -> None:
        """Cut the socket without a word, whatever is under way."""
        if self._client is not None:
            self._client.socket.transport.abort()

    async def close(self) -> None:
        """Leave for good."""
        self.cut()
        self._client = None
        with suppress(OSError, WebSocketException, TimeoutError):
            await self._stack.aclose()

    async def follow(self, subscription: Subscription) -> None:
        """Watch until the subscription is finished, over as many sockets as it takes."""
        client: TransportWsClient | None = None
        while not subscription.finished:
            try:
                client = await self._socket(client)
                await self._listen(client, subscription)
            except (OSError, WebSocketException, TimeoutError) as error:
                self.failures[type(error).__name__] += 1
                subscription.reconnects, subscription.listening = subscription.reconnects + 1, False
                await asyncio.sleep(_PAUSE * self.dice.random())
            except GraphQLFailed as failed:
                self.odd(", ".join(failed.codes), f"a subscription: {failed}")
                subscription.reconnects, subscription.listening = subscription.reconnects + 1, False
                client = None
                await asyncio.sleep(_PAUSE * (1 + self.dice.random()))

    async def _listen(self, client: TransportWsClient, subscription: Subscription) -> None:
        operation = await client.subscribe(subscription.document, subscription.variables())
        subscription.listening = True
        async for data in operation:
            (item,) = data.values()
            subscription.take(item)
            if subscription.finished:
                return
        subscription.completed()

    async def _socket(self, broken: TransportWsClient | None) -> TransportWsClient:
        """The socket; a new one to a server chosen anew where there is none, or where it is the broken one."""
        async with self._lock:
            if self._client is None or self._client is broken:
                await self.close()
                async with asyncio.timeout(_CONNECT):
                    url = f"ws{self.server(self.dice).removeprefix('http')}/graphql"
                    self._client = await self._stack.enter_async_context(connected(url, self.token))
            return self._client
