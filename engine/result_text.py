"""A tool's result as the model reads it: text, in bounds."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from models.text import clean

TRUNCATED = "[truncated]"


class BadResult(Exception):
    """A tool returned what can't be given to a model; the text says why and names types alone, never content."""


def result_text(value: Any, max_chars: int) -> str:
    """A string as it is, anything else as compact JSON, cleaned and cut at `max_chars` (0 for no limit).

    The limit counts the characters of the result itself; where it is cut, a suffix comes on top that says how long it
    was and ends with `[truncated]`. Numbers that JSON has not (NaN, infinities) become null, as in JavaScript.
    Raises BadResult.
    """
    if isinstance(value, Enum):
        value = value.value
    return cut(str.__str__(value) if isinstance(value, str) else _as_json(value), max_chars)


def cut(text: str, max_chars: int) -> str:
    """The text, cleaned, with at most `max_chars` characters (0 for no limit) before the suffix of a cut one."""
    if not max_chars or len(text) <= max_chars:
        return clean(text)
    return clean(text[:max_chars]) + f"\n… ({len(text):,} characters in all) {TRUNCATED}"


def _as_json(value: Any) -> str:
    try:
        text = _dump(value)
    except Exception:  # noqa: BLE001  # not JSON as it stands: _plain makes it so, or says what is in the way
        text = None
    # A NUL would be in there as an escape, which clean() does not see; then the strings are cleaned one by one.
    if text is not None and "\\u0000" not in text:
        return text
    try:
        return _dump(_plain(value))
    except RecursionError:
        raise BadResult("its result is nested too deeply, or contains itself") from None
    except BadResult:
        raise
    except ValueError:  # more digits than Python writes
        raise BadResult("its result holds a number that is too large to write") from None
    except Exception as error:  # properties and iterators of foreign objects may raise anything
        raise BadResult(f"its result could not be read ({type(error).__name__})") from error


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """The value in JSON's own types."""
    match value:
        case Enum():
            return _plain(value.value)
        case None | bool() | str() | int() | float():
            return _scalar(value)
        case Mapping():
            return {_key(key): _plain(item) for key, item in value.items()}
        case bytes() | bytearray() | memoryview():
            return clean(_decode(bytes(value)))
        case Sequence() | AbstractSet() | ValuesView():
            return [_plain(item) for item in value]
        case os.PathLike():
            return _plain(os.fspath(value))
        case Iterator():
            raise BadResult(f"its result is a {type(value).__name__}, which can be read only once: return a list")
        case _:
            return _plain(_foreign(value))


def _scalar(value: str | float | None) -> str | float | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return clean(value) if isinstance(value, str) else value


def _foreign(value: Any) -> Any:
    """Models, dataclasses, dates, decimals and the like, as pydantic writes them."""
    try:
        return to_jsonable_python(value, by_alias=True)
    except (PydanticSerializationError, TypeError):
        raise BadResult(f"its result holds a {type(value).__name__}, which can't be given as JSON") from None


def _key(key: Any) -> str:
    plain = key if isinstance(key, str) else _plain(key)
    if isinstance(plain, str):
        return clean(plain)
    return _dump(plain)


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise BadResult("its result holds bytes that are no text") from None
