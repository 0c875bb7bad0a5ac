"""Redis emptied, killed, silent or replaced: nobody lacks a word afterwards, and all goes on by itself."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from engine.patrol import Patrol
from engine.streams import redis_client
from engine.streams.redis_client import problem_of_redis, stream_key
from engine.streams.shared import stopped
from models.clock import system_clock
from models.events import InputQueued
from tests.support.services import OwnRedis
from tests.support.shared_nodes import command, following, keys, opened, opened_many, until, written
from tests.support.tcp_proxy import proxied
from tests.support.teller import SID, Book, Teller

pytestmark = pytest.mark.service


@pytest.mark.parametrize("emptying", [["FLUSHALL"], ["DEL", stream_key(SID)]], ids=["all", "one stream"])
async def test_a_redis_emptied_in_the_middle_of_a_step_is_filled_again(
    redis: OwnRedis, book: Book, emptying: list[str]
) -> None:
    """Who watches goes on; who comes then gets the whole step, from its beginning."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        teller.say("A step before. ")
        teller.finish()
        early = following(nodes[1], book.read, SID)
        teller.say("The be", "ginning")
        await until(lambda: early.text.endswith("The beginning"))
        await command(redis, *emptying)
        teller.say(", the middle")
        await until(lambda: early.text.endswith("the middle"))
        late = following(nodes[1], book.read, SID)
        async with opened(redis.url) as other:
            latest = following(other, book.read, SID)
            teller.say(" and the end.")
            whole = "A step before. The beginning, the middle and the end."
            await until(lambda: early.text == late.text == latest.text == whole)
            teller.finish()
            teller.end()
            for viewer in (early, late, latest):
                await viewer.ended()
                assert viewer.viewer.lasting == book.of().lasting


async def test_what_others_have_filled_meanwhile_hides_no_text(redis: OwnRedis, book: Book) -> None:
    """A late writer brings an emptied stream back before its owner does: nobody is given text with a gap before it."""
    async with opened_many(redis.url, 3) as nodes:
        old = Teller(nodes[0].streams, book)
        old.say("old")
        await written(nodes[0])
        new = old.taken_over(nodes[1].streams)
        new.restart()
        new.say("The beginning, ")
        await written(nodes[1])
        await command(redis, "DEL", stream_key(SID))
        old.say(" and late")
        await written(nodes[0])
        new.say("the middle ")
        await written(nodes[1])
        viewer = following(nodes[2], book.read, SID)
        await until(lambda: len(viewer.viewer.lasting) == 1)
        new.say("and the end.")
        new.finish()
        await until(lambda: viewer.text == "The beginning, the middle and the end.")
        new.say(" Live again.")
        await until(lambda: viewer.text.endswith("Live again."))
        await viewer.leave()
        old.stop()
        new.stop()


