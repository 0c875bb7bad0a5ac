"""A tool call's first phase: what is unknown, malformed or interrupted becomes a result without any I/O."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from engine.agent import Agent
from engine.bad_arguments import BadArguments
from engine.executing import Outcome
from engine.tool import Offered, Tool
from models.call import ToolCall
from models.content import INTERRUPTED, blocks_of_type
from models.enums import ToolCallState
from models.json_codec import dump_json
from models.message import Message

log = logging.getLogger("steersman.tool")
_CUT_BY_LENGTH = ("max_tokens", "model_context_window_exceeded")
MAX_NAMES = 1_000  # characters of the list of tools that a model reads after naming an unknown one


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that waits: for the decision of `approvers`, or, where that is None, for a client's answer.

    `seconds` is how long at most, None for ever. `offered` is whose answer it waits for, where that is a remote's.
    """

    approvers: str | None
    seconds: float | None
    offered: Offered | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """A call that can be run: its tool, the checked arguments, and which attempt this is."""

    tool: Tool[..., Any]
    arguments: dict[str, Any]
    attempt: int


@dataclass(frozen=True, slots=True)
class Delegation:
    """A call that another agent answers, and what it is to do."""

    agent: str
    task: str
    max_result_chars: int


def prepare(agent: Agent, call: ToolCall, stop_reason: str | None) -> Execution | Outcome | Waiting | Delegation:
    """What to run, the result where there is nothing to run, what to wait for, or what to hand on.

    A call that is RUNNING had begun under an earlier fence, whose worker is gone: it is run again where its author
    said that it may be, and is reported as interrupted otherwise. What was handed on is waited for again.
    """
    tool = agent.toolbox.get(call.name)
    attempt = call.attempt
    if call.state is ToolCallState.RUNNING and (tool is None or tool.agent is None):
        if tool is None or tool.on_crash != "retry":
            return Outcome(ToolCallState.INTERRUPTED, INTERRUPTED, is_error=True)
        attempt += 1
    if not isinstance(call.input, dict):
        return _refusal(_malformed(stop_reason))
    if tool is None:
        return _refusal(_unknown(agent, call.name))
    try:
        arguments = tool.check(call.input)
    except BadArguments as error:
        return _refusal(str(error))
    if tool.agent is not None:
        return Delegation(tool.agent, str(arguments["task"]), tool.max_result_chars)
    if call.decided_at is None and attempt == 1 and _needs_approval(tool, arguments):
        return Waiting(tool.approvers, tool.expires)
    if tool.client:
        return Waiting(None, tool.timeout or None, tool.offered)
    return Execution(tool, arguments, attempt)


def changed_note(answer: Message, call: ToolCall) -> str:
    """What the model reads before the result of a call whose arguments a person has changed; else nothing."""
    uses = blocks_of_type(answer.content, "tool_use")
    if call.decided_at is None or call.index >= len(uses) or uses[call.index].get("input") == call.input:
        return ""
    return f"A person approved this call with other arguments: {dump_json(call.input)}\n"


def _needs_approval(tool: Tool[..., Any], arguments: dict[str, Any]) -> bool:
    """Whether a person must decide about a call with these arguments; one that can't be told of waits too."""
    if not callable(tool.approval):
        return tool.approval
    try:
        return bool(tool.approval(dict(arguments)))
    except Exception:
        log.exception("the approval of tool %s could not tell whether a call needs one; it waits for one", tool.name)
        return True


def _refusal(text: str) -> Outcome:
    return Outcome(ToolCallState.FAILED, text, is_error=True)


def _malformed(stop_reason: str | None) -> str:
    if stop_reason in _CUT_BY_LENGTH:
        return "not run: the call was cut off by the limit on tokens before it was whole; make it again, shorter"
    return "not run: the arguments were not a JSON object; make the call again with valid JSON"


def _unknown(agent: Agent, name: str) -> str:
    names = ", ".join(agent.toolbox) or "none"
    return f"not run: there is no tool {name[:64]!r}; the tools are: {names[:MAX_NAMES]}"
