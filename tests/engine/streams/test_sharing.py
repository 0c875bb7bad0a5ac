"""Streams that are followed on one node and told on another: all of it, in order, as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from engine.streams.replay import replay
from models.events import RunResult, StepFinished, StepRestarted, StreamEvent, TextDelta, ToolCallProgress
from tests.support.live_stream import Viewer
from tests.support.services import OwnRedis
from tests.support.shared_nodes import following, opened, opened_many, until
from tests.support.teller import SID, Book, Teller

pytestmark = pytest.mark.service


async def test_what_is_told_on_one_node_is_seen_on_every_other(redis: OwnRedis, book: Book) -> None:
    """Live, each delta when it is told, by any number of followers; and nothing is left when it has ended."""
    async with opened_many(redis.url, 3) as nodes:
        teller = Teller(nodes[0].streams, book)
        viewers = [following(node, book.read, SID) for node in nodes for _ in range(3)]
        for word in ("Hel", "lo", ", wor", "ld"):
            teller.say(word)
            await until(lambda: all(viewer.text == teller.text for viewer in viewers))
        teller.finish()
        teller.end()
        for viewer in viewers:
            await viewer.ended()
            assert viewer.viewer.lasting == book.of().lasting
            assert viewer.viewer.texts == book.seen().texts
        assert book.reads == 6  # each follower on another node looks once, when nothing has come yet
        await until(lambda: all(node.is_idle for node in nodes))


async def test_a_follower_that_joins_in_the_middle_of_a_step_gets_it_from_its_beginning(
    redis: OwnRedis, book: Book
) -> None:
    """From the node that owns the stream and from every other; then it goes on live."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        teller.say("The first")
        await until(lambda: len(nodes[0].writer._dirty) == 0)
        late = [following(node, book.read, SID) for node in nodes]
        await until(lambda: all(viewer.text == "The first" for viewer in late))
        teller.say(" and the rest")
        await until(lambda: all(viewer.text == "The first and the rest" for viewer in late))
        teller.finish()
        teller.end()
        for viewer in late:
            await viewer.ended()


async def test_a_follower_that_joins_late_gets_from_the_rows_what_was_trimmed(redis: OwnRedis, book: Book) -> None:
    """And the step under way live, from its beginning."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        for step in range(1, 4):
            teller.say(f"step {step}, ", "its end")
            teller.finish()
        teller.say("under", " way")
        late = following(nodes[1], book.read, SID)
        await until(lambda: late.text == "step 1, its endstep 2, its endstep 3, its endunder way")
        teller.say(" still")
        await until(lambda: late.text.endswith("under way still"))
        assert late.viewer.lasting == book.of().lasting
        await late.leave()
        teller.stop()
        await until(lambda: all(node.is_idle for node in nodes))


@pytest.mark.parametrize("is_live", [True, False], ids=["live", "ended"])
async def test_after_may_be_any_number(redis: OwnRedis, book: Book, is_live: bool) -> None:
    """Whoever has the events up to it lacks nothing afterwards, and is given nothing twice but text."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        whole = following(nodes[1], book.read, SID)
        for words in (("a", "b\U0001f600", "c"), ("dd", "ee"), ("f",)):
            teller.say(*words)
            await until(lambda: whole.text.endswith(teller.text))
            teller.finish()
        teller.say("x", "y")
        if not is_live:
            teller.finish()
            teller.end()
            await whole.ended()
        await until(lambda: whole.viewer.last == teller.seq)
        for after in range(teller.seq + 1):
            viewer = following(nodes[1], book.read, SID, after)
            viewer.viewer = having(whole.events, after)
            await until(lambda viewer=viewer: viewer.viewer.last == teller.seq)  # type: ignore[misc] # mypy and lambdas
            assert viewer.viewer.texts == whole.viewer.texts
            assert viewer.viewer.lasting == whole.viewer.lasting
            await viewer.leave()
        await whole.leave()
        teller.stop()


def having(events: Sequence[StreamEvent], after: int) -> Viewer:
    """A viewer that has seen the events up to this number."""
    viewer = Viewer()
    for event in events:
        if event.seq <= after:
            viewer.see(event)
    viewer.last = after
    return viewer


async def test_a_number_that_a_replay_gave_can_be_gone_on_from_where_the_step_is_still_live(
    redis: OwnRedis, book: Book
) -> None:
    """Replay numbers the texts of a step otherwise than they were numbered live: none of them may be left out."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        deltas = [("first ", 0), ("text, ", 0), ("one more", 1), (", which", 1), (" goes on", 1)]
        texts = ["", ""]
        for text, block in deltas:
            teller.seq += 1
            teller.streams.publish([TextDelta(SID, teller.seq, 1, 1, 0, block, len(texts[block]), text)])
            texts[block] += text
        finished = teller.commit(StepFinished, **teller.finish_values())
        book.of().answers[2] = [{"type": "text", "text": text} for text in texts]
        teller.streams.publish([finished])
        by_rows = [event for event in await replayed(book) if event.seq < finished.seq]
        assert [event.seq for event in by_rows] == [4, 5]
        for node in nodes:
            viewer = following(node, book.read, SID, after=4)
            viewer.viewer = having(by_rows, 4)
            await until(lambda viewer=viewer: viewer.viewer.last == finished.seq)  # type: ignore[misc] # as above
            assert list(viewer.viewer.texts.values()) == texts
            await viewer.leave()
        teller.stop()


async def replayed(book: Book) -> list[TextDelta]:
    """The text that the rows give."""
    return [event for event in replay(book.of().read(0)) if isinstance(event, TextDelta)]


async def test_offsets_count_utf16_units_on_every_node(redis: OwnRedis, book: Book) -> None:
    """Text beyond the basic plane, cut and merged anywhere, is put together as a browser does."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        viewer = following(nodes[1], book.read, SID)
        for round_number in range(20):
            teller.say("\U0001f600", "a", "\U0001f469\u200d\U0001f680", "\u00e9", "\U0001f600" * round_number)
            if round_number % 3:
                await asyncio.sleep(0.003)
        teller.finish()
        teller.end()
        await viewer.ended()
        assert viewer.viewer.texts == book.seen().texts


