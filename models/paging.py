"""Keyset paging over one rising column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Row, Select

from models.page import BadCursor, Slice, Window
from models.text import clean

Record = TypeVar("Record")
_BEYOND = 2**31  # positions are numbers of 32 bits at most
SCAN = 500  # rows read at a time where a filter works in Python


def by_column(
    c: Connection,
    query: Select[Any],
    key: Column[Any],
    window: Window,
    make: Callable[[Row[Any]], Record],
    *,
    descending: bool = False,
    prefix: str = "",
    keep: Callable[[Record], bool] | None = None,
) -> Slice[Record]:
    """The rows of a window of a list that is ordered by one unique column.

    `prefix` is what the column's ids begin with. `keep` filters further in Python; rows are then read on until the
    window is full. Raises BadCursor where a position is not of the column's type, or has another prefix.
    """
    number = key.type.python_type is int
    after, before = _key(window.after, number, prefix), _key(window.before, number, prefix)
    if after is not None:
        query = query.where(key < after if descending else key > after)
    if before is not None:
        query = query.where(key > before if descending else key < before)
    downwards = descending != window.backward
    found = _scan(c, query, key, window.size + 1, make, downwards, keep)
    more = len(found) > window.size
    found = found[: window.size]
    if window.backward:
        found.reverse()
    beyond_start, beyond_end = window.after is not None, window.before is not None
    return Slice(
        rows=[record for _, record in found],
        positions=[str(position) for position, _ in found],
        has_next=beyond_end if window.backward else more,
        has_previous=more if window.backward else beyond_start,
    )


def _scan(
    c: Connection,
    query: Select[Any],
    key: Column[Any],
    wanted: int,
    make: Callable[[Row[Any]], Record],
    downwards: bool,
    keep: Callable[[Record], bool] | None,
) -> list[tuple[Any, Record]]:
    """Up to `wanted` rows in order, each with its key."""
    ordered = query.order_by(key.desc() if downwards else key.asc())
    if keep is None:
        return [(getattr(row, key.name), make(row)) for row in c.execute(ordered.limit(wanted))]
    found: list[tuple[Any, Record]] = []
    last: Any = None
    while len(found) < wanted:
        part = ordered if last is None else ordered.where(key < last if downwards else key > last)
        rows = c.execute(part.limit(SCAN)).all()
        records = ((getattr(row, key.name), make(row)) for row in rows)
        found += [(position, record) for position, record in records if keep(record)]
        if len(rows) < SCAN:
            break
        last = getattr(rows[-1], key.name)
    return found[:wanted]


def _key(position: str | None, number: bool, prefix: str) -> Any:
    if position is None:
        return None
    if not position.startswith(prefix):
        raise BadCursor(position)
    if not number:
        if clean(position) != position:  # PostgreSQL can't even be asked about it
            raise BadCursor(position)
        return position
    try:
        value = int(position)
    except ValueError as error:
        raise BadCursor(position) from error
    if not 0 <= value < _BEYOND:
        raise BadCursor(position)
    return value
