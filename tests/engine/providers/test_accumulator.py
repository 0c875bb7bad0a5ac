"""What the accumulator makes of a response's events: text, thinking, usage, and what is kept of a cut."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.providers.accumulator import Accumulator
from engine.providers.provider import Delta
from models.text import clean
from models.usage import Usage
from tests.support.messages_events import HIGH, LOW, call, end, fed, more, partial, shown, start, stop, stored, text

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy


# Text


def test_text_arrives_as_deltas_and_as_a_whole() -> None:
    """Each piece is a delta of its block, and the block is their sum."""
    accumulator, deltas = fed(*text(0, "Hel", "lo"), *end())
    assert deltas == [Delta("text", 0, "Hel"), Delta("text", 0, "lo")]
    assert accumulator.answer().blocks == [{"type": "text", "text": "Hello"}]
    assert accumulator.answer().stop_reason == "end_turn"
    assert accumulator.whole


def test_text_that_a_block_begins_with_is_shown_too() -> None:
    """A server may put the first text into the start of its block."""
    accumulator, deltas = fed(start(0, {"type": "text", "text": "Hel"}), more(0, "text_delta", text="lo"), stop(0))
    assert shown(deltas) == {0: "Hello"} == stored(accumulator)


def test_an_empty_piece_is_no_delta() -> None:
    """A delta never carries empty text; a block without any is still stored as it came."""
    accumulator, deltas = fed(*text(0, "", ""), *end())
    assert deltas == []
    assert accumulator.answer().blocks == [{"type": "text", "text": ""}]


def test_nul_and_lone_surrogates_become_the_replacement_character() -> None:
    """What a database can't hold is replaced before it is shown, so that shown and stored are the same."""
    accumulator, deltas = fed(*text(0, "W\x00s\x00", f"a{LOW}b", f"c{HIGH}d"), *end())
    assert shown(deltas) == {0: "W\ufffds\ufffda\ufffdbc\ufffdd"} == stored(accumulator)


def test_a_surrogate_pair_split_between_two_deltas_is_one_character() -> None:
    """The first half waits for the second, also when the block begins with it."""
    accumulator, deltas = fed(
        start(0, {"type": "text", "text": f"a{HIGH}"}), more(0, "text_delta", text=f"{LOW}b{HIGH}"),
        more(0, "text_delta", text=LOW), stop(0),
    )  # fmt: skip
    assert shown(deltas) == {0: "a\U0001f600b\U0001f600"} == stored(accumulator)


@pytest.mark.parametrize("last", [[stop(0)], []], ids=["its block ends", "its block never ends"])
def test_half_a_character_at_the_end_is_shown_as_the_replacement_character(last: list[Any]) -> None:
    """Nothing of a text is dropped: a half that stays alone is told as one character."""
    events = [start(0, {"type": "text", "text": ""}), more(0, "text_delta", text=f"a{HIGH}"), *last]
    accumulator, deltas = fed(*events, *end())
    assert shown(deltas) == {0: "a\ufffd"} == stored(accumulator)


def test_halves_of_two_blocks_are_not_mixed_up() -> None:
    """Each block holds back its own half."""
    accumulator, deltas = fed(
        start(0, {"type": "text", "text": ""}), start(1, {"type": "thinking", "thinking": ""}),
        more(0, "text_delta", text=HIGH), more(1, "thinking_delta", thinking=HIGH),
        more(1, "thinking_delta", thinking="x"), more(0, "text_delta", text=LOW), stop(0), stop(1),
    )  # fmt: skip
    assert shown(deltas) == {0: "\U0001f600", 1: "\ufffdx"} == stored(accumulator)


@unhurried
@given(st.lists(st.text(alphabet=[HIGH, LOW, "\x00", "a", "é", "\U0001f600"], max_size=4), max_size=8))
def test_however_a_text_is_cut_its_deltas_are_what_is_stored(pieces: list[str]) -> None:
    """For any pieces: the deltas joined are the stored text, which is the whole text cleaned at once."""
    accumulator, deltas = fed(*text(0, *pieces), *end())
    assert "".join(delta.text for delta in deltas) == accumulator.answer().blocks[0]["text"] == clean("".join(pieces))
    assert all(delta.text for delta in deltas)


# Thinking


def test_thinking_keeps_its_text_and_its_signature_byte_for_byte() -> None:
    """Thinking is shown as reasoning, and stored with the signature that lets it be replayed."""
    signature = "EqQBCgIYAhIM+/=="
    accumulator, deltas = fed(
        start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        more(0, "thinking_delta", thinking="Let me "), more(0, "thinking_delta", thinking="see."),
        more(0, "signature_delta", signature=signature), stop(0), *end(),
    )  # fmt: skip
    assert deltas == [Delta("reasoning", 0, "Let me "), Delta("reasoning", 0, "see.")]
    assert accumulator.answer().blocks == [{"type": "thinking", "thinking": "Let me see.", "signature": signature}]


