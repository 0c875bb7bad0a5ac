"""The few options of curl that the project's pages use, so that their commands can be tried without it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

FLAGS = frozenset("sNGS")
"""Options without a value that change nothing but -G, which sends the data as a query."""


@dataclass
class Request:
    """What a command sends."""

    url: str = ""
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    body: str | None = None


def commands(block: str, variables: Mapping[str, str]) -> list[Request]:
    """The requests of a block's commands, its `$NAME`s replaced. Raises ValueError for what is not known here."""
    for name, value in variables.items():
        block = block.replace(f"${name}", value)
    return [_request(shlex.split(line)) for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def _request(words: list[str]) -> Request:
    if words[0] != "curl":
        raise ValueError(f"{words[0]} is not curl")
    request, rest = Request(), iter(words[1:])
    for word in rest:
        if word == "-H":
            name, _, value = next(rest).partition(":")
            request.headers[name] = value.strip()
        elif word == "-d":
            request.body, request.method = next(rest), "POST"
        elif word == "--data-urlencode":
            name, _, value = next(rest).partition("=")
            request.parameters[name] = value
        elif word.startswith("-") and set(word[1:]) <= FLAGS:
            continue
        elif word.startswith("http"):
            request.url = word
        else:
            raise ValueError(f"curl's {word} is not known here")
    return request
