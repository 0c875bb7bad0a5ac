"""What the accumulator makes of what it does not know, and of what makes no sense."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.providers.provider import Delta
from tests.support.messages_events import call, end, fed, more, shown, start, stop, stored, text

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy


# What is unknown, and what is odd


def test_an_unknown_block_is_kept_as_it_came() -> None:
    """So that it can be replayed when the API grows."""
    block = {"type": "hologram", "shape": {"faces": [1, 2.5, None, True]}, "when": "2026-01-01T00:00:00Z"}
    accumulator, deltas = fed(start(0, block), stop(0), *text(1, "x"), *end())
    assert accumulator.answer().blocks[0] == block
    assert deltas == [Delta("text", 1, "x")]


def test_unknown_deltas_are_merged_into_their_block() -> None:
    """Texts and lists grow, objects are laid over, anything else replaces; identities stay."""
    accumulator, _ = fed(
        start(0, {"type": "hologram", "id": "h1", "notes": "a", "faces": [1], "size": {"w": 1}}),
        more(0, "hologram_delta", id="h2", notes="b", faces=[2], size={"h": 2}, n=1),
        more(0, "hologram_delta", notes="c", faces=3, n=2, colour="red"), stop(0),
    )  # fmt: skip
    assert accumulator.answer().blocks == [
        {"type": "hologram", "id": "h1", "notes": "abc", "faces": [1, 2, 3], "size": {"w": 1, "h": 2}, "n": 2,
         "colour": "red"}
    ]  # fmt: skip


def test_an_unknown_delta_with_text_for_a_text_block_is_shown() -> None:
    """What is stored of a text was shown, whatever its delta is called."""
    accumulator, deltas = fed(*text(0, "a")[:-1], more(0, "richer_text_delta", text="b", style="bold"), stop(0))
    assert shown(deltas) == {0: "ab"} == stored(accumulator)
    assert accumulator.answer().blocks[0]["style"] == "bold"


def test_input_of_a_call_that_the_provider_runs_itself_is_read_too() -> None:
    """Its block is kept whole; it is not ours to run, so it is never broken."""
    block = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    events = [start(0, block), more(0, "input_json_delta", partial_json='{"query": "x"}'), stop(0)]
    answer = fed(*events, *end())[0].answer()
    assert answer.blocks == [{**block, "input": {"query": "x"}}]
    assert answer.broken == {}


def test_citations_are_collected_on_their_text() -> None:
    """Also where the block began with null for them."""
    accumulator, _ = fed(
        start(0, {"type": "text", "text": "", "citations": None}), more(0, "citations_delta", citation={"n": 1}),
        more(0, "text_delta", text="x"), more(0, "citations_delta", citation={"n": 2}), stop(0),
    )  # fmt: skip
    assert accumulator.answer().blocks == [{"type": "text", "text": "x", "citations": [{"n": 1}, {"n": 2}]}]


@pytest.mark.parametrize(
    "delta",
    [
        more(0, "text_delta", text="x"),
        more(0, "thinking_delta", thinking="x"),
        more(0, "signature_delta", signature="x"),
        more(0, "citations_delta", citation={}),
    ],
    ids=lambda delta: delta["delta"]["type"],
)
def test_a_known_delta_that_does_not_fit_its_block_is_ignored(delta: dict[str, Any]) -> None:
    """It would give the block a field with which the provider refuses it."""
    accumulator, deltas = fed(*call(0, "{}")[:-1], delta, stop(0), *end("tool_use"))
    assert deltas == []
    assert set(accumulator.answer().blocks[0]) == {"type", "id", "name", "input"}


def test_gaps_in_the_indexes_leave_no_gaps_in_the_answer() -> None:
    """A delta names the place that its block has in the stored answer."""
    accumulator, deltas = fed(*text(3, "a"), *text(7, "b"), *end())
    assert shown(deltas) == {0: "a", 1: "b"} == stored(accumulator)


def test_blocks_that_grow_by_turns_stay_apart() -> None:
    """Pieces are added by index, not to the last block."""
    accumulator, deltas = fed(
        start(1, {"type": "text", "text": ""}), start(0, {"type": "text", "text": ""}), more(0, "text_delta", text="b"),
        more(1, "text_delta", text="a"), more(0, "text_delta", text="b"), stop(1), stop(0), *end(),
    )  # fmt: skip
    assert shown(deltas) == {0: "a", 1: "bb"} == stored(accumulator)


def test_a_second_block_under_an_index_is_a_block_of_its_own() -> None:
    """Neither is lost: some servers number every block 0."""
    accumulator, deltas = fed(*text(0, "a"), *text(0, "b"), *call(0, '{"q": 1}'), *end("tool_use"))
    assert shown(deltas) == {0: "a", 1: "b"} == stored(accumulator)
    assert accumulator.answer().blocks[2]["input"] == {"q": 1}


def test_a_delta_of_a_block_never_announced_is_shown() -> None:
    """Text and thinking begin their block; of a tool's input there is no name to call, so it is dropped."""
    accumulator, deltas = fed(
        more(0, "text_delta", text="a"), more(0, "text_delta", text="b"), more(1, "thinking_delta", thinking="c"),
        more(2, "input_json_delta", partial_json="{}"), *end(),
    )  # fmt: skip
    assert shown(deltas) == {0: "ab", 1: "c"} == stored(accumulator)
    assert len(accumulator.answer().blocks) == 2


