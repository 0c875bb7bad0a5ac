"""What runs cost: tokens, money, and the limits on both."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import strawberry

from engine.budget import Budget as SetBudget
from engine.budget import checked_cost, checked_tokens
from engine.errors import InvalidInput
from models.model_call import decimal_of
from models.spending import Bounds
from schema.given import given
from schema.scalars import BigInt

UNSET: Any = strawberry.UNSET


@dataclass(frozen=True, slots=True)
class Allowance:
    """Bounds, and how much of them is spent, as clients see both."""

    cost: Decimal | None
    tokens: int | None
    spent_cost: Decimal
    spent_tokens: int


def allowance(bounds: Bounds, spent: Bounds) -> Allowance:
    """An Allowance in clients' units."""
    return Allowance(
        None if bounds.cost_pico is None else decimal_of(bounds.cost_pico),
        bounds.tokens,
        decimal_of(spent.cost_pico or 0),
        spent.tokens or 0,
    )


@strawberry.type(
    description=(
        "What model calls used, as the provider counts it. Interrupted calls count what was reported, and those of "
        "which nothing was reported their estimated input."
    )
)
class Usage:
    """Read from models.usage.Usage."""

    input_tokens: BigInt = strawberry.field(
        description="Tokens of the prompts, without those read from or written to the cache."
    )
    output_tokens: BigInt = strawberry.field(description="Tokens of the answers.")
    cache_read_tokens: BigInt = strawberry.field(
        description="Tokens of the prompts that came from the provider's cache."
    )
    cache_write_tokens: BigInt = strawberry.field(
        description="Tokens of the prompts that were written to the provider's cache."
    )
    cost: Decimal | None = strawberry.field(description="Its price in USD; null where a model has no known price.")


@strawberry.type(description="A limit on money and tokens, and how much of it is spent.")
class Budget:
    """Read from Allowance."""

    cost: Decimal | None = strawberry.field(
        description="How much may be spent, in USD; null where money is not limited."
    )
    tokens: BigInt | None = strawberry.field(
        description="How many tokens may be used: input, output and cache writes together; null where not limited."
    )
    spent_cost: Decimal = strawberry.field(description="How much is spent, in USD.")
    spent_tokens: BigInt = strawberry.field(
        description="How many tokens are used: input, output and cache writes together."
    )


@strawberry.input(
    description=(
        "How much a turn may spend: `cost`, `tokens` or both. What is left out is as the agent's own budget has it."
    )
)
class BudgetInput:
    """The budget of a turn."""

    cost: Decimal | None = strawberry.field(
        description="In USD, above 0. The agent's model must have a known price, else PRICE_UNKNOWN.", default=UNSET
    )
    tokens: BigInt | None = strawberry.field(
        description="In tokens, from 1: input, output and cache writes together.", default=UNSET
    )


def budget_of(wanted: BudgetInput | None) -> SetBudget | None:
    """The budget that an input names; None where it names none. Raises InvalidInput."""
    asked = given(wanted)
    if asked is None:
        return None
    cost, tokens = given(asked.cost), given(asked.tokens)
    if cost is None and tokens is None:
        raise InvalidInput("A budget limits `cost`, `tokens` or both: give one of them.", field=("budget",))
    for name, check, value in (("cost", checked_cost, cost), ("tokens", checked_tokens, tokens)):
        try:
            if value is not None:
                check(value)
        except (TypeError, ValueError) as error:
            words = f"{error}."
            raise InvalidInput(words[0].upper() + words[1:], field=("budget", name)) from error
    return SetBudget(cost=cost, tokens=tokens)
