"""What stays in Redis: the step under way and the one before it, for a while; of finished runs nothing."""

from __future__ import annotations

import asyncio

import pytest

from engine.streams import reader, writer
from engine.streams.redis_client import stream_key
from models.events import RunResult
from tests.support.services import OwnRedis
from tests.support.shared_nodes import command, following, keys, opened_many, until, until_true, written
from tests.support.teller import SID, Book, Teller

pytestmark = pytest.mark.service
RUNS = 1_000


async def no_keys(redis: OwnRedis) -> bool:
    """Whether Redis is empty."""
    return not await keys(redis)


async def test_a_thousand_finished_runs_leave_no_key(
    redis: OwnRedis, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do the nodes that watched them, once they have watched nothing new for a while."""
    monkeypatch.setattr(reader, "CONTROL_SECONDS", 1)
    async with opened_many(redis.url, 2, retention=0.5) as nodes:
        for start in range(0, RUNS, 50):
            names = [f"str_{number}" for number in range(start, start + 50)]
            tellers = [Teller(nodes[0].streams, book, name) for name in names]
            viewers = [following(nodes[1], book.read, name) for name in names[::10]]
            for teller in tellers:
                teller.say("some ", "text")
                teller.finish()
                teller.end()
            for viewer in viewers:
                await viewer.ended()
            await written(nodes[0])
        await until(lambda: all(node.is_idle for node in nodes))
        await until_true(lambda: no_keys(redis))


async def test_no_key_is_ever_without_an_end_to_its_time(redis: OwnRedis, book: Book) -> None:
    """Whatever dies, and whenever: no stream and no node stays in Redis for ever."""
    endless: set[str] = set()
    over = asyncio.Event()

    async def look() -> None:
        while not over.is_set():  # cancelled, it would leave a connection half made
            for key in await keys(redis):
                if await command(redis, "PTTL", key) == -1:
                    endless.add(key)

    async with opened_many(redis.url, 2) as nodes:
        looking = asyncio.create_task(look())
        for number in range(20):
            teller = Teller(nodes[0].streams, book, f"str_{number}")
            viewer = following(nodes[1], book.read, f"str_{number}")
            teller.say("text")
            await until(lambda viewer=viewer: viewer.text == "text")  # type: ignore[misc] # mypy and lambdas
            if number % 3 == 0:
                teller.stop()
            elif number % 3 == 1:
                teller.finish()
                teller.end()
            await viewer.leave()
        await written(nodes[0])
        assert await keys(redis, "steersman:node:*")
        over.set()
        await looking
    seen = {key: await command(redis, "PTTL", key) for key in await keys(redis)}
    assert all(0 < left <= writer.KEPT_SECONDS * 1000 for left in seen.values())
    # A pipeline's commands are run one after the other, so a look may fall between a key's first two.
    again = [key for key in endless if await command(redis, "PTTL", key) == -1]
    assert again == []


async def test_what_the_rows_hold_is_trimmed_step_by_step(redis: OwnRedis, book: Book) -> None:
    """All up to the end of the step before the one that has just ended."""
    async with opened_many(redis.url, 1) as nodes:
        teller = Teller(nodes[0].streams, book)
        ends = []
        for step in range(1, 6):
            teller.say(*f"step {step} and its text")
            teller.finish()
            ends.append(teller.seq)
            await written(nodes[0])
            found = await command(redis, "XRANGE", stream_key(SID), "-", "+")
            numbers = [int(identity.split(b"-")[0]) for identity, _ in found]
            assert [number for number in numbers if number in ends] == ends[-1:]
            assert numbers[0] == 0 if step == 1 else ends[-2] < numbers[0] < ends[-1]
        teller.stop()


async def test_a_stream_that_was_never_ended_goes_in_time(
    redis: OwnRedis, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner died between the commit of its end and the publication; as long as one lives, it stays."""
    monkeypatch.setattr(writer, "KEPT_SECONDS", 2)
    async with opened_many(redis.url, 1) as nodes:
        living, dead = Teller(nodes[0].streams, book, "str_1"), Teller(nodes[0].streams, book, "str_2")
        dead.say("text")
        dead.stop()
        dead.commit(RunResult, **dead.end_values())
        while await keys(redis, stream_key("str_2")):
            living.say("on and on ")
            await asyncio.sleep(0.05)
        for _ in range(20):
            living.say("on and on ")
            await written(nodes[0])
            assert await keys(redis, stream_key("str_1"))
            await asyncio.sleep(0.05)
        living.stop()


async def test_a_late_writer_does_not_prolong_a_finished_stream(redis: OwnRedis, book: Book) -> None:
    """It does not know yet that it lost the run, and says that its stream lives."""
    async with opened_many(redis.url, 2, retention=0.5) as nodes:
        old = Teller(nodes[0].streams, book)
        old.say("old")
        await written(nodes[0])
        new = old.taken_over(nodes[1].streams)
        new.restart()
        new.finish()
        new.end()
        await written(nodes[1])
        await command(redis, "CLIENT", "KILL", "TYPE", "normal")
        old.say(" and late")
        await written(nodes[0])
        old.stop()
        await until_true(lambda: no_keys(redis))


async def test_a_stream_gone_from_redis_while_its_owner_was_silent_comes_back(redis: OwnRedis, book: Book) -> None:
    """A tool ran for longer than the stream stays: the next event brings it back whole."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        teller.say("text and")
        await written(nodes[0])
        await command(redis, "PEXPIRE", stream_key(SID), "1")
        await until_true(lambda: no_keys(redis))
        teller.say(" more")
        viewer = following(nodes[1], book.read, SID)
        await until(lambda: viewer.text == "text and more")
        await until_true(lambda: lives_long(redis))
        await viewer.leave()
        teller.stop()


async def lives_long(redis: OwnRedis) -> bool:
    """Whether the stream has its whole time before it."""
    return bool(await command(redis, "TTL", stream_key(SID)) > writer.KEPT_SECONDS / 2)
