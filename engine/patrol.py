"""The patrol: looks at the rows in the place of everyone who watches, for what was not heard of.

A publication or a ring can be lost: with the process that committed, with Redis, or because nothing carries them from
one process to another. One statement an interval finds what all watchers of this process lack, so that each of them
costs nothing while nothing happens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Protocol

from engine.streams.bell import Bell
from engine.streams.memory import MemoryStreams
from models.away import DatabaseAway
from models.clock import Clock
from models.database import Database
from models.run import Sign, changed_signs, signs_of
from models.stream import stream_heads
from models.thread import thread_signs

log = logging.getLogger("steersman.patrol")
TRUSTING_SECONDS = 30.0
"""How long the patrol of runs rests while every ring is heard."""
LATE_MS = 90_000
"""How much older a change may look than it is: its transaction was repeated through an outage, or clocks differ."""
FRESH_MS = 10_000
"""Of a list that is looked at for the first time, what has changed so shortly before is told once too often."""
CHUNK = 1_000
"""How many ids one statement asks for, and how many rows it gives."""


class Signs(Protocol):
    """The reads of a patrol, each in a transaction of its own."""

    async def stream_heads(self, stream_ids: Collection[str]) -> dict[str, tuple[int, bool]]:
        """The highest number of each stream's lasting events, and whether it has ended."""
        ...

    async def signs_of(self, run_ids: Collection[str]) -> list[Sign]:
        """The signs of these runs."""
        ...

    async def changed_signs(self, since: int, user_ids: Collection[str] | None) -> list[Sign]:
        """The signs of the runs of these users, or everybody's, that were changed at `since` or later."""
        ...


class DatabaseSigns:
    """Signs, from a Database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def stream_heads(self, stream_ids: Collection[str]) -> dict[str, tuple[int, bool]]:
        """The highest number of each stream's lasting events, and whether it has ended."""
        found: dict[str, tuple[int, bool]] = {}
        for chunk in _chunks(stream_ids):
            found |= await self._database.read(stream_heads, chunk)
        return found

    async def signs_of(self, run_ids: Collection[str]) -> list[Sign]:
        """The signs of these runs, and of threads among them, which ring as runs do."""
        threads = {run_id for run_id in run_ids if run_id.startswith("thr_")}
        asked = ((signs_of, {*run_ids} - threads), (thread_signs, threads))
        return [sign for read, ids in asked for one in _chunks(ids) for sign in await self._database.read(read, one)]

    async def changed_signs(self, since: int, user_ids: Collection[str] | None) -> list[Sign]:
        """The signs of the runs of these users, or everybody's, that were changed at `since` or later."""
        whose = None if user_ids is None or len(user_ids) > CHUNK else list(user_ids)
        found: list[Sign] = []
        place = since, ""
        while True:
            page = await self._database.read(changed_signs, place, whose, CHUNK)
            found += page
            if len(page) < CHUNK:
                return found
            place = page[-1].updated_at, page[-1].id


class Patrol:
    """Looks every `poll_seconds`: at streams always, at runs more rarely while the bell can be trusted."""

    def __init__(self, signs: Signs, streams: MemoryStreams, bell: Bell, clock: Clock, poll_seconds: float) -> None:
        self._signs = signs
        self._streams = streams
        self._bell = bell
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._heads: dict[str, tuple[int, bool]] = {}
        self._revisions: dict[str, int] = {}
        self._lists: set[str | None] = set()
        self._changed: dict[str, int] = {}
        self._looked = clock()
        self._rested = 0.0
        self._in_doubt = False
        self._now = asyncio.Event()

    def hurry(self) -> None:
        """Look at once: what can be heard has changed."""
        self._heads.clear()
        self._in_doubt = True
        self._now.set()

    async def walk(self) -> None:
        """Look, again and again, until cancelled; what goes wrong is tried again the next time."""
        while True:
            try:
                async with asyncio.timeout(self._poll_seconds):
                    await self._now.wait()
            except TimeoutError:
                pass
            self._now.clear()
            try:
                await self.round()
            except DatabaseAway as away:
                log.info("no patrol now: %s", away)
            except Exception:
                log.exception("the patrol could not look at the rows; the next round is in %g s", self._poll_seconds)

    async def round(self) -> None:
        """Look once."""
        await self._look_at_streams()
        self._rested += self._poll_seconds
        if not self._bell.trusted or self._in_doubt or self._rested >= TRUSTING_SECONDS:
            await self._look_at_runs()
            self._rested = 0.0

    # ------------------------------------------------------------------ streams

    async def _look_at_streams(self) -> None:
        followed = self._streams.followed()
        heads = await self._signs.stream_heads(followed) if followed else {}
        for stream_id, head in heads.items():
            log = followed[stream_id]
            before = self._heads.get(stream_id)
            if log.fed and before is not None and before[0] > log.last:
                log.forsake()  # it lacks what the rows had a round ago: its owner can't be heard
            elif head[1] or (head != before and not log.live):  # a log that is live lacks at most its end
                log.nudge()
        self._heads = heads

    # ------------------------------------------------------------------ runs

    async def _look_at_runs(self) -> None:
        in_doubt, self._in_doubt = self._in_doubt or not self._bell.trusted, False
        try:
            runs, lists = self._bell.listened()
            await self._look_at_each(runs)
            await self._look_at_lists(lists, in_doubt=in_doubt)
        except BaseException:
            self._in_doubt = True
            raise

    async def _look_at_each(self, run_ids: set[str]) -> None:
        """Ring for those of these runs that have changed since the last look."""
        signs = await self._signs.signs_of(run_ids) if run_ids else []
        for sign in signs:
            if sign.revision != self._revisions.get(sign.id):
                self._bell.mark(sign.id, sign.user_id)
        self._revisions = {sign.id: sign.revision for sign in signs}

    async def _look_at_lists(self, lists: set[str | None], *, in_doubt: bool) -> None:
        """Ring for the runs of these users (None: everybody's) that have changed since the last look.

        Whoever began to watch since then has heard of every change from then on, unless the bell is in doubt.
        """
        now, before = self._clock(), self._looked
        users = None if None in lists else [user_id for user_id in lists if user_id is not None]
        signs = await self._signs.changed_signs(before - LATE_MS, users) if lists else []
        for sign in signs:
            is_known = bool({sign.user_id, None} & self._lists)
            is_fresh = in_doubt and sign.updated_at >= before - FRESH_MS
            if sign.revision != self._changed.get(sign.id) and (is_known or is_fresh):
                self._bell.mark(sign.id, sign.user_id)
        self._changed = {sign.id: sign.revision for sign in signs}
        self._lists, self._looked = lists, now


def _chunks(ids: Collection[str]) -> Iterable[list[str]]:
    rest = iter(ids)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
