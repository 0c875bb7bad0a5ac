"""The fields of a kind: how clients read them, and what is said of a configuration that does not fit."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from engine.bad_config import BadConfig
from engine.fields import ConfigField, fields_of


class Tone(StrEnum):
    """How it speaks."""

    DRY = "dry"
    WARM = "warm"


class Place(BaseModel):
    """Where it is."""

    city: str


class Config(BaseModel):
    """Every sort of field."""

    company: str = Field(description="Whom it speaks for.")
    tone: Tone = Tone.DRY
    share: Annotated[float, Field(ge=0, le=1)] | None = None
    words: list[str] = ["now"]
    place: Place | None = None
    limit: int | str = 3
    whatever: Any = None


CONFIG = fields_of(Config)


def test_a_field_tells_its_name_type_default_description_and_whether_it_must_be_given() -> None:
    """In the model's order, in the words of JSON Schema; what may be null as well is named by its other type."""
    assert CONFIG.rows == [
        ConfigField("company", "string", None, "Whom it speaks for.", required=True),
        ConfigField("tone", "string", "dry", None, required=False),
        ConfigField("share", "number", None, None, required=False),
        ConfigField("words", "array", ["now"], None, required=False),
        ConfigField("place", "object", None, None, required=False),
        ConfigField("limit", "integer or string", 3, None, required=False),
        ConfigField("whatever", "any", None, None, required=False),
    ]


def test_a_configuration_that_fits_is_an_instance_with_its_defaults() -> None:
    """Nested models too."""
    checked = CONFIG.check({"company": "Ink & Co", "place": {"city": "Graz"}})
    assert checked == Config(company="Ink & Co", place=Place(city="Graz"))


@pytest.mark.parametrize(
    ("given", "place", "words"),
    [
        ({}, ("company",), "company: is missing."),
        ({"company": "x", "share": 2}, ("share",), "share: Input should be less than or equal to 1 (given: 2)."),
        ({"company": "x", "place": {"city": 1}}, ("place", "city"), "place.city: Input should be a valid string"),
        ({"company": "x", "words": ["a", 2]}, ("words", "1"), "words[1]: Input should be a valid string"),
        ({"company": "x", "tune": 1}, ("tune",), "tune: there is no such field; the fields are: company, tone"),
        (["company"], (), "The configuration must be one JSON object."),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(given: Any, place: tuple[str, ...], words: str) -> None:
    """Unknown names are no exception: a field that was written wrongly would have no effect."""
    with pytest.raises(BadConfig) as caught:
        CONFIG.check(given)
    assert caught.value.place == place
    assert str(caught.value).startswith(words)


def test_a_kind_without_fields_takes_an_empty_configuration_alone() -> None:
    """And says so."""
    nothing = fields_of(None)
    assert (nothing.rows, nothing.check({}).model_dump()) == ([], {})
    with pytest.raises(BadConfig, match="x: there is no such field; this kind has none"):
        nothing.check({"x": 1})


def test_a_model_that_takes_more_than_its_fields_is_taken_at_its_word() -> None:
    """Its author has said extra="allow"."""

    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    assert fields_of(Open).check({"x": 1}).model_dump() == {"x": 1}


def test_a_validator_that_fails_by_itself_is_no_defect_of_the_server() -> None:
    """Who saves reads that it could not be checked."""

    class Odd(BaseModel):
        word: str

        @field_validator("word")
        @classmethod
        def _fail(cls, word: str) -> str:
            raise KeyError(word)

    with pytest.raises(BadConfig, match=r"could not be checked \(KeyError\)"):
        fields_of(Odd).check({"word": "x"})


def test_a_type_that_refers_to_itself_has_a_name_all_the_same() -> None:
    """A tree is an object."""

    class Tree(BaseModel):
        branches: list[Tree] = []
        trunk: Tree | None = None

    assert [(one.name, one.type) for one in fields_of(Tree).rows] == [("branches", "array"), ("trunk", "object")]


@pytest.mark.parametrize("given", [dict, {"company": "str"}, Config(company="x")])
def test_fields_are_a_pydantic_model(given: Any) -> None:
    """Else the author is told when the file is loaded."""
    with pytest.raises(TypeError, match="fields is a pydantic model"):
        fields_of(given)
