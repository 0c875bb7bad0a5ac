"""Entries: every event on its way through Redis, and those of versions that this one does not know."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.streams.entries import Entry, UnknownEntry, entry, marker, read_entry
from models.events import StreamEvent, TextDelta
from models.json_codec import dump_json, load_json
from tests.support.any_event import VALUES, events

SID = "str_1"


@given(events(SID), st.data())
def test_every_event_comes_back_as_it_was(event: StreamEvent, data: st.DataObject) -> None:
    """Of every kind, with any text, integers of any size, and the number before it."""
    before = data.draw(st.integers(0, event.seq - 1))
    identity, value = entry(event, before)
    assert read_entry(SID, identity.encode(), value.encode()) == Entry(event.seq, before, event)
    assert type(read_entry(SID, identity.encode(), value.encode()).event) is type(event)


@given(events(SID))
def test_an_entrys_id_is_the_events_number(event: StreamEvent) -> None:
    """So that Redis itself refuses what a late writer adds."""
    assert entry(event, 0)[0] == f"{event.seq}-0"


def test_a_marker_stands_between_its_number_and_the_next() -> None:
    """What an owner before it had told is below it, and all that the new one tells above."""
    identity, value = marker(7)
    assert identity == "7-1"
    assert read_entry(SID, identity.encode(), value) == Entry(7, 7, None)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"\xff",
        b"{",
        b"7",
        b"null",
        b'"t"',
        b"[]",
        b"{}",
        b'["t"]',
        b'["t",1,1,1,1]',
        b'["t",1,1,1,1,0,0]',
        b'["t",1,1,1,1,0,0,"text","and more"]',
        b'["Unheard",1,1,1,1,{}]',
        b'["StepRestarted",1,1,1,1]',
        b'["StepRestarted",1,1,1,1,7]',
        b'["StepRestarted",1,1,1,1,{}]',
        b'["StepRestarted",1,1,1,1,{"reason":"","and":"more"}]',
        b'["StepFinished",1,1,1,1,{"message_seq":1,"stop_reason":null,"usage":7}]',
        b'["StepFinished",1,1,1,1,{"message_seq":1,"stop_reason":null,"usage":{"cost":"much"}}]',
    ],
)
def test_an_entry_of_another_version_is_refused_by_its_number(value: bytes | None) -> None:
    """With one error, whatever is wrong with it."""
    with pytest.raises(UnknownEntry) as refused:
        read_entry(SID, b"12-0", value)
    assert refused.value.number == 12


@given(VALUES)
def test_no_value_does_anything_but_be_refused(value: Any) -> None:
    """Whatever JSON another version may write."""
    try:
        read = read_entry(SID, b"12-0", dump_json(value).encode())
    except UnknownEntry:
        return
    assert read.event is None


@given(events(SID), st.data())
def test_an_event_whose_fields_are_changed_is_refused_or_read(event: StreamEvent, data: st.DataObject) -> None:
    """A field too many, or one too few."""
    _, value = entry(event, 0)
    fields = load_json(value)
    if data.draw(st.booleans()):
        fields.append("more")
    else:
        del fields[data.draw(st.integers(0, len(fields) - 1))]
    try:
        read_entry(SID, b"12-0", dump_json(fields).encode())
    except UnknownEntry:
        return


def test_text_takes_little_room() -> None:
    """An entry of text is its text, and some forty bytes beside it."""
    _, value = entry(
        TextDelta("str_0190b2f0c8d27000a000000000000000", 1_234, 3, 1, 1_764_500_000_000, 0, 900, " word"), 7
    )
    assert len(value) < 50
