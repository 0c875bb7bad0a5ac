"""A tool call's first phase: what is unknown, malformed or interrupted becomes a result without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.agent import Agent
from engine.bad_arguments import BadArguments
from engine.executing import Outcome
from engine.tool import Tool
from models.call import ToolCall
from models.content import INTERRUPTED
from models.enums import ToolCallState

_CUT_BY_LENGTH = ("max_tokens", "model_context_window_exceeded")
MAX_NAMES = 1_000  # characters of the list of tools that a model reads after naming an unknown one


@dataclass(frozen=True, slots=True)
class Execution:
    """A call that can be run: its tool, the checked arguments, and which attempt this is."""

    tool: Tool[..., Any]
    arguments: dict[str, Any]
    attempt: int


def prepare(agent: Agent, call: ToolCall, stop_reason: str | None) -> Execution | Outcome:
    """What to run, or the result where there is nothing to run.

    A call that is RUNNING had begun under an earlier fence, whose worker is gone: it is run again where its author
    said that it may be, and is reported as interrupted otherwise.
    """
    tool = agent.toolbox.get(call.name)
    attempt = call.attempt
    if call.state is ToolCallState.RUNNING:
        if tool is None or tool.on_crash != "retry":
            return Outcome(ToolCallState.INTERRUPTED, INTERRUPTED, is_error=True)
        attempt += 1
    if not isinstance(call.input, dict):
        return _refusal(_malformed(stop_reason))
    if tool is None:
        return _refusal(_unknown(agent, call.name))
    try:
        return Execution(tool, tool.check(call.input), attempt)
    except BadArguments as error:
        return _refusal(str(error))


def _refusal(text: str) -> Outcome:
    return Outcome(ToolCallState.FAILED, text, is_error=True)


def _malformed(stop_reason: str | None) -> str:
    if stop_reason in _CUT_BY_LENGTH:
        return "not run: the call was cut off by the limit on tokens before it was whole; make it again, shorter"
    return "not run: the arguments were not a JSON object; make the call again with valid JSON"


def _unknown(agent: Agent, name: str) -> str:
    names = ", ".join(agent.toolbox) or "none"
    return f"not run: there is no tool {name[:64]!r}; the tools are: {names[:MAX_NAMES]}"
