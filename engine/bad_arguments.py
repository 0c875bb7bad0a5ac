"""What is wrong with the arguments of a tool call, or with an answer, in words that a model can act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from models.text import clean

MAX_PROBLEMS = 20
_MAX_WORD = 60  # of a name, a value or a place that came from the model
_MAX_MESSAGE = 300  # of one problem: a validator's own words may repeat its input


class BadArguments(ValueError):
    """The arguments of a tool call do not fit; the text lists each problem and is meant for the model."""


def explain(error: ValidationError, names: Sequence[str]) -> BadArguments:
    """The problems that pydantic found, one a line, without repeating what is long; `names` are the known arguments."""
    known = f"the arguments are: {', '.join(names)}" if names else "this tool takes none"
    lines = problems_of(error, "arguments", f"there is no such argument; {known}")
    return BadArguments("\n".join(["The arguments do not fit:", *lines]))


def problems_of(error: ValidationError, whole: str, unknown: str) -> list[str]:
    """The problems that pydantic found in a value that came from a model, a clean line each.

    `whole` names the value itself, `unknown` is what to say of what it should not have at its top.
    """
    problems = error.errors(include_url=False, include_context=False)
    lines = [clean(_problem(problem, whole, unknown)) for problem in problems[:MAX_PROBLEMS]]
    return lines + [f"- and {len(problems) - MAX_PROBLEMS} more"] * (len(problems) > MAX_PROBLEMS)


def _problem(problem: Any, whole: str, unknown: str) -> str:
    place = _place(problem["loc"]) or whole
    if problem["type"] == "extra_forbidden":
        return f"- {place}: {unknown}" if len(problem["loc"]) == 1 else f"- {place}: unknown"
    if problem["type"] == "missing":
        return f"- {place}: is missing"
    given = _given(problem["input"])
    return f"- {place}: {_short(problem['msg'], _MAX_MESSAGE)}" + (f" (given: {given})" if given else "")


def _place(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location[:10]:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + _short(part, _MAX_WORD)
    return text


def _given(value: Any) -> str:
    """The value, where showing it helps: short and no container."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > 200:
        return "a very large number"
    if isinstance(value, str):
        return f'"{_short(value, _MAX_WORD)}"'
    return repr(value) if isinstance(value, int | float) else ""


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
