"""An agent as its author defines it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from engine.tool import NAME, Tool, tool
from models.text import clean

AgentCrash = Literal["resume", "fail"]


@dataclass(frozen=True, kw_only=True)
class Agent:
    """What runs: a system prompt, a model and tools, with the limits that keep it in bounds.

    - `system`: the system prompt.
    - `model`: a model's name, or several in the order in which to use them.
    - `tools`: tools, or plain functions, which become tools with the defaults of `tool`.
    - `max_steps`: model calls in one turn; `max_tokens`: tokens of one answer.
    - `timeout`: seconds without progress after which a run has failed.
    - `description`: what the agent is for, shown to clients.
    - `auth`: who may start it: "user" for all who are signed in, or the role that it takes.
    - `parallel_tools`: how many tool calls of one step run at once.
    - `on_crash`: "resume" goes on after a crash from the last finished step, "fail" ends the run.
    - `name`: the name of the agent's file; set when it is loaded, not by its author.

    Raises TypeError or ValueError, in words, for what does not fit.
    """

    system: str
    model: str | Sequence[str]
    tools: Sequence[Callable[..., Any]] = ()
    max_steps: int = 64
    max_tokens: int = 8_192
    timeout: float = 600.0
    description: str | None = None
    auth: str = "user"
    parallel_tools: int = 4
    on_crash: AgentCrash = "resume"
    name: str | None = None
    models: tuple[str, ...] = field(init=False, repr=False)
    """The models in the order in which to use them; at least one."""
    toolbox: Mapping[str, Tool[..., Any]] = field(init=False, repr=False)
    """The tools by their names, in the order in which they were given; read-only."""

    def __post_init__(self) -> None:
        _check_text("system", self.system)
        _check_text("auth", self.auth)
        if self.description is not None:
            _check_text("description", self.description)
        for name in ("max_steps", "max_tokens", "parallel_tools"):
            _check_count(name, getattr(self, name))
        if not _is_number(self.timeout) or not math.isfinite(self.timeout) or self.timeout <= 0:
            raise ValueError(f"timeout is a number of seconds above 0, not {self.timeout!r}")
        if self.on_crash not in ("resume", "fail"):
            raise ValueError(f'on_crash is "resume" or "fail", not {self.on_crash!r}')
        if self.name is not None and not NAME.fullmatch(self.name):
            raise ValueError(f"agent {self.name!r}: a name is 1 to 64 letters, digits, _ or -")
        toolbox = _toolbox(self.tools)
        self._set("system", clean(self.system))
        self._set("models", _models(self.model))
        self._set("toolbox", MappingProxyType(toolbox))
        self._set("tools", tuple(toolbox.values()))

    @property
    def warnings(self) -> list[str]:
        """What the author should mend of the tools; none of it keeps the agent from working."""
        return [f"tool {one.name}: {warning}" for one in self.toolbox.values() for warning in one.warnings]

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the class is frozen for everybody else


def _models(given: str | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(given, str | list | tuple):
        raise TypeError(f"model is a model's name, or a list of names, not {given!r:.200}")
    models = (given,) if isinstance(given, str) else tuple(given)
    if not models:
        raise ValueError("model is an empty list: name at least one")
    for model in models:
        _check_text("model", model)
    return models


def _toolbox(given: Sequence[Callable[..., Any]]) -> dict[str, Tool[..., Any]]:
    if not isinstance(given, list | tuple):
        raise TypeError(f"tools is a list of tools, not {given!r:.200}")
    toolbox: dict[str, Tool[..., Any]] = {}
    for one in given:
        if one is None:
            raise TypeError("a tool is a function, not None")
        made = one if isinstance(one, Tool) else tool(one)
        if made.name in toolbox:
            raise ValueError(f"two tools are named {made.name!r}: rename one with tool(name=…)")
        toolbox[made.name] = made
    return toolbox


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text, not {value!r:.200}")
    if not value.strip():
        raise ValueError(f"{name} is empty")


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is a whole number from 1, not {value!r:.200}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
