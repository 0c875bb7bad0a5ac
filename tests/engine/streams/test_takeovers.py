"""Takeovers through Redis: the late writer is refused there, and what died with its owner is found in the rows."""

from __future__ import annotations

import pytest

from engine.streams.redis_client import stream_key
from models.events import InputQueued, StepFinished
from tests.support.services import OwnRedis
from tests.support.shared_nodes import command, following, opened, opened_many, until, until_true, written
from tests.support.tcp_proxy import proxied
from tests.support.teller import HEADROOM, SID, Book, Teller

pytestmark = pytest.mark.service


async def entries(redis: OwnRedis, stream_id: str = SID) -> list[str]:
    """The ids in a stream's key."""
    return [identity.decode() for identity, _ in await command(redis, "XRANGE", stream_key(stream_id), "-", "+")]


async def test_a_writer_thawed_after_a_takeover_is_refused_before_the_new_owner_has_said_anything(
    redis: OwnRedis, book: Book
) -> None:
    """Its late batch comes between the takeover and the new owner's first event: the marker refuses it."""
    async with proxied(redis.port) as proxy, opened(proxy.url) as frozen, opened_many(redis.url, 2) as nodes:
        old = Teller(frozen.streams, book)
        viewer = following(nodes[1], book.read, SID)
        old.say("half an ")
        await until(lambda: viewer.text == "half an ")
        proxy.hold()
        old.say("answer that", " nobody may see")
        new = old.taken_over(nodes[0].streams)
        await until_true(lambda: has(redis, f"{old.seq + HEADROOM}-1"))
        before = await entries(redis)
        proxy.let_go()
        await written(frozen)
        assert await entries(redis) == before
        new.restart()
        new.say("another answer")
        await until(lambda: viewer.text == "another answer")
        new.finish()
        new.end()
        await viewer.ended()
        assert "nobody" not in str(viewer.events)
        old.stop()
        await until(lambda: all(node.is_idle for node in (frozen, *nodes)))


async def has(redis: OwnRedis, identity: str) -> bool:
    """Whether an entry is there."""
    return identity in await entries(redis)


async def test_a_late_batch_before_the_marker_is_dropped_with_its_attempt(redis: OwnRedis, book: Book) -> None:
    """It could still be written: who watches has its text until the step begins again, and no longer."""
    async with opened_many(redis.url, 3) as nodes:
        old = Teller(nodes[0].streams, book)
        viewer = following(nodes[2], book.read, SID)
        old.say("late")
        await until(lambda: viewer.text == "late")
        new = old.taken_over(nodes[1].streams)
        new.restart()
        old.say(" and later")
        new.say("right")
        await until(lambda: viewer.text == "right")
        old.stop()
        new.finish()
        new.end()
        await viewer.ended()
        assert viewer.viewer.texts == book.seen().texts


async def test_the_late_owners_own_followers_are_given_to_the_new_one(redis: OwnRedis, book: Book) -> None:
    """Who watches on its node sees what it still tells, and the new owner's stream once it has stopped."""
    async with opened_many(redis.url, 2) as nodes:
        old = Teller(nodes[0].streams, book)
        viewer = following(nodes[0], book.read, SID)
        old.say("old")
        new = old.taken_over(nodes[1].streams)
        new.restart()
        new.say("new")
        old.say("er")
        await until(lambda: viewer.text == "older")
        old.stop()
        await until(lambda: viewer.text == "new")
        new.say("est")
        await until(lambda: viewer.text == "newest")
        new.finish()
        new.end()
        await viewer.ended()
        await until(lambda: all(node.is_idle for node in nodes))


async def test_what_was_committed_and_never_told_is_found_at_the_takeover(redis: OwnRedis, book: Book) -> None:
    """An owner dies between its commit and its publication: the next one's marker sends readers to the rows."""
    async with opened_many(redis.url, 3) as nodes:
        old = Teller(nodes[0].streams, book)
        viewers = [following(node, book.read, SID) for node in nodes[1:]]
        old.say("an answer")
        await until(lambda: all(viewer.text == "an answer" for viewer in viewers))
        old.say(", with more that is never told")
        finished = old.commit(StepFinished, **old.finish_values())
        old.streams.forsake(SID)
        old.step, old.text = 2, ""
        new = old.taken_over(nodes[1].streams)
        new.attempt = 1
        await until(lambda: all(viewer.viewer.lasting == [finished] for viewer in viewers))
        new.say(" and another one")
        await until(lambda: all(viewer.text.endswith("never told and another one") for viewer in viewers))
        new.finish()
        new.end()
        for viewer in viewers:
            await viewer.ended()
            assert viewer.viewer.lasting == book.of().lasting


async def test_a_takeover_by_a_node_where_somebody_watches_goes_on_in_the_same_subscription(
    redis: OwnRedis, book: Book
) -> None:
    """The log that was fed from elsewhere becomes the owner's own."""
    async with opened_many(redis.url, 2) as nodes:
        old = Teller(nodes[0].streams, book)
        viewer = following(nodes[1], book.read, SID)
        old.say("from afar")
        await until(lambda: viewer.text == "from afar")
        new = old.taken_over(nodes[1].streams)
        await until(lambda: len(nodes[1].reader) == 0)
        new.restart()
        new.say("from here")
        await until(lambda: viewer.text == "from here")
        old.say(", too late")
        new.finish()
        new.end()
        await viewer.ended()
        assert viewer.text == "from here"
        old.stop()
        await until(lambda: all(node.is_idle for node in nodes))


async def test_a_late_owner_is_unheard_where_the_stream_is_fed_from_elsewhere(redis: OwnRedis, book: Book) -> None:
    """It was forsaken here already: what it tells is neither seen nor written, and its stopping stops nobody."""
    async with opened_many(redis.url, 2) as nodes:
        old = Teller(nodes[0].streams, book)
        viewer = following(nodes[0], book.read, SID)
        old.stop()
        new = old.taken_over(nodes[1].streams)
        new.say("new")
        await until(lambda: viewer.text == "new")
        old.seq = new.seq + 1
        old.say("ZOMBIE")
        old.stop()
        assert len(nodes[0].writer) == 0
        new.say(" and whole")
        await until(lambda: viewer.text == "new and whole")
        new.finish()
        new.end()
        await viewer.ended()
        assert viewer.text == "new and whole"
        await until(lambda: all(node.is_idle for node in nodes))


async def test_an_owner_that_used_up_its_numbers_stops_nobody_else(redis: OwnRedis, book: Book) -> None:
    """Even when its last number is the very one that the next owner began behind."""
    async with opened_many(redis.url, 2) as nodes:
        old = Teller(nodes[0].streams, book)
        viewer = following(nodes[0], book.read, SID)
        old.stop()
        new = old.taken_over(nodes[1].streams)
        new.say("new")
        await until(lambda: viewer.text == "new")
        nodes[0].streams.forsake(SID, HEADROOM + 1)
        new.say("er")
        await until(lambda: viewer.text == "newer")
        await viewer.leave()
        new.stop()


async def test_an_input_queued_in_the_middle_of_a_step_comes_behind_its_text_on_every_node(
    redis: OwnRedis, book: Book
) -> None:
    """Also where the rows have it before anybody there has the text."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        teller.say("text before it")
        queued = teller.tell(InputQueued, input_id="inp_1", queued=1)
        viewer = following(nodes[1], book.read, SID)
        await until(lambda: viewer.viewer.lasting == [queued])
        assert viewer.text == "text before it"
        await viewer.leave()
        teller.stop()
