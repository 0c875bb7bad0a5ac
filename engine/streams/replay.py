"""What a log has lost, put together again from the rows: pure, rows to events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from models.events import InputQueued, ReasoningDelta, RunResult, StepFinished, StreamEvent, TextDelta
from models.stream import StreamRows


def replay(rows: StreamRows, after: int = 0, upto: int | None = None) -> list[StreamEvent]:
    """The stream's events numbered above `after` (and up to `upto`), in order, as far as the rows tell them.

    Lasting events come under their own numbers. The text of each step that is finished comes from its stored message,
    whole, one delta a block at offset 0, under the highest numbers below its StepFinished that no lasting event has:
    while the step was live, each of these blocks took one of those numbers or a lower one, so who has seen
    everything up to `after` lacks nothing. RunResult is the last event there is.
    """
    events = [event for event in _in_order(rows) if event.seq > after and (upto is None or event.seq <= upto)]
    events.sort(key=lambda event: event.seq)
    end = next((index for index, event in enumerate(events, 1) if isinstance(event, RunResult)), len(events))
    return events[:end]


def settled(events: list[StreamEvent]) -> list[StreamEvent]:
    """Those of replayed events that can be given although nobody knows what else is published.

    InputQueued alone is written while a step's text is under way: where nothing follows it in the rows, text that they
    do not have yet may stand before it, and its reader would never be given that.
    """
    end = len(events)
    while end and isinstance(events[end - 1], InputQueued):
        end -= 1
    return events[:end]


def _in_order(rows: StreamRows) -> Iterator[StreamEvent]:
    taken = {event.seq for event in rows.lasting}
    floor = 0
    for event in rows.lasting:
        if isinstance(event, StepFinished):
            yield from _texts(event, rows.answers.get(event.message_seq, []), taken, floor)
            floor = event.seq
        yield event


def _texts(finished: StepFinished, blocks: object, taken: set[int], floor: int) -> Iterator[StreamEvent]:
    """The step's text, the last block first; `floor` is the number that the step before it ended with."""
    number = finished.seq
    for index, kind, text in reversed(_shown(blocks)):
        number -= 1
        while number in taken:
            number -= 1
        if number <= floor:
            return  # more blocks than numbers: no live step can have stored that
        yield kind(
            stream_id=finished.stream_id,
            seq=number,
            step=finished.step,
            attempt=finished.attempt,
            at=finished.at,
            block=index,
            offset=0,
            text=text,
        )


def _shown(blocks: object) -> list[tuple[int, type[TextDelta | ReasoningDelta], str]]:
    """What a watcher saw of a message: its non-empty text and thinking, each with its place in the message."""
    found: list[tuple[int, type[TextDelta | ReasoningDelta], str]] = []
    for index, block in enumerate(blocks if isinstance(blocks, list) else []):
        text, kind = _text_of(block)
        if isinstance(text, str) and text and kind is not None:
            found.append((index, kind, text))
    return found


def _text_of(block: Any) -> tuple[object, type[TextDelta | ReasoningDelta] | None]:
    match block:
        case {"type": "text", "text": text}:
            return text, TextDelta
        case {"type": "thinking", "thinking": text}:
            return text, ReasoningDelta
        case _:
            return None, None
