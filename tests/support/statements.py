"""The statements that reach a database while a test looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


@contextmanager
def counted() -> Iterator[list[str]]:
    """The statements that are executed meanwhile, on any engine."""
    statements: list[str] = []

    def count(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", count)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", count)


def selects(statements: list[str]) -> int:
    """How many reads there were."""
    return sum(statement.lstrip().upper().startswith("SELECT") for statement in statements)
