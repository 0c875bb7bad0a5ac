"""What is wrong with a tool's configuration."""

from __future__ import annotations

from collections.abc import Sequence


class BadConfig(ValueError):
    """A configuration that its tool type does not take.

    `problems` has a line for each, `field` is where the first one is: the names and numbers that lead to it.
    """

    def __init__(self, problems: Sequence[str], field: tuple[str, ...] = ()) -> None:
        self.problems = tuple(problems)
        self.field = field
        super().__init__("\n".join(self.problems))
