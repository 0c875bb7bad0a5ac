"""JSON in and out of the transports."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from models.json_codec import dump_json


class NotJson(ValueError):
    """The text is no JSON."""


def encode(value: Any) -> str:
    """The value as JSON text."""
    return dump_json(value)


def decode(text: str | bytes) -> Any:
    """The value that JSON text holds. Raises NotJson, for NaN, infinities and over-deep values too."""
    try:
        return json.loads(text.decode() if isinstance(text, bytes) else text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error


def _refuse(name: str) -> NoReturn:
    raise NotJson(f"{name} is no JSON")