async def test_a_killed_redis_is_found_again_by_readers_and_writers(
    redis: OwnRedis, book: Book, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody blocks for ever; each process says once that it is away, and once that it is back."""
    caplog.set_level(logging.INFO, "steersman.redis")
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        far, near = (following(node, book.read, SID) for node in (nodes[1], nodes[0]))
        teller.say("before")
        await until(lambda: far.text == near.text == "before")
        assert [node.health.problem for node in nodes] == [None, None]
        await redis.kill()
        await until(lambda: all(node.health.problem is not None for node in nodes))
        await until(lambda: not any(node.bell.trusted for node in nodes))
        teller.say(", meanwhile")
        await until(lambda: near.text == "before, meanwhile")
        await asyncio.sleep(1)  # several tries of each
        assert far.text == "before"
        await redis.start()
        await until(lambda: far.text == "before, meanwhile")
        teller.say(" and after")
        await until(lambda: far.text == near.text == "before, meanwhile and after")
        await until(lambda: all(node.health.problem is None and node.bell.trusted for node in nodes))
        teller.finish()
        teller.end()
        for viewer in (far, near):
            await viewer.ended()
        await until(lambda: all(node.is_idle for node in nodes))
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [message.startswith("Redis can't be reached") for message in told] == [True, True, False, False]
    assert [message.startswith("Redis is back") for message in told] == [False, False, True, True]
    assert all("127.0.0.1" not in (node.health.problem or "") for node in nodes)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) <= len(set(said)) * len(nodes)


@pytest.mark.parametrize("kind", ["normal", "pubsub"])
async def test_a_connection_that_is_cut_is_made_again(redis: OwnRedis, book: Book, kind: str) -> None:
    """Redis itself stays: what was written is read again from its beginning, and nobody is given it twice."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        viewer = following(nodes[1], book.read, SID)
        text = ""
        for number in range(5):
            await command(redis, "CLIENT", "KILL", "TYPE", kind)
            teller.say(f"{number} ")
            text += f"{number} "
            await until(lambda text=text: viewer.text == text)  # type: ignore[misc] # mypy and lambdas
        teller.finish()
        teller.end()
        await viewer.ended()
        assert viewer.viewer.lasting == book.of().lasting
        await until(lambda: all(node.is_idle and node.bell.trusted for node in nodes))


async def test_a_half_open_connection_is_noticed(redis: OwnRedis, book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing comes through any more, and nobody is told: silence alone shows it, and a new connection is made."""
    monkeypatch.setattr(redis_client, "ANSWER_SECONDS", 2.0)
    async with proxied(redis.port) as proxy, opened(redis.url) as owning, opened(proxy.url) as watching:
        teller = Teller(owning.streams, book)
        viewer = following(watching, book.read, SID)
        teller.say("before")
        await until(lambda: viewer.text == "before")
        proxy.fall_silent()
        teller.say(" and after")
        await until(lambda: viewer.text == "before and after")
        await viewer.leave()
        teller.stop()


async def test_a_writer_behind_a_half_open_connection_writes_over_another_one(
    redis: OwnRedis, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it could not be sure of is written again."""
    monkeypatch.setattr(redis_client, "ANSWER_SECONDS", 2.0)
    async with proxied(redis.port) as proxy, opened(proxy.url) as owning, opened(redis.url) as watching:
        teller = Teller(owning.streams, book)
        viewer = following(watching, book.read, SID)
        teller.say("before")
        await until(lambda: viewer.text == "before")
        proxy.fall_silent()
        teller.say(" and after")
        await until(lambda: viewer.text == "before and after")
        await viewer.leave()
        teller.stop()


async def test_a_redis_that_is_no_primary_any_more_is_left_for_the_one_that_is(
    redis: OwnRedis, book: Book, tmp_path: Path
) -> None:
    """A failover: the old primary lives on as a replica and refuses writes; the address leads to the new one."""
    async with (
        OwnRedis(tmp_path / "other") as other,
        proxied(redis.port) as proxy,
        opened(proxy.url) as owning,
        opened(other.url) as watching,
    ):
        teller = Teller(owning.streams, book)
        viewer = following(watching, book.read, SID)
        teller.say("before")
        await written(owning)
        proxy.target = other.port
        await command(redis, "REPLICAOF", "127.0.0.1", str(other.port))
        teller.say(" and after")
        await until(lambda: viewer.text == "before and after")
        await until(lambda: owning.health.problem is None)
        await viewer.leave()
        teller.stop()


async def test_nodes_may_begin_while_redis_is_away(redis: OwnRedis, book: Book) -> None:
    """What they own is seen on themselves; when Redis comes, everywhere."""
    await redis.kill()
    async with opened(redis.url) as owning, opened(redis.url) as watching:
        teller = Teller(owning.streams, book)
        near, far = following(owning, book.read, SID), following(watching, book.read, SID)
        teller.say("alone")
        await until(lambda: near.text == "alone")
        await until(lambda: owning.health.problem is not None and watching.health.problem is not None)
        assert not owning.bell.trusted
        await redis.start()
        await until(lambda: far.text == "alone")
        await until(lambda: owning.bell.trusted and owning.health.problem is None)
        for viewer in (near, far):
            await viewer.leave()
        teller.stop()


async def test_without_redis_followers_elsewhere_are_given_what_the_rows_have(redis: OwnRedis, book: Book) -> None:
    """Messages without tokens, at the patrol's interval, with few reads; and the end."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        viewer = following(nodes[1], book.read, SID)
        patrol = Patrol(book, nodes[1].streams, nodes[1].bell, system_clock, 3_600)
        await redis.kill()
        await until(lambda: nodes[1].health.problem is not None)
        teller.say("told, ", "and stored")
        await patrol.round()
        await asyncio.sleep(0.6)  # the reader tries several times
        reads = book.reads
        await asyncio.sleep(0.6)
        assert book.reads == reads  # and bothers nobody with it
        teller.finish()
        await patrol.round()
        await until(lambda: viewer.text == "told, and stored")
        teller.say("more, which takes a while")
        teller.tell(InputQueued, input_id="inp_1", queued=1)
        await patrol.round()
        await asyncio.sleep(0.1)
        assert len(viewer.viewer.lasting) == 1  # text that is not there yet may stand before the input
        teller.finish()
        teller.end()
        await patrol.round()
        await viewer.ended()
        assert viewer.viewer.texts == book.seen().texts
        assert viewer.viewer.lasting == book.of().lasting
        assert book.reads <= reads + 10
        await redis.start()
        await until(lambda: all(node.is_idle for node in nodes))


async def test_an_end_told_while_redis_is_away_is_told_when_it_is_back(redis: OwnRedis, book: Book) -> None:
    """Of all that the stream had told, little is kept until then; and it leaves Redis as every finished stream does."""
    async with opened_many(redis.url, 2, retention=0.5) as nodes:
        teller = Teller(nodes[0].streams, book)
        viewer = following(nodes[1], book.read, SID)
        teller.say("begun")
        await until(lambda: viewer.text == "begun")
        await redis.kill()
        await until(lambda: all(node.health.problem is not None for node in nodes))
        teller.say(*" and much more" * 100)
        teller.finish()
        teller.end()
        await until(lambda: all(len(mirror.log) == 1 for mirror in nodes[0].writer._mirrors.values()))
        await redis.start()
        await viewer.ended()
        assert viewer.viewer.texts == book.seen().texts
        await until(lambda: all(node.is_idle for node in nodes))
        while await keys(redis, "steersman:stream:*"):
            await asyncio.sleep(0.05)


async def test_a_process_that_stops_while_redis_is_away_does_not_wait_for_it(redis: OwnRedis, book: Book) -> None:
    """It closes as it would with it."""
    async with opened_many(redis.url, 1) as nodes:
        Teller(nodes[0].streams, book).say("something")
        await redis.kill()
        nodes[0].bell.ring("run_1", "alice", work=True)
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("redis ")]


async def test_a_task_that_swallows_a_cancel_is_told_again() -> None:
    """So that a process always stops: asyncio.wait_for of Python 3.11 may do so, and redis-py uses it."""
    swallowed = 0

    async def deaf() -> None:
        nonlocal swallowed
        while True:
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                swallowed += 1
                if swallowed > 2:
                    raise

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    await stopped([task])
    assert task.cancelled()


@pytest.mark.parametrize("scheme", ["redis", "rediss", "unix"])
async def test_what_keeps_a_redis_from_serving_is_told_in_one_line(tmp_path: Path, scheme: str) -> None:
    """Whichever way it is reached."""
    url = f"unix://{tmp_path}/none.sock" if scheme == "unix" else f"{scheme}://127.0.0.1:1/0"
    problem = await problem_of_redis(url)
    assert problem
    assert "\n" not in problem


async def test_a_redis_that_answers_has_no_problem(redis: OwnRedis) -> None:
    """Over TCP, and over a socket of the machine."""
    assert await problem_of_redis(redis.url) is None
