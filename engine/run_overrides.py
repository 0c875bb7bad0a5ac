"""What somebody asks that a run has in its agent's place, not checked yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models.overrides import RunTool


@dataclass(frozen=True, slots=True)
class RunOverrides:
    """For one run, in its agent's place; None leaves what the agent has.

    - `system`: the system prompt.
    - `history`: what was said before the run, a list of objects with a `role` ("user" or "assistant") and a `content`.
    - `tools`: all the tools that it has, each by a tool type that is registered here.
    - `remotes`: the ids of remotes whose tools it may use beside those.
    """

    system: str | None = None
    history: Any = None
    tools: Sequence[RunTool] | None = None
    remotes: Sequence[str] | None = None
