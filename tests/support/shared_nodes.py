"""Nodes that share streams and a bell through one Redis: each is what a process of its own would have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from redis.asyncio import Redis

from engine.streams.bell import Bell
from engine.streams.follow import ReadRows, follow
from engine.streams.memory import MemoryStreams
from engine.streams.reader import Reader
from engine.streams.redis_bell import RedisBell
from engine.streams.redis_health import RedisHealth
from engine.streams.shared import RedisSharing, Shared, open_shared
from engine.streams.writer import Writer
from models.events import StreamEvent
from tests.support.live_stream import Viewer
from tests.support.services import OwnRedis

PATIENCE = 60.0
"""Seconds after which what does not come about is given up; far above what anything here takes."""
_numbers = count(1)


@dataclass(frozen=True)
class Node:
    """One node, and what is inside it."""

    name: str
    shared: Shared

    @property
    def streams(self) -> MemoryStreams:
        """Its streams."""
        return self.shared.streams

    @property
    def bell(self) -> Bell:
        """Its bell."""
        return self.shared.bell

    @property
    def health(self) -> RedisHealth:
        """What it knows of Redis."""
        assert self.shared.health is not None
        return self.shared.health

    @property
    def writer(self) -> Writer:
        """What mirrors its own logs into Redis."""
        return self._sharing._writer

    @property
    def reader(self) -> Reader:
        """What brings other nodes' streams here."""
        return self._sharing._reader

    @property
    def ringing(self) -> RedisBell:
        """What carries its rings."""
        assert isinstance(self.bell.ringing, RedisBell)
        return self.bell.ringing

    @property
    def _sharing(self) -> RedisSharing:
        assert isinstance(self.streams._sharing, RedisSharing)
        return self.streams._sharing

    @property
    def is_idle(self) -> bool:
        """Whether nothing of any stream is left here."""
        return len(self.streams) == len(self.writer) == len(self.reader) == 0


@asynccontextmanager
async def opened(url: str, *, retention: float = 60.0) -> AsyncIterator[Node]:
    """A node on the Redis at this address."""
    name = f"node-{next(_numbers)}"
    async with open_shared(url, node=name, retention_seconds=retention) as shared:
        yield Node(name, shared)


@asynccontextmanager
async def opened_many(url: str, number: int, *, retention: float = 60.0) -> AsyncIterator[list[Node]]:
    """Several nodes on the Redis at this address, each of which hears the others."""
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(opened(url, retention=retention)) for _ in range(number)]
        await until(lambda: all(node.bell.trusted for node in nodes))
        yield nodes


async def command(redis: OwnRedis, *words: str | bytes) -> Any:
    """What Redis answers to a command."""
    async with Redis.from_url(redis.url, protocol=2) as client:
        return await client.execute_command(*words)  # type: ignore[no-untyped-call] # redis-py's own


async def keys(redis: OwnRedis, pattern: str = "*") -> list[str]:
    """The keys that there are."""
    async with Redis.from_url(redis.url, protocol=2) as client:
        return [key.decode() async for key in client.scan_iter(match=pattern)]


async def written(node: Node) -> None:
    """Wait until the node has nothing more to write."""
    await until(lambda: all(mirror.sent >= mirror.log.last for mirror in node.writer._mirrors.values()))


async def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds. Raises TimeoutError where it does not come about."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.002)


async def until_true(holds: Callable[[], Awaitable[bool]]) -> None:
    """The same of what must be asked for."""
    async with asyncio.timeout(PATIENCE):
        while not await holds():
            await asyncio.sleep(0.01)


@dataclass
class Following:
    """A follower of one stream on one node: what it was given until now, and what it makes of it."""

    node: Node
    task: asyncio.Task[None] = field(init=False)
    viewer: Viewer = field(default_factory=Viewer)
    events: list[StreamEvent] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of all blocks that it has, one after another."""
        return "".join(text for _, text in sorted(self.viewer.texts.items()))

    async def leave(self) -> None:
        """Go away, whatever it waits for."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def ended(self) -> None:
        """Wait for the stream's end. Raises what following it raised, and TimeoutError."""
        async with asyncio.timeout(PATIENCE):
            await asyncio.shield(self.task)


def following(node: Node, read: ReadRows, stream_id: str, after: int = 0) -> Following:
    """A new follower."""
    new = Following(node)
    new.viewer.last = after

    async def take() -> None:
        async for event in follow(node.streams, read, stream_id, after):
            new.events.append(event)
            new.viewer.see(event)

    new.task = asyncio.create_task(take())
    return new
