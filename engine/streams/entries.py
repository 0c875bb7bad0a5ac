"""Events as entries of a Redis stream, and back.

An entry's id is the event's number, so Redis itself refuses what a late writer adds below it. Each entry names the
number of the one before it: numbers may skip, and only this shows a reader that something was trimmed or lost. A
marker, with the id `gone-1`, stands where an owner began, or wrote its log anew: all up to `gone` is in the rows.
Behind it Redis refuses whatever an owner before it still adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models.event_body import body_of, event_of
from models.events import ReasoningDelta, StreamEvent, TextDelta
from models.json_codec import dump_json, load_json

FIELD = "e"
"""The one field of every entry."""
_MARKER = b""
_TEXT, _REASONING = "t", "r"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a reader takes from a stream: an event, or None for a marker, and the number that went before."""

    number: int
    before: int
    event: StreamEvent | None


class UnknownEntry(ValueError):
    """An entry of a version that this one does not know; `number` is its own."""

    def __init__(self, stream_id: str, number: int) -> None:
        super().__init__(f"{stream_id} {number}")
        self.number = number


def marker(gone: int) -> tuple[str, bytes]:
    """The id and the value of a marker."""
    return f"{gone}-1", _MARKER


def entry(event: StreamEvent, before: int) -> tuple[str, str]:
    """The id and the value of an event's entry."""
    head = [before, event.step, event.attempt, event.at]
    match event:
        case TextDelta(block=block, offset=offset, text=text):
            body: list[Any] = [_TEXT, *head, block, offset, text]
        case ReasoningDelta(block=block, offset=offset, text=text):
            body = [_REASONING, *head, block, offset, text]
        case _:
            body = [type(event).__name__, *head, body_of(event)]
    return f"{event.seq}-0", dump_json(body)


def read_entry(stream_id: str, identity: bytes, value: bytes | None) -> Entry:
    """An entry from its id and its value, None where it has no such field. Raises UnknownEntry."""
    number = int(identity.partition(b"-")[0])
    if value == _MARKER:
        return Entry(number, number, None)
    try:
        kind, before, *rest = load_json(value or b"")
        return Entry(number, before, _event(stream_id, number, kind, *rest))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UnknownEntry(stream_id, number) from error


def _event(stream_id: str, number: int, kind: str, step: int, attempt: int, at: int, *body: Any) -> StreamEvent:
    if kind == _TEXT:
        return TextDelta(stream_id, number, step, attempt, at, *body)
    if kind == _REASONING:
        return ReasoningDelta(stream_id, number, step, attempt, at, *body)
    return event_of(kind, body[0], stream_id=stream_id, seq=number, step=step, attempt=attempt, at=at)
