"""Pages by keyset: a window onto an ordered list, and what was found in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")
DEFAULT_SIZE = 50
MAX_SIZE = 100


class BadCursor(ValueError):
    """A cursor that this list never gave."""


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is asked for: `size` rows from its start, or from its end where `backward`.

    `after` and `before` are keyset positions in the list's own form (a run's id, a message's seq as text, …).
    """

    size: int = DEFAULT_SIZE
    backward: bool = False
    after: str | None = None
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Slice(Generic[Row]):
    """The rows of a window in the list's order, each with its position, and whether there are more on either side."""

    rows: list[Row]
    positions: list[str]
    has_next: bool
    has_previous: bool
