"""Streams on several nodes of one Redis, hammered at random: every viewer ends with what the rows hold.

`python -m tests.engine.streams.hammer SECONDS SEED [kill]` runs it longer, and prints what was done; with `kill`, Redis
is also killed and started again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

from redis.exceptions import RedisError

from engine.patrol import Patrol
from engine.streams.follow import follow
from engine.streams.redis_client import stream_key
from engine.streams.shared import stopped
from models.clock import system_clock
from models.events import RunResult
from tests.engine.streams.hammer_owner import Owner
from tests.support.live_stream import Viewer, dice
from tests.support.services import OwnRedis
from tests.support.shared_nodes import PATIENCE, Node, command, keys, opened_many, until, until_true
from tests.support.teller import Book

NODES = 3
RETENTION = 2.0
POLL = 0.2
KEYS = "steersman:stream:*"


class Hammer:
    """Owners and clients on three nodes, and what is done to their Redis. `kills` allows that it be killed."""

    def __init__(self, redis: OwnRedis, nodes: list[Node], *, seed: int, kills: bool) -> None:
        self.counts: Counter[str] = Counter()
        self.book = Book(self._pause)
        self.told: set[str] = set()
        """The keys of the streams whose ends were told: the others' stay for longer."""
        self._redis = redis
        self._nodes = nodes
        self._seed = seed
        self._rnd = dice(seed)
        self._kills = kills

    async def run(self, seconds: float) -> None:
        """Hammer for so long, wait for all to end, and check that nothing is left."""
        patrols = [Patrol(self.book, node.streams, node.bell, system_clock, POLL) for node in self._nodes]
        beside = [asyncio.create_task(patrol.walk()) for patrol in patrols]
        over = asyncio.Event()
        harm = asyncio.create_task(self._harm(over))
        tasks: list[asyncio.Task[None]] = []
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end and not any(task.done() and task.exception() for task in tasks):
                tasks += self._story(f"str_{self._seed}_{self.counts['streams']}")
                await asyncio.sleep(self._rnd.random() * 0.1)
            over.set()
            await harm  # so that Redis runs again
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*tasks)
        finally:
            over.set()
            await stopped([*beside, *tasks])
            await asyncio.gather(harm, *beside, *tasks, return_exceptions=True)
        await self._redis_is_there()
        await self._nothing_is_left()

    def _story(self, stream_id: str) -> list[asyncio.Task[None]]:
        """A stream and those who watch it."""
        self.counts["streams"] += 1
        rnd = dice(self._rnd.randrange(2**32))
        owner = Owner(self._nodes, self.book.of(stream_id), stream_id, rnd, self.counts)
        owner.on_end = lambda: self.told.add(stream_key(stream_id))
        clients = [self._client(stream_id, dice(rnd.randrange(2**32))) for _ in range(rnd.randrange(1, 5))]
        return [asyncio.create_task(work) for work in (owner.own(), *clients)]

    async def _pause(self) -> None:
        await asyncio.sleep(self._rnd.random() * 0.004)

    # ------------------------------------------------------------------ clients

    async def _client(self, stream_id: str, rnd: Random) -> None:
        """One that leaves and comes back on another node, with its last number, until it has seen the end."""
        viewer = Viewer()
        history: list[object] = []
        try:
            while not viewer.ended:
                await asyncio.sleep(rnd.random() * 0.05)
                node = rnd.choice(self._nodes)
                history.append(f"-- {node.name} after {viewer.last}")
                await self._watch(node, stream_id, viewer, history, rnd)
            want = self.book.seen(stream_id)
            assert viewer.lasting == want.lasting, "not the lasting events of the rows"
            assert viewer.texts == want.texts, "not the text of the rows"
        except AssertionError as error:
            stored = "\n".join(map(str, self.book.stored[stream_id].lasting))
            error.add_note("\n".join(map(str, history)) + f"\nThe rows:\n{stored}")
            raise
        self.counts["clients"] += 1

    async def _watch(self, node: Node, stream_id: str, viewer: Viewer, history: list[object], rnd: Random) -> None:
        left = rnd.randrange(1, 40) if rnd.random() < 0.7 else sys.maxsize
        events = follow(node.streams, self.book.read, stream_id, viewer.last)
        try:
            async for event in events:
                history.append(event)
                viewer.see(event)
                self.counts["events"] += 1
                if rnd.random() < 0.05:
                    await asyncio.sleep(rnd.random() * 0.2)
                left -= 1
                if left == 0:
                    self.counts["reconnects"] += 1
                    return
            assert viewer.ended, "the stream ended without RunResult"
            assert isinstance(viewer.lasting[-1], RunResult)
        finally:
            await events.aclose()

    # ------------------------------------------------------------------ harm

    async def _harm(self, over: asyncio.Event) -> None:
        """Do harm until it is over; never cancelled, which would leave a connection half made."""
        harms = [self._flush, self._delete, self._cut, self._stall]
        if self._kills:
            harms += [self._kill, self._kill]
        while not over.is_set():
            await asyncio.sleep(self._rnd.random() * 1.2)
            harm = self._rnd.choice(harms)
            self.counts[harm.__name__.strip("_")] += 1
            with suppress(RedisError, OSError):
                await harm()

    async def _flush(self) -> None:
        await command(self._redis, "FLUSHALL")

    async def _delete(self) -> None:
        found = await keys(self._redis, KEYS)
        if found:
            await command(self._redis, "DEL", self._rnd.choice(found))

    async def _cut(self) -> None:
        await command(self._redis, "CLIENT", "KILL", "TYPE", self._rnd.choice(("normal", "pubsub")))

    async def _stall(self) -> None:
        os.kill(self._redis.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(self._rnd.random() * 0.3)
        finally:
            os.kill(self._redis.pid, signal.SIGCONT)

    async def _kill(self) -> None:
        await self._redis.kill()
        try:
            await asyncio.sleep(self._rnd.choice((0.0, 0.1, 1.0)) * self._rnd.random())
        finally:
            await self._redis.start()

    async def _redis_is_there(self) -> None:
        await until(lambda: all(node.health.problem is None and node.bell.trusted for node in self._nodes))

    # ------------------------------------------------------------------ the end

    async def _nothing_is_left(self) -> None:
        """No log, no mirror, no stream that is read; and no key, once the retention time is over."""
        with suppress(TimeoutError):
            await until(lambda: all(node.is_idle for node in self._nodes))
        for node in self._nodes:
            assert node.is_idle, (node.name, node.streams._logs, node.writer._mirrors, node.reader._sources)

        async def gone() -> bool:
            return not await self._forgotten()

        with suppress(TimeoutError):
            await until_true(gone)
        assert await gone(), await self._forgotten()

    async def _forgotten(self) -> set[str]:
        """The keys of streams whose end was told."""
        return set(await keys(self._redis, KEYS)) & self.told


async def hammer(seconds: float, seed: int, *, kills: bool, folder: Path) -> Counter[str]:
    """Start a Redis and nodes, hammer, and tell what was done. Raises AssertionError, and TimeoutError."""
    async with OwnRedis(folder) as redis, opened_many(redis.url, NODES, retention=RETENTION) as nodes:
        one = Hammer(redis, nodes, seed=seed, kills=kills)
        await one.run(seconds)
        return one.counts + Counter({"reads of rows": one.book.reads})


def main() -> None:
    """What the module's docstring says."""
    seconds, seed, kills = float(sys.argv[1]), int(sys.argv[2]), "kill" in sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        counts = asyncio.run(hammer(seconds, seed, kills=kills, folder=Path(folder)))
    sys.stdout.write(", ".join(f"{number:,} {what}" for what, number in sorted(counts.items())) + "\n")


if __name__ == "__main__":
    main()
