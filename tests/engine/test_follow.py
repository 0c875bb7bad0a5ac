"""Following one stream: from any number to RunResult, whatever happens to owners, logs and readers meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.streams.follow import FAIR, ReadRows, StreamNotFound, follow
from engine.streams.memory import MemoryStreams
from models.events import InputQueued, RunResult, StepFinished, StreamEvent, TextDelta
from models.stream import StreamRows
from models.usage import Usage
from tests.support.live_stream import Commit, Publish, Stored, TakeOver, Trim, Viewer, dice, life

SID = "str_1"


class World:
    """One stream's owners, rows and log, with every await at the mercy of a random number."""

    def __init__(self, rnd: Random) -> None:
        self.rnd = rnd
        self.stored = Stored()
        self.streams = MemoryStreams()
        self.all_streams = [self.streams]
        self.lives = 0

    async def pause(self) -> None:
        """Others may run, for a while or not at all."""
        for _ in range(self.rnd.choice((0, 0, 1, 1, 2, 5, 12))):
            await asyncio.sleep(0)

    async def read(self, _stream_id: str, after: int) -> StreamRows:
        """The rows, as they are some time after they were asked for, told some time later."""
        await self.pause()
        rows = self.stored.read(after)
        await self.pause()
        return rows

    async def own(self) -> None:
        """Live the stream's whole life; some publications are lost with their owner."""
        for move in life(self.rnd, SID):
            await self.pause()
            if isinstance(move, Commit):
                self.stored.commit(move)
            elif isinstance(move, Trim):
                self.streams.trim(SID, move.upto)
            elif isinstance(move, TakeOver):
                await self.take_over(move.gone)
            elif not (isinstance(move.event, RunResult) and self.rnd.random() < 0.3):
                self.streams.publish([move.event])
        self.streams.forsake(SID)

    async def take_over(self, gone: int) -> None:
        """The owner is dead; with it, perhaps, its whole process, or only what it kept of the stream."""
        fate = self.rnd.random()
        if fate < 0.3:
            self.streams, self.lives = MemoryStreams(), self.lives + 1
            self.all_streams.append(self.streams)
        elif fate < 0.6:
            self.streams.forsake(SID)
        await self.pause()
        await self.pause()
        self.streams.begin(SID, gone)

    async def patrol(self) -> None:
        """What engine/patrol.py does for whoever waits."""
        while True:
            for _ in range(50):
                await asyncio.sleep(0)
            for log in [log for streams in self.all_streams for log in streams.followed().values()]:
                log.nudge()

    async def watch(self) -> Viewer:
        """A client that leaves and comes back with its last number until it has seen the end."""
        viewer = Viewer()
        while not viewer.ended:
            await self.pause()
            left, lived = self.rnd.randrange(1, 40), self.lives
            async with aclosing(follow(self.streams, self.read, SID, viewer.last)) as events:
                async for event in events:
                    if lived != self.lives:
                        break  # what a process that is dead would have sent reaches nobody
                    viewer.see(event)
                    if self.rnd.random() < 0.2:
                        await self.pause()
                    left -= 1
                    if left == 0:
                        break
                else:
                    assert isinstance(viewer.lasting[-1], RunResult)
        return viewer


@given(st.integers(0, 2**32))
def test_every_viewer_ends_with_the_same(seed: int) -> None:
    """Through retries, takeovers, restarts, trimming, lost ends and reconnects: all text, all lasting events, once."""

    async def play() -> None:
        world = World(dice(seed))
        owner, patrol = asyncio.create_task(world.own()), asyncio.create_task(world.patrol())
        viewers = await asyncio.gather(*(world.watch() for _ in range(3)))
        await owner
        late = await world.watch()
        patrol.cancel()
        for viewer in viewers:
            assert viewer.texts == late.texts
            assert viewer.lasting == late.lasting == world.stored.lasting
        assert len(world.streams) == world.streams.followers(SID) == 0

    asyncio.run(play())


