"""Streams and bell of this process, shared with others through Redis."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from engine.streams.bell import Bell
from engine.streams.log import Log
from engine.streams.memory import MemoryStreams
from engine.streams.reader import Reader
from engine.streams.redis_bell import RedisBell
from engine.streams.redis_client import connect
from engine.streams.redis_health import RedisHealth
from engine.streams.writer import Writer

log = logging.getLogger("steersman.redis")
RETRY_SECONDS = 1.0
CANCEL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Shared:
    """What a process works with; `health` tells whether Redis is there, None where there is to be none."""

    streams: MemoryStreams
    bell: Bell
    health: RedisHealth | None


class RedisSharing:
    """A writer for the logs that are owned here, a reader for those that are followed here and owned elsewhere."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    def owned(self, stream_id: str, log: Log) -> None:
        """An owner in this process begins to publish to the log."""
        self._reader.unwanted(stream_id)
        self._writer.owned(stream_id, log)

    def told(self, stream_id: str, log: Log) -> None:
        """The owner in this process has published to the log."""
        self._writer.told(stream_id, log)

    def trimmed(self, stream_id: str, upto: int) -> None:
        """What is numbered up to `upto` is in the rows."""
        self._writer.trimmed(stream_id, upto)

    def forsaken(self, stream_id: str) -> None:
        """The owner in this process has stopped."""
        self._writer.forsaken(stream_id)

    def wanted(self, stream_id: str, log: Log) -> None:
        """Somebody here follows the stream, and nobody here owns it."""
        self._reader.wanted(stream_id, log)

    def unwanted(self, stream_id: str) -> None:
        """Nobody here follows the stream any more."""
        self._reader.unwanted(stream_id)


@asynccontextmanager
async def open_shared(url: str, *, node: str, retention_seconds: float) -> AsyncIterator[Shared]:
    """Streams and a bell that reach every process on this Redis; it may be away, and come, at any time.

    `node` names this process alone.
    """
    client, blocking = connect(url), connect(url, max_connections=1)
    health = RedisHealth()
    bell = Bell(trusted=False)
    writer = Writer(client, health, retention_seconds=retention_seconds)
    reader = Reader(blocking, client, health, node=node)
    ringing = RedisBell(client, bell, health, node=node)
    bell.ringing = ringing
    work = {
        "writer": writer.write,
        "reader": reader.read,
        "poke": reader.poke,
        "rings": ringing.tell,
        "bell": ringing.hear,
    }
    tasks = [asyncio.create_task(_kept(name, one), name=f"redis {name}") for name, one in work.items()]
    try:
        yield Shared(MemoryStreams(RedisSharing(writer, reader)), bell, health)
    finally:
        await stopped(tasks)
        await asyncio.gather(writer.close(), ringing.close())
        await client.aclose()
        await blocking.aclose()


async def stopped(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks, and wait until they have ended.

    On Python 3.11 asyncio.wait_for, which redis-py sends by, can swallow a cancel: so they are told more than once.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCEL_SECONDS)


async def _kept(name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do work that has no end; a defect in it is logged, and it begins again."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("the work %r with Redis failed; it begins again in %g s", name, RETRY_SECONDS)
        await asyncio.sleep(RETRY_SECONDS)
