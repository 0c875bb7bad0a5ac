"""What the accumulator makes of tool calls: whole ones, broken ones, cut ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.messages_events import HIGH, call, end, fed, start, stop, text

# Tool calls


def test_tool_input_in_pieces_is_one_object() -> None:
    """The pieces of the JSON are joined and read once, at the end of the block."""
    accumulator, deltas = fed(*call(0, "", '{"q": "x', 'y", "n": [1, 2.5, null]}'), *end("tool_use"))
    answer = accumulator.answer()
    assert deltas == []
    assert answer.blocks == [
        {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "xy", "n": [1, 2.5, None]}}
    ]
    assert answer.broken == {}


@pytest.mark.parametrize("pieces", [(), ("",), ("", " "), (None,)], ids=repr)
def test_a_call_without_any_input_has_an_empty_one(pieces: tuple[Any, ...]) -> None:
    """A tool without parameters is called so."""
    answer = fed(*call(0, *pieces), *end("tool_use"))[0].answer()
    assert answer.blocks[0]["input"] == {}
    assert answer.broken == {}


def test_input_given_at_the_start_of_a_block_counts() -> None:
    """Some servers send a call whole."""
    block = {"type": "tool_use", "id": "t", "name": "search", "input": {"q": "x\x00"}}
    answer = fed(start(0, block), stop(0), *end("tool_use"))[0].answer()
    assert answer.blocks[0]["input"] == {"q": "x\ufffd"}


BROKEN = [
    '{"a": "x',
    "[1, 2]",
    "7",
    '"text"',
    "null",
    "NaN",
    '{"a": NaN}',
    '{"a": -Infinity}',
    '{"a": 1e999}',
    '{"a": 1} {"b": 2}',
    "{'a': 1}",
    "[" * 100_000,
    '{"a": ' + "[" * 200 + "]" * 200 + "}",
    '{"a": ' + "9" * 5_000 + "}",
]


@pytest.mark.parametrize("raw", BROKEN, ids=lambda raw: raw[:20])
def test_input_that_is_no_json_object_is_marked_broken_with_what_came(raw: str) -> None:
    """Such a call is never run with {}: the model reads what it sent."""
    answer = fed(*text(0, "Let me see."), *call(1, raw[:3], raw[3:]), *end("tool_use"))[0].answer()
    assert answer.broken == {1: raw}
    assert answer.blocks[1]["input"] == {}


@pytest.mark.parametrize("piece", [5, True, {"q": "x"}, ["x"]], ids=repr)
def test_a_piece_of_input_that_is_no_text_breaks_the_call(piece: Any) -> None:
    """Rather than running the tool without what the piece stood for."""
    assert list(fed(*call(0, piece), *end("tool_use"))[0].answer().broken) == [0]


@pytest.mark.parametrize("given_input", [[1], 5, "x", True], ids=repr)
def test_a_start_whose_input_is_no_object_is_broken(given_input: Any) -> None:
    """The same holds where a server sends the input whole."""
    block = {"type": "tool_use", "id": "t", "name": "n", "input": given_input}
    answer = fed(start(0, block), stop(0), *end("tool_use"))[0].answer()
    assert answer.broken == {0: json.dumps(given_input)}
    assert answer.blocks[0]["input"] == {}


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_call_that_was_cut_by_a_limit_is_broken_even_if_its_json_is_whole(reason: str) -> None:
    """`{"amount": 1}` may have been about to become 100: only what was ended by the model is run."""
    answer = fed(*call(0, '{"a": 1}'), *call(1, '{"amount": 1}', identifier="toolu_2"), *end(reason))[0].answer()
    assert answer.broken == {1: '{"amount": 1}'}
    assert [block["input"] for block in answer.blocks] == [{"a": 1}, {}]


def test_a_call_without_input_that_was_cut_by_a_limit_is_broken() -> None:
    """The input was about to come."""
    answer = fed(*call(0)[:1], *end("max_tokens"))[0].answer()
    assert list(answer.broken) == [0]


def test_text_cut_by_a_limit_breaks_no_call_before_it() -> None:
    """Only the last block can have been cut."""
    assert fed(*call(0, "{}"), *text(1, "and th"), *end("max_tokens"))[0].answer().broken == {}


def test_strings_in_tool_input_are_cleaned_at_every_depth() -> None:
    """Keys, names and ids too; a pair of escaped halves is its character."""
    raw = '{"a\\u0000": ["\\ud800", {"b": "\\ud83d\\ude00"}]}'
    answer = fed(*call(0, raw, name="se\x00arch", identifier="t\ud800"), *end("tool_use"))[0].answer()
    assert answer.blocks[0] == {
        "type": "tool_use", "id": "t\ufffd", "name": "se\ufffdarch",
        "input": {"a\ufffd": ["\ufffd", {"b": "\U0001f600"}]},
    }  # fmt: skip


def test_what_came_of_broken_input_is_cleaned() -> None:
    """The raw text is stored as well."""
    assert fed(*call(0, '{"a": "\x00', HIGH), *end("tool_use"))[0].answer().broken == {0: '{"a": "\ufffd\ufffd'}


def test_a_call_never_ended_is_read_when_the_message_ends() -> None:
    """A server that leaves out the end of a block, and ends the message, has said all."""
    answer = fed(*call(0, '{"q": 1}')[:-1], *end("tool_use"))[0].answer()
    assert answer.blocks[0]["input"] == {"q": 1}
    assert answer.broken == {}
