"""A front desk that answers nothing by itself: it hands each task to the agent that knows."""

from __future__ import annotations

from steersman import Agent

agent = Agent(
    description="Hands what you ask to the agents desk and researcher: ask for a refund of 150 on order A-1042.",
    examples=["I want 150 euros back for order A-1042.", "How does steering a run work?"],
    system=(
        "You are the front desk of Paper & Co. Hand whatever has to do with orders and refunds to desk, and whatever "
        "has to be looked up to researcher, with all that they must know. Then say in a sentence or two what came of "
        "it."
    ),
    model="claude-sonnet-5-5",
    subagents=["desk", "researcher"],
)
