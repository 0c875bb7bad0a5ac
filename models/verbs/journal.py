"""The lasting events of one verb: numbered within what the owner has reserved, stored in the verb's transaction."""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import Connection, insert, select, update

from models.events import RunResult, StreamEvent
from models.stream import event_to_row, read_stream, stream_events, streams
from models.verbs.row import HEADROOM, LOW_WATER, Numbers

Event = TypeVar("Event", bound=StreamEvent)


def told_before(c: Connection, numbers: Numbers) -> tuple[tuple[StreamEvent, ...], Numbers]:
    """What an earlier try of the same verb has told: the events from the number that this one would use on.

    To be asked by the owner of the stream, who alone uses its numbers. Also the numbers that are left.
    """
    events = tuple(read_stream(c, numbers.stream_id, numbers.next - 1).lasting)
    if not events:
        return (), numbers
    following = events[-1].seq + 1
    return events, Numbers(numbers.stream_id, following, max(numbers.ceiling, following - 1))


class Journal:
    """Collects a verb's events under rising numbers; `write` stores them and gives the numbers that are left."""

    def __init__(self, c: Connection, numbers: Numbers, at: int) -> None:
        self._c = c
        self._numbers = numbers
        self._next = numbers.next
        self._at = at
        self.events: list[StreamEvent] = []

    @classmethod
    def beyond_reserved(cls, c: Connection, stream_id: str, at: int) -> Journal:
        """A journal for one who writes in the owner's place: its numbers begin above all that were reserved."""
        reserved = c.execute(select(streams.c.reserved).where(streams.c.id == stream_id)).scalar_one()
        return cls(c, Numbers(stream_id, reserved + 1, reserved), at)

    def add(self, kind: type[Event], step: int, attempt: int, **body: Any) -> Event:
        """Give an event the next number."""
        event = kind(self._numbers.stream_id, self._next, step, attempt, self._at, **body)
        self._next += 1
        self.events.append(event)
        return event

    def write(self) -> Numbers:
        """Store the events, reserve further numbers where few are left, and mark the stream's end."""
        stream_id, ceiling = self._numbers.stream_id, self._numbers.ceiling
        if self.events:
            self._c.execute(insert(stream_events), [event_to_row(event) for event in self.events])
        changes: dict[str, Any] = {}
        if self._next + LOW_WATER > ceiling:
            ceiling = self._next + HEADROOM
            changes["reserved"] = ceiling
        if self.events and isinstance(self.events[-1], RunResult):
            changes["ended"] = True
        if changes:
            self._c.execute(update(streams).where(streams.c.id == stream_id).values(changes))
        return Numbers(stream_id, self._next, ceiling)
