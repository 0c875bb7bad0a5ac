"""Plausible arguments from schemas."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model

from engine.providers.arguments import sample_arguments

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    name: Annotated[str, Field(min_length=3, max_length=5)]
    tags: Annotated[list[str], Field(min_length=2)]


KINDS: dict[str, Any] = {
    "text": str,
    "short": Annotated[str, Field(max_length=2)],
    "long": Annotated[str, Field(min_length=40)],
    "whole": int,
    "bounded": Annotated[int, Field(ge=7, le=9)],
    "above": Annotated[int, Field(gt=7)],
    "below": Annotated[int, Field(lt=-7)],
    "multiple": Annotated[int, Field(multiple_of=6, ge=7)],
    "number": Annotated[float, Field(gt=0, lt=1)],
    "small": Annotated[float, Field(gt=0, lt=0.3)],
    "flag": bool,
    "nothing": None,
    "maybe": int | None,
    "either": str | int,
    "one_of": Literal["a", "b"],
    "only": Literal[5],
    "colour": Colour,
    "list": list[int],
    "pair": Annotated[list[Inner], Field(min_length=1)],
    "object": Inner,
    "free": dict[str, Any],
    "anything": Any,
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_argument_of_each_kind_fits_its_schema(kind: str) -> None:
    """As pydantic, which checks tools' arguments, sees it."""
    model = create_model("Arguments", value=(KINDS[kind], ...))
    model.model_validate(sample_arguments(model.model_json_schema()))


@unhurried
@given(st.dictionaries(st.sampled_from(sorted(KINDS)), st.booleans(), max_size=6))
def test_arguments_of_any_mixture_fit(chosen: dict[str, bool]) -> None:
    """Required ones are there, optional ones may be left out."""
    fields: dict[str, Any] = {
        name: (KINDS[name], ...) if needed else (Optional[KINDS[name]], None)  # noqa: UP045 - None | None is no type
        for name, needed in chosen.items()
    }
    model = create_model("Arguments", **fields)
    arguments = sample_arguments(model.model_json_schema())
    model.model_validate(arguments)
    assert set(arguments) == {name for name, needed in chosen.items() if needed}


def test_words_are_used_for_properties_of_their_name_and_type() -> None:
    """Optional ones too; a word that is out of bounds or of another type gives way."""
    model = create_model("Arguments", query=(str, ...), limit=(Annotated[int, Field(le=10)], 5), deep=(bool, False))
    schema = model.model_json_schema()
    assert sample_arguments(schema, {"query": "pelicans", "limit": 7}) == {"query": "pelicans", "limit": 7}
    assert sample_arguments(schema, {"query": 5, "limit": 11})["limit"] in range(11)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {"a": True}, "required": ["a"]},
        {"$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}, "required": ["t"]}},
         "properties": {"t": {"$ref": "#/$defs/T"}}, "required": ["t"]},
        {"properties": {"a": {"type": ["null", "integer"]}, "b": {"allOf": [{"type": "string"}]}}, "required": ["a"]},
        {"required": ["a"]},
    ],
    ids=str,
)  # fmt: skip
def test_any_schema_gives_an_object(schema: dict[str, Any]) -> None:
    """Also one that refers to itself."""
    TypeAdapter(dict[str, Any]).validate_python(sample_arguments(schema))
