"""The writer: what the owners of this process publish, mirrored into Redis in small pipelined batches.

It holds a cursor into each log, as a follower does. So it keeps no events itself, a slow Redis gets adjacent text
merged, and where Redis has lost a stream the whole log is written anew: it holds the step under way from offset 0, and
all before that is in the rows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from engine.streams.entries import FIELD, entry, marker
from engine.streams.log import Log
from engine.streams.redis_client import FAILURES, stream_key
from engine.streams.redis_health import RedisHealth

PART = "writing streams"
PAUSE_SECONDS = 0.005
BUSY_PAUSE_SECONDS = 0.02
"""How long events are gathered after a batch: longer after one of BUSY events or more."""
BUSY = 10
RETRY_SECONDS = 0.25
LAST_SECONDS = 1.0
"""How long what is left may take to be written when the process ends."""
KEPT_SECONDS = 3_600
"""How long a stream without an end stays in Redis after its owner has last said that it lives."""
ENDS = 1_000
"""With more logs than this, those that end while Redis is away are let go; who watches finds the end in the rows."""
NOTHING = -1


@dataclass(slots=True, eq=False)
class _Mirror:
    """A log on its way to Redis: events up to `sent` are there. `is_last`: nothing comes after what the log holds."""

    stream_id: str
    log: Log
    sent: int = NOTHING
    trim: int = 0
    kept_until: float = 0.0
    is_last: bool = False

    def forget(self) -> None:
        """Redis may have lost everything of it."""
        self.sent = NOTHING
        self.kept_until = 0.0

    def shorten(self) -> None:
        """Of a stream that has ended its end alone is still told: the rows have all that came before."""
        end = self.log.after(self.log.last - 1)[-1]
        self.log = Log()
        self.log.append(end)

    @property
    def is_over(self) -> bool:
        """Whether all is written that will ever be."""
        return (self.is_last or self.log.done) and self.sent >= self.log.last


class Writer:
    """Mirrors logs. `retention_seconds` is how long a stream that has ended stays in Redis."""

    def __init__(self, client: Redis, health: RedisHealth, *, retention_seconds: float) -> None:
        self._client = client
        self._health = health
        self._retention_ms = max(1, round(retention_seconds * 1000))
        self._mirrors: dict[str, _Mirror] = {}
        self._dirty: dict[_Mirror, None] = {}
        self._wake = asyncio.Event()
        self._is_lost = False

    def __len__(self) -> int:
        """How many logs are mirrored."""
        return len(self._mirrors)

    # ------------------------------------------------------------------ what owners do

    def owned(self, stream_id: str, log: Log) -> None:
        """An owner begins: its marker refuses what the one before it still writes."""
        self._mirrors[stream_id] = _Mirror(stream_id, log)
        self._touch(self._mirrors[stream_id])

    def told(self, stream_id: str, log: Log) -> None:
        """The owner has published."""
        mirror = self._mirrors.get(stream_id)
        if mirror is None:
            self.owned(stream_id, log)
        elif log.done and self._is_lost:
            self._shorten(mirror)
        else:
            self._touch(mirror)

    def trimmed(self, stream_id: str, upto: int) -> None:
        """What is numbered up to `upto` is in the rows."""
        mirror = self._mirrors.get(stream_id)
        if mirror is not None:
            mirror.trim = upto
            self._touch(mirror)

    def forsaken(self, stream_id: str) -> None:
        """The owner has stopped; what it has told already is still written."""
        mirror = self._mirrors.pop(stream_id, None)
        if mirror is None:
            return
        mirror.log, mirror.is_last = mirror.log.copy(), True
        if self._is_lost:  # who comes next will tell what matters of it
            self._dirty.pop(mirror, None)
        else:
            self._touch(mirror)

    # ------------------------------------------------------------------ writing

    async def write(self) -> None:
        """Write what there is, again and again, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(await self._try())

    async def close(self) -> None:
        """Write what is left, if that does not take long."""
        try:
            async with asyncio.timeout(LAST_SECONDS):
                while self._dirty and not self._is_lost:
                    await self._try()
        except TimeoutError:
            return

    async def _try(self) -> float:
        """Write one batch; how long to gather events before the next one."""
        batch, self._dirty = self._dirty, {}
        try:
            written = await self._flush(list(batch))
        except FAILURES as error:
            await self._lost(error)
            return RETRY_SECONDS
        except asyncio.CancelledError:
            self._dirty = batch | self._dirty  # for `close`
            raise
        if self._is_lost:
            self._is_lost = False
            for mirror in self._mirrors.values():
                self._touch(mirror)
        self._health.up(PART)
        return BUSY_PAUSE_SECONDS if written >= BUSY else PAUSE_SECONDS

    async def _lost(self, error: BaseException) -> None:
        self._health.down(PART, error)
        self._is_lost = True
        for mirror in list(self._mirrors.values()):
            if mirror.log.done:
                self._shorten(mirror)
            mirror.forget()  # nobody knows what Redis still has, nor what it has taken of this batch
        self._wake.set()  # a batch of nothing tells whether Redis is back
        await self._client.connection_pool.disconnect(inuse_connections=False)  # the primary may be another one now

    async def _flush(self, mirrors: Sequence[_Mirror]) -> int:
        """Write what these logs hold beyond what was sent; how many events that were."""
        pipeline = self._client.pipeline(transaction=False)
        plans = [(mirror, _plan(mirror, pipeline, self._retention_ms)) for mirror in mirrors]
        if self._is_lost:
            pipeline.execute_command("PING")
        elif not len(pipeline):
            return 0
        replies = iter(await pipeline.execute(raise_on_error=False))
        for mirror, (expected, sent) in plans:
            missing = False
            for is_event in expected:
                reply = _checked(next(replies))
                missing = missing or (is_event and reply is None)
            if missing:
                mirror.forget()
            else:
                mirror.sent = sent
            self._settle(mirror)
        for reply in replies:
            _checked(reply)
        return sum(sum(expected) for _, (expected, _) in plans)

    def _settle(self, mirror: _Mirror) -> None:
        """After a batch: go on where more is to be written, and let go where nothing will be."""
        if mirror.is_over:
            self._forget(mirror)
        elif mirror.sent < mirror.log.last:
            self._touch(mirror)

    def _shorten(self, mirror: _Mirror) -> None:
        """Keep little of a stream that has ended while Redis is away, and nothing where there are many of them."""
        mirror.shorten()
        if len(self._mirrors) > ENDS:
            self._forget(mirror)

    def _touch(self, mirror: _Mirror) -> None:
        self._dirty[mirror] = None
        self._wake.set()

    def _forget(self, mirror: _Mirror) -> None:
        if self._mirrors.get(mirror.stream_id) is mirror:
            del self._mirrors[mirror.stream_id]


