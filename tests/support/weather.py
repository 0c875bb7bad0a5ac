"""A database with weather: it is away while the test says so, or loses the answers to commits."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from models.away import DatabaseAway
from models.database import Database


class Weather:
    """A Database for one node: `away` makes it unreachable, `lose` names verbs whose next answer does not arrive.

    `asked` counts what was tried, by the function's name; `tried` is set whenever something failed.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.away = False
        self.lose: set[str] = set()
        self.asked: Counter[str] = Counter()
        self.tried = asyncio.Event()

    @property
    def front(self) -> Database:
        """What clients ask of the node has no weather."""
        return self._database

    async def read(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Read, where it can be reached."""
        self._reach(fn)
        return await self._database.read(fn, *args, **kwargs)

    async def write(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Write, where it can be reached; the answer may be lost."""
        self._reach(fn)
        done = await self._database.write(fn, *args, **kwargs)
        if fn.__name__ in self.lose:
            self.lose.discard(fn.__name__)
            self._fail()
        return done

    def _reach(self, fn: Callable[..., Any]) -> None:
        self.asked[fn.__name__] += 1
        if self.away:
            self._fail()

    def _fail(self) -> None:
        self.tried.set()
        raise DatabaseAway("The database is away: the weather is bad")

    async def until_tried(self) -> None:
        """Wait for the next failure."""
        self.tried.clear()
        await self.tried.wait()
