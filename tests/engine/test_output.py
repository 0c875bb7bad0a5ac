"""Output types: what the model is told, and which value is found in its answer."""

from __future__ import annotations

import datetime as dt
import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationInfo, field_serializer, field_validator

from engine.output import CORRECTION, BadOutput, OutputType, correction, output_type


class Source(BaseModel):
    """Where it stands."""

    page: str
    line: int = Field(default=1, ge=1)


class Answer(BaseModel):
    """What was found."""

    summary: str = Field(min_length=2)
    sources: list[Source] = []


class Strict(BaseModel):
    """A value that takes no text for a number, and nothing unknown."""

    model_config = ConfigDict(strict=True, extra="forbid")

    day: dt.date
    count: int


FITS = '{"summary": "It left.", "sources": [{"page": "a.md"}]}'
VALUE = {"summary": "It left.", "sources": [{"page": "a.md", "line": 1}]}


def read(text: str, model: type[BaseModel] = Answer) -> Any:
    """The value in a text, as JSON."""
    output = output_type(model)
    return output.as_json(output.read(text))


def problems(text: str, model: type[BaseModel] = Answer) -> str:
    """What is wrong with a text."""
    with pytest.raises(BadOutput) as caught:
        read(text, model)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        FITS,
        f"\n  {FITS}\n",
        f"```json\n{FITS}\n```",
        f"```\n{FITS}```",
        f"Here it is:\n\n```json\n{FITS}\n```\nIs there anything else?",
        f"I looked it up [1] and {{found}} this: {FITS}. Hope that helps!",
        f'First I thought {{"summary": "It stayed."}}, but no: {FITS}',
        f"{FITS}\n[2] see there",
        '```json\n{"summary": "It left.",\n "sources": [{"page": "a.md"}]}',
    ],
)
def test_the_value_is_found_whatever_is_around_it(text: str) -> None:
    """Alone, fenced, in the middle of words, or behind a first draft; defaults are filled in."""
    assert read(text) == VALUE


def test_an_output_may_be_any_json_value() -> None:
    """A model of a list or a number is one too; in words it is found as far as it can be told from them."""
    assert read("[1, 2]", RootModel[list[int]]) == [1, 2]
    assert read("It is [1, 2].", RootModel[list[int]]) == [1, 2]
    assert read("```\n7\n```", RootModel[int]) == 7


def test_json_is_what_is_checked() -> None:
    """A strict model takes what JSON has for its types: a date is a text there, and a text is no number."""
    assert read('{"day": "2026-11-02", "count": 2}', Strict) == {"day": "2026-11-02", "count": 2}
    assert "count: Input should be a valid integer" in problems('{"day": "2026-11-02", "count": "2"}', Strict)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "- it is empty"),
        (" \n", "- it is empty"),
        ("It left.", "- there is no JSON value in it"),
        ('{"summary": "It left"', "- it is not valid JSON: Expecting ',' delimiter: line 1 column 22"),
        ("{}", "- summary: is missing"),
        ("[]", "- the value: Input should be"),
        ('{"summary": "x", "sources": [{"line": 0}]}', "- sources[0].page: is missing"),
        ('{"summary": "x", "sources": [{"line": 0}]}', "- sources[0].line: Input should be greater than or equal to 1"),
        ('[1] {"summary": 3}', "- summary: Input should be a valid string (given: 3)"),
        ("[" * 100_000, "- it is nested too deeply"),
        ('{"a":' * 20_000, "- it is nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_problem_by_problem(text: str, says: str) -> None:
    """In words that a model can act on: the place, and what is the matter there."""
    assert says in problems(text)


def test_a_field_that_is_not_there_is_named_with_those_that_are() -> None:
    """As for the arguments of a tool."""
    said = problems('{"day": "2026-11-02", "count": 2, "colour": "red"}', Strict)
    assert said == "- colour: there is no such field; the fields are: day, count"


def test_what_databases_can_not_hold_is_replaced() -> None:
    """NUL and lone surrogates are U+FFFD, numbers that JSON lacks are null, and big ones stay whole."""
    assert read('{"summary": "a\\u0000b\\ud800"}')["summary"] == "a\ufffdb\ufffd"
    assert read(f'{{"summary": {2**90}}}', RootModel[dict[str, int]]) == {"summary": 2**90}

    class Ratio(BaseModel):
        half: float

        @field_validator("half")
        @classmethod
        def broken(cls, value: float) -> float:
            return math.nan

    assert read('{"half": 1}', Ratio) == {"half": None}


def test_names_are_those_of_the_schema() -> None:
    """An alias is what the model reads, what it writes and what clients get."""

    class Aliased(BaseModel):
        from_: str = Field(alias="from")

    assert "from" in output_type(Aliased).schema["properties"]
    assert read('{"from": "here"}', Aliased) == {"from": "here"}


@pytest.mark.parametrize("fault", ["check", "writing"])
def test_an_authors_code_that_fails_is_no_end_of_the_loop(fault: str) -> None:
    """The model reads the exception's class alone; its text is for the log."""

    class Careless(BaseModel):
        word: str

        @field_validator("word")
        @classmethod
        def check(cls, value: str, info: ValidationInfo) -> str:
            if fault == "check":
                raise KeyError("a secret")
            return value

        @field_serializer("word")
        def write(self, value: str) -> str:
            raise KeyError("a secret")

    said = problems('{"word": "pelican"}', Careless)
    assert said.startswith("- it could not be checked (")
    assert "secret" not in said


def test_the_model_is_told_the_schema_without_made_up_titles() -> None:
    """The same bytes each time, so that the prompt stays cached; descriptions are in it."""
    told = output_type(Answer).instructions
    assert told == output_type(Answer).instructions
    schema = json.loads(told.rpartition("\n\n")[2])
    assert schema["required"] == ["summary"]
    assert schema["description"] == "What was found."
    assert '"title"' not in told


def test_a_correction_holds_the_problems_and_what_to_do() -> None:
    """It begins so that people see at once who speaks."""
    told = correction("- summary: is missing")
    assert told.startswith(CORRECTION)
    assert told.startswith("[Steersman: ")
    assert "- summary: is missing\n" in told


@given(st.text() | st.text('{}[]",:`\n 1a\\', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but BadOutput comes of what a model says."""
    output = OutputType(Answer, {})
    with suppress(BadOutput):
        output.as_json(output.read(text))
