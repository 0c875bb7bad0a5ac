"""What a tool returns, as the text that the model reads."""

from __future__ import annotations

import collections
import enum
import itertools
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from engine.result_text import BadResult, cut, result_text

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy


class Word(enum.StrEnum):
    YES = "yes"


class Number(enum.IntEnum):
    ONE = 1


class Model(BaseModel):
    at: datetime
    ratio: float = Field(default=float("nan"), alias="share")


@dataclass
class Row:
    key: uuid.UUID
    inner: Model | None = None


class Pair(NamedTuple):
    left: int
    right: int


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
ID = uuid.UUID(int=1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (Text("own"), "own"),
        (Word.YES, "yes"),
        (Number.ONE, "1"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ({"a": [1, None, "é"]}, '{"a":[1,null,"é"]}'),
        ((1, 2), "[1,2]"),
        ({3}, "[3]"),
        (frozenset([3]), "[3]"),
        (Pair(1, 2), "[1,2]"),
        (range(3), "[0,1,2]"),
        ({"k": 1}.keys(), '["k"]'),
        ({"k": 1}.values(), "[1]"),
        (collections.deque([1]), "[1]"),
        (collections.ChainMap({"a": 1}), '{"a":1}'),
        (b"bytes", "bytes"),
        (bytearray(b"x"), "x"),
        (memoryview(b"x"), "x"),
        (NOON, "2026-11-30T12:00:00Z"),
        ([date(2026, 11, 30)], '["2026-11-30"]'),
        (timedelta(days=1), "P1D"),
        (Decimal("1.10"), "1.10"),
        (ID, str(ID)),
        ([PurePosixPath("a/b")], '["a/b"]'),
        (Model(at=NOON, share=1.0), '{"at":"2026-11-30T12:00:00Z","share":1.0}'),
        ([Model(at=NOON)], '[{"at":"2026-11-30T12:00:00Z","share":null}]'),
        ({"rows": [Row(ID)]}, f'{{"rows":[{{"key":"{ID}","inner":null}}]}}'),
        ([float("nan"), float("inf"), -float("inf")], "[null,null,null]"),
        ({1: 1, None: 2, False: 3, 1.5: 4}, '{"1":1,"null":2,"false":3,"1.5":4}'),
        ({(1, 2): 3, date(2026, 11, 30): 4, ID: 5, Word.YES: 6}, f'{{"[1,2]":3,"2026-11-30":4,"{ID}":5,"yes":6}}'),
        ("a\x00b\ud800", "a\ufffdb\ufffd"),
        (["a\x00b\ud800"], '["a\ufffdb\ufffd"]'),
        ({"\x00": 1}, '{"\ufffd":1}'),
        (["\ud83d\ude00"], '["😀"]'),
        (10**100, str(10**100)),
    ],
)
def test_every_usual_value_has_a_text(value: Any, text: str) -> None:
    """A string as it is, anything else as compact JSON."""
    assert result_text(value, 0) == (text if not isinstance(value, _QUOTED) else json.dumps(text, ensure_ascii=False))


_QUOTED = (bytes, bytearray, memoryview, datetime, timedelta, Decimal, uuid.UUID)


def forever() -> Iterator[int]:
    """Never end."""
    yield from itertools.count()


def itself() -> list[Any]:
    """A list that contains itself."""
    values: list[Any] = []
    values.append(values)
    return values


def deep() -> list[Any]:
    """A list in a list, a hundred thousand times."""
    values: list[Any] = []
    for _ in range(100_000):
        values = [values]
    return values


class Hostile(dict[str, Any]):
    def items(self) -> Any:
        raise ZeroDivisionError


class BadModel(BaseModel, arbitrary_types_allowed=True):
    thing: object


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (object(), "holds a object"),
        ([len], "holds a builtin_function_or_method"),
        (BadModel(thing=object()), "holds a BadModel"),
        (forever(), "is a generator, which can be read only once"),
        ({"rows": itertools.count()}, "is a count"),
        (b"\xff", "bytes that are no text"),
        (itself(), "contains itself"),
        (deep(), "nested too deeply"),
        ([10**5000], "too large to write"),
        ([Hostile(a=object())], "could not be read \\(ZeroDivisionError\\)"),
    ],
)
def test_what_can_not_be_written_is_refused_in_words(value: Any, says: str) -> None:
    """The author reads which type it was; nothing of the content is told."""
    with pytest.raises(BadResult, match=says):
        result_text(value, 0)


def test_a_long_result_is_cut_and_says_how_long_it_was() -> None:
    """The limit counts the result's own characters; the suffix comes on top and ends it."""
    text = result_text("x" * 1_234_567, 1_000)
    assert text == "x" * 1_000 + "\n… (1,234,567 characters in all) [truncated]"
    assert result_text("x" * 1_000, 1_000) == "x" * 1_000
    assert result_text(list(range(1000)), 5).startswith("[0,1,\n…")
    assert result_text("x" * 100_000, 0) == "x" * 100_000


@unhurried
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(st.characters())
        | st.binary()
        | st.decimals()
        | st.datetimes()
        | st.uuids(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text(max_size=4) | st.integers() | st.dates() | st.none(), inner, max_size=3)
        ),
        max_leaves=12,
    ),
    st.integers(0, 50),
)
def test_whatever_is_returned_is_a_sound_text_or_refused(value: Any, limit: int) -> None:
    """Any text can be stored and sent, is JSON where it was no string, and keeps to its limit."""
    try:
        text = result_text(value, limit)
        whole = result_text(value, 0)
    except BadResult:
        return
    assert "\x00" not in text
    text.encode()
    if not isinstance(value, str):
        json.loads(whole)
    if limit and len(whole) > limit:
        assert text.endswith("[truncated]")
        assert len(text) <= limit + 60
    else:
        assert text == whole


@unhurried
@given(st.text(st.characters()), st.integers(1, 10))
def test_a_cut_text_begins_as_the_whole_one(text: str, limit: int) -> None:
    """Cutting takes from the end alone."""
    kept = cut(text, limit)
    assert kept[: min(limit, len(text)) - 1] == cut(text, 0)[: min(limit, len(text)) - 1] or len(cut(text, 0)) < len(
        text
    )