async def test_passing_events_that_are_no_text_are_seen_too(redis: OwnRedis, book: Book) -> None:
    """What a tool says of itself, while it runs elsewhere."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        viewer = following(nodes[1], book.read, SID)
        await until(lambda: len(nodes[1].reader) == 1)
        teller.seq += 1
        teller.streams.publish([ToolCallProgress(SID, teller.seq, 1, 1, 0, "call_1", "half way", 0.5)])
        await until(lambda: len(viewer.events) == 1)
        assert viewer.events == [ToolCallProgress(SID, 1, 1, 1, 0, "call_1", "half way", 0.5)]
        await viewer.leave()
        teller.stop()


async def test_a_slow_follower_elsewhere_gets_text_merged(redis: OwnRedis, book: Book) -> None:
    """What has piled up comes in few events, however many were told."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        viewer = following(nodes[1], book.read, SID)
        teller.say("!")
        await until(lambda: viewer.text == "!")
        teller.say(*"x" * 5_000)  # nobody gets a turn meanwhile
        await until(lambda: len(viewer.text) == 5_001)
        assert len(viewer.events) < 100
        await viewer.leave()
        teller.stop()


async def test_the_end_that_another_node_tells_is_seen_everywhere(redis: OwnRedis, book: Book) -> None:
    """Who settles a run in its dead owner's place tells all who watch, and keeps nothing."""
    async with opened_many(redis.url, 3) as nodes:
        teller = Teller(nodes[0].streams, book)
        viewers = [following(node, book.read, SID) for node in nodes[1:]]
        teller.say("half an ans")
        await until(lambda: all(viewer.text == "half an ans" for viewer in viewers))
        teller.seq += 100
        end = teller.commit(RunResult, **teller.end_values())
        nodes[2].streams.tell([end])
        for viewer in viewers:
            await viewer.ended()
            assert viewer.viewer.lasting == [end]
        await until(lambda: nodes[1].is_idle and nodes[2].is_idle)


async def test_followers_outlive_the_owners_of_a_stream(redis: OwnRedis, book: Book) -> None:
    """One hands the run back, nobody owns it for a while, and another node goes on: the same subscription sees it."""
    async with opened_many(redis.url, 3) as nodes:
        first = Teller(nodes[0].streams, book)
        viewers = [following(node, book.read, SID) for node in nodes]
        first.say("step one")
        first.finish()
        first.stop()
        await until(lambda: all(viewer.text == "step one" for viewer in viewers))
        second = first.taken_over(nodes[1].streams)
        second.say(", step two")
        await until(lambda: all(viewer.text == "step one, step two" for viewer in viewers))
        second.finish()
        second.stop()
        third = second.taken_over(nodes[0].streams)
        third.say(", step three")
        third.finish()
        third.end()
        for viewer in viewers:
            await viewer.ended()
            assert viewer.text == "step one, step two, step three"
            assert viewer.viewer.lasting == book.of().lasting
        await until(lambda: all(node.is_idle for node in nodes))


async def test_what_was_told_just_before_a_node_closed_still_reaches_the_others(redis: OwnRedis, book: Book) -> None:
    """A process that stops hands on what it has, before it goes."""
    async with opened(redis.url) as watching:
        async with opened(redis.url) as node:
            teller = Teller(node.streams, book)
            viewer = following(watching, book.read, SID)
            teller.say("the last", " words")
            teller.finish()
            teller.stop()
        await until(lambda: viewer.text == "the last words")
        await viewer.leave()


async def test_a_follower_that_comes_back_at_once_gets_all_of_it(redis: OwnRedis, book: Book) -> None:
    """Although its node still waits for what the one before it lacked, in the middle of the stream."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        for _ in range(20):
            first = following(nodes[1], book.read, SID)
            await until(lambda first=first: first.text == teller.text)  # type: ignore[misc] # mypy and lambdas
            await first.leave()
            again = following(nodes[1], book.read, SID)
            teller.say("more ")
            await until(lambda again=again: again.text == teller.text)  # type: ignore[misc] # as above
            await again.leave()
        teller.stop()
        await until(lambda: all(node.is_idle for node in nodes))


async def test_a_step_begun_again_is_seen_to_begin_again(redis: OwnRedis, book: Book) -> None:
    """A provider's failure: what was shown of the attempt goes, on every node."""
    async with opened_many(redis.url, 2) as nodes:
        teller = Teller(nodes[0].streams, book)
        viewer = following(nodes[1], book.read, SID)
        teller.say("wrong")
        await until(lambda: viewer.text == "wrong")
        teller.restart()
        teller.say("right")
        await until(lambda: viewer.text == "right")
        assert [type(event) for event in viewer.viewer.lasting] == [StepRestarted]
        await viewer.leave()
        teller.stop()
