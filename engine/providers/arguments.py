"""Plausible arguments for a tool, made from its JSON schema: what the demo model calls tools with. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_FORMATS = {
    "date": "2026-11-02",
    "date-time": "2026-11-02T09:30:00Z",
    "time": "09:30:00Z",
    "duration": "PT1H",
    "email": "ada@example.com",
    "uri": "https://example.com/",
    "uuid": "018f4c1e-7a3b-7c55-9d2e-6f1a2b3c4d5e",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
}
_DEEPEST = 8  # levels after which a schema that refers to itself is answered with its emptiest value


def sample_arguments(schema: Mapping[str, Any], words: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The smallest object that the schema takes: its required properties, and those that `words` have a value for.

    `words` are values to prefer for properties of these names, where they are of the type that is asked for.
    """
    value = sample_value({"type": "object", **schema}, words)
    return value if isinstance(value, dict) else {}


def sample_value(schema: Mapping[str, Any], words: Mapping[str, Any] | None = None) -> Any:
    """The smallest value of any type that the schema takes; see `sample_arguments`."""
    maker = _Maker(schema.get("$defs") or schema.get("definitions") or {}, words or {})
    return maker.value(schema, 0)


class _Maker:
    def __init__(self, definitions: Mapping[str, Any], words: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._words = words

    def value(self, schema: Any, depth: int, name: str = "") -> Any:
        """A value that the schema takes; `name` is the property's."""
        schema = self._resolved(schema, depth)
        word = self._words.get(name)
        if "const" in schema or ("default" in schema and word is None):
            return schema.get("const", schema.get("default"))
        if schema.get("enum"):
            return schema["enum"][0]
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "null")
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                items = schema.get("items", {})
                return [self.value(items, depth + 1, name) for _ in range(min(schema.get("minItems", 0), 100))]
            case "integer" | "number":
                fits = isinstance(word, int | float) and not isinstance(word, bool)
                return _number(schema, kind == "integer", word if fits else None)
            case "boolean":
                return word if isinstance(word, bool) else False
            case "null":
                return None
            case _:
                return _text(schema, word if isinstance(word, str) else None)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if depth >= _DEEPEST:
            return {}
        properties = schema.get("properties", {})
        named = [name for name in properties if name in self._words and depth == 0]
        wanted = dict.fromkeys([*schema.get("required", ()), *named])
        return {name: self.value(properties.get(name, {}), depth + 1, name) for name in wanted}

    def _resolved(self, schema: Any, depth: int) -> dict[str, Any]:
        """The schema without references and choices: of several, the first that is not null."""
        if not isinstance(schema, Mapping):
            return {}
        found = dict(schema)
        for _ in range(_DEEPEST):
            reference = found.pop("$ref", None)
            choices = found.pop("anyOf", None) or found.pop("oneOf", None)
            if isinstance(reference, str):
                found = {**self._definitions.get(reference.rsplit("/", 1)[-1], {}), **found}
            elif choices:
                found = {**next((one for one in choices if one.get("type") != "null"), choices[0]), **found}
            elif "allOf" in found:
                for part in found.pop("allOf"):
                    found = {**self._resolved(part, depth + 1), **found}
            else:
                break
        return found


def _number(schema: Mapping[str, Any], whole: bool, word: float | None) -> float:
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    over, under = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
    step = schema.get("multipleOf") or (1 if whole else None)

    def fits(value: float) -> bool:
        return low <= value <= high and over < value < under and (step is None or math.isclose(value % step, 0))

    between = (max(low, over) + min(high, under)) / 2
    for candidate in (word, 1, low, high, over + (step or 0.5), under - (step or 0.5), between, 0):
        if candidate is not None and math.isfinite(candidate):
            value = candidate if step is None else math.ceil(candidate / step) * step
            if fits(value):
                return int(value) if whole else value
    return 1


def _text(schema: Mapping[str, Any], word: str | None) -> str:
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    text = word or "example"
    shortest = min(schema.get("minLength", 0), 10_000)
    return text.ljust(shortest, ".")[: schema.get("maxLength")]
