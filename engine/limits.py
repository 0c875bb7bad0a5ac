"""The deployment's own limits: what a user may spend in a day, by role, and everybody together in a month."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Generic, TypeVar

from engine.budget import pico
from models.spending import Bounds, Caps

T = TypeVar("T", Decimal, int)


@dataclass(frozen=True, slots=True)
class ByRole(Generic[T]):
    """An amount for everybody, None where they have no limit, and others for those who have a role."""

    everybody: T | None
    roles: Mapping[str, T] = field(default_factory=dict)

    def of(self, roles: Iterable[str]) -> T | None:
        """What holds for one with these roles: the most of what they are given, else what everybody is."""
        own = [self.roles[role] for role in roles if role in self.roles]
        return max(own) if own else self.everybody

    def __str__(self) -> str:
        own = ",".join(f"{role}={_plain(amount)}" for role, amount in self.roles.items())
        return own if self.everybody is None else f"{_plain(self.everybody)}{',' if own else ''}{own}"


def _plain(amount: Decimal | int) -> str:
    return f"{amount:f}" if isinstance(amount, Decimal) else str(amount)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a user may spend in a day (UTC), in USD and in tokens, and everybody in a month; None: no limit."""

    daily_cost: ByRole[Decimal] | None = None
    daily_tokens: ByRole[int] | None = None
    monthly_cost: Decimal | None = None

    @property
    def are_of_money(self) -> bool:
        """Whether money is limited for anybody, so that a model's price must be known."""
        return self.daily_cost is not None or self.monthly_cost is not None

    def day_of(self, roles: Iterable[str]) -> Bounds:
        """What one with these roles may spend in a day."""
        owned = list(roles)
        cost = self.daily_cost.of(owned) if self.daily_cost is not None else None
        tokens = self.daily_tokens.of(owned) if self.daily_tokens is not None else None
        return Bounds(None if cost is None else pico(cost), tokens)

    def caps(self, roles: Iterable[str]) -> Caps:
        """The limits for one with these roles, in the units of the rows."""
        month = None if self.monthly_cost is None else pico(self.monthly_cost)
        return Caps(self.day_of(roles), Bounds(month))
