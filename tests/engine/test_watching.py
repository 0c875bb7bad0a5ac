"""Watching runs, messages and streams: what is told, what is not told twice, and that nothing stays behind."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from engine.errors import RunNotFound
from engine.streams.bell import Bell
from engine.streams.follow import StreamNotFound
from engine.streams.memory import MemoryStreams
from engine.watching import DatabaseRows, Watching
from models.database import open_database
from models.enums import RunStatus
from models.events import StreamEvent
from models.ids import Ids
from models.migrate import migrate
from models.run import RunQuery
from tests.support.live_stream import Commit, Publish, Viewer, dice, life
from tests.support.rows import a_message, a_run, a_stream, store
from tests.support.watched import ALICE, Client, House, quiet


async def test_a_run_is_told_now_and_at_each_change() -> None:
    """The newest row; a ring without a visible change says nothing."""
    house = House()
    run_id = house.open()
    client = Client(house.watching.run(run_id))
    await quiet()
    house.bell.ring(run_id, "alice")
    await quiet()
    house.change(run_id, title="a")
    house.change(run_id, title="b")
    await quiet()
    assert [run.title for run in client] == [None, "b"]
    await client.leave()
    house.assert_empty()


async def test_a_change_while_the_row_is_read_is_told() -> None:
    """The listener is there before the row is read, and its mark is cleared before the next read."""
    house = House()
    run_id = house.open()
    house.rows.meanwhile = lambda: house.change(run_id, title="meanwhile")
    client = Client(house.watching.run(run_id))
    await quiet()
    assert [run.title for run in client] == [None, "meanwhile"]
    await client.leave()


async def test_what_is_missing_says_so() -> None:
    """No run, no stream, and no stream of this run: an error each, and nothing left."""
    house = House()
    run_id, other = house.open(), house.open()
    elsewhere = house.begin(other)
    watching = house.watching
    clients: list[Client[object]] = [
        Client[object](events)
        for events in (
            watching.run("run_none"),
            watching.messages("run_none"),
            watching.run_stream("run_none"),
            watching.stream("str_none"),
            watching.run_stream(run_id, elsewhere),
        )
    ]
    await quiet()
    assert [type(client.error) for client in clients] == [RunNotFound] * 3 + [StreamNotFound] * 2
    house.assert_empty()


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
async def test_messages_skips_nothing(count: int) -> None:
    """Stored ones first, page by page, then live ones, each once and in order."""
    house = House()
    run_id = house.open()
    for _ in range(count):
        house.say(run_id)
    house.rows.meanwhile = lambda: house.say(run_id)
    client = Client(house.watching.messages(run_id))
    await quiet()
    for _ in range(5):
        house.say(run_id)
        house.say(run_id)
        await quiet()
    assert [message.seq for message in client] == list(range(1, count + 12))
    await client.leave()
    house.assert_empty()


async def test_messages_begin_after_a_seq() -> None:
    """Only what follows it."""
    house = House()
    run_id = house.open()
    for _ in range(3):
        house.say(run_id)
    client = Client(house.watching.messages(run_id, 2))
    await quiet()
    assert [message.seq for message in client] == [3]
    await client.leave()


def lasting(events: Sequence[StreamEvent]) -> list[tuple[str, int]]:
    """The lasting events of a stream or several, by number."""
    return [(event.stream_id, event.seq) for event in events if event.lasting]


def of(house: House, *stream_ids: str) -> list[tuple[str, int]]:
    """What the rows have of these streams, one after the other."""
    return [key for stream_id in stream_ids for key in lasting(house.rows.events[stream_id].lasting)]


async def test_a_run_is_followed_from_generation_to_generation() -> None:
    """From the current one into each later one, and those that come and go while another is read."""
    house = House()
    run_id = house.open()
    earlier, current = house.begin(run_id), house.begin(run_id)
    house.live(earlier)
    client = Client(house.watching.run_stream(run_id))
    await quiet()
    house.live(current, 1)
    later = [house.begin(run_id) for _ in range(3)]
    for seed, stream_id in enumerate(later):
        house.live(stream_id, seed)
    await quiet()
    last = house.begin(run_id)
    await quiet()
    house.live(last)
    await quiet()
    assert lasting(client) == of(house, current, *later, last)
    await client.leave()
    house.assert_empty()


async def test_a_run_is_followed_from_where_it_is_asked_for() -> None:
    """From a stream and a number; the number is that stream's alone."""
    house = House()
    run_id = house.open()
    streams = [house.begin(run_id) for _ in range(3)]
    for stream_id in streams:
        house.live(stream_id)
    after = house.rows.events[streams[1]].lasting[-1].seq
    client = Client(house.watching.run_stream(run_id, streams[1], after))
    await quiet()
    assert lasting(client) == of(house, streams[2])
    await client.leave()


