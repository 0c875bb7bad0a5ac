"""The reader: brings what other processes publish to the logs that are followed here, over one connection."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from redis.asyncio import Redis

from engine.streams.entries import FIELD, UnknownEntry, read_entry
from engine.streams.log import Log
from engine.streams.redis_client import FAILURES, stream_key
from engine.streams.redis_health import RedisHealth
from models.events import StepFinished

log = logging.getLogger("steersman.redis")
PART = "reading streams"
ENTRIES = 20_000
LEAST, MOST = 20, 1_000
"""How many entries are taken at a time: of all streams together about ENTRIES, of each one LEAST to MOST."""
BLOCK_MS = 1_000
RETRY_SECONDS = 0.25
PAUSE_FROM = 100
PAUSE_PER_STREAM = 0.000_02
"""A round costs a few microseconds for each stream that is read; with many, rounds are made further apart."""
FAIR = 500
"""After so many entries others get their turn."""
CONTROL_SECONDS = 60
FIELD_KEY = FIELD.encode()
BEGINNING = "0-0"


@dataclass(slots=True, eq=False)
class _Source:
    """A stream on its way to a log: entries up to `at` were taken. `step_end` is the number of its last StepFinished.

    Who wants a stream again gets another one: an answer that was asked for earlier would begin in its middle.
    """

    key: bytes
    log: Log
    at: str = BEGINNING
    step_end: int = 0
    is_odd: bool = False

    @property
    def is_stale(self) -> bool:
        """Whether the log has let go of what was read, and nothing has come since."""
        return self.at != BEGINNING and not (self.log.live or self.log.lacking)


class Reader:
    """Feeds logs. `blocking` is the one connection that waits; `client` sends the little that wakes it."""

    def __init__(self, blocking: Redis, client: Redis, health: RedisHealth, *, node: str) -> None:
        self._blocking = blocking
        self._client = client
        self._health = health
        self._control = f"steersman:node:{{{node}}}"
        self._control_at = BEGINNING
        self._sources: dict[str, _Source] = {}
        self._poke = asyncio.Event()

    def __len__(self) -> int:
        """How many streams are read."""
        return len(self._sources)

    def wanted(self, stream_id: str, log: Log) -> None:
        """Read this stream from its beginning on."""
        source = self._sources.get(stream_id)
        if source is None or source.is_stale:
            self._sources[stream_id] = _Source(stream_key(stream_id).encode(), log)
            self._poke.set()

    def unwanted(self, stream_id: str) -> None:
        """Read it no more."""
        self._sources.pop(stream_id, None)

    async def read(self) -> None:
        """Read, again and again, until cancelled."""
        while True:
            try:
                await self._round()
            except FAILURES as error:
                self._lost(error)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            self._health.up(PART)
            if len(self._sources) > PAUSE_FROM:
                await asyncio.sleep(len(self._sources) * PAUSE_PER_STREAM)

    async def poke(self) -> None:
        """Wake the connection that waits, whenever there is one stream more to read, until cancelled."""
        while True:
            await self._poke.wait()
            self._poke.clear()
            try:
                pipeline = self._client.pipeline(transaction=False)
                pipeline.execute_command("XADD", self._control, "MAXLEN", 1, "*", FIELD, b"")
                pipeline.execute_command("EXPIRE", self._control, CONTROL_SECONDS)
                await pipeline.execute()
            except FAILURES as error:
                self._health.down(PART, error)  # until the next round, which takes the new stream in any case

    async def _round(self) -> None:
        asked = {source.key: (stream_id, source) for stream_id, source in self._sources.items()}
        places = [self._control_at, *(source.at for _, source in asked.values())]
        count = min(MOST, max(LEAST, ENTRIES // len(places)))
        answer = await self._blocking.execute_command(  # type: ignore[no-untyped-call] # redis-py's own
            "XREAD", "COUNT", count, "BLOCK", BLOCK_MS, "STREAMS", self._control, *asked, *places
        )
        taken = 0
        for key, items in answer or ():
            if key not in asked:
                self._control_at = items[-1][0].decode()
                continue
            stream_id, source = asked[key]
            if self._sources.get(stream_id) is source:
                self._feed(stream_id, source, items)
            taken += len(items)
            if taken >= FAIR:
                taken = 0
                await asyncio.sleep(0)

    def _feed(self, stream_id: str, source: _Source, items: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
        source.at = items[-1][0].decode()
        fed = source.log
        for identity, fields in items:
            try:
                entry = read_entry(stream_id, identity, fields.get(FIELD_KEY))
            except UnknownEntry as error:  # written by another version: the rows will have what lasts of it
                if not source.is_odd:
                    log.warning("an entry can't be read, and perhaps more of its stream: %s", error, exc_info=error)
                source.is_odd = True
                fed.lose(error.number)
                continue
            if entry.event is None:
                fed.skip(entry.number)
                continue
            fed.feed(entry.event, entry.before)
            if isinstance(entry.event, StepFinished):
                # The rows hold the step before this one for good; this one stays for those who read just behind.
                fed.trim(source.step_end)
                source.step_end = entry.number
        if fed.done:
            self.unwanted(stream_id)

    def _lost(self, error: BaseException) -> None:
        """Followers have the rows alone until the streams are read again, from their beginning."""
        self._health.down(PART, error)
        self._control_at = BEGINNING
        for source in self._sources.values():
            source.at, source.step_end = BEGINNING, 0
            source.log.forsake()
