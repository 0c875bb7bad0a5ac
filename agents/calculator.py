"""Works out arithmetic and converts units, instead of guessing at them."""

from __future__ import annotations

import _units

from steersman import Agent, ToolError, call_tool, tool


@tool
async def calculate(expression: str) -> str:
    """Work out an arithmetic expression, exactly as long as it has only + - * / // % ** and decimal numbers.

    Args:
        expression: such as `(3 + 4) * 2 ** 10` or `sqrt(2) / sin(pi / 8)`; angles are in radians.
    """
    return str(await call_tool("calculator", {"expression": expression}))


@tool
def convert(value: float, from_unit: str, to_unit: str) -> str:
    """Convert a value from one unit of measure to another.

    Args:
        value: the number to convert.
        from_unit: the unit that it is in, such as `km`, `lb`, `F`, `GiB`.
        to_unit: the unit that is wanted, of the same kind.
    """
    try:
        return f"{_units.convert(value, from_unit, to_unit):.12g} {to_unit}"
    except _units.BadUnit as error:
        raise ToolError(f"{error}.") from error


agent = Agent(
    description="Calculates and converts units with tools rather than by heart.",
    examples=["What is 3 to the power of 40?", "How many miles are 42.195 km?"],
    system=(
        "You are a calculator that explains itself. Never work out a number in your head: use calculate and convert "
        "for every one, several at once where they do not depend on each other. Answer with the result first, then "
        "how it came about, in a line or two."
    ),
    model="claude-sonnet-5-5",
    tools=[calculate, convert],
)
