"""The purse: what may be spent by a turn, by a user in a day, by everybody in a month, and by the whole workspace.

A call of a model reserves in every purse that it draws from the most that it can take, before it is made, and gives
the reservation back for what it used. `spent` and `reserved` together stay within a purse's bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Row, String, Table, delete, select

from models.spending import Bounds
from models.tables import metadata

BALANCE = "balance"
DAY_MS = 24 * 60 * 60 * 1000

purses = Table(
    "purses",
    metadata,
    Column("id", String(320), primary_key=True),
    # how much may be taken; the bounds of days and months are settings, not rows
    Column("cost_pico", BigInteger),
    Column("tokens", BigInteger),
    Column("spent_cost_pico", BigInteger, nullable=False),
    Column("spent_tokens", BigInteger, nullable=False),
    # of the calls under way, the most that they can take
    Column("reserved_cost_pico", BigInteger, nullable=False),
    Column("reserved_tokens", BigInteger, nullable=False),
)


class PurseKind(StrEnum):
    """Whose purse it is; in this order, the one that is named where several are equally empty."""

    TURN = "turn"
    DAY = "day"
    MONTH = "month"
    BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class Purse:
    """A purse as its row has it; see models/spending.py for the units."""

    id: str
    bounds: Bounds
    spent: Bounds
    reserved: Bounds

    @property
    def kind(self) -> PurseKind:
        """Whose purse it is, as its id tells."""
        return PurseKind(self.id.partition("/")[0])

    def left(self, bounds: Bounds) -> Bounds:
        """What is left of these bounds."""
        taken_cost = (self.spent.cost_pico or 0) + (self.reserved.cost_pico or 0)
        taken_tokens = (self.spent.tokens or 0) + (self.reserved.tokens or 0)
        return Bounds(
            None if bounds.cost_pico is None else bounds.cost_pico - taken_cost,
            None if bounds.tokens is None else bounds.tokens - taken_tokens,
        )


def turn_purse(run_id: str, generation: int) -> str:
    """The id of the purse of the turn that begins with this generation."""
    return f"{PurseKind.TURN}/{run_id}/{generation}"


def is_own(purse_id: str, run_id: str) -> bool:
    """Whether it is the purse of a turn of this run, rather than of one above it in its tree."""
    return purse_id.startswith(f"{PurseKind.TURN}/{run_id}/")


def day_purse(user_id: str, at: int) -> str:
    """The id of a user's purse of the day, UTC, that a moment (ms since the epoch) is in."""
    return f"{PurseKind.DAY}/{_date(at):%Y-%m-%d}/{user_id}"


def month_purse(at: int) -> str:
    """The id of everybody's purse of the month, UTC, that a moment is in."""
    return f"{PurseKind.MONTH}/{_date(at):%Y-%m}"


def day_start(at: int) -> int:
    """The first moment of the day, UTC, that a moment is in."""
    return at - at % DAY_MS


def month_start(at: int) -> int:
    """The first moment of the month, UTC, that a moment is in."""
    first = _date(at).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return int(first.timestamp()) * 1000


def _date(at: int) -> datetime:
    return datetime.fromtimestamp(at // 1000, UTC)


def new_purse(purse_id: str, bounds: Bounds, spent: Bounds | None = None) -> dict[str, Any]:
    """The row of a purse from which nothing is reserved."""
    spent = spent or Bounds()
    return {
        "id": purse_id,
        "cost_pico": bounds.cost_pico,
        "tokens": bounds.tokens,
        "spent_cost_pico": spent.cost_pico or 0,
        "spent_tokens": spent.tokens or 0,
        "reserved_cost_pico": 0,
        "reserved_tokens": 0,
    }


def purse_from_row(row: Row[Any]) -> Purse:
    """A Purse from a row of all of purses' columns."""
    return Purse(
        row.id,
        Bounds(row.cost_pico, row.tokens),
        Bounds(row.spent_cost_pico, row.spent_tokens),
        Bounds(row.reserved_cost_pico, row.reserved_tokens),
    )


def get_purses(c: Connection, ids: Sequence[str]) -> dict[str, Purse]:
    """Those of the purses that exist, by id."""
    return {row.id: purse_from_row(row) for row in c.execute(select(purses).where(purses.c.id.in_(ids)))}


def purge_days(c: Connection, before: int) -> int:
    """Forget the purses of the days before that of a moment (ms since the epoch); how many there were."""
    first, last = f"{PurseKind.DAY}/", f"{PurseKind.DAY}/{_date(before):%Y-%m-%d}/"
    return c.execute(delete(purses).where(purses.c.id > first, purses.c.id < last)).rowcount
