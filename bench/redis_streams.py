"""Events from a stream's owner to a follower on another node, through Redis, against the same in one process.

    python -m bench.redis_streams [--events 20000] [--rounds 5]

Owner and followers are in this process, on one core, a Redis of its own on the other. Text alternates between two
blocks, so that nothing is merged and each delta is an event of its own. Rounds of both sides alternate; medians are
shown, and their ratio is what counts. Then, for latency, 20 streams of 50 deltas a second each (20 ms apart): the time
from telling a delta to its arrival, the wait of the writer's batches included.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from bench.processes import cores
from engine.streams.follow import follow
from engine.streams.memory import MemoryStreams
from engine.streams.shared import open_shared
from models.events import TextDelta
from models.stream import StreamRows
from tests.support.services import OwnRedis

AT_ONCE = 50
"""How many deltas an owner tells before others get their turn."""
STREAMS = 20
PACE_SECONDS = 0.02
PACED_DELTAS = 200
_ids = count(1)


@dataclass(frozen=True, slots=True)
class Side:
    """Where an owner tells, and where followers listen."""

    owner: MemoryStreams
    follower: MemoryStreams


async def no_rows(_stream_id: str, _after: int) -> StreamRows | None:
    """A stream that has begun, of which nothing is stored."""
    return StreamRows([], {}, ended=False)


def delta(stream_id: str, seq: int) -> TextDelta:
    """A token; each is of the other block than the one before."""
    return TextDelta(stream_id, seq, 1, 1, 0, seq % 2, 6 * (seq // 2), " token")


async def receive(side: Side, stream_id: str, events: int) -> list[float]:
    """When each of so many events arrived."""
    arrived: list[float] = []
    stream = follow(side.follower, no_rows, stream_id, 0)
    async for _ in stream:
        arrived.append(time.perf_counter())
        if len(arrived) == events:
            break
    await stream.aclose()
    return arrived


async def listening(side: Side, stream_id: str, events: int) -> asyncio.Task[list[float]]:
    """A follower that has begun to listen to a stream which has begun."""
    side.owner.begin(stream_id, 0)
    task = asyncio.create_task(receive(side, stream_id, events))
    await asyncio.sleep(0.05)
    return task


async def at_full_speed(side: Side, events: int) -> tuple[float, float]:
    """Seconds by the clock and of this process's CPU until all that was told has arrived."""
    stream_id = f"str_{next(_ids)}"
    follower = await listening(side, stream_id, events)
    cpu, begun = time.process_time(), time.perf_counter()
    for seq in range(1, events + 1):
        side.owner.publish([delta(stream_id, seq)])
        if seq % AT_ONCE == 0:
            await asyncio.sleep(0)
    await follower
    spent = time.perf_counter() - begun, time.process_time() - cpu
    side.owner.forsake(stream_id)
    return spent


async def paced(side: Side) -> list[float]:
    """How many seconds each delta took, of many streams at the pace of a model."""
    ids = [f"str_{next(_ids)}" for _ in range(STREAMS)]
    followers = [await listening(side, stream_id, PACED_DELTAS) for stream_id in ids]

    async def tell(place: int, stream_id: str) -> list[float]:
        await asyncio.sleep(PACE_SECONDS * place / STREAMS)
        told = []
        for seq in range(1, PACED_DELTAS + 1):
            told.append(time.perf_counter())
            side.owner.publish([delta(stream_id, seq)])
            await asyncio.sleep(PACE_SECONDS)
        return told

    told = await asyncio.gather(*(tell(place, stream_id) for place, stream_id in enumerate(ids)))
    arrived = await asyncio.gather(*followers)
    for stream_id in ids:
        side.owner.forsake(stream_id)
    return [
        there - here for one, other in zip(told, arrived, strict=True) for here, there in zip(one, other, strict=True)
    ]


@asynccontextmanager
async def opened(redis_core: int) -> AsyncIterator[dict[str, Side]]:
    """Both sides."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        redis = await stack.enter_async_context(OwnRedis(Path(folder)))
        os.sched_setaffinity(redis.pid, {redis_core})
        nodes = [
            await stack.enter_async_context(open_shared(redis.url, node=f"bench-{name}", retention_seconds=60))
            for name in ("owner", "follower")
        ]
        memory = MemoryStreams()
        yield {"memory": Side(memory, memory), "Redis": Side(nodes[0].streams, nodes[1].streams)}


async def measure(events: int, rounds: int) -> None:
    """Measure and print."""
    own, other = cores()
    os.sched_setaffinity(0, {own})
    async with opened(other) as sides:
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
        for round_number in range(rounds + 1):
            for name, side in sides.items():
                figure = await at_full_speed(side, events)
                if round_number:  # the first warms up
                    figures[name].append(figure)
        late = {name: sorted(await paced(side)) for name, side in sides.items()}
    print(f"{events} events to one follower, medians of {rounds} rounds")
    medians = {name: [statistics.median(one[i] for one in found) for i in range(2)] for name, found in figures.items()}
    for name, (wall, cpu) in medians.items():
        print(f"{name:8} {events / wall:9,.0f} events/s   {cpu / events * 1e6:6.1f} us of CPU an event, both ends")
    time_ratio, cpu_ratio = (medians["Redis"][i] / medians["memory"][i] for i in range(2))
    print(f"ratio    time {time_ratio:.1f}   CPU {cpu_ratio:.1f}   (Redis / memory)")
    print(f"{STREAMS} streams of {1 / PACE_SECONDS:.0f} deltas a second")
    for name, found in late.items():
        half, most = found[len(found) // 2], found[len(found) * 99 // 100]
        print(f"{name:8} {half * 1e3:6.1f} ms at the median, {most * 1e3:6.1f} ms at the 99th percentile")


def main() -> None:
    """What the module's docstring says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    asyncio.run(measure(options.events, options.rounds))


if __name__ == "__main__":
    main()
