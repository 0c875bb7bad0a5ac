"""What a tool of a remote takes: a JSON schema that somebody else has written, and the check of what a model sends.

The schema is as little to be trusted as its author: nothing that it refers to is fetched, regular expressions in it
are not run (one can take for ever; the remote checks them itself), and what it may cost is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

from engine.bad_arguments import MAX_PROBLEMS, BadArguments
from models.json_codec import dump_json
from models.text import clean, clean_json

MAX_SCHEMA = 32 * 1024  # bytes as JSON
MAX_LEVELS = 60
MAX_COST = 200_000
"""How much of a schema, and of arguments, one check looks at: what is looked at again counts again."""
_MAX_MESSAGE = 300  # characters of one problem, which may repeat its input
_FEW = 256
_NOT_CHECKED = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef")
_left: ContextVar[int] = ContextVar("left")


class _TooCostly(Exception):
    """A check has looked at more than it may."""


class BadSchema(ValueError):
    """It is no JSON schema of an object; the text says why."""


@dataclass(frozen=True, slots=True)
class ForeignArguments:
    """The arguments of a remote's tool."""

    schema: dict[str, Any]
    context: str | None = None

    def check(self, arguments: Any) -> dict[str, Any]:
        """The arguments as they go out. Raises BadArguments with a text for the model."""
        if not isinstance(arguments, dict):
            raise BadArguments("The arguments do not fit: they must be one JSON object.")
        cleaned: dict[str, Any] = clean_json(arguments)
        _left.set(MAX_COST)
        try:
            problems = list(_problems(self.schema, cleaned))
        except Exception as error:  # noqa: BLE001  # a schema may be wrong in more ways than its check tells
            raise BadArguments(f"The arguments could not be checked ({type(error).__name__.strip('_')}).") from None
        if problems:
            raise BadArguments("\n".join(["The arguments do not fit:", *problems]))
        return cleaned


def size_of(schema: Any) -> int:
    """How many bytes a schema takes as JSON. Raises BadSchema where it is none, or too large to be looked at."""
    if not isinstance(schema, dict):
        raise BadSchema("it must be a JSON object")
    if _levels(schema) > MAX_LEVELS:
        raise BadSchema(f"it is nested deeper than {MAX_LEVELS}")
    size = len(dump_json(clean_json(schema)).encode())
    if size > MAX_SCHEMA:
        raise BadSchema(f"it takes more than {MAX_SCHEMA:,} bytes")
    return size


def checked_schema(schema: Any) -> dict[str, Any]:
    """A JSON schema of an object, as a model is shown it. Raises BadSchema.

    A large one takes a third of a second: call it in a thread.
    """
    size_of(schema)
    cleaned: dict[str, Any] = clean_json(schema)
    if cleaned.setdefault("type", "object") != "object":
        raise BadSchema('its type must be "object"')
    if not isinstance(cleaned.setdefault("properties", {}), dict):
        raise BadSchema("its properties must be an object")
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415 - only those with remotes need it

    try:
        _plain_validator().check_schema(cleaned)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path))
        raise BadSchema(f"{clean(error.message)[:_MAX_MESSAGE]}{f' (at {place})' if place else ''}") from None
    except RecursionError:
        raise BadSchema("it is nested too deeply") from None
    return cleaned


def _levels(value: Any) -> int:
    """How many objects and lists are in each other, counted a little beyond MAX_LEVELS at most."""
    level, layer = 0, [value]
    while layer and level <= MAX_LEVELS:
        level += 1
        inner = (one.values() if isinstance(one, dict) else one for one in layer if isinstance(one, dict | list))
        layer = [part for parts in inner for part in parts]
    return level


def _problems(schema: dict[str, Any], arguments: dict[str, Any]) -> Iterator[str]:
    from referencing import Registry  # noqa: PLC0415 - only those with remotes need it

    # A registry of our own: the one that comes by default fetches what a schema refers to.
    validator = _bounded_validator()(schema, registry=Registry())
    for number, error in enumerate(validator.iter_errors(arguments)):
        if number == MAX_PROBLEMS:
            yield "- and more"
            return
        place = ".".join(str(part)[:60] for part in error.absolute_path) or "arguments"
        yield clean(f"- {place}: {error.message[:_MAX_MESSAGE]}")


def _plain_validator() -> Any:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - only those with remotes need it

    return Draft202012Validator


@cache
def _bounded_validator() -> Any:
    """The validator whose rules draw from `_left`, without those that run regular expressions."""
    from jsonschema import validators  # noqa: PLC0415 - only those with remotes need it

    plain = _plain_validator()
    rules = {name: _unchecked if name in _NOT_CHECKED else _counted(rule) for name, rule in plain.VALIDATORS.items()}
    rules["additionalProperties"] = _unless_patterned(rules["additionalProperties"])
    rules["uniqueItems"] = _of_few(rules["uniqueItems"])
    return validators.extend(plain, rules)


def _unchecked(validator: Any, value: Any, instance: Any, schema: Any) -> tuple[()]:
    return ()


def _counted(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule, which takes what it may cost from `_left` first."""

    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        left = _left.get() - 1 - sum(len(one) for one in (value, instance) if isinstance(one, dict | list))
        if left < 0:
            raise _TooCostly
        _left.set(left)
        return rule(validator, value, instance, schema) or ()

    return counted


def _unless_patterned(rule: Callable[..., Any]) -> Callable[..., Any]:
    """What is beside `properties`; not looked at where regular expressions say what else there may be."""

    def additional(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return () if "patternProperties" in schema else rule(validator, value, instance, schema)

    return additional


def _of_few(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Whether all items differ; of many that would take their square."""

    def unique(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return () if isinstance(instance, list) and len(instance) > _FEW else rule(validator, value, instance, schema)

    return unique
