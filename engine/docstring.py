"""What a docstring says: of a function, and of each of its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import docstring_parser


@dataclass(frozen=True, slots=True)
class Docstring:
    """`description` is the text before the sections, "" without one; `arguments` has each argument's, by name."""

    description: str = ""
    arguments: dict[str, str] = field(default_factory=dict)


def read_docstring(function: Callable[..., Any]) -> Docstring:
    """Read a function's docstring in Google's, NumPy's or Sphinx's style, whichever it is written in."""
    text = inspect.getdoc(function) or ""
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:  # half a section: better the whole text than none
        return Docstring(description=text.strip())
    arguments = {
        param.arg_name.lstrip("*"): " ".join(param.description.split())
        for param in parsed.params
        if param.description and param.description.strip()
    }
    return Docstring(description=(parsed.description or "").strip(), arguments=arguments)
