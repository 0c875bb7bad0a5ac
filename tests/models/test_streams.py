"""Streams: lasting events are rows, under numbers that rise within what was reserved."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from models.database import Database
from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import (
    ContextCompacted,
    Failure,
    InputApplied,
    InputQueued,
    ModelFellBack,
    RunResult,
    StepFinished,
    StepRestarted,
    StreamEvent,
    ToolCallFinished,
    ToolCallStarted,
)
from models.stream import get_stream, read_stream, streams_of_run
from models.usage import Usage
from tests.support.desk import Desk
from tests.support.rows import NOW, a_call, a_message, a_run, a_stream, store


async def test_every_kind_of_event_comes_back_as_it_was_stored(database: Database) -> None:
    """With the call's name, input and result from the call's own row."""
    run = a_run()
    stream = a_stream(run)
    call = a_call(run, 1, result="3", is_error=True, input={"a": [1, None]})
    usage = Usage(1, 2, 3, 4, Decimal("0.000001"))
    error = Failure(ErrorCode.RUN_TIMEOUT, "Too long.")
    envelope: dict[str, Any] = {"stream_id": stream.id, "step": 1, "attempt": 2, "at": NOW}
    events: list[StreamEvent] = [
        InputQueued(seq=1, input_id="inp_1", queued=2, **envelope),
        StepRestarted(seq=2, reason="it broke", **envelope),
        ModelFellBack(seq=3, from_="model-a", to="model-b", reason="it broke", **envelope),
        ContextCompacted(seq=4, tokens_before=900, tokens_after=90, **envelope),
        StepFinished(seq=5, message_seq=2, stop_reason=None, usage=usage, **envelope),
        ToolCallStarted(seq=6, tool_call_id=call.id, name=call.name, input=call.input, **envelope),
        ToolCallFinished(
            seq=7, tool_call_id=call.id, name=call.name, input=call.input, result="3", is_error=True, **envelope
        ),
        InputApplied(seq=8, input_ids=["inp_1", "inp_2"], message_seq=3, **envelope),
        RunResult(
            seq=9,
            run_id=run.id,
            status=RunStatus.FAILED,
            finish=FinishReason.ERROR,
            text="Hel\ufffd",
            output={"a": 1},
            model=None,
            steps=1,
            usage=Usage(),
            cancelled=False,
            error=error,
            **envelope,
        ),
    ]
    answer = a_message(run, 2, [{"type": "text", "text": "Hel"}])
    await store(database, run, stream, call, answer, *events)
    rows = await database.read(read_stream, stream.id, 0)
    assert rows.lasting == events
    assert rows.answers == {2: answer.content}
    assert rows.ended


async def test_a_stream_is_read_from_any_number(database: Database) -> None:
    """What is beyond it, and the answers of those alone."""
    run = a_run()
    stream = a_stream(run, ended=False)
    usage = Usage()
    events = [StepFinished(stream.id, seq, seq, 1, NOW, seq, "end_turn", usage) for seq in (2, 4, 9)]
    await store(database, run, stream, *(a_message(run, seq, []) for seq in (2, 4, 9)), *events)
    rows = await database.read(read_stream, stream.id, 2)
    assert [event.seq for event in rows.lasting] == [4, 9]
    assert set(rows.answers) == {4, 9}
    assert not rows.ended
    assert (await database.read(read_stream, stream.id, 9)).lasting == []


async def test_a_stream_that_is_not_there_is_empty(database: Database) -> None:
    """And has not ended."""
    rows = await database.read(read_stream, "str_none", 0)
    assert (rows.lasting, rows.answers, rows.ended) == ([], {}, False)
    assert await database.read(get_stream, "str_none") is None


async def test_numbers_rise_through_every_verb_and_every_owner(desk: Desk) -> None:
    """In the order in which the events were committed, never twice, never above what was reserved."""
    hands = await desk.open()
    told: list[StreamEvent] = []
    for owner in range(4):
        if owner:
            await desk.lapse()
            hands = await desk.taken(f"worker-{owner}")
        await desk.queue(hands.id, f"m{owner}")
        await hands.announce()
        await hands.run_calls(await hands.call_tools(2))
        await hands.results()
        told += hands.told
        stream = await desk.database.read(get_stream, str(hands.run.stream_id))
        assert stream is not None
        assert hands.numbers.ceiling == stream.reserved
        assert all(event.seq <= stream.reserved for event in told)
    await hands.say()
    told += (await hands.settle()).events
    numbers = [event.seq for event in await desk.events(hands.id)]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1
    assert {event.seq for event in told} <= set(numbers)


async def test_a_runs_streams_are_listed_by_generation(desk: Desk) -> None:
    """Each knows how many steps and messages were there before it."""
    hands = await desk.open()
    await hands.say()
    await hands.settle()
    hands = await desk.sent(hands.id, "next")
    streams = await desk.database.read(streams_of_run, hands.id)
    assert [(one.generation, one.steps_before, one.seq_before) for one in streams] == [(1, 0, 0), (2, 1, 2)]


@pytest.mark.parametrize("text", ["W\0s\0", "\ud83d\ude00", "\ud800"])
async def test_odd_text_in_an_event_is_held(desk: Desk, text: str) -> None:
    """A reason, a result, an answer: on either database."""
    hands = await desk.open()
    await hands.begin()
    await hands.begin(1, 2, reason=text)
    await hands.begin(1, 3, reason="again")
    (call,) = await hands.call_tools()
    await hands.start(call)
    await hands.finish(call, text)
    await hands.results()
    assert len(await desk.events(hands.id)) == 5
