"""What an agent's final answer must be: how the model is told, and the check of what it says. Pure.

The model is asked in words, and its text is checked: that works with every server that speaks the Messages API.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from engine.bad_arguments import problems_of
from engine.json_schema import schema_of
from models.json_codec import dump_json, load_json
from models.text import clean_json

_log = logging.getLogger("steersman.output")
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_BEGINNING = re.compile(r"[{\[]")
_MOST_BEGINNINGS = 1_000  # of a JSON value that are tried in one text
_decoder = json.JSONDecoder()


class BadOutput(ValueError):
    """An answer does not fit; the text lists each problem and is meant for the model."""


CORRECTION = "[Steersman: This is no final answer"
"""How every correction begins."""
CUT = "- it was cut when it had as many tokens as it may have: be shorter"
"""What the model reads of an answer that is longer than max_tokens."""


@dataclass(frozen=True, slots=True)
class OutputType:
    """The type of an agent's final answer; `schema` is its JSON schema, as the model reads it."""

    model: type[BaseModel]
    schema: dict[str, Any]

    @property
    def instructions(self) -> str:
        """What the model is told of it, behind the system prompt: the same text at every call."""
        return (
            "# The final answer\n\n"
            "Whatever you do on the way, your final answer must be one JSON value that fits the JSON schema below, and "
            "nothing else: no words before or behind it, no code fence. It is read by a program.\n\n"
            f"{dump_json(self.schema)}"
        )

    def read(self, text: str) -> BaseModel:
        """The checked value in an answer's text: the last that fits, whatever words or fences are around it.

        Raises BadOutput with a text for the model.
        """
        found = list(_values_in(text))
        wrong: ValidationError | None = None
        most = -1
        for value, length in reversed(found):
            try:
                return self.model.model_validate_json(dump_json(value))
            except ValidationError as error:
                if length > most:
                    most, wrong = length, error
            except Exception as error:  # noqa: BLE001  # an author's validator may raise anything; the run goes on
                raise _unchecked(error) from None
        if wrong is None:
            raise BadOutput(_not_json(text))
        names = ", ".join(self.schema.get("properties", ()))
        unknown = f"there is no such field; the fields are: {names}" if names else "there is no such field"
        raise BadOutput("\n".join(problems_of(wrong, "the value", unknown)))

    def as_json(self, value: BaseModel) -> Any:
        """The checked value as clients read it. Raises BadOutput where its author's code can't write it as JSON."""
        try:
            return load_json(dump_json(clean_json(value.model_dump(mode="json", by_alias=True))))
        except Exception as error:  # noqa: BLE001  # an author's serializer may raise anything; the run goes on
            raise _unchecked(error) from None


def output_type(model: Any) -> OutputType:
    """The type of answer that an author has named. Raises TypeError, in words, where it can be none."""
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        raise TypeError(f"output is a pydantic model, a class derived from BaseModel, not {model!r:.200}")
    try:
        return OutputType(model, schema_of(model))
    except TypeError as error:
        raise TypeError(f"output: {model.__name__} has no JSON schema: {error}") from error


def correction(problems: str) -> str:
    """What the model is told of an answer with these problems."""
    return (
        f"{CORRECTION} that fits its JSON schema:\n{problems}\n"
        "Give the whole answer again, as one JSON value that fits and nothing else.]"
    )


def _unchecked(error: Exception) -> BadOutput:
    _log.warning("an answer could not be checked", exc_info=error)
    return BadOutput(f"- it could not be checked ({type(error).__name__})")


def _not_json(text: str) -> str:
    """Why there is no JSON value in a text."""
    if not text.strip():
        return "- it is empty"
    begins = _BEGINNING.search(text)
    if begins is None:
        return "- there is no JSON value in it"
    try:
        _decoder.raw_decode(text, begins.start())
    except json.JSONDecodeError as error:
        return f"- it is not valid JSON: {error}"
    except RecursionError:
        return "- it is nested too deeply"
    return "- there is no JSON value in it"


def _values_in(text: str) -> Iterator[tuple[Any, int]]:
    """The JSON values in a text with their lengths: the text or a fenced part of it as a whole, objects and lists."""
    for part in (text, *_FENCE.findall(text)):
        whole = part.strip()
        if (found := _value_at(whole, 0)) is not None and found[1] == len(whole):
            yield found
    place = 0
    for _ in range(_MOST_BEGINNINGS):
        begins = _BEGINNING.search(text, place)
        if begins is None:
            return
        found = _value_at(text, begins.start())
        if found is None:
            place = begins.end()
        else:
            place = found[1]
            yield found[0], place - begins.start()


def _value_at(text: str, start: int) -> tuple[Any, int] | None:
    """The JSON value that begins there, and its end."""
    try:
        return _decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
