"""The scalars of the contract: exact on the way out, strict on the way in."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NewType

import strawberry
from graphql import GraphQLError
from strawberry.scalars import JSON
from strawberry.types.scalar import ScalarDefinition

DateTime = NewType("DateTime", int)
"""A moment: milliseconds since the epoch (UTC) in our records, RFC 3339 text towards clients."""

BigInt = NewType("BigInt", int)
"""A whole number up to 2^53."""

_MAX_BIG_INT = 2**53
_PLAIN_DECIMAL = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def date_time_text(value: object) -> str:
    """RFC 3339 in UTC with milliseconds and `Z`, from milliseconds since the epoch or a datetime with a zone."""
    if isinstance(value, int) and not isinstance(value, bool):
        moment = _EPOCH + timedelta(milliseconds=value)
    elif isinstance(value, datetime) and value.tzinfo is not None:
        moment = value.astimezone(UTC)
    else:
        raise GraphQLError(f"DateTime cannot represent {value!r}.")
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _parse_date_time(value: object) -> int:
    if isinstance(value, str) and len(value) > len("2026-01-01"):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
        if moment is not None and moment.tzinfo is not None:
            return (moment - _EPOCH) // timedelta(milliseconds=1)
    raise GraphQLError("DateTime must be RFC 3339 text with a time zone, such as 2026-01-31T12:00:00Z.")


def decimal_text(value: object) -> str:
    """A plain decimal string: never an exponent, never a float's rounding."""
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value:f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise GraphQLError(f"Decimal cannot represent {value!r}.")


def _parse_decimal(value: object) -> Decimal:
    if isinstance(value, str) and _PLAIN_DECIMAL.fullmatch(value):
        return Decimal(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    raise GraphQLError('Decimal must be a string such as "0.20", or a whole number; floats and exponents are refused.')


def _serialize_big_int(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_BIG_INT:
        return int(value)
    raise GraphQLError(f"BigInt cannot represent {value!r}: it must be a whole number up to 2^53.")


def _parse_big_int(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return _serialize_big_int(value)


def _as_it_is(value: Any) -> Any:
    return value


SCALARS: dict[object, ScalarDefinition] = {
    DateTime: strawberry.scalar(
        name="DateTime",
        description="A moment as RFC 3339 text, always in UTC and with milliseconds: `2026-01-31T12:00:00.000Z`.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc3339",
        serialize=date_time_text,
        parse_value=_parse_date_time,
    ),
    JSON: strawberry.scalar(
        name="JSON",
        description="Any JSON value: an object, a list, a string, a number, a boolean or null.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259",
        serialize=_as_it_is,
        parse_value=_as_it_is,
    ),
    Decimal: strawberry.scalar(
        name="Decimal",
        description=(
            "Money in USD as a plain decimal string such as `0.0375`: never a float, never with an exponent. "
            "Whole numbers are taken as input too."
        ),
        serialize=decimal_text,
        parse_value=_parse_decimal,
    ),
    BigInt: strawberry.scalar(
        name="BigInt",
        description="A whole number up to 2^53, as a JSON number: for counts that may outgrow 32 bits.",
        serialize=_serialize_big_int,
        parse_value=_parse_big_int,
    ),
}
"""What `StrawberryConfig(scalar_map=…)` takes."""
