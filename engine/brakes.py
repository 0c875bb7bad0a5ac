"""The brakes of an agent: when a turn that repeats itself without getting anywhere is stopped."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Brakes:
    """After how many steps in a row a turn is stopped that repeats itself; one step before, the model is warned.

    - `identical`: steps that make the same calls and are told the same.
    - `errors`: steps that are told the same errors and nothing else, whatever they call.
    - `alternating`: rounds of two steps that take turns, each told the same as in the round before.

    0 turns one off. Raises ValueError for a number that leaves no room for a warning.
    """

    identical: int = 5
    errors: int = 6
    alternating: int = 4

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or (value != 0 and value < 3):
                raise ValueError(f"brakes: {name} is a whole number from 3, or 0 for off, not {value!r}")


OFF = Brakes(identical=0, errors=0, alternating=0)
