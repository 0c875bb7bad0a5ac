"""JSON for the database: whatever comes in can be stored and is read back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.database import Database
from models.json_codec import dump_json, load_json
from models.message import get_messages
from models.run import get_run
from models.text import clean, clean_json
from tests.support.rows import a_message, a_run, store

_odd_text = st.text(st.characters(exclude_categories=()), max_size=8)
_leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _odd_text
_values = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_odd_text, inner, max_size=4), max_leaves=20
)


def _strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (string for item in value for string in _strings(item))
    elif isinstance(value, dict):
        yield from (string for item in [*value.keys(), *value.values()] for string in _strings(item))


@given(_values)
def test_every_json_value_comes_back_cleaned(value: Any) -> None:
    """Integers of any size, odd text, nesting: what is read is what was written, its text cleaned."""
    text = dump_json(value)
    assert load_json(text) == clean_json(value)
    assert load_json(text.encode()) == clean_json(value)


@given(_values)
def test_what_is_written_holds_no_nul_and_no_surrogate(value: Any) -> None:
    """The text is valid UTF-8, and neither it nor any string in it has either."""
    text = dump_json(value)
    assert clean(text) == text
    for string in _strings(json.loads(text)):
        assert clean(string) == string


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**40, 10**18, 10**19])
def test_integers_stay_whole_at_every_size(number: int) -> None:
    """No integer becomes a float on its way, alone or beside others."""
    assert load_json(dump_json({"n": [number, "x"]})) == {"n": [number, "x"]}
    assert isinstance(load_json(dump_json(number)), int)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_become_null(value: float) -> None:
    """Also beside an integer past 64 bits, where another writer is used."""
    assert load_json(dump_json([value])) == [None]
    assert load_json(dump_json([value, 2**70])) == [None, 2**70]


def test_a_backslash_before_u0000_is_no_nul() -> None:
    """Text that merely looks like an escape stays as it is."""
    assert load_json(dump_json("\\u0000")) == "\\u0000"


@pytest.mark.parametrize("depth", [10, 300])
def test_deep_nesting_is_held(depth: int) -> None:
    """Beyond the depth that the faster writer takes, too."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    assert load_json(dump_json(value)) == value


async def test_the_database_holds_what_the_codec_writes(database: Database) -> None:
    """Both databases give back odd text, big integers and floats as they were stored."""
    run = a_run(metadata={"big": 2**70, "half": 0.5, "nul": "W\0s\0", "pair": "\ud83d\ude00", "lone": "\ud83d"})
    message = a_message(run, 1, [{"type": "text", "text": "a\0b\u2028", "n": [1.0, -0.0, 1e300, None, True]}])
    await store(database, run, message)
    kept = await database.read(get_run, run.id)
    assert kept is not None
    assert kept.metadata == clean_json(run.metadata)
    messages = await database.read(get_messages, [message.id])
    assert messages[message.id].content == clean_json(message.content)
