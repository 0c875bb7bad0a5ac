"""The JSON schema of a pydantic model, as a model of language reads it best."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

_MAPS_OF_SCHEMAS = ("properties", "$defs", "patternProperties", "dependentSchemas")
_LISTS_OF_SCHEMAS = ("anyOf", "allOf", "oneOf", "prefixItems")
_SCHEMAS = ("items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else")


class _SchemaWriter(GenerateJsonSchema):
    """Leaves out, without a word, a default that JSON can't hold: it is filled in by the check all the same."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # pydantic's own attribute


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """What the model takes. Raises TypeError, its text the reason, where that can't be written as a JSON schema."""
    try:
        schema: dict[str, Any] = _without_titles(model.model_json_schema(schema_generator=_SchemaWriter))
    except PydanticUserError as error:
        raise TypeError(in_short(error)) from error
    return schema


def in_short(error: Exception) -> str:
    """The error's text on one line, cut where it is long."""
    return " ".join(str(error).split())[:300]


def _without_titles(schema: Any) -> Any:
    """The schema without the titles that pydantic makes up, which only repeat names; a property may be called title."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "title"}
    for key in _MAPS_OF_SCHEMAS:
        if key in kept:
            kept[key] = {name: _without_titles(inner) for name, inner in kept[key].items()}
    for key in _LISTS_OF_SCHEMAS:
        if key in kept:
            kept[key] = [_without_titles(inner) for inner in kept[key]]
    for key in _SCHEMAS:
        if key in kept:
            kept[key] = _without_titles(kept[key])
    return kept
