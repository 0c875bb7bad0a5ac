"""The fields of a kind: what a stored agent of it may be configured with, as clients read it, and the check. Pure."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from engine.bad_config import BadConfig, bad_config_of
from engine.json_schema import schema_of
from models.text import clean, clean_json

_log = logging.getLogger("steersman.kinds")


@dataclass(frozen=True, slots=True)
class ConfigField:
    """One field: `type` is the word of its JSON schema, several joined by "or"; `default` is None without one."""

    name: str
    type: str
    default: Any
    description: str | None
    required: bool


@dataclass(frozen=True, slots=True)
class Fields:
    """What a kind is configured with; `schema` is its JSON schema."""

    model: type[BaseModel]
    schema: dict[str, Any]

    @property
    def rows(self) -> list[ConfigField]:
        """The fields, in the order of the model's."""
        required = set(self.schema.get("required", ()))
        return [
            ConfigField(name, _type_of(one, self.schema), one.get("default"), one.get("description"), name in required)
            for name, one in self.schema["properties"].items()
        ]

    def check(self, given: Any) -> BaseModel:
        """The configuration as the author's code reads it, defaults filled in. Raises BadConfig."""
        if not isinstance(given, dict):
            raise BadConfig("The configuration must be one JSON object.")
        names = list(self.schema["properties"])
        if not self.schema.get("additionalProperties", False):
            for name in given:
                if name not in names:
                    known = f"the fields are: {', '.join(names)}" if names else "this kind has none"
                    raise BadConfig(f"{str(name)[:60]}: there is no such field; {known}.", (clean(str(name)),))
        try:
            return self.model.model_validate(clean_json(given))
        except ValidationError as error:
            raise bad_config_of(error, "there is no such field") from None
        except Exception as error:  # noqa: BLE001  # an author's validator may raise anything; who saves reads of it
            _log.warning("a configuration could not be checked", exc_info=error)
            raise BadConfig(f"The configuration could not be checked ({type(error).__name__}).") from None


class _Nothing(BaseModel):
    """The configuration of a kind without fields."""


def fields_of(model: Any) -> Fields:
    """What the author has named as the configuration, None for none. Raises TypeError, in words, where it can't be."""
    if model is None:
        return NO_FIELDS
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        raise TypeError(f"fields is a pydantic model, a class derived from BaseModel, not {model!r:.200}")
    try:
        schema = schema_of(model)
    except TypeError as error:
        raise TypeError(f"fields: {model.__name__} has no JSON schema: {error}") from error
    if "$ref" in schema:  # a model that refers to itself
        schema = {**schema["$defs"][schema.pop("$ref").rsplit("/", 1)[-1]], **schema}
    return Fields(model, {"type": "object", "properties": {}, **schema})


NO_FIELDS = Fields(_Nothing, {"type": "object", "properties": {}, "additionalProperties": False})


def _type_of(one: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    words = [word for word in dict.fromkeys(_types_of(one, schema.get("$defs", {}), 0)) if word != "null"]
    return " or ".join(words) or "any"


def _types_of(one: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> Iterator[str]:
    """The JSON types that a schema takes, as far as it names them."""
    if depth > len(definitions) + 4:  # it refers to itself
        return
    for inner in (*one.get("anyOf", ()), *one.get("oneOf", ()), *one.get("allOf", ())):
        yield from _types_of(inner, definitions, depth + 1)
    if "$ref" in one:
        yield from _types_of(definitions.get(one["$ref"].rsplit("/", 1)[-1], {}), definitions, depth + 1)
    named = one.get("type", ())
    yield from [named] if isinstance(named, str) else named
