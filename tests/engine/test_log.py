"""The log: numbers that rise, cursors, merged text, and what is let go."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from engine.streams.log import BATCH, Log, merged
from engine.streams.memory import REMEMBERED, MemoryStreams
from models.enums import FinishReason, RunStatus
from models.events import ReasoningDelta, RunResult, StreamEvent, TextDelta
from models.usage import Usage
from tests.support.live_stream import Publish, Viewer, dice, life


def delta(seq: int, offset: int = 0, text: str = "x", *, step: int = 1, block: int = 0, attempt: int = 1) -> TextDelta:
    """More of a text."""
    return TextDelta("str_1", seq, step, attempt, seq, block, offset, text)


def the_end(seq: int, stream_id: str = "str_1") -> RunResult:
    """The last event of a stream."""
    return RunResult(
        stream_id,
        seq,
        1,
        1,
        seq,
        run_id="run_1",
        status=RunStatus.COMPLETED,
        finish=FinishReason.STOP,
        text="",
        output=None,
        model=None,
        steps=1,
        usage=Usage(),
        cancelled=False,
        error=None,
    )


def a_log(*events: StreamEvent) -> Log:
    """A log with these events."""
    log = Log()
    for event in events:
        log.append(event)
    return log


def seqs(log: Log, cursor: int = 0) -> list[int]:
    """The numbers that a reader at the cursor gets."""
    return [event.seq for event in log.after(cursor)]


@given(st.lists(st.integers(1, 30)))
def test_numbers_only_rise(numbers: list[int]) -> None:
    """A number that is not above the last one is a late writer's, and is ignored."""
    log = a_log(*(delta(number, block=number) for number in numbers))
    found = seqs(log)
    assert found == sorted(set(found))
    assert not numbers or found[0] == numbers[0]
    assert not numbers or found[-1] == max(numbers)


def test_a_thousand_events_of_one_moment_keep_their_order() -> None:
    """Events have numbers of their own, not their time's."""
    log, cursor, found = a_log(*(delta(n, block=n) for n in range(1, 1001))), 0, []
    while batch := log.after(cursor):
        assert len(batch) <= BATCH
        found += [event.seq for event in batch]
        cursor = found[-1]
    assert found == list(range(1, 1001))


def test_a_slow_reader_gets_adjacent_text_merged() -> None:
    """Text that piled up comes as one delta under the last number; offsets count UTF-16 units."""
    log = a_log(delta(1, 0, "a"), delta(2, 1, "\U0001f600"), delta(4, 3, "c"), delta(5, 0, "other", block=1))
    assert log.after(0) == [delta(4, 0, "a\U0001f600c"), delta(5, 0, "other", block=1)]
    assert log.after(2) == [delta(4, 3, "c"), delta(5, 0, "other", block=1)]


def test_text_is_merged_only_where_it_goes_on() -> None:
    """Another step, attempt, block, kind or offset begins a delta of its own."""
    events = [
        delta(1),
        delta(2, 1, step=2),
        delta(3, 2, step=2, attempt=2),
        delta(4, 3, step=2, attempt=2, block=1),
        ReasoningDelta("str_1", 5, 2, 2, 5, 1, 4, "x"),
        delta(6, 9),
    ]
    assert merged(events) == events


@given(st.integers(0, 10_000), st.data())
def test_merging_changes_nothing_that_a_viewer_sees(seed: int, data: st.DataObject) -> None:
    """Whatever batches a reader takes, it ends with the same text and the same lasting events."""
    events = [move.event for move in life(dice(seed)) if isinstance(move, Publish)]
    one, other = Viewer(), Viewer()
    for event in events:
        one.see(event)
    while events:
        size = data.draw(st.integers(1, len(events)))
        for event in merged(events[:size]):
            other.see(event)
        events = events[size:]
    assert (one.texts, one.lasting, one.last) == (other.texts, other.lasting, other.last)


def test_merging_leaves_the_log_as_it_is() -> None:
    """Readers at other places see the same events as before."""
    log = a_log(delta(1, 0, "a"), delta(2, 1, "b"))
    log.after(0)
    assert log.after(1) == [delta(2, 1, "b")]
    assert log.after(0) == [delta(2, 0, "ab")]


def test_what_is_trimmed_is_not_covered() -> None:
    """A reader before the trimmed part needs the rows; one behind it does not."""
    log = a_log(delta(1), delta(2, block=1), delta(3, block=2))
    log.trim(2)
    assert len(log) == 1
    assert not log.covers(1)
    assert log.covers(2)
    assert seqs(log, 2) == [3]
    log.trim(1)
    assert log.gone == 2


