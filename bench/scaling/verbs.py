"""What is measured by itself: leases and claims on PostgreSQL, the replay of transcripts, and what Redis is asked."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

from redis.asyncio import Redis

from bench.scaling.extent import Extent
from bench.scaling.figures import Sheet
from bench.scaling.house import House
from bench.scaling.plot import Plot
from bench.scaling.usage import Spent, spent
from engine.transcript import replay
from engine.worker import CLAIM_BATCH
from models.clock import system_clock
from models.database import Database, open_database
from models.enums import Role
from models.ids import Ids
from models.message import Message
from models.run import Run
from models.verbs.claiming import Wanted, beat, take_over
from models.verbs.opening import NewRun, open_run
from models.verbs.row import Holder

FOREVER_MS = 3_600_000
MESSAGES = 200
SUBSCRIBERS = 20
FIELD = "e"


async def measure_leases(house: House, sheet: Sheet, extent: Extent) -> None:
    """Claims in batches, and the renewal of many leases in one statement, on rows of their own."""
    async with open_database(house.postgres.url) as database:
        ids = Ids()
        for _ in range(extent.taken):
            new = NewRun("leases", "nobody's", "go")
            await database.write(open_run, new=new, key=None, holder=Holder(), ids=ids, at=system_clock())
        taken: list[Run] = []

        async def take() -> None:
            while found := await _take(database):
                taken.extend(found)

        claimed = await _spent(house, take)
        how = f"{len(taken)} runs in batches of {CLAIM_BATCH}, one after the other"
        sheet.add("claims", len(taken) / claimed.seconds, "/s", "claims of one worker in a second", how)
        sheet.add("take_wall", claimed.seconds / len(taken) * 1e6, "µs", "time of a claim within its batch", how)
        sheet.add("postgres_take", claimed.cpu["postgres"] / len(taken), "µs", "CPU of PostgreSQL for a claim", how)
        await _measure_wakes(house, sheet, extent, database)
        held = [(run.id, run.fence) for run in taken[: extent.leases]]

        async def renew() -> None:
            for _ in range(extent.rounds):
                await database.write(beat, held=held, lease_ms=FOREVER_MS)

        before = time.process_time()
        renewed = await _spent(house, renew)
        own = (time.process_time() - before) * 1e6
    count = len(held) * extent.rounds
    how = f"{len(held)} leases in one statement, {extent.rounds} times"
    per_thousand = 1_000 / len(held) / extent.rounds
    sheet.add("beat_wall", renewed.seconds * 1e3 * per_thousand, "ms", "time of a heartbeat of 1,000 leases", how)
    sheet.add("beat_worker", own / 1e3 * per_thousand, "ms", "CPU of the worker for it", how)
    sheet.add("postgres_renewal", renewed.cpu["postgres"] / count, "µs", "CPU of PostgreSQL for one lease of it", how)
    sheet.add("wal_renewal", renewed.counts["wal"] / count, "bytes", "PostgreSQL's log for one lease of it", how)


async def _measure_wakes(house: House, sheet: Sheet, extent: Extent, database: Database) -> None:
    async def look_in_vain() -> None:
        for _ in range(extent.rounds):
            await _take(database)

    before = time.process_time()
    found = await _spent(house, look_in_vain)
    own = (time.process_time() - before) * 1e6
    how = f"{extent.rounds} times; nothing is to be taken"
    sheet.add("worker_wake", own / extent.rounds, "µs", "CPU of a worker that looks for work", how)
    sheet.add("postgres_wake", found.cpu["postgres"] / extent.rounds, "µs", "CPU of PostgreSQL for it", how)


async def _take(database: Database) -> list[Run]:
    taken = await database.write(
        take_over,
        worker="measuring",
        lease_ms=FOREVER_MS,
        limit=CLAIM_BATCH,
        wanted=Wanted(known=("nobody's",)),
        at=system_clock(),
    )
    return [one.run for one in taken]


async def _spent(house: House, work: Callable[[], Awaitable[None]]) -> Spent:
    """What some work uses beyond what all uses at rest."""
    before = await house.meter.read()
    began = time.monotonic()
    await work()
    seconds = time.monotonic() - began
    whole = spent(before, await house.meter.read())
    found = whole.less(house.rest) if house.rest is not None else whole
    return Spent(seconds, found.cpu, found.memory, found.counts)


def measure_transcripts(sheet: Sheet, extent: Extent) -> None:
    """Replay of a long transcript, and its encoding for the provider."""
    messages = transcript(MESSAGES)
    sent = b""
    began = time.process_time()
    for _ in range(extent.rounds):
        sent = json.dumps(replay(messages, "claude-sonnet-5-5")).encode()
    used = (time.process_time() - began) * 1e6 / extent.rounds / MESSAGES
    how = f"{MESSAGES} messages of 1,500 to 2,000 characters"
    sheet.add("worker_message", used, "µs", "CPU of the worker for a message of the transcript, at each step", how)
    sheet.add("message_bytes", len(sent) / MESSAGES, "bytes", "sent to the provider for it, at each step", how)


def transcript(count: int) -> list[Message]:
    """A transcript of so many messages: an input, then answers that call a tool, and their results."""
    plot = Plot()
    text, result = "word " * (plot.deltas * plot.size // 5), "It is so, as far as anybody knows. " * 57
    messages = [Message("msg_1", "run_1", "bench", 1, Role.USER, plot.input, 0, 0, 1)]
    for seq in range(2, count + 1):
        call = f"toolu_{seq // 2}"
        if seq % 2 == 0:
            use = {"type": "tool_use", "id": call, "name": plot.tool, "input": {"word": "it"}}
            content = [{"type": "text", "text": text, "index": 0}, use | {"index": 1}]
            role, stop = Role.ASSISTANT, "tool_use"
        else:
            content = [{"type": "tool_result", "tool_use_id": call, "content": result}]
            role, stop = Role.USER, None
        model = "claude-sonnet-5-5" if role is Role.ASSISTANT else None
        messages.append(Message(f"msg_{seq}", "run_1", "bench", seq, role, content, seq // 2, 0, 1, model, stop))
    return messages


# ---------------------------------------------------------------- Redis


async def measure_redis(house: House, sheet: Sheet, extent: Extent) -> None:
    """Rounds over many streams that have nothing new, and rings to nobody and to many."""
    assert house.redis is not None
    async with AsyncExitStack() as stack:
        client = Redis.from_url(house.redis.url, protocol=2)
        stack.push_async_callback(client.aclose)
        await _measure_looks(house, sheet, extent, client)
        count = extent.rounds * 100
        ring = json.dumps(["bench:1234:wrk_0123456789", [["run_0123456789abcdef0123456789", "user", False]]])

        async def publish() -> None:
            for _ in range(count):
                await client.publish("bench:bell", ring)

        alone = await _spent(house, publish)
        hearing = [asyncio.Event() for _ in range(SUBSCRIBERS)]
        listeners = [asyncio.create_task(_swallow(stack, house.redis.url, count, one)) for one in hearing]
        await asyncio.gather(*(one.wait() for one in hearing))
        told = await _spent(house, publish)
        await asyncio.gather(*listeners)
    how = f"{count} rings, one after the other; nobody hears them, then {SUBSCRIBERS} do"
    sheet.add("redis_ring", alone.cpu["redis"] / count, "µs", "CPU of Redis for a ring", how)
    each = (told.cpu["redis"] - alone.cpu["redis"]) / count / SUBSCRIBERS
    sheet.add("redis_tell", each, "µs", "CPU of Redis for each node that it tells", how)
    out = (told.counts["redis_out"] - alone.counts["redis_out"]) / count / SUBSCRIBERS
    sheet.add("redis_ring_bytes", out, "bytes", "out of Redis for each node that it tells", how)


async def _measure_looks(house: House, sheet: Sheet, extent: Extent, client: Redis) -> None:
    keys = [f"bench:{{{number}}}" for number in range(extent.looks)]
    for key in keys:
        await client.xadd(key, {FIELD: "x"}, id="1-0")
    keep_waiting = [*keys, *["1-0"] * len(keys)]

    async def look() -> None:
        for _ in range(extent.rounds):
            await client.execute_command("XREAD", "COUNT", 1_000, "STREAMS", *keep_waiting)  # type: ignore[no-untyped-call]

    before = time.process_time()
    found = await _spent(house, look)
    own = (time.process_time() - before) * 1e6
    looks = extent.rounds * len(keys)
    how = f"{len(keys)} streams with nothing new, {extent.rounds} rounds"
    sheet.add("node_look", own / looks, "µs", "CPU of a node for each stream, at each round of its reader", how)
    sheet.add("redis_look", found.cpu["redis"] / looks, "µs", "CPU of Redis for the same", how)
    await _delete(client, keys)


async def _delete(client: Redis, keys: Sequence[str]) -> None:
    await client.delete(*keys)


async def _swallow(stack: AsyncExitStack, url: str, count: int, hearing: asyncio.Event) -> None:
    """Hear so many rings."""
    client = Redis.from_url(url, protocol=2)
    stack.push_async_callback(client.aclose)
    async with client.pubsub() as channel:
        await channel.subscribe("bench:bell")
        async for message in channel.listen():
            hearing.set()
            count -= message["type"] == "message"
            if not count:
                return
