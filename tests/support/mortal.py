"""Workers that are stopped dead: a database whose owner dies at one of its writes, and never writes a word again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

from models.database import Database


class Dead(BaseException):
    """The process is gone; nothing catches this."""


class Mortal:
    """A Database for one worker; at the write number `at` (from 1) its owner dies, right before or after the commit.

    `names` are the verbs that were counted, in order: those of its loops, and of the worker itself the `also` named.
    Tests give a `kill`, which drops everything that the process did.
    """

    def __init__(
        self, database: Database, at: int | None = None, *, before: bool = False, also: Collection[str] = ()
    ) -> None:
        self._database = database
        self._at = at
        self._before = before
        self._uncounted = {"beat", "take_over"} - set(also)
        self.names: list[str] = []
        self.died = asyncio.Event()
        self.kill: Callable[[], None] = lambda: None

    @property
    def front(self) -> _Front:
        """The same database for what clients ask of the process: it dies with it, and its writes are not counted."""
        return _Front(self)

    async def read(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Read, while the process lives."""
        self._live()
        return await self._database.read(fn, *args, **kwargs)

    async def write(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Write, while the process lives."""
        self._live()
        counted = fn.__name__ not in self._uncounted
        if counted:
            self.names.append(fn.__name__)
        last = counted and len(self.names) == self._at
        if last and self._before:
            self._die()
        done = await self._database.write(fn, *args, **kwargs)
        if last:
            self._die()
        self._live()  # it may have died in another task meanwhile: what was committed is never acknowledged
        return done

    def _live(self) -> None:
        if self.died.is_set():
            raise Dead

    def _die(self) -> None:
        self.died.set()
        self.kill()
        raise Dead


class _Front:
    """Serves as long as the process lives; what it commits at the moment of death is never acknowledged."""

    def __init__(self, mortal: Mortal) -> None:
        self._mortal = mortal

    async def read(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Read, while the process lives."""
        return await self._mortal.read(fn, *args, **kwargs)

    async def write(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Write, while the process lives."""
        self._mortal._live()
        done = await self._mortal._database.write(fn, *args, **kwargs)
        self._mortal._live()
        return done
