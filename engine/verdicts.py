"""Decisions and answers as people and clients give them: checked and cleaned before anything is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.agent import Agent
from engine.bad_arguments import BadArguments
from engine.errors import InvalidInput
from engine.inputs import MAX_REASON
from engine.result_text import BadResult, result_text
from engine.tool import DEFAULT_RESULT_CHARS
from engine.user import User
from models.call import Decider, ToolCall
from models.text import clean, clean_json
from models.verbs.waiting import Verdict

MAX_DECISIONS = 1_000


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person says about one call: approve, with other arguments where `input` is given, or deny."""

    call_id: str
    approve: bool
    reason: str | None = None
    input: Any = None


def decider_of(user: User) -> Decider:
    """The user, as one who asks what waits for his decision."""
    return Decider(user.id, tuple(sorted(user.roles)))


def checked_verdicts(decisions: Sequence[Decision]) -> list[Verdict]:
    """The decisions of one request. Raises InvalidInput, which names the one at fault."""
    if not decisions:
        raise InvalidInput("Decide at least one call.", field=("decisions",))
    if len(decisions) > MAX_DECISIONS:
        raise InvalidInput(f"At most {MAX_DECISIONS:,} decisions at a time.", field=("decisions",))
    seen: set[str] = set()
    verdicts = []
    for place, decision in enumerate(decisions):
        if decision.call_id in seen:
            raise InvalidInput("This call is decided twice.", field=("decisions", str(place), "tool_call_id"))
        seen.add(decision.call_id)
        verdicts.append(_checked(decision, place))
    return verdicts


def _checked(decision: Decision, place: int) -> Verdict:
    if decision.reason is not None and len(decision.reason) > MAX_REASON:
        message = f"The reason has more than {MAX_REASON:,} characters."
        raise InvalidInput(message, field=("decisions", str(place), "reason"))
    if decision.input is not None:
        where = ("decisions", str(place), "input")
        if not decision.approve:
            raise InvalidInput("Other arguments are for a call that is approved.", field=where)
        if not isinstance(decision.input, dict):
            raise InvalidInput("The arguments must be a JSON object.", field=where)
    reason = clean(decision.reason).strip() if decision.reason else None
    return Verdict(decision.call_id, decision.approve, reason or None, clean_json(decision.input))


def check_given_arguments(agent: Agent | None, calls: dict[str, ToolCall], verdicts: Sequence[Verdict]) -> None:
    """Refuse arguments that a call's tool would not take, where the agent is known here. Raises InvalidInput."""
    for place, verdict in enumerate(verdicts):
        call = calls.get(verdict.call_id)
        tool = agent.toolbox.get(call.name) if agent is not None and call is not None else None
        if tool is None or verdict.input is None:
            continue
        try:
            tool.check(verdict.input)
        except BadArguments as error:
            raise InvalidInput(str(error), field=("decisions", str(place), "input")) from None


def checked_answer(agent: Agent | None, call: ToolCall | None, result: Any) -> str:
    """A client's answer as the model reads it, as long as its tool allows. Raises InvalidInput."""
    tool = agent.toolbox.get(call.name) if agent is not None and call is not None else None
    try:
        return result_text(result, DEFAULT_RESULT_CHARS if tool is None else tool.max_result_chars)
    except BadResult as error:
        raise InvalidInput(f"The result can't be given to a model: {error}.", field=("result",)) from error
