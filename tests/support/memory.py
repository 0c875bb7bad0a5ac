"""What a process on the stage keeps in memory: its streams and its bell, on a cluster shared with the others'."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from engine.streams.bell import Bell
from engine.streams.memory import MemoryStreams
from engine.streams.shared import open_shared
from tests.support.ground import Ground

RETENTION_SECONDS = 60.0


@dataclass(eq=False, slots=True)
class Memory:
    """Of one process; `streams` and `bell` as its engine would have them."""

    streams: MemoryStreams = field(default_factory=MemoryStreams)
    bell: Bell = field(default_factory=lambda: Bell(trusted=False))
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def close(self) -> None:
        """The process is gone."""
        await self._stack.aclose()


async def new_memory(ground: Ground, node: str) -> Memory:
    """The memory of a process with this name, which no other has."""
    if ground.redis_url is None:
        return Memory()
    stack = AsyncExitStack()
    sharing = open_shared(ground.redis_url, node=node, retention_seconds=RETENTION_SECONDS)
    shared = await stack.enter_async_context(sharing)
    return Memory(shared.streams, shared.bell, stack)