def story() -> tuple[Stored, list[StreamEvent]]:
    """The rows of a finished stream with a single owner, and its events as they were live."""
    for seed in range(1000):
        stored, events = Stored(), []
        for move in life(dice(seed), SID):
            if isinstance(move, Commit):
                stored.commit(move)
            elif isinstance(move, Publish):
                events.append(move.event)
        if len(events) == events[-1].seq > 20:
            return stored, events
    raise AssertionError


def reader(stored: Stored, meanwhile: Callable[[], None] = lambda: None) -> ReadRows:
    """Reads these rows; `meanwhile` is called in the middle of each read."""

    async def read(_stream_id: str, after: int) -> StreamRows:
        await asyncio.sleep(0)
        meanwhile()
        return stored.read(after)

    return read


async def no_rows(_stream_id: str, _after: int) -> StreamRows | None:
    """There is no such stream."""
    return None


async def forbidden(_stream_id: str, _after: int) -> StreamRows | None:
    """Rows that must not be asked for."""
    raise AssertionError


async def all_of(events: AsyncGenerator[StreamEvent]) -> list[StreamEvent]:
    """What a stream gives until it ends."""
    async with aclosing(events):
        return [event async for event in events]


async def test_a_finished_stream_is_served_from_its_rows() -> None:
    """Who attaches after the end gets everything, RunResult last, and nothing stays in memory."""
    stored, live = story()
    streams = MemoryStreams()
    events = await all_of(follow(streams, reader(stored), SID, 0))
    assert [event for event in events if event.lasting] == stored.lasting
    assert isinstance(events[-1], RunResult)
    viewer, whole = Viewer(), Viewer()
    for event in events:
        viewer.see(event)
    for event in live:
        whole.see(event)
    assert viewer.texts == whole.texts
    assert len(streams) == 0


@pytest.mark.parametrize("beyond", [0, 1, 10_000])
async def test_who_has_seen_the_end_gets_nothing_more(beyond: int) -> None:
    """From the last number on, or from one that never was, a finished stream completes at once."""
    stored, live = story()
    after = live[-1].seq + beyond
    assert await all_of(follow(MemoryStreams(), reader(stored), SID, after)) == []


async def test_a_number_that_never_was_ends_with_the_stream() -> None:
    """Also on a live stream."""
    _, live = story()
    streams = MemoryStreams()
    streams.publish(live[:3])
    following = asyncio.create_task(all_of(follow(streams, forbidden, SID, 10_000)))
    await asyncio.sleep(0)
    streams.publish(live[3:])
    assert await following == []


async def test_a_missing_stream_says_so() -> None:
    """It raises rather than hangs, and leaves nothing."""
    streams = MemoryStreams()
    with pytest.raises(StreamNotFound):
        await all_of(follow(streams, no_rows, "str_none", 0))
    assert len(streams) == 0


async def test_what_is_published_while_rows_are_read_is_not_lost() -> None:
    """The log is taken before the rows are read, so it has what came meanwhile."""
    stored, live = story()
    index = next(index for index, event in enumerate(live, 1) if isinstance(event, StepFinished))
    streams = MemoryStreams()
    streams.publish(live[:index])
    streams.trim(SID, index)
    rows = reader(stored, lambda: streams.publish(live[index:]))
    viewer, whole = Viewer(), Viewer()
    for event in await all_of(follow(streams, rows, SID, 0)):
        viewer.see(event)
    for event in live:
        whole.see(event)
    assert viewer.ended
    assert (viewer.texts, viewer.lasting) == (whole.texts, whole.lasting)


