"""What runs cost: tokens, money, and the limits on both."""

from __future__ import annotations

from decimal import Decimal

import strawberry

from schema.scalars import BigInt


@strawberry.type(
    description="What model calls used, as the provider counts it. Interrupted calls count what was reported."
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
    """Part of the promise; nothing sets one yet."""

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
