"""The tool type `calculator`: arithmetic, worked out rather than guessed."""

from __future__ import annotations

from typing import Any

from engine.builtin.arithmetic import BadExpression, evaluate, written
from engine.builtin.tool_type import ToolSetting, ToolType
from engine.tool import Tool, tool
from engine.tool_error import ToolError


def calculate(expression: str) -> str:
    """Work out an arithmetic expression, exactly as long as it has only + - * / // % ** and decimal numbers.

    Args:
        expression: such as `(3 + 4) * 2 ** 10`, `19.99 * 1.2` or `sqrt(2) / sin(pi / 8)`; angles are in radians.
    """
    try:
        return written(evaluate(expression))
    except BadExpression as error:
        raise ToolError(f"{expression[:100]!r}: {error}.") from error


def _make(name: str, config: None, setting: ToolSetting) -> Tool[..., Any]:
    return tool(name=name, on_crash="retry")(calculate)


CALCULATOR = ToolType(
    identifier="calculator",
    description="Works out arithmetic expressions, exactly where that is possible.",
    config=None,
    make=_make,
)
