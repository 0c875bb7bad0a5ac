"""Text: what no database or JSON reader can hold is replaced, and nothing else is touched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.text import REPLACEMENT, clean, clean_json, utf16_length

_odd = st.text(st.characters(exclude_categories=()) | st.sampled_from(["\x00", "\ud83d", "\ude00", "\udfff"]))


def _expected(text: str) -> str:
    """The rule, character by character."""
    out, index = [], 0
    while index < len(text):
        here, after = text[index], text[index + 1 : index + 2]
        if "\ud800" <= here <= "\udbff" and "\udc00" <= after <= "\udfff":
            out.append(chr(0x10000 + ((ord(here) - 0xD800) << 10) + ord(after) - 0xDC00))
            index += 2
            continue
        out.append(REPLACEMENT if here == "\x00" or "\ud800" <= here <= "\udfff" else here)
        index += 1
    return "".join(out)


@given(_odd)
def test_nul_and_lone_surrogates_are_replaced_and_pairs_joined(text: str) -> None:
    """Each lone one becomes one U+FFFD; every other character stays."""
    assert clean(text) == _expected(text)


@given(_odd)
def test_clean_text_stays_as_it_is(text: str) -> None:
    """Cleaning twice is cleaning once, and the result is valid UTF-8."""
    once = clean(text)
    once.encode()
    assert clean(once) == once


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("W\0s\0", "W\ufffds\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud83d", "a\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83dx\ude00", "\ufffdx\ufffd"),
        ("", ""),
    ],
)
def test_cleaning_by_example(text: str, cleaned: str) -> None:
    """A NUL, a pair, halves of pairs."""
    assert clean(text) == cleaned


def test_json_is_cleaned_in_keys_and_values_at_every_depth() -> None:
    """Lists, tuples and objects within one another, and what is no text is left alone."""
    value: Any = {"a\0": ["\ud83d", {"b": ("c\0", 1, None, True, 2.5)}]}
    assert clean_json(value) == {"a\ufffd": ["\ufffd", {"b": ["c\ufffd", 1, None, True, 2.5]}]}


@given(st.text())
def test_lengths_count_utf16_units_as_a_browser_does(text: str) -> None:
    """A character beyond the first plane counts two."""
    assert utf16_length(text) == sum(2 if ord(character) > 0xFFFF else 1 for character in text)