async def test_a_run_without_a_generation_is_followed_into_its_first() -> None:
    """A run that has not begun is waited for, and its first generation is missed by nobody."""
    house = House()
    run_id = house.open()
    client = Client(house.watching.run_stream(run_id))
    await quiet()
    first = house.begin(run_id)
    house.live(first)
    second = house.begin(run_id)
    house.live(second)
    await quiet()
    assert lasting(client) == of(house, first, second)
    await client.leave()


async def test_one_stream_is_followed_to_its_end() -> None:
    """A stream's subscription completes with RunResult."""
    house = House()
    stream_id = house.begin(house.open())
    viewer = Viewer()
    house.live(stream_id)
    async for event in house.watching.stream(stream_id):
        viewer.see(event)
    assert viewer.ended
    house.assert_empty()


async def test_clients_that_leave_while_waiting_leave_nothing() -> None:
    """A closed subscription of any kind takes its listeners, waiters and cursors with it, and stops nothing."""
    house = House()
    run_id = house.open()
    stream_id = house.begin(run_id)
    house.streams.publish([move.event for move in life(dice(1), stream_id) if isinstance(move, Publish)][:1])
    watching = house.watching
    clients: list[Client[object]] = []
    for _ in range(3):
        clients += [
            Client[object](events)
            for events in (
                watching.run(run_id),
                watching.runs(ALICE),
                watching.messages(run_id),
                watching.stream(stream_id),
                watching.run_stream(run_id),
                watching.run_stream(house.open()),
            )
        ]
    await quiet()
    assert len(house.bell) == 12
    assert house.streams.followers(stream_id) == 6
    for client in clients:
        await client.leave()
    assert len(house.streams) == 1
    house.streams.forsake(stream_id)
    house.assert_empty()


async def test_a_generator_that_is_closed_between_two_events_leaves_nothing() -> None:
    """Also without a task that is cancelled."""
    house = House()
    run_id = house.open()
    house.live(house.begin(run_id))
    for events in (house.watching.run(run_id), house.watching.run_stream(run_id)):
        await anext(events)
        await events.aclose()
    house.assert_empty()


async def test_what_is_watched_is_read_from_the_database(tmp_path: Path) -> None:
    """The same over a real database: runs, messages and streams, old and new."""
    run = a_run(title="first", status=RunStatus.RUNNING)
    stream = a_stream(run)
    moves = list(life(dice(3), stream.id))
    events = [move.event for move in moves if isinstance(move, Commit) and not hasattr(move.event, "tool_call_id")]
    async with open_database(f"sqlite:///{tmp_path}/test.db") as database:
        await database.write(migrate)
        await store(database, run, a_message(run, 1), a_message(run, 2), stream, *events)
        rows, bell = DatabaseRows(database), Bell()
        watching = Watching(rows, MemoryStreams(), bell, ids=Ids())
        told = [event async for event in watching.stream(stream.id)]
        assert [event for event in told if event.lasting] == events
        with pytest.raises(StreamNotFound):
            await anext(watching.stream("str_none"))
        assert await rows.newest_run_ids(RunQuery(agent="helper"), 10) == [run.id]
        assert await rows.newest_run_ids(RunQuery(search="FIRST"), 10) == [run.id]
        async with aclosing(watching.messages(run.id)) as messages, aclosing(watching.run(run.id)) as runs:
            assert [(await anext(messages)).seq for _ in range(2)] == [1, 2]
            assert (await anext(runs)).title == "first"
            await store(database, a_message(run, 3))
            bell.ring(run.id, run.user_id)
            assert (await anext(messages)).seq == 3
        async with aclosing(watching.runs(RunQuery())) as changes, aclosing(watching.run_stream(run.id)) as following:
            change = asyncio.ensure_future(anext(changes))
            assert await anext(following) == told[0]
            while len(bell) < 1:
                await asyncio.sleep(0)
            other = a_run()
            await store(database, other)
            bell.ring(other.id, other.user_id)
            assert (await change).run_id == other.id
