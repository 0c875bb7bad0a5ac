"""What the rows give back of a stream equals what was seen of it live."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.streams.replay import replay
from models.events import InputQueued, ReasoningDelta, RunResult, StepFinished, StreamEvent, TextDelta
from models.stream import StreamRows
from models.usage import Usage
from tests.support.live_stream import Commit, Publish, Stored, TakeOver, Trim, Viewer, dice, life


class Lived:
    """A stream that has ended: all its events as they were live, its rows, and where its log could be trimmed."""

    def __init__(self, seed: int) -> None:
        self.stored = Stored()
        events: dict[int, StreamEvent] = {}
        self.trims: list[int] = []
        for move in life(dice(seed)):
            if isinstance(move, Commit):
                self.stored.commit(move)
            if isinstance(move, Commit | Publish):
                events[move.event.seq] = move.event
            elif isinstance(move, Trim):
                self.trims.append(move.upto)
            elif isinstance(move, TakeOver):
                self.trims.append(move.gone)
        self.events = [events[seq] for seq in sorted(events)]
        self.last = self.events[-1].seq

    def seen(self, upto: int | None = None) -> Viewer:
        """Who has seen everything live up to a number."""
        viewer = Viewer()
        for event in self.events:
            if upto is None or event.seq <= upto:
                viewer.see(event)
        return viewer


lives = st.integers(0, 2**32).map(Lived)


@given(lives, st.data())
def test_who_left_at_any_point_misses_nothing(lived: Lived, data: st.DataObject) -> None:
    """Live up to any number and from the rows after it: the same text in every block, the same lasting events."""
    after = data.draw(st.integers(0, lived.last + 3))
    viewer = lived.seen(after)
    for event in replay(lived.stored.read(after), after):
        viewer.see(event)
    whole = lived.seen()
    assert viewer.texts == whole.texts
    assert viewer.lasting == whole.lasting
    assert viewer.ended


@given(lives, st.data())
def test_rows_then_log_miss_nothing(lived: Lived, data: st.DataObject) -> None:
    """Up to where the log was trimmed the rows tell, from there the log: again nothing is missed."""
    gone = data.draw(st.sampled_from([0, *lived.trims]))
    after = data.draw(st.integers(0, gone))
    viewer = lived.seen(after)
    for event in replay(lived.stored.read(after), after, upto=gone):
        assert event.seq <= gone
        viewer.see(event)
    for event in lived.events:
        if event.seq > gone:
            viewer.see(event)
    whole = lived.seen()
    assert (viewer.texts, viewer.lasting) == (whole.texts, whole.lasting)


@given(lives, st.data())
def test_numbers_rise_and_lasting_events_keep_theirs(lived: Lived, data: st.DataObject) -> None:
    """Strictly rising numbers above `after`; each lasting event as it was; RunResult last."""
    after = data.draw(st.integers(0, lived.last))
    events = replay(lived.stored.read(after), after)
    numbers = [event.seq for event in events]
    assert numbers == sorted(set(numbers))
    assert all(number > after for number in numbers)
    assert [event for event in events if event.lasting] == lived.stored.read(after).lasting
    assert not events or isinstance(events[-1], RunResult)


@given(lives)
def test_applying_the_replay_again_changes_nothing(lived: Lived) -> None:
    """What is sent again reaches as far as before, in one delta a block."""
    viewer = lived.seen()
    before = dict(viewer.texts)
    events = replay(lived.stored.read(0))
    for event in [*events, *events]:
        viewer.apply(event)
    assert viewer.texts == before
    texts = [(event.step, event.block) for event in events if isinstance(event, TextDelta | ReasoningDelta)]
    assert len(texts) == len(set(texts))


@given(lives)
def test_each_replay_is_the_end_of_the_whole_one(lived: Lived) -> None:
    """Numbers do not depend on where the reader stands: what follows n is the whole replay's part after n."""
    whole = replay(lived.stored.read(0))
    for after in range(lived.last + 1):
        assert replay(lived.stored.read(after), after) == [event for event in whole if event.seq > after]


def finished(seq: int, message_seq: int = 2) -> StepFinished:
    """The end of a step."""
    return StepFinished("str_1", seq, 1, 2, 1_000, message_seq=message_seq, stop_reason="end_turn", usage=Usage())


def texts(blocks: Any, seq: int = 9) -> list[StreamEvent]:
    """The replay of one step's answer, without its end."""
    return replay(StreamRows([finished(seq)], {2: blocks}, ended=False))[:-1]


def test_text_comes_whole_one_delta_a_block() -> None:
    """Block by block under the numbers right below StepFinished, with the block's index, step, attempt and time."""
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}},
        {"type": "text", "text": "done"},
        {"type": "thinking", "thinking": "", "signature": "only"},
    ]
    assert texts(blocks) == [
        ReasoningDelta("str_1", 7, 1, 2, 1_000, 0, 0, "hm"),
        TextDelta("str_1", 8, 1, 2, 1_000, 3, 0, "done"),
    ]


def test_text_takes_no_lasting_events_number() -> None:
    """An input that was queued in the middle of the step keeps its number, and the text goes round it."""
    queued = InputQueued("str_1", 8, 1, 2, 0, input_id="inp_1", queued=1)
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    events = replay(StreamRows([queued, finished(9)], {2: blocks}, ended=False))
    assert [event.seq for event in events] == [6, 7, 8, 9]
    assert events[2] == queued


def test_blocks_that_make_no_sense_give_no_text() -> None:
    """An odd stored answer breaks no replay."""
    odd = [None, 3, {}, {"type": "text"}, {"type": "text", "text": 3}, {"type": "thinking", "thinking": None}]
    assert texts([*odd, {"type": "text", "text": "b"}]) == [TextDelta("str_1", 8, 1, 2, 1_000, 6, 0, "b")]
    assert texts("a string") == []
    assert texts([{"type": "text", "text": "a"}] * 3, seq=2) == [TextDelta("str_1", 1, 1, 2, 1_000, 2, 0, "a")]


def test_a_stream_without_rows_replays_as_nothing() -> None:
    """Nothing stored, nothing told; beyond the end there is nothing either."""
    assert replay(StreamRows([], {}, ended=False)) == []
    assert replay(StreamRows([finished(9)], {}, ended=False), after=9) == []
