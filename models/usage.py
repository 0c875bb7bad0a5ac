"""What model calls used: tokens as the provider counts them, and their cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost (USD) of one or more model calls; `cost` is None where a model has no known price."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: Decimal | None = None

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; the cost as a plain decimal string."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cache_read_tokens": self.cache_read_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "cost": None if self.cost is None else f"{self.cost:f}",
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Usage:
        """Back from `to_json`."""
        cost = value["cost"]
        return cls(**{**value, "cost": None if cost is None else Decimal(cost)})