def test_thinking_that_is_only_a_signature_is_kept() -> None:
    """A model that does not show its thinking signs it all the same."""
    events = [
        start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        more(0, "signature_delta", signature="s"),
    ]
    accumulator, deltas = fed(*events, stop(0), *call(1, "{}"), *end("tool_use"))
    assert deltas == []
    assert accumulator.answer().blocks[0] == {"type": "thinking", "thinking": "", "signature": "s"}


def test_redacted_thinking_is_kept_as_it_came() -> None:
    """Its data is opaque, and goes back as it is."""
    block = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    accumulator, _ = fed(start(0, block), stop(0), *text(1, "x"), *end())
    assert accumulator.answer().blocks[0] == block


# Usage, model, stop reason


def test_usage_is_the_providers_last_figure_and_never_a_sum_of_figures() -> None:
    """message_delta's figures are cumulative: they replace; one that is missing leaves the earlier one."""
    first = {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2}
    accumulator, _ = fed(
        {"type": "message_start", "message": {"model": "m", "usage": first}},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 5, "input_tokens": None}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
    )
    assert accumulator.usage == Usage(9, 7, cache_read_tokens=4, cache_write_tokens=2)


def test_cost_is_that_of_the_model_which_the_provider_names() -> None:
    """An alias is answered by a model with a name of its own; the price is looked up by that."""
    asked: list[str] = []

    def cost(model: str, usage: Usage) -> Decimal:
        asked.append(model)
        return Decimal(usage.input_tokens)

    accumulator = Accumulator("alias", cost)
    accumulator.feed({"type": "message_start", "message": {"model": "claude-x-20260101", "usage": {"input_tokens": 3}}})
    assert accumulator.usage.cost == 3
    assert asked == ["claude-x-20260101"]
    assert accumulator.answer().model == "claude-x-20260101"


def test_any_stop_reason_is_told_as_it_came() -> None:
    """What it means is not decided here."""
    for reason in ("pause_turn", "refusal", "stop_sequence", "a_new_one"):
        assert fed(*end(reason))[0].answer().stop_reason == reason


@pytest.mark.parametrize("events", [[], end()[:1], [{"type": "message_stop"}]], ids=["nothing", "no stop", "no reason"])
def test_an_answer_without_its_end_is_not_whole(events: list[Any]) -> None:
    """Both message_stop and a reason belong to an end."""
    assert not fed(*text(0, "x"), *events)[0].whole


# What is kept of an answer that was stopped


def test_text_is_kept_as_far_as_it_was_shown() -> None:
    """A half character that was held back was not shown, and is not kept."""
    assert partial(*text(0, "Hel", f"lo{HIGH}")[:-1]) == [{"type": "text", "text": "Hello"}]


def test_a_half_written_tool_call_is_not_kept_and_a_whole_one_is() -> None:
    """A call is whole when its block has ended."""
    whole, half = call(1, '{"q": 1}'), call(2, '{"q": 2}', identifier="toolu_2")[:-1]
    assert [block.get("id") for block in partial(*text(0, "a"), *whole, *half)] == [None, "toolu_1"]


def test_unsigned_thinking_is_kept_as_it_was_shown() -> None:
    """It is stored for whoever watches, and never replayed, for it has no signature."""
    events = [start(0, {"type": "thinking", "thinking": "", "signature": ""}), more(0, "thinking_delta", thinking="Hm")]
    assert partial(*events) == [{"type": "thinking", "thinking": "Hm", "signature": ""}]


@pytest.mark.parametrize(
    "events",
    [
        [],
        text(0),
        text(0)[:1],
        call(0, '{"q"')[:-1],
        [start(0, {"type": "thinking", "thinking": "", "signature": "s"}), stop(0)],
        [start(0, {"type": "redacted_thinking", "data": "x"}), stop(0)],
        [start(0, {"type": "hologram"})],
    ],
    ids=["nothing", "empty text", "begun text", "half a call", "hidden thinking", "redacted thinking", "begun unknown"],
)
def test_where_nothing_was_shown_nothing_is_kept(events: list[Any]) -> None:
    """A step without anything shown begins again instead of leaving an odd message."""
    assert partial(*events) == []


def test_kept_blocks_stay_in_the_places_that_their_deltas_named() -> None:
    """A watcher who holds block 2 finds it at 2 in the stored message."""
    events = [*text(0), *call(1, "{")[:-1], *text(2, "shown")[:-1], start(3, {"type": "text", "text": ""})]
    blocks = partial(*events)
    assert blocks == [{"type": "text", "text": ""}, {"type": "text", "text": ""}, {"type": "text", "text": "shown"}]


def test_hidden_thinking_before_a_whole_call_is_kept_with_it() -> None:
    """The call can't be replayed without the thinking before it."""
    thinking = [
        start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        more(0, "signature_delta", signature="s"),
    ]
    assert [block["type"] for block in partial(*thinking, stop(0), *call(1, "{}"))] == ["thinking", "tool_use"]


def test_usage_of_a_stopped_answer_is_what_was_reported_until_then() -> None:
    """It is counted on the run."""
    accumulator = Accumulator("m")
    accumulator.feed({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}})
    assert accumulator.partial().usage == Usage(9, 1)
