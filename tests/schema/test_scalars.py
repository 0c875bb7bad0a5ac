"""The scalars say exactly what is meant, and take nothing that could mean something else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from graphql import GraphQLError, GraphQLScalarType
from hypothesis import given
from hypothesis import strategies as some

from tests.support.api import the_schema


def scalar(name: str) -> GraphQLScalarType:
    """A scalar of the schema."""
    found = the_schema()._schema.type_map[name]
    assert isinstance(found, GraphQLScalarType)
    return found


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_800_000_000_007, "2027-01-15T08:00:00.007Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (datetime(2026, 1, 31, 12, 0, 0, 999_999, tzinfo=UTC), "2026-01-31T12:00:00.999Z"),
        (datetime(2026, 1, 31, 1, 0, tzinfo=timezone(timedelta(hours=2))), "2026-01-30T23:00:00.000Z"),
    ],
)
def test_a_moment_is_shown_in_utc_with_milliseconds_and_z(moment: Any, text: str) -> None:
    """Milliseconds since the epoch and datetimes give the same form of text."""
    assert scalar("DateTime").serialize(moment) == text


@given(some.integers(min_value=-(10**13), max_value=10**14))
def test_a_moment_that_is_shown_is_read_back_as_it_was(moment: int) -> None:
    """What the API shows of a moment loses nothing of it."""
    date_time = scalar("DateTime")
    assert date_time.parse_value(date_time.serialize(moment)) == moment


@pytest.mark.parametrize(
    "value", [datetime(2026, 1, 31, tzinfo=UTC).replace(tzinfo=None), "2026-01-31T12:00:00Z", True, 1.5, None]
)
def test_what_is_no_moment_is_never_shown_as_one(value: Any) -> None:
    """A time without a zone, text, booleans and floats are defects, not moments."""
    with pytest.raises(GraphQLError):
        scalar("DateTime").serialize(value)


@pytest.mark.parametrize("value", ["2026-01-31", "2026-01-31T12:00:00", "yesterday", "", 1_800_000_000_000, True])
def test_a_moment_without_a_time_zone_is_refused(value: Any) -> None:
    """Input must say which moment it means."""
    with pytest.raises(GraphQLError):
        scalar("DateTime").parse_value(value)


@pytest.mark.parametrize(
    ("money", "text"),
    [
        (Decimal("0.20"), "0.20"),
        (Decimal("1E+3"), "1000"),
        (Decimal("3E-12"), "0.000000000003"),
        (Decimal("0E-7"), "0.0000000"),
        (7, "7"),
    ],
)
def test_money_is_shown_as_a_plain_decimal_string(money: Any, text: str) -> None:
    """Never a float, never with an exponent."""
    assert scalar("Decimal").serialize(money) == text


@pytest.mark.parametrize("value", [0.1, True, "0.1", Decimal("NaN"), Decimal("Infinity")])
def test_a_float_is_never_shown_as_money(value: Any) -> None:
    """Whatever is no exact number is a defect."""
    with pytest.raises(GraphQLError):
        scalar("Decimal").serialize(value)


@pytest.mark.parametrize(("value", "money"), [("0.20", Decimal("0.20")), (3, Decimal(3)), ("-1.5", Decimal("-1.5"))])
def test_money_is_taken_as_a_string_or_a_whole_number(value: Any, money: Decimal) -> None:
    """Both are exact."""
    assert scalar("Decimal").parse_value(value) == money


@pytest.mark.parametrize("value", [0.2, 1.0, "1e3", "NaN", "Infinity", "", " 1", "1_000", "٣", True, None])
def test_money_as_a_float_or_with_an_exponent_is_refused(value: Any) -> None:
    """A float has been rounded before it arrives."""
    with pytest.raises(GraphQLError):
        scalar("Decimal").parse_value(value)


@pytest.mark.parametrize("value", [0, 2**31, 2**53, -(2**53)])
def test_a_big_whole_number_is_a_json_number(value: int) -> None:
    """Up to 2^53 every JSON reader holds it."""
    assert scalar("BigInt").serialize(value) == value
    assert scalar("BigInt").parse_value(value) == value


@pytest.mark.parametrize("value", [2**53 + 1, 1.5, "1", True, None, float("inf")])
def test_what_json_readers_would_round_is_no_big_int(value: Any) -> None:
    """Beyond 2^53 a browser would change the number."""
    with pytest.raises(GraphQLError):
        scalar("BigInt").serialize(value)
    with pytest.raises(GraphQLError):
        scalar("BigInt").parse_value(value)


@pytest.mark.parametrize("value", [None, "text", 1, 1.5, True, [1, {"a": None}], {"a": {"b": []}}, 2**70])
def test_json_goes_through_unchanged(value: Any) -> None:
    """Whatever JSON holds comes out as it went in."""
    json = scalar("JSON")
    assert json.serialize(value) == value
    assert json.parse_value(value) == value
