"""Schemas that others have written: what fits is let through, and nothing in them costs or fetches anything."""

from __future__ import annotations

import time
from typing import Any

import pytest

from engine.bad_arguments import BadArguments
from engine.remotes.foreign_schema import MAX_SCHEMA, BadSchema, ForeignArguments, checked_schema
from tests.support.web_server import answer, web_server


def problems(schema: dict[str, Any], arguments: Any) -> list[str]:
    """The lines that the model reads; none where the arguments fit."""
    try:
        ForeignArguments(checked_schema(schema)).check(arguments)
    except BadArguments as error:
        return str(error).splitlines()
    return []


def test_arguments_that_fit_go_out_as_they_are() -> None:
    """Nothing is filled in, and text that databases can't hold is cleaned."""
    schema = checked_schema({"properties": {"tab": {"type": "integer", "default": 1}}})
    assert schema["type"] == "object"
    assert ForeignArguments(schema).check({"name": "a\x00b"}) == {"name": "a\ufffdb"}


def test_every_problem_is_told_with_its_place() -> None:
    """A line each."""
    schema = {
        "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"enum": ["x", "y"]}},
        "required": ["c"],
        "additionalProperties": False,
    }
    told = problems(schema, {"a": [1, "2"], "b": "z", "d": 1})
    assert told[0] == "The arguments do not fit:"
    assert sorted(told[1:]) == [
        "- a.1: '2' is not of type 'integer'",
        "- arguments: 'c' is a required property",
        "- arguments: Additional properties are not allowed ('d' was unexpected)",
        "- b: 'z' is not one of ['x', 'y']",
    ]
    assert problems(schema, [1]) == ["The arguments do not fit: they must be one JSON object."]


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        True,
        {"type": "array"},
        {"properties": []},
        {"properties": {"a": {"type": "no type"}}},
        {"required": "a"},
        {"description": "x" * MAX_SCHEMA},
    ],
)
def test_what_is_no_schema_of_an_object_is_refused(schema: Any) -> None:
    """In words."""
    with pytest.raises(BadSchema) as refused:
        checked_schema(schema)
    assert str(refused.value)


def test_a_schema_that_is_nested_without_end_is_refused() -> None:
    """Before anything goes through it by calling itself."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(5_000):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(BadSchema, match="nested deeper"):
        checked_schema(schema)


def test_a_regular_expression_of_a_schema_is_not_run() -> None:
    """One that takes for ever takes no time; its remote checks it by itself."""
    slow = "^(a+)+$"
    schema = {
        "properties": {"a": {"type": "string", "pattern": slow}},
        "patternProperties": {slow: {"type": "integer"}},
        "additionalProperties": False,
        "unevaluatedProperties": False,
        "propertyNames": {"pattern": slow},
    }
    began = time.process_time()
    assert problems(schema, {"a": "a" * 60 + "!", "a" * 60 + "!": "x"}) == []
    assert time.process_time() - began < 5


def test_references_within_a_schema_are_followed_and_counted() -> None:
    """A schema that grows twofold with each level is given up early; one that refers to itself is checked."""
    doubling: dict[str, Any] = {
        f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(40)
    }
    schema = {"$defs": doubling | {"d40": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/d0"}}}
    began = time.process_time()
    assert problems(schema, {"a": 1}) == ["The arguments could not be checked (TooCostly)."]
    assert time.process_time() - began < 10
    tree = {"properties": {"child": {"$ref": "#"}, "name": {"type": "string"}}, "required": ["name"]}
    assert problems(tree, {"name": "a", "child": {"name": "b", "child": {"name": "c"}}}) == []
    assert problems(tree, {"name": "a", "child": {}})[1:] == ["- child: 'name' is a required property"]
    assert problems({"$ref": "#"}, {}) == ["The arguments could not be checked (RecursionError)."]


def test_a_check_is_given_up_where_it_costs_too_much() -> None:
    """A long list of long alternatives, or of items that must differ; of few of them the check is whole."""
    long = {"properties": {"a": {"type": "array", "items": {"enum": [f"e{number}" for number in range(3_000)]}}}}
    assert problems(long, {"a": ["e1"] * 20}) == []
    assert problems(long, {"a": ["e1"] * 2_000}) == ["The arguments could not be checked (TooCostly)."]
    unlike = {"properties": {"a": {"type": "array", "uniqueItems": True}}}
    assert len(problems(unlike, {"a": [{"b": 1}, {"b": 1}]})) == 2
    began = time.process_time()
    assert problems(unlike, {"a": [{"b": number % 2} for number in range(50_000)]}) == []
    assert time.process_time() - began < 10


async def test_nothing_that_a_schema_refers_to_is_fetched() -> None:
    """Not even from this machine."""
    async with web_server({"/s": answer('{"type": "integer"}', kind="application/json")}) as server:
        schema = {"properties": {"a": {"$ref": f"http://127.0.0.1:{server.port}/s"}}}
        (told,) = problems(schema, {"a": 1})
        assert told.startswith("The arguments could not be checked (")
        assert server.connections == 0
