"""Living through an outage of the database: what was asked of it is asked again until it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeVar

from engine.first_of import first_of
from models.away import DatabaseAway
from models.uninterrupted import uninterrupted

T = TypeVar("T")
Chance = Callable[[], float]
Sleep = Callable[[float], Coroutine[Any, Any, None]]
FIRST_SECONDS, LONGEST_SECONDS = 0.05, 2.0


def pauses(chance: Chance) -> Iterator[float]:
    """Seconds to wait before each further try, for ever: growing, and not the same for all who wait."""
    longest = FIRST_SECONDS
    while True:
        yield longest * (1 + chance()) / 2
        longest = min(longest * 2, LONGEST_SECONDS)


async def repeated(
    work: Callable[[], Awaitable[T]], chance: Chance, sleep: Sleep, gone: asyncio.Event | None = None
) -> T:
    """The end of what finds what an earlier try of it has done, tried until the database is there.

    Raises DatabaseAway once `gone` tells that nobody waits for it any more.
    """
    gone = gone or asyncio.Event()
    tries = pauses(chance)
    while True:
        try:
            return await work()
        except DatabaseAway:
            await first_of(sleep(next(tries)), gone.wait())
            if gone.is_set():
                raise


async def seen_through(work: Callable[[], Awaitable[T]], chance: Chance, sleep: Sleep) -> T:
    """The same of a write: where the caller is cancelled, the try under way is awaited, and no other is made."""
    gone = asyncio.Event()
    return await uninterrupted(repeated(work, chance, sleep, gone), gone.set)