async def test_rows_read_while_an_owner_came_and_went_are_not_trusted() -> None:
    """They may have an input that was queued in the middle of a step, whose text they do not have yet."""
    text = TextDelta(SID, 1, 1, 1, 0, 0, 0, "hello")
    queued = InputQueued(SID, 2, 1, 1, 0, input_id="inp_1", queued=1)
    finished = StepFinished(SID, 3, 1, 1, 0, message_seq=2, stop_reason="end_turn", usage=Usage())
    streams, looks = MemoryStreams(), 0

    async def read(_stream_id: str, _after: int) -> StreamRows:
        nonlocal looks
        looks += 1
        if looks == 1:
            streams.publish([text, queued])
            streams.forsake(SID)
            return StreamRows([queued], {}, ended=False)
        return StreamRows([queued, finished], {2: [{"type": "text", "text": "hello"}]}, ended=True)

    events = await all_of(follow(streams, read, SID, 0))
    assert [(type(event), event.seq) for event in events] == [(TextDelta, 1), (InputQueued, 2), (StepFinished, 3)]


async def test_a_live_stream_needs_no_rows() -> None:
    """Where the log has it all, the database is not asked, not even for who joins in the middle of a step."""
    _, live = story()
    streams = MemoryStreams()
    streams.publish(live[:5])
    following = asyncio.create_task(all_of(follow(streams, forbidden, SID, 0)))
    await asyncio.sleep(0)
    for event in live[5:]:
        streams.publish([event])
        await asyncio.sleep(0)
    viewer, whole = Viewer(), Viewer()
    for event in await following:
        viewer.see(event)
    for event in live:
        whole.see(event)
    assert viewer.texts == whole.texts


async def test_an_end_whose_publication_was_lost_is_found() -> None:
    """The rows are looked at when the patrol says so, and tell of it."""
    stored, live = story()
    streams = MemoryStreams()
    streams.publish(live[:-1])
    following = asyncio.create_task(all_of(follow(streams, reader(stored), SID, 0)))
    while not streams.followed() or not streams.followed()[SID].waiting:
        await asyncio.sleep(0)
    streams.followed()[SID].nudge()
    assert (await following)[-1] == stored.lasting[-1]


async def test_an_input_queued_in_the_middle_of_a_step_waits_for_the_text_before_it() -> None:
    """Where the rows alone are known, what may stand before it comes first: or its reader would never be given that."""
    text = TextDelta(SID, 1, 1, 1, 0, 0, 0, "hello")
    queued = InputQueued(SID, 2, 1, 1, 0, input_id="inp_1", queued=1)
    streams = MemoryStreams()

    async def read(_stream_id: str, after: int) -> StreamRows:
        return StreamRows([queued] if after < 2 else [], {}, ended=False)

    async with aclosing(follow(streams, read, SID, 0)) as events:
        first = asyncio.ensure_future(anext(events))
        while not streams.followed() or not streams.followed()[SID].waiting:
            await asyncio.sleep(0)
        log = streams.followed()[SID]
        log.feed(text, 0)
        log.feed(queued, 1)
        assert [(await first).seq, (await anext(events)).seq] == [1, 2]
    assert len(streams) == 0


async def test_a_stream_that_is_always_ready_lets_others_run() -> None:
    """Who reads a long backlog gives the event loop back now and then."""
    streams = MemoryStreams()
    streams.publish([TextDelta(SID, n, 1, 1, 0, n, 0, "x") for n in range(1, 10 * FAIR)])
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    busy = asyncio.create_task(other())
    async with aclosing(follow(streams, forbidden, SID, 0)) as events:
        async for event in events:
            if event.seq == 9 * FAIR:
                break
    busy.cancel()
    assert turns >= 8


async def test_a_reader_that_leaves_while_it_waits_leaves_nothing() -> None:
    """A closed subscription takes its waiter, its cursor and, where nobody owns the stream, its log with it."""
    streams = MemoryStreams()
    before = asyncio.all_tasks()
    following = [asyncio.create_task(all_of(follow(streams, reader(Stored()), SID, 0))) for _ in range(5)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert streams.followers(SID) == 5
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    assert len(streams) == streams.followers(SID) == 0
    assert asyncio.all_tasks() == before
