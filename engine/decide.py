"""What a run does next, told by its row and its transcript alone: pure, without clock or I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from models.call import ToolCall
from models.enums import ErrorCode, FinishReason, Role, RunStatus
from models.events import Failure
from models.message import Message
from models.run import Run
from models.verbs.settling import End

CANCELLED = End(RunStatus.CANCELLED, FinishReason.ABORTED)
_CUT_BY_LENGTH = frozenset({"max_tokens", "model_context_window_exceeded"})
_ENDS = frozenset({"end_turn", "stop_sequence", "tool_use"})
_RUNS_CALLS = _ENDS | _CUT_BY_LENGTH | {"pause_turn"}
"""The stop reasons whose calls are run. Some servers say end_turn beside calls; unknown reasons run nothing."""


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
class Finish:
    """End the generation."""

    end: End


Step: TypeAlias = CallModel | RunCalls | AppendResults | Finish


def decide(run: Run, transcript: Sequence[Message], calls: Sequence[ToolCall], max_steps: int) -> Step:
    """The next step of a RUNNING run; `calls` are those of the transcript's last answer, by index."""
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
    return Finish(End(RunStatus.COMPLETED, _finish_of(last.stop_reason)))


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


def _finish_of(stop_reason: str) -> FinishReason:
    if stop_reason in _CUT_BY_LENGTH:
        return FinishReason.LENGTH
    if stop_reason == "refusal":
        return FinishReason.CONTENT_FILTER
    return FinishReason.STOP
