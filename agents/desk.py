"""A help desk that looks orders up and refunds them: anything above 100 waits for a person."""

from __future__ import annotations

import _orders

from steersman import Agent, Context, ToolError, tool


@tool
def find_order(order: str) -> dict[str, object]:
    """Find an order by its number: what it was, what it cost, what was refunded of it.

    Args:
        order: the order's number, like `A-1042`.
    """
    try:
        return _orders.find(order)
    except _orders.NoSuchOrder:
        raise ToolError(f"No order has the number {order[:40]!r}; the numbers look like A-1042.") from None


@tool(approval=lambda arguments: arguments["amount"] > 100, timeout=30)
def refund(ctx: Context, order: str, amount: float) -> str:  # noqa: D417  # no model sees ctx
    """Refund an order, fully or in part. Above 100 a person decides first.

    Args:
        order: the order's number, like `A-1042`.
        amount: how much, in euros.
    """
    try:
        return _orders.refund(order, amount, key=ctx.idempotency_key)
    except _orders.NoSuchOrder:
        raise ToolError(f"No order has the number {order[:40]!r}; find it first.") from None
    except _orders.TooMuch as error:
        raise ToolError(f"That is more than is left of the order: {error}.") from None


agent = Agent(
    description="Refunds orders, and asks a person before it refunds more than 100: try approving and denying.",
    examples=[
        "What do you know of order A-1042?",
        "Refund 40 euros of order A-1043.",
        "Refund 150 euros of order A-1042.",
    ],
    system=(
        "You run the help desk of Paper & Co. Look an order up before you refund it, and say in one sentence what was "
        "done. When a person has denied a refund, say so and leave it."
    ),
    model="claude-sonnet-5-5",
    tools=[refund, find_order],
)
