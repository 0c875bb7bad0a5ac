"""What a run does next, told by its row and its transcript alone: pure, without clock or I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.output import CUT, BadOutput, OutputType, correction
from models.call import ToolCall
from models.content import text_of
from models.enums import ErrorCode, FinishReason, Role, RunStatus
from models.events import Failure
from models.message import Message
from models.run import Run
from models.verbs.settling import End

CANCELLED = End(RunStatus.CANCELLED, FinishReason.ABORTED)
_CUT_BY_LENGTH = frozenset({"max_tokens", "model_context_window_exceeded"})
_ENDS = frozenset({"end_turn", "stop_sequence", "tool_use"})
_NEVER_CHECKED = frozenset({"refusal", "model_context_window_exceeded"})
"""A model that refuses, or whose context is full, would do no better when it is asked again."""
_MOST_PROBLEMS = 500  # characters of an answer's problems that the run's owner reads
_RUNS_CALLS = _ENDS | _CUT_BY_LENGTH | {"pause_turn"}
"""The stop reasons whose calls are run. Some servers say end_turn beside calls; unknown reasons run nothing."""
MAX_CORRECTIONS = 3
"""How often a turn's answer is sent back to the model because it does not fit the agent's output type."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model."""


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Run the calls that have no result yet."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class AppendResults:
    """Append the results of the last answer's calls, and the input that waits behind them."""


@dataclass(frozen=True, slots=True)
class Correct:
    """Tell the model what is wrong with its answer; input that waits goes before that."""

    told: str


@dataclass(frozen=True, slots=True)
class Finish:
    """End the generation."""

    end: End


Step: TypeAlias = CallModel | RunCalls | AppendResults | Correct | Finish


def decide(
    run: Run,
    transcript: Sequence[Message],
    calls: Sequence[ToolCall],
    max_steps: int,
    output: OutputType | None = None,
) -> Step:
    """The next step of a RUNNING run; `calls` are those of the transcript's last answer, by index.

    `output` is what a final answer must be.
    """
    if run.cancel_requested:
        return Finish(CANCELLED)
    last = transcript[-1]
    if last.role is Role.USER:
        return _ask(run, max_steps)
    if last.stop_reason is None:  # cut: its calls were answered as not run
        return AppendResults() if calls or run.pending else _ask(run, max_steps)
    if calls and last.stop_reason in _RUNS_CALLS:
        unfinished = tuple(call for call in calls if call.is_open)
        return RunCalls(unfinished) if unfinished else AppendResults()
    if last.stop_reason == "pause_turn":
        return AppendResults() if run.pending else _ask(run, max_steps)
    finish = _finish_of(last.stop_reason)
    if output is None or last.stop_reason in _NEVER_CHECKED:
        return Finish(End(RunStatus.COMPLETED, finish))
    return _checked(run, last, output)


def _checked(run: Run, answer: Message, output: OutputType) -> Step:
    """The end that a whole answer is, where it fits."""
    try:
        value = _value_of(answer, output)
    except BadOutput as problems:
        if run.corrections < MAX_CORRECTIONS or run.pending:
            return Correct(correction(str(problems)))
        return Finish(never_fitted(str(problems)))
    return Finish(End(RunStatus.COMPLETED, FinishReason.STOP, output=value))


def _value_of(answer: Message, output: OutputType) -> Any:
    """The answer's value as JSON. Raises BadOutput."""
    if answer.stop_reason in _CUT_BY_LENGTH:
        raise BadOutput(CUT)
    return output.as_json(output.read(text_of(answer.content)))


def _ask(run: Run, max_steps: int) -> Step:
    if run.turn_steps >= max_steps:
        return Finish(too_many_steps(max_steps))
    return CallModel()


def too_many_steps(max_steps: int) -> End:
    """The end of a turn that still wanted to go on at its agent's max_steps."""
    message = (
        f"The agent had not come to an end after {max_steps} steps, its max_steps. Retry, or ask for less at once."
    )
    return End(RunStatus.FAILED, FinishReason.MAX_STEPS, Failure(ErrorCode.AGENT_MAX_STEPS, message))


def never_fitted(problems: str) -> End:
    """The end of a turn whose answer does not fit the agent's output type, however often the model was told."""
    message = (
        f"The answer did not fit the agent's output type, though the model was told so {MAX_CORRECTIONS} times:\n"
        f"{problems[:_MOST_PROBLEMS]}\nSend an input that says more clearly what is wanted."
    )
    return End(RunStatus.FAILED, FinishReason.ERROR, Failure(ErrorCode.OUTPUT_INVALID, message))


def _finish_of(stop_reason: str) -> FinishReason:
    if stop_reason in _CUT_BY_LENGTH:
        return FinishReason.LENGTH
    if stop_reason == "refusal":
        return FinishReason.CONTENT_FILTER
    return FinishReason.STOP
