"""How much a turn may spend: what an agent's author, or whoever starts a run, sets."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from models.spending import PICO, Bounds

MOST_USD = 1_000_000
MOST_TOKENS = 2**53


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one turn may spend: `cost` in USD, `tokens` of input, output and cache writes together, or both.

    The cost is a text such as "0.20", a whole number or a Decimal; never a float, which can't hold most sums of money.
    What tools ask a model for and what sub-agents do is paid from it too. Raises TypeError or ValueError, in words.
    """

    cost: Decimal | str | int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.cost is None and self.tokens is None:
            raise ValueError('a budget limits something: give it cost="0.20" (USD), tokens=100_000, or both')
        if self.cost is not None:
            object.__setattr__(self, "cost", checked_cost(self.cost))  # the class is frozen for everybody else
        if self.tokens is not None:
            checked_tokens(self.tokens)

    @property
    def bounds(self) -> Bounds:
        """The same in the units of the rows."""
        return Bounds(None if self.cost is None else pico(checked_cost(self.cost)), self.tokens)


def checked_cost(cost: object) -> Decimal:
    """A budget's cost as an exact amount, above 0. Raises TypeError or ValueError, in words."""
    if isinstance(cost, bool) or not isinstance(cost, str | int | Decimal):
        raise TypeError(f'a budget\'s cost is a text such as "0.20" (USD) or a whole number, not {cost!r:.99}')
    try:
        amount = Decimal(cost.strip() if isinstance(cost, str) else cost)
    except InvalidOperation:
        raise ValueError(f'a budget\'s cost is an amount in USD such as "0.20", not {cost!r:.99}') from None
    if not amount.is_finite() or not 0 < amount <= MOST_USD:
        raise ValueError(f"a budget's cost is above 0 and at most {MOST_USD:,} USD, not {amount}")
    if amount % PICO:
        raise ValueError(f"a budget's cost has at most twelve digits behind the point, not {amount}")
    return amount


def checked_tokens(tokens: object) -> int:
    """A budget's tokens. Raises ValueError, in words."""
    if not isinstance(tokens, int) or isinstance(tokens, bool) or not 1 <= tokens <= MOST_TOKENS:
        raise ValueError(f"a budget's tokens are a whole number from 1, not {tokens!r:.99}")
    return tokens


def pico(usd: Decimal) -> int:
    """An amount in USD in the units of the rows, 10**-12 USD."""
    return int(usd / PICO)


def merged(given: Budget | None, agents: Budget | None) -> Bounds | None:
    """The bounds of a turn: those that it was given, and its agent's own where it was given none."""
    if given is None or agents is None:
        one = given or agents
        return None if one is None else one.bounds
    over, under = given.bounds, agents.bounds
    return Bounds(
        under.cost_pico if over.cost_pico is None else over.cost_pico,
        under.tokens if over.tokens is None else over.tokens,
    )
