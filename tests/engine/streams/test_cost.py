"""What streams cost Redis and its network: few round trips, few connections, and no queue behind a slow one."""

from __future__ import annotations

import asyncio

import pytest

from engine.streams import writer
from models.verbs.row import HEADROOM
from tests.support.services import OwnRedis
from tests.support.shared_nodes import command, following, opened, opened_many, until, written
from tests.support.tcp_proxy import proxied
from tests.support.teller import SID, Book, Teller

pytestmark = pytest.mark.service


async def calls(redis: OwnRedis, name: str) -> int:
    """How often a command was called until now."""
    stats = (await command(redis, "INFO", "commandstats")).get(f"cmdstat_{name}", {})
    return int(stats.get("calls", 0))


async def connections(redis: OwnRedis, doing: str) -> int:
    """How many connections there are whose last command was this one."""
    clients = await command(redis, "CLIENT LIST")
    return sum(client["cmd"] == doing for client in clients)


async def test_what_all_streams_have_told_is_written_in_one_round_trip(redis: OwnRedis, book: Book) -> None:
    """However many streams and events: one pipeline, and one answer to it."""
    async with proxied(redis.port) as proxy, opened(proxy.url) as node:
        tellers = [Teller(node.streams, book, f"str_{number}") for number in range(20)]
        await written(node)
        (writing,) = proxy.asking("XADD")
        before, added = writing.round_trips, await calls(redis, "xadd")
        for teller in tellers:
            for number in range(10):
                teller.say("text ")
                teller.tell_progress(f"{number}")
        await written(node)
        assert writing.round_trips - before <= 2  # redis-py may send a long pipeline in pieces, which are no more trips
        assert await calls(redis, "xadd") - added == 400
        for teller in tellers:
            teller.stop()


async def test_text_told_between_two_batches_is_one_entry(redis: OwnRedis, book: Book) -> None:
    """At a hundred deltas a batch, Redis and every reader have a hundredth of the work."""
    async with opened_many(redis.url, 1) as nodes:
        teller = Teller(nodes[0].streams, book)
        await written(nodes[0])
        added = await calls(redis, "xadd")
        teller.say(*["word "] * 100)
        await written(nodes[0])
        assert await calls(redis, "xadd") == added + 1
        teller.stop()


async def test_batches_are_at_most_twenty_milliseconds_apart(redis: OwnRedis, book: Book) -> None:
    """The writer rests no longer than that, and not at all before the first event after a rest."""
    assert max(writer.PAUSE_SECONDS, writer.BUSY_PAUSE_SECONDS) <= 0.02
    async with proxied(redis.port) as proxy, opened(proxy.url) as node:
        teller = Teller(node.streams, book)
        await written(node)
        (writing,) = proxy.asking("XADD")
        before = writing.round_trips
        for _ in range(50):
            teller.say("word ")
            await written(node)
            await asyncio.sleep(writer.BUSY_PAUSE_SECONDS)
        assert writing.round_trips - before == 50
        teller.stop()


async def test_one_connection_of_a_node_waits_for_all_its_streams(redis: OwnRedis, book: Book) -> None:
    """And the number of its connections does not depend on theirs."""
    async with opened_many(redis.url, 2) as nodes:
        tellers = [Teller(nodes[0].streams, book, f"str_{number}") for number in range(100)]
        first = following(nodes[1], book.read, "str_0")
        tellers[0].say("text")
        await until(lambda: first.text == "text")
        few = len(await command(redis, "CLIENT LIST"))
        viewers = [following(nodes[1], book.read, teller.stream_id) for teller in tellers for _ in range(3)]
        for teller in tellers[1:]:
            teller.say("text")
        await until(lambda: all(viewer.text == "text" for viewer in viewers))
        assert len(await command(redis, "CLIENT LIST")) <= few
        assert await connections(redis, "xread") == len(nodes)
        for viewer in (first, *viewers):
            await viewer.leave()
        for teller in tellers:
            teller.stop()


async def test_a_thousand_streams_are_watched_on_one_node(redis: OwnRedis, book: Book) -> None:
    """Each is seen whole, and nothing of them is left."""
    async with opened_many(redis.url, 2) as nodes:
        tellers = [Teller(nodes[0].streams, book, f"str_{number}") for number in range(1_000)]
        viewers = [following(nodes[1], book.read, teller.stream_id) for teller in tellers]
        for words in (("one ", "two "), ("three ",), ("four ", "five ")):
            for teller in tellers:
                teller.say(*words)
            await until(lambda: all(v.text == t.text for v, t in zip(viewers, tellers, strict=True)))
        assert len(nodes[1].reader) == 1_000
        for teller in tellers:
            teller.finish()
            teller.end()
        for viewer in viewers:
            await viewer.ended()
            assert viewer.text == "one two three four five "
        await until(lambda: all(node.is_idle for node in nodes))


async def test_a_slow_redis_is_given_less_and_not_later(redis: OwnRedis, book: Book) -> None:
    """Nothing waits for it in a queue: what it did not take goes merged, and readers come to the newest text."""
    async with proxied(redis.port) as proxy, opened(proxy.url) as owning, opened(redis.url) as watching:
        teller = Teller(owning.streams, book)
        viewer = following(watching, book.read, SID)
        teller.say("!")
        await until(lambda: viewer.text == "!")
        proxy.delay = 0.2
        for _ in range(100):
            teller.say(*"x" * 20)
            await asyncio.sleep(0.005)
        assert len(owning.writer) == 1
        await until(lambda: viewer.text == teller.text)
        assert len(viewer.events) < 50
        await viewer.leave()
        teller.stop()


async def test_a_generation_may_have_more_events_than_one_block_of_numbers(redis: OwnRedis, book: Book) -> None:
    """All of it is seen on another node, also by who joins late; a stream's memory there ends with its steps."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        viewer = following(nodes[1], book.read, SID)
        for _ in range(20):
            for _ in range(HEADROOM // 320):
                teller.say(*"0123456789abcdefghij")
                await asyncio.sleep(0)
            late = following(nodes[1], book.read, SID)
            await until(lambda: viewer.viewer.last == teller.seq)
            await until(lambda late=late: late.text == viewer.text)  # type: ignore[misc] # mypy and lambdas
            await late.leave()
            teller.finish()
            assert len(nodes[1].streams._logs[SID]) < HEADROOM / 5
        assert teller.seq > HEADROOM
        teller.end()
        await viewer.ended()
        assert viewer.viewer.texts == book.seen().texts
        assert viewer.viewer.lasting == book.of().lasting
        await until(lambda: all(node.is_idle for node in nodes))
