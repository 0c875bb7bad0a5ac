"""A function's parameters as a model sees them: a JSON schema, and the check of what it sends."""

from __future__ import annotations

import functools
import inspect
import logging
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaError

from engine.bad_arguments import BadArguments, explain
from engine.context import Context
from engine.json_schema import in_short, schema_of
from models.text import clean_json

_log = logging.getLogger("steersman.tool")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")  # what the Messages API takes as the name of an argument


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a tool takes.

    `schema` is a JSON schema with "type": "object" at its top, as the Messages API wants it. `context` is the name of
    the parameter that takes the Context, None without one. `undescribed` names the arguments without a description.
    """

    schema: dict[str, Any]
    context: str | None
    undescribed: tuple[str, ...]
    _names: tuple[str, ...]
    _model: type[BaseModel]

    def check(self, arguments: Any) -> dict[str, Any]:
        """The arguments as the handler takes them: defaults filled in, nested models as their instances.

        Numbers and booleans written as text are understood, as are dates and the like; unknown arguments are not.
        Raises BadArguments with a text for the model.
        """
        if not isinstance(arguments, dict):
            raise BadArguments("The arguments do not fit: they must be one JSON object.")
        try:
            checked = self._model.model_validate(clean_json(arguments))
        except ValidationError as error:
            raise explain(error, list(self.schema["properties"])) from None
        except Exception as error:  # noqa: BLE001  # an author's validator may raise anything; the run goes on
            _log.warning("the arguments of a tool call could not be checked", exc_info=error)
            raise BadArguments(f"The arguments could not be checked ({type(error).__name__}).") from None
        return {
            name: getattr(checked, field) for name, field in zip(self._names, type(checked).model_fields, strict=True)
        }


def parameters_of(
    function: Callable[..., Any], described: Mapping[str, str], local_names: Mapping[str, Any] | None = None
) -> Parameters:
    """Read a function's signature; `described` has the arguments' descriptions from its docstring.

    `local_names` resolves annotations that name what is local to where the function is defined. Raises TypeError, in
    words, where a parameter can't be described to a model.
    """
    parameters = _signature(function)
    resolve = _Resolver(function, local_names)
    context = parameters[0].name if parameters and resolve.is_context(parameters[0].annotation) else None
    arguments = parameters[1:] if context else parameters
    for parameter in parameters:
        _refuse_unusable(parameter)
    fields: dict[str, Any] = {}
    for index, parameter in enumerate(arguments):
        annotation = _as_field(resolve.type_of(parameter), parameter.name, described.get(parameter.name))
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[f"argument_{index}"] = (annotation, default)
    model = _build(fields)
    names = tuple(field.alias or "" for field in model.model_fields.values())
    undescribed = tuple(
        name for name, field in zip(names, model.model_fields.values(), strict=True) if not field.description
    )
    return Parameters(_schema_of(model), context, undescribed, tuple(p.name for p in arguments), model)


class _Resolver:
    """Evaluates annotations, which are text under `from __future__ import annotations`, one at a time.

    One at a time, because a name that only type checkers import (`Context[Deps]`) must not spoil the others.
    """

    def __init__(self, function: Callable[..., Any], local_names: Mapping[str, Any] | None) -> None:
        inner = inspect.unwrap(function.func if isinstance(function, functools.partial) else function)
        own = inner if hasattr(inner, "__globals__") else type(inner).__call__  # an object that can be called
        self._globals: dict[str, Any] = getattr(own, "__globals__", {})
        self._locals = dict(local_names or {})

    def is_context(self, annotation: Any) -> bool:
        """Whether it is Context or Context[…], whatever stands in the brackets."""
        if isinstance(annotation, str):
            try:
                annotation = self._evaluate(annotation.partition("[")[0])
            except Exception:  # noqa: BLE001  # no name of anything: type_of will say what is wrong
                return False
        return annotation is Context or typing.get_origin(annotation) is Context

    def type_of(self, parameter: inspect.Parameter) -> Any:
        """The parameter's type, with what Annotated adds. Raises TypeError."""
        if parameter.annotation is parameter.empty:
            raise TypeError(f"argument {parameter.name!r} has no type: annotate it, as in `{parameter.name}: str`")
        try:
            found = self._evaluate(parameter.annotation)
        except Exception as error:
            raise TypeError(
                f"argument {parameter.name!r}: its type {parameter.annotation!r} can't be resolved ({error}); "
                "define or import it above the tool, at run time too"
            ) from error
        if any(self.is_context(part) for part in (found, *typing.get_args(found))):
            raise TypeError(
                f"argument {parameter.name!r}: the Context must be the first parameter, annotated `Context`"
            )
        return found

    def _evaluate(self, annotation: Any) -> Any:
        holder = SimpleNamespace(__annotations__={"it": annotation})
        return typing.get_type_hints(holder, self._globals, self._locals, include_extras=True)["it"]


def _signature(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError as error:  # some functions written in C
        raise TypeError("it has no signature that can be read: wrap it in a function of your own") from error


def _refuse_unusable(parameter: inspect.Parameter) -> None:
    shown = {parameter.VAR_POSITIONAL: f"*{parameter.name}", parameter.VAR_KEYWORD: f"**{parameter.name}"}
    if parameter.kind in shown:
        raise TypeError(f"{shown[parameter.kind]} can't be described to a model: give each argument a name")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise TypeError(f"argument {parameter.name!r} is positional-only; tools are called by the names of arguments")
    if not _PROPERTY.fullmatch(parameter.name):
        raise TypeError(f"argument {parameter.name!r}: names are 1 to 64 ASCII letters, digits or _")


def _as_field(annotation: Any, name: str, text: str | None) -> Any:
    """The type with the argument's name and its docstring's text; an author's own Field(…) comes behind and wins.

    The name is an alias of a neutral field, because pydantic keeps names such as `schema` or `_x` for itself.
    """
    field = Field(alias=name, description=text)
    if typing.get_origin(annotation) is Annotated:
        return Annotated[(annotation.__origin__, field, *annotation.__metadata__)]
    return Annotated[annotation, field]


def _build(fields: dict[str, Any]) -> type[BaseModel]:
    try:
        return create_model("arguments", __config__=ConfigDict(extra="forbid"), **fields)
    except (PydanticUserError, SchemaError) as error:
        raise TypeError(f"its arguments can't be checked: {in_short(error)}") from error


def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    try:
        schema = schema_of(model)
    except TypeError as error:
        raise TypeError(f"its arguments have no JSON schema: {error}") from error
    return {"type": "object", "properties": {}, **schema}
