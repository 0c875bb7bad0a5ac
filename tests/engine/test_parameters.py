"""The arguments of a tool call: what a model sends becomes what the handler takes, or a text that helps it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from engine.bad_arguments import BadArguments
from engine.tool import Tool, tool

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    """Where."""

    title: str
    near: list[Place] = []


@dataclass
class Size:
    width: int
    height: int


def problems_of(made: Tool[..., Any], arguments: Any) -> str:
    """What the model reads of bad arguments."""
    with pytest.raises(BadArguments) as caught:
        made.check(arguments)
    return str(caught.value)


@tool
def search(query: str, limit: Annotated[int, Field(ge=1, le=20)] = 5) -> list[str]:
    """Search."""
    return [query] * limit


def test_checked_arguments_are_what_the_handler_takes() -> None:
    """Nested models, dataclasses, enums, dates and decimals arrive as such, and defaults are filled in."""

    @tool
    def book(place: Place, size: Size, colour: Colour, day: date, price: Decimal, nights: int = 1) -> None:
        """Book."""

    assert book.check(
        {
            "place": {"title": "here", "near": [{"title": "there"}]},
            "size": {"width": 1, "height": "2"},
            "colour": "red",
            "day": "2026-11-30",
            "price": "9.90",
        }
    ) == {
        "place": Place(title="here", near=[Place(title="there")]),
        "size": Size(1, 2),
        "colour": Colour.RED,
        "day": date(2026, 11, 30),
        "price": Decimal("9.90"),
        "nights": 1,
    }


def test_a_number_written_as_text_is_understood() -> None:
    """Small slips of a model cost no second call."""
    assert search.check({"query": "x", "limit": "7"}) == {"query": "x", "limit": 7}


def test_defaults_are_not_shared_between_calls() -> None:
    """What a handler does to a default list does not reach the next call."""

    @tool
    def collect(into: list[int] = []) -> None:  # noqa: B006  # what is tested
        """Collect."""

    collect.check({})["into"].append(1)
    assert collect.check({}) == {"into": []}


def test_each_problem_has_a_line_that_says_where_and_what() -> None:
    """A model can mend all of its mistakes at once."""

    @tool
    def plan(places: list[Place], limit: Annotated[int, Field(ge=1)], day: date) -> None:
        """Plan."""

    assert problems_of(plan, {"places": [{"title": "x"}, {"titel": "y"}], "limit": 0, "where": 1}).splitlines() == [
        "The arguments do not fit:",
        "- places[1].title: is missing",
        "- limit: Input should be greater than or equal to 1 (given: 0)",
        "- day: is missing",
        "- where: there is no such argument; the arguments are: places, limit, day",
    ]


@pytest.mark.parametrize("arguments", [None, [], "x", 1, [["query", "x"]]])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    """Whatever a model sends instead of an object gets a sentence."""
    assert "one JSON object" in problems_of(search, arguments)


def test_a_huge_argument_is_not_echoed() -> None:
    """Neither values, nor names, nor the number of mistakes make the answer long."""
    huge = "x" * 1_000_000
    for arguments in (
        {"query": "q", "limit": huge},
        {"query": [huge]},
        {huge: 1},
        {"query": "q", "limit": 10**4000},
        {f"{number}{huge[:1000]}": number for number in range(1000)},
    ):
        assert len(problems_of(search, arguments)) < 5_000


def test_a_validator_that_fails_in_its_own_way_is_a_bad_argument_too() -> None:
    """An author's validator may raise anything; a bad call never ends a run."""

    class Fussy(BaseModel):
        word: str

        @field_validator("word")
        @classmethod
        def look(cls, value: str) -> str:
            return {"a": "b"}[value]

    @tool
    def say(fussy: Fussy) -> None:
        """Say."""

    assert say.check({"fussy": {"word": "a"}})["fussy"].word == "b"
    assert problems_of(say, {"fussy": {"word": "secret"}}) == "The arguments could not be checked (KeyError)."


def test_text_that_can_not_be_stored_is_cleaned_before_the_handler_sees_it() -> None:
    """NUL characters and lone surrogates become U+FFFD, and the call is good."""
    assert search.check({"query": "a\x00b\ud800"})["query"] == "a\ufffdb\ufffd"


def test_arguments_nested_without_end_are_refused() -> None:
    """Depth is a bad argument, not a crash."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    @tool
    def take(any_thing: Any) -> None:
        """Take."""

    assert "could not be checked" in problems_of(take, {"any_thing": deep})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@tool
def fuzzed(
    colour: Colour,
    place: Place,
    size: Size | None = None,
    rows: list[dict[str, int]] = [],  # noqa: B006  # each call gets a copy
    ratio: float = 0.5,
) -> None:
    """Take what comes."""


@unhurried
@given(
    json_values | st.fixed_dictionaries({}, optional=dict.fromkeys(fuzzed.parameters.schema["properties"], json_values))
)
def test_whatever_a_model_sends_is_checked_or_refused_in_bounded_words(arguments: Any) -> None:
    """No JSON value makes the check do anything else."""
    try:
        said = ", ".join(fuzzed.check(arguments))
    except BadArguments as error:
        said = str(error)
    assert said.startswith("The arguments do not fit:") or said == "colour, place, size, rows, ratio"
    assert len(said) < 10_000


@unhurried
@given(st.sampled_from(["red", "blue"]), st.text(), st.integers(), st.integers(), st.floats(allow_nan=False))
def test_whatever_fits_the_schema_passes_the_check(
    colour: str, title: str, width: int, height: int, ratio: float
) -> None:
    """What a model writes by the schema reaches the handler."""
    checked = fuzzed.check(
        {
            "colour": colour,
            "place": {"title": title, "near": [{"title": title}]},
            "size": {"width": width, "height": height},
            "rows": [{"x": width}],
            "ratio": ratio,
        }
    )
    assert checked["colour"] is Colour(colour)
    assert checked["size"] == Size(width, height)
