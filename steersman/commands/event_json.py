"""A stream's events as JSON values, in the very shape that the GraphQL API gives them."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

from models.events import Failure, StreamEvent
from models.usage import Usage

Event = dict[str, Any]


def event_json(event: StreamEvent) -> Event:
    """The event as a JSON object: `__typename`, then its fields in the API's names."""
    values = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    return {"__typename": type(event).__name__, **{_camel(name): _value(name, value) for name, value in values.items()}}


def _value(name: str, value: Any) -> Any:
    if name == "at":
        moment = datetime.fromtimestamp(value // 1000, UTC)
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{value % 1000:03d}Z"
    if isinstance(value, Usage):
        return {_camel(key): given for key, given in value.to_json().items()}
    if isinstance(value, Failure):
        return {"code": str(value.code), "message": value.message}
    return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
