"""Carrying out the plan: each fault at its moment, and what is to be measured of it."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from tests.cluster.devices import Device
from tests.cluster.measures import Measures, Outage
from tests.cluster.nodes import Node
from tests.cluster.plan import Fault
from tests.support.services import OwnPostgres, OwnRedis

log = logging.getLogger("cluster.faults")
Held = Callable[[int], Awaitable[list[str] | None]]
"""The runs that the process with this number holds; None where the database does not tell."""


@dataclass(eq=False)
class Faults:
    """What may be hit. `held` asks whose runs a worker's process holds, `drain` is how long a node may take to end.

    `over` is set where no more shall be begun.
    """

    servers: Sequence[Node]
    workers: Sequence[Node]
    devices: Sequence[Device]
    postgres: OwnPostgres
    redis: OwnRedis | None
    measures: Measures
    held: Held
    drain: float
    over: asyncio.Event
    counts: Counter[str] = field(default_factory=Counter)
    unmeasured: int = 0
    """How many deaths of workers could not be measured, since the database was away."""

    async def carry_out(self, plan: Sequence[Fault], began: float) -> None:
        """Do it all, each at its moment after `began`, until it is done or over; whatever was begun is ended."""
        under_way: set[asyncio.Task[None]] = set()
        for fault in plan:
            if await _happened(self.over, began + fault.at - time.monotonic()):
                break
            under_way.add(asyncio.create_task(self._do(fault), name=f"fault {fault}"))
        if under_way:
            await asyncio.gather(*under_way)

    async def _do(self, fault: Fault) -> None:
        if fault.name != "cut":
            log.info("%s", fault)
        doers: dict[str, Callable[[Fault], Awaitable[object]]] = {
            "kill": self._kill,
            "freeze": self._freeze,
            "redis": self._lose_redis,
            "postgres": self._restart_postgres,
            "cut": self._cut,
            "roll": self._roll,
        }
        if await doers[fault.name](fault) is _BUSY:
            self.counts[f"{fault.name} left out"] += 1
        else:
            self.counts[fault.name] += 1

    # ------------------------------------------------------------------ each fault

    async def _kill(self, fault: Fault) -> object:
        """A worker is killed, and started again after a while; one that is not back from the fault before is spared.

        Else a machine that starts processes slowly would fall behind the plan, and kill for ever.
        """
        node = self.workers[fault.victim]
        if node.lock.locked():
            return _BUSY
        async with node.lock:
            pid, died, died_ms = node.pid, *_now()
            await node.end()
            await self._note_death("kill", pid, died, died_ms)
            await asyncio.sleep(fault.seconds)
            await node.start()
        return None

    async def _freeze(self, fault: Fault) -> object:
        """A worker is stopped past its lease, and goes on as if nothing had been; one that is not back is spared."""
        node = self.workers[fault.victim]
        if node.lock.locked():
            return _BUSY
        async with node.lock:
            pid, died, died_ms = node.pid, *_now()
            node.signal(signal.SIGSTOP)
            await self._note_death("freeze", pid, died, died_ms)
            await asyncio.sleep(max(0.0, died + fault.seconds - time.monotonic()))
            node.signal(signal.SIGCONT)
        return None

    async def _lose_redis(self, fault: Fault) -> None:
        """Redis is killed, and comes back empty."""
        assert self.redis is not None
        began = time.monotonic()
        await self.redis.kill()
        await asyncio.sleep(fault.seconds)
        await self.redis.start()
        self.measures.outages.append(Outage("redis", began, time.monotonic()))

    async def _restart_postgres(self, fault: Fault) -> None:
        """PostgreSQL is stopped or killed, and comes back with all that was committed."""
        began = time.monotonic()
        await (self.postgres.stop() if fault.gentle else self.postgres.kill())
        await asyncio.sleep(fault.seconds)
        await self.postgres.start()
        self.measures.outages.append(Outage("postgres", began, time.monotonic()))

    async def _cut(self, fault: Fault) -> None:
        """A client's socket is cut."""
        self.devices[fault.victim].cut()

    async def _roll(self, fault: Fault) -> None:
        """Every node is stopped in good order and started again, one after the other."""
        nodes = [*self.servers, *self.workers]
        for place in range(len(nodes)):
            if self.over.is_set():
                return
            node = nodes[(fault.victim + place) % len(nodes)]
            async with node.lock:
                await node.stop(self.drain)
                await node.start()

    async def _note_death(self, why: str, pid: int | None, died: float, died_ms: int) -> None:
        held = None if pid is None else await self.held(pid)
        if held is None:
            self.unmeasured += 1
        else:
            self.measures.died(why, held, died, died_ms)


_BUSY = object()


def _now() -> tuple[float, int]:
    """This moment on the monotonic clock, and in ms since the epoch."""
    return time.monotonic(), time.time_ns() // 1_000_000


async def _happened(event: asyncio.Event, seconds: float) -> bool:
    """Wait so many seconds for the event; whether it happened."""
    if seconds > 0:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
    return event.is_set()