def test_a_log_without_an_owner_covers_nothing() -> None:
    """Until somebody publishes, the rows alone tell; what came before the first event they tell also then."""
    log = Log()
    assert not log.covers(0)
    log.append(delta(7))
    assert not log.covers(5)
    assert log.covers(6)


def test_nothing_follows_the_end() -> None:
    """A log that is done takes nothing more, from nobody."""
    log = a_log(delta(1), the_end(2), delta(3))
    log.reset(9)
    log.forsake()
    assert log.done
    assert log.live
    assert [event.seq for event in log.after(0)] == [1, 2]


def test_a_takeover_leaves_the_late_writer_unheard() -> None:
    """Numbers up to the reserved ceiling are refused from then on."""
    log = a_log(delta(1))
    log.reset(100)
    log.append(delta(2))
    log.append(delta(101))
    assert seqs(log) == [101]
    assert not log.covers(99)


async def test_readers_wait_without_leaving_anything() -> None:
    """A wait ends with a change or with a nudge, or is cancelled, and nothing of it stays."""
    log = a_log(delta(1))
    waits = [asyncio.create_task(log.changed()) for _ in range(3)]
    await asyncio.sleep(0)
    assert log.waiting == 3
    waits[0].cancel()
    await asyncio.sleep(0)
    assert log.waiting == 2
    log.append(delta(2))
    assert log.waiting == 0
    assert await asyncio.gather(*waits[1:]) == [True, True]
    assert waits[0].cancelled()
    nudged = asyncio.create_task(log.changed())
    await asyncio.sleep(0)
    log.nudge()
    assert await nudged is False
    assert log.waiting == 0


async def test_a_trim_wakes_nobody_who_has_all() -> None:
    """Only a trim beyond what was published is news to a reader at the end."""
    log = a_log(delta(1))
    wait = asyncio.create_task(log.changed())
    await asyncio.sleep(0)
    log.trim(1)
    await asyncio.sleep(0)
    assert not wait.done()
    log.trim(5)
    assert await wait is True


def test_a_settled_stream_that_nobody_follows_leaves_nothing() -> None:
    """Its memory goes with RunResult, and a late writer does not bring it back."""
    streams = MemoryStreams()
    streams.publish([delta(1), delta(2)])
    assert len(streams) == 1
    streams.publish([the_end(3)])
    streams.publish([delta(4)])
    streams.begin("str_1", 100)
    streams.trim("str_1", 4)
    assert len(streams) == 0


def test_a_settled_stream_stays_for_those_who_follow_it() -> None:
    """It goes with its last follower."""
    streams = MemoryStreams()
    with streams.follow("str_1") as log:
        streams.publish([delta(1), the_end(2)])
        with streams.follow("str_1") as same:
            assert same is log
            assert streams.followers("str_1") == 2
        assert seqs(log) == [1, 2]
        assert len(streams) == 1
    assert len(streams) == streams.followers("str_1") == 0


def test_following_what_is_not_here_leaves_nothing() -> None:
    """A reader's log of a stream that nobody here owns goes with the reader."""
    streams = MemoryStreams()
    with streams.follow("str_9") as log:
        assert not log.live
        assert len(streams) == 1
    assert len(streams) == 0


def test_a_stream_whose_owner_vanished_can_be_let_go() -> None:
    """Without followers at once; with them, they have the rows alone until another owner comes."""
    streams = MemoryStreams()
    streams.publish([delta(1)])
    streams.forsake("str_1")
    streams.forsake("str_2")
    assert len(streams) == 0
    with streams.follow("str_1") as log:
        streams.begin("str_1", 1)
        streams.publish([delta(2)])
        streams.forsake("str_1")
        assert not log.live
        streams.begin("str_1", 100)
        assert (log.live, log.gone) == (True, 100)


def test_an_owner_that_stops_late_leaves_the_next_one_alone() -> None:
    """Where another has published above its last number, the stream stays."""
    streams = MemoryStreams()
    streams.publish([delta(1)])
    streams.begin("str_1", 100)
    streams.publish([delta(101)])
    streams.forsake("str_1", last=1)
    assert len(streams) == 1
    streams.forsake("str_1", last=101)
    assert len(streams) == 0


def test_only_so_many_ended_streams_are_remembered() -> None:
    """What guards against late writers does not grow for ever."""
    streams = MemoryStreams()
    for number in range(REMEMBERED + 10):
        streams.publish([the_end(1, f"str_{number}")])
    assert len(streams) == 0
    assert len(streams._ended) == REMEMBERED