def _plan(mirror: _Mirror, pipeline: Any, retention_ms: int) -> tuple[list[bool], int]:
    """Put what is to be written of a log into the pipeline.

    Which of the commands add events to a stream that must be there, and the number sent once all are done.
    """
    key, log, sent = stream_key(mirror.stream_id), mirror.log, mirror.sent
    expected: list[bool] = []

    def add(*command: Any, is_event: bool = False) -> None:
        pipeline.execute_command(*command)
        expected.append(is_event)

    if sent < log.gone:
        identity, value = marker(log.gone)
        add("XADD", key, identity, FIELD, value)
        sent = log.gone
    if (now := time.monotonic()) > mirror.kept_until - KEPT_SECONDS / 2:
        # Before the events, so that nothing stays for ever; a late writer does not prolong what its end has shortened.
        add("EXPIRE", key, KEPT_SECONDS, *(() if mirror.kept_until else ("NX",)))
        mirror.kept_until = now + KEPT_SECONDS
    for event in log.after(sent):
        identity, text = entry(event, sent)
        add("XADD", key, "NOMKSTREAM", identity, FIELD, text, is_event=True)
        sent = event.seq
    if mirror.trim:
        add("XTRIM", key, "MINID", f"{mirror.trim + 1}-0")
        mirror.trim = 0
    if log.done and sent >= log.last:
        add("PEXPIRE", key, retention_ms)
    return expected, sent


def _checked(reply: Any) -> Any:
    """A command's reply. Raises what it failed with, unless a stream refused what it has, or has gone beyond."""
    if isinstance(reply, ResponseError) and "equal or smaller" in str(reply):
        return reply
    if isinstance(reply, Exception):
        raise reply
    return reply
