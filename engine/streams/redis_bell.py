"""The bell between processes: rings by Redis pub/sub, gathered into batches, of ids alone."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

from redis.asyncio import Redis

from engine.streams.bell import Bell
from engine.streams.redis_client import FAILURES
from engine.streams.redis_health import RedisHealth
from models.json_codec import dump_json, load_json

log = logging.getLogger("steersman.redis")
RINGING, HEARING = "ringing the bell", "hearing the bell"
CHANNEL = "steersman:bell"
BATCH = 1_000
SILENCE_SECONDS = 5.0
"""After so long a silence the connection is asked whether it lives; after as long again it is taken for dead."""
RETRY_SECONDS = 0.25
LAST_SECONDS = 1.0
"""How long what is left may take to be told when the process ends."""


class RedisBell:
    """Carries the rings of one bell to the bells of other processes, and theirs to it. `node` names this process."""

    def __init__(self, client: Redis, bell: Bell, health: RedisHealth, *, node: str) -> None:
        self._client = client
        self._bell = bell
        self._health = health
        self._node = node
        self._rings: dict[str, tuple[str, bool]] = {}
        self._wake = asyncio.Event()

    def ring(self, run_id: str, user_id: str, *, work: bool) -> None:
        """A change of this run was committed here."""
        _, before = self._rings.get(run_id, (user_id, False))
        self._rings[run_id] = user_id, work or before
        self._wake.set()

    async def tell(self) -> None:
        """Hand rings on, until cancelled; those that could not be told are told when Redis is back."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._publish()
            except FAILURES as error:
                self._health.down(RINGING, error)
                self._wake.set()
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self._health.up(RINGING)

    async def close(self) -> None:
        """Hand on the rings that are left, if that does not take long."""
        with suppress(*FAILURES):
            async with asyncio.timeout(LAST_SECONDS):
                await self._publish()

    async def _publish(self) -> None:
        """Hand on the rings there are; those that this fails for are kept."""
        rings, self._rings = self._rings, {}
        told = [[run_id, user_id, work] for run_id, (user_id, work) in rings.items()]
        try:
            for start in range(0, len(told), BATCH):
                await self._client.publish(CHANNEL, dump_json([self._node, told[start : start + BATCH]]))
        except BaseException:
            for run_id, (user_id, work) in rings.items():
                self.ring(run_id, user_id, work=work)
            raise

    async def hear(self) -> None:
        """Pass on what others ring, until cancelled; the bell is trusted while that works."""
        while True:
            try:
                await self._hear()
            except FAILURES as error:
                self._health.down(HEARING, error)
            finally:
                self._bell.trust(trusted=False)
            await asyncio.sleep(RETRY_SECONDS)

    async def _hear(self) -> None:
        async with self._client.pubsub() as channel:
            await channel.subscribe(CHANNEL)
            asked = False
            while True:
                message = await channel.get_message(timeout=SILENCE_SECONDS)
                if message is not None:
                    asked = False
                    self._take(message)
                elif asked:
                    raise TimeoutError("Redis has fallen silent")
                else:
                    asked = True
                    await channel.ping()

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "subscribe":
            self._health.up(HEARING)
            self._bell.trust(trusted=True)
        elif message["type"] == "message":
            try:
                node, rings = load_json(message["data"])
                for run_id, user_id, work in rings if node != self._node else ():
                    self._bell.heard(run_id, user_id, work=work)
            except (TypeError, ValueError) as error:
                log.warning("a ring can't be read", exc_info=error)
