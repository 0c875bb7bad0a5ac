"""Overrides: what a run has in the place of its agent's own, and beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RunTool:
    """A tool by its type: what a resource of the kind `tools` says, under the name that the model calls it by."""

    name: str
    type: str
    config: dict[str, Any] | None = None

    @property
    def value(self) -> dict[str, Any]:
        """As the value of a resource of the kind `tools`."""
        return {"type": self.type} | ({} if self.config is None else {"config": self.config})

    def to_json(self) -> dict[str, Any]:
        """As it is kept on the run's row."""
        return {"name": self.name, **self.value}


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a run has of its own. None means the agent's.

    `system` and `tools` stand in the place of the agent's system prompt and of all its tools; `added` are tools beside
    those, and `remotes` the ids of remotes of its owner's whose tools it may use. `lent` are those of whoever lends
    them to the thread that it answers in. `options` are fields of the agent's kind, in the place of what its
    configuration says of them.
    """

    system: str | None = None
    tools: tuple[RunTool, ...] | None = None
    remotes: tuple[str, ...] | None = None
    added: tuple[RunTool, ...] = ()
    options: dict[str, Any] | None = None
    lent: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any] | None:
        """As it is kept on the run's row; None where there is nothing to keep."""
        values: dict[str, Any] = {}
        if self.system is not None:
            values["system"] = self.system
        if self.tools is not None:
            values["tools"] = [one.to_json() for one in self.tools]
        if self.remotes is not None:
            values["remotes"] = list(self.remotes)
        if self.added:
            values["added"] = [one.to_json() for one in self.added]
        if self.lent:
            values["lent"] = list(self.lent)
        if self.options:
            values["options"] = self.options
        return values or None

    @classmethod
    def from_json(cls, value: dict[str, Any] | None) -> Overrides | None:
        """Back from `to_json`."""
        if value is None:
            return None
        tools, remotes = value.get("tools"), value.get("remotes")
        return cls(
            system=value.get("system"),
            tools=None if tools is None else _tools(tools),
            remotes=None if remotes is None else tuple(remotes),
            added=_tools(value.get("added", ())),
            options=value.get("options"),
            lent=tuple(value.get("lent", ())),
        )


def _tools(values: Sequence[dict[str, Any]]) -> tuple[RunTool, ...]:
    return tuple(RunTool(one["name"], one["type"], one.get("config")) for one in values)
