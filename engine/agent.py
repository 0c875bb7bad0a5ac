"""An agent as its author defines it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from engine.brakes import Brakes
from engine.budget import Budget
from engine.compaction import Compaction
from engine.fields import Fields, fields_of
from engine.output import OutputType, output_type
from engine.subagent import subagent
from engine.tool import NAME, Tool, tool
from models.text import clean

if TYPE_CHECKING:
    from pydantic import BaseModel

AgentCrash = Literal["resume", "fail"]
ToolChoice = Literal["auto", "any", "none"]
MAX_MODELS = 5
"""As many as one step has attempts (engine/providers/retrying.py)."""


MOST_EXAMPLES = 8
"""More than anybody reads before they begin."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """What runs: a system prompt, a model and tools, with the limits that keep it in bounds.

    - `system`: the system prompt.
    - `model`: a model's name, or up to five in the order in which to use them: where one fails, the next goes on.
    - `tools`: tools, or plain functions, which become tools with the defaults of `tool`.
    - `output`: a pydantic model that the final answer is checked against.
    - `max_steps`: model calls in one turn; `max_tokens`: tokens of one answer.
    - `timeout`: seconds without progress after which a run has failed.
    - `description`: what the agent is for, shown to clients.
    - `examples`: things that one can say to it, shown to those who meet it for the first time.
    - `auth`: who may start it: "user" for all who are signed in, or the role that it takes.
    - `subagents`: the names of other agents, each of which becomes a tool that hands a task to it.
    - `parallel_tools`: how many tool calls of one step run at once.
    - `budget`: how much one turn may spend, in money or tokens.
    - `brakes`: when a turn that goes in circles is stopped.
    - `compaction`: when a long conversation is shortened for the model, and to what.
    - `on_crash`: "resume" goes on after a crash from the last finished step, "fail" ends the run.
    - `temperature`, `repetition_penalty`: how the model chooses its words; the provider's own where they are not given.
    - `tool_choice`: "auto" lets the model choose, "any" has a turn begin with a tool, "none" keeps it from using any.
    - `remotes`: whether its runs may use tools of remotes.
    - `fields`: a pydantic model, the configuration that a stored agent of this kind carries.
    - `configure`: a function of the checked configuration that gives the options which it changes, by name.
    - `name`, `config`: the name of the agent's file and the configuration in use; the engine sets them, not its author.

    Raises TypeError or ValueError, in words, for what does not fit.
    """

    system: str
    model: str | Sequence[str]
    tools: Sequence[Callable[..., Any]] = ()
    output: type[BaseModel] | None = None
    max_steps: int = 64
    max_tokens: int = 8_192
    timeout: float = 600.0
    description: str | None = None
    examples: Sequence[str] = ()
    auth: str = "user"
    subagents: Sequence[str] = ()
    parallel_tools: int = 4
    budget: Budget | None = None
    brakes: Brakes = field(default_factory=Brakes)
    compaction: Compaction = field(default_factory=Compaction)
    on_crash: AgentCrash = "resume"
    temperature: float | None = None
    repetition_penalty: float | None = None
    tool_choice: ToolChoice = "auto"
    remotes: bool = True
    fields: type[BaseModel] | None = None
    configure: Callable[[Any], Mapping[str, Any]] | None = None
    name: str | None = None
    config: BaseModel | None = field(default=None, repr=False)
    models: tuple[str, ...] = field(init=False, repr=False)
    """The models in the order in which to use them; at least one."""
    toolbox: Mapping[str, Tool[..., Any]] = field(init=False, repr=False)
    """The tools by their names, in the order in which they were given; read-only."""
    output_type: OutputType | None = field(init=False, repr=False)
    """The check of the final answer, where there is an `output`."""
    config_type: Fields = field(init=False, repr=False)
    """The check of a configuration; of one without fields where there are no `fields`."""
    prompt: str = field(init=False, repr=False)
    """The system prompt as the model gets it: `system`, and what the final answer must be."""

    def __post_init__(self) -> None:
        _check_text("system", self.system)
        _check_text("auth", self.auth)
        if self.description is not None:
            _check_text("description", self.description)
        _set(self, "examples", _examples(self.examples))
        if self.name is not None and not NAME.fullmatch(self.name):
            raise ValueError(f"agent {self.name!r}: a name is 1 to 64 letters, digits, _ or -")
        self._check_limits()
        self._check_words()
        toolbox = _toolbox(self.tools, _names(self.subagents))
        answer = None if self.output is None else output_type(self.output)
        _set(self, "system", clean(self.system))
        _set(self, "output_type", answer)
        _set(self, "config_type", fields_of(self.fields))
        _set(self, "prompt", self.system if answer is None else f"{self.system}\n\n{answer.instructions}")
        _set(self, "models", _models(self.model))
        _set(self, "toolbox", MappingProxyType(toolbox))
        _set(self, "tools", tuple(one for one in toolbox.values() if one.name not in self.subagents))
        _set(self, "subagents", tuple(self.subagents))

    def _check_limits(self) -> None:
        for name in ("max_steps", "max_tokens", "parallel_tools"):
            _check_count(name, getattr(self, name))
        if not _is_number(self.timeout) or not math.isfinite(self.timeout) or self.timeout <= 0:
            raise ValueError(f"timeout is a number of seconds above 0, not {self.timeout!r}")
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise TypeError(f'budget is a Budget, such as Budget(cost="0.20"), not {self.budget!r:.200}')
        if not isinstance(self.brakes, Brakes):
            raise TypeError(f"brakes is Brakes(…), not {self.brakes!r:.200}")
        if not isinstance(self.compaction, Compaction):
            raise TypeError(f"compaction is Compaction(…), not {self.compaction!r:.200}")
        if self.on_crash not in ("resume", "fail"):
            raise ValueError(f'on_crash is "resume" or "fail", not {self.on_crash!r}')

    def _check_words(self) -> None:
        for name, most in (("temperature", 2.0), ("repetition_penalty", 10.0)):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and 0 <= value <= most):
                raise ValueError(f"{name} is a number from 0 to {most:g}, not {value!r:.200}")
        if self.tool_choice not in ("auto", "any", "none"):
            raise ValueError(f'tool_choice is "auto", "any" or "none", not {self.tool_choice!r:.200}')
        if not isinstance(self.remotes, bool):
            raise TypeError(f"remotes is True or False, not {self.remotes!r:.200}")
        if self.configure is not None and not callable(self.configure):
            raise TypeError(f"configure is a function of the configuration, not {self.configure!r:.200}")
        if self.configure is not None and self.fields is None:
            raise ValueError("configure needs fields: the configuration that it is called with")

    @property
    def warnings(self) -> list[str]:
        """What the author should mend of the tools; none of it keeps the agent from working."""
        return [f"tool {one.name}: {warning}" for one in self.toolbox.values() for warning in one.warnings]

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """The tools as a model is told of them."""
        return [tool.definition() for tool in self.toolbox.values()]

    def introduced(self, descriptions: Mapping[str, str | None]) -> Agent:
        """The agent, with tools for its sub-agents that tell what these say of themselves."""
        met = {name: subagent(name, descriptions[name]) for name in self.subagents if descriptions.get(name)}
        return self._with(met) if met else self

    def equipped(self, tools: Sequence[Tool[..., Any]]) -> Agent:
        """The agent with further tools. Raises ValueError where two have one name."""
        added: dict[str, Tool[..., Any]] = {}
        for one in tools:
            if one.name in self.toolbox or one.name in added:
                raise ValueError(f"two tools are named {one.name!r}")
            added[one.name] = one
        return self._with(added) if added else self

    def without(self, names: Collection[str]) -> Agent:
        """The agent without the tools of these names."""
        return self._armed({name: one for name, one in self.toolbox.items() if name not in names})

    def _with(self, tools: Mapping[str, Tool[..., Any]]) -> Agent:
        return self._armed({**self.toolbox, **tools})

    def _armed(self, toolbox: Mapping[str, Tool[..., Any]]) -> Agent:
        changed = copy.copy(self)
        _set(changed, "toolbox", MappingProxyType(dict(toolbox)))
        return changed


def _set(agent: Agent, name: str, value: object) -> None:
    object.__setattr__(agent, name, value)  # the class is frozen for everybody else


def _models(given: str | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(given, str | list | tuple):
        raise TypeError(f"model is a model's name, or a list of names, not {given!r:.200}")
    models = (given,) if isinstance(given, str) else tuple(given)
    if not models:
        raise ValueError("model is an empty list: name at least one")
    for model in models:
        _check_text("model", model)
    if len(set(models)) < len(models):
        raise ValueError("model names a model twice: each is asked in its turn, and none again")
    if len(models) > MAX_MODELS:
        raise ValueError(f"model names {len(models)} models; a step is asked for {MAX_MODELS} times, so name no more")
    return models


def _names(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise TypeError(f"subagents is a list of agents' names, not {given!r:.200}")
    for name in given:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError(f"subagents: {name!r:.200} is no agent's name")
    return tuple(given)


def _toolbox(given: Sequence[Callable[..., Any]], subagents: Sequence[str]) -> dict[str, Tool[..., Any]]:
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
    for name in subagents:
        if name in toolbox:
            raise ValueError(f"the sub-agent {name!r} has the name of a tool, or is there twice")
        toolbox[name] = subagent(name)
    return toolbox


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text, not {value!r:.200}")
    if not value.strip():
        raise ValueError(f"{name} is empty")


def _examples(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"examples are texts, not {given!r:.200}")
    if len(given) > MOST_EXAMPLES:
        raise ValueError(f"examples are {MOST_EXAMPLES} at most, not {len(given)}")
    for each in given:
        _check_text("an example", each)
    return tuple(given)


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is a whole number from 1, not {value!r:.200}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
