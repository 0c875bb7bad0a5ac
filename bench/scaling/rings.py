"""Counts the rings of the bell, as one more process would hear them."""

from __future__ import annotations

import asyncio
import json
from types import TracebackType
from typing import Self

from bench.scaling.house import House
from engine.streams.redis_bell import CHANNEL


class Rings:
    """A context in which rings are counted."""

    def __init__(self, house: House) -> None:
        assert house.redis is not None
        self.count = 0
        self._redis = house.meter.redis
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._hear(ready))
        await ready.wait()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _hear(self, ready: asyncio.Event) -> None:
        assert self._redis is not None
        async with self._redis.pubsub() as channel:
            await channel.subscribe(CHANNEL)
            async for message in channel.listen():
                if message["type"] == "subscribe":
                    ready.set()
                else:
                    _, rings = json.loads(message["data"])
                    self.count += len(rings)
