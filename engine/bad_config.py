"""What is wrong with a configuration, in words for whoever saves it."""

from __future__ import annotations

from pydantic import ValidationError

from engine.bad_arguments import problems_of
from models.text import clean


class BadConfig(ValueError):
    """A configuration does not fit; `place` is the path of the field at fault, empty where it is about the whole."""

    def __init__(self, message: str, place: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.place = place

    def within(self, *outer: str) -> BadConfig:
        """The same of a value that this configuration is a part of, at this path."""
        return BadConfig(str(self), (*outer, *self.place))


def bad_config_of(error: ValidationError, unknown: str) -> BadConfig:
    """All the problems that pydantic found, the place that of the first; `unknown` is said of a field too many."""
    place = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
    said = "; ".join(line.removeprefix("- ") for line in problems_of(error, "the configuration", unknown))
    return BadConfig(f"{said}.", tuple(clean(str(part)) for part in place))