def test_what_comes_after_the_end_of_a_block_is_ignored() -> None:
    """A block that was ended is what it was."""
    late = [more(0, "text_delta", text="x"), more(1, "input_json_delta", partial_json="x"), stop(0), stop(1)]
    accumulator, deltas = fed(*text(0, "a"), *call(1, "{}"), *late, *end("tool_use"))
    assert shown(deltas) == {0: "a"} == stored(accumulator)
    assert accumulator.answer().broken == {}


ODD = [
    {},
    {"type": None},
    {"type": 7},
    {"type": ["content_block_start"]},
    {"type": "comet", "tail": [1]},
    {"type": "content_block_start"},
    start(0, None),
    start(0, "text"),
    start(0, {"type": 5}),
    start(0, {"type": "text"}),
    start(0, {"type": "text", "text": 5}),
    start([1], {"type": "tool_use", "id": 7, "name": None, "input": None}),
    start({"a": 1}, {"type": "thinking", "thinking": ["x"], "signature": 5}),
    start(None, {"type": "hologram", "n": float("nan"), "x": object()}),
    {"type": "content_block_delta", "index": 0},
    {"type": "content_block_delta", "index": 0, "delta": "x"},
    more(0, "text_delta"),
    more(0, "text_delta", text=5),
    more(0, "input_json_delta", partial_json=5),
    more(0, "signature_delta", signature=5),
    more(0, "citations_delta", citation=None),
    more("0", "text_delta", text="x"),
    {"type": "content_block_delta", "index": 0, "delta": {"type": ["x"], "text": 5}},
    {"type": "content_block_stop"},
    stop({}),
    {"type": "message_start"},
    {"type": "message_start", "message": {"model": 5, "usage": "many"}},
    {"type": "message_start", "message": {"usage": {"input_tokens": -1, "output_tokens": 2**70}}},
    {"type": "message_delta", "delta": None, "usage": {"output_tokens": "5"}},
    {"type": "message_delta", "delta": {"stop_reason": 7}, "usage": None},
    SimpleNamespace(type="content_block_start"),
    None,
    5,
    "event",
]


@unhurried
@given(st.lists(st.sampled_from(ODD), max_size=12))
def test_no_event_however_odd_is_an_error(events: list[Any]) -> None:
    """Whatever comes, in whatever order: there is an answer, JSON can hold it, and it is what was shown."""
    accumulator, deltas = fed(*events)
    answer = accumulator.answer()
    json.dumps(answer.blocks, allow_nan=False)
    assert shown(deltas) == stored(accumulator)
    assert all(isinstance(block["type"], str) for block in answer.blocks)
    assert answer.usage.input_tokens >= 0
    json.dumps(accumulator.partial().blocks, allow_nan=False)


def test_ids_and_names_of_calls_are_always_texts() -> None:
    """What is to be called is looked up by name; an odd one is simply unknown."""
    answer = fed(*call(0, "{}", name=None, identifier=7), *end("tool_use"))[0].answer()
    assert answer.blocks[0] == {"type": "tool_use", "id": "7", "name": "", "input": {}}


def test_events_may_be_objects_with_attributes() -> None:
    """As an SDK gives them."""
    block = SimpleNamespace(model_dump=lambda **_: {"type": "text", "text": ""})
    events = [
        SimpleNamespace(type="content_block_start", index=0, content_block=block),
        SimpleNamespace(type="content_block_delta", index=0, delta=SimpleNamespace(type="text_delta", text="hi")),
        SimpleNamespace(type="message_delta", delta=SimpleNamespace(stop_reason="end_turn"), usage=None),
        SimpleNamespace(type="message_stop"),
    ]
    accumulator, deltas = fed(*events)
    assert deltas == [Delta("text", 0, "hi")]
    assert accumulator.whole
