"""The events of a generation's stream. Lasting ones (all but deltas and progress) are rows; all travel the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from models.enums import ErrorCode, FinishReason, RunStatus
from models.usage import Usage


@dataclass(slots=True)
class StreamEvent:
    """One event: `seq` is its number in the stream (from 1, rising, may skip); `at` in ms since the epoch, UTC."""

    lasting: ClassVar[bool] = True

    stream_id: str
    seq: int
    step: int
    attempt: int
    at: int


@dataclass(slots=True)
class TextDelta(StreamEvent):
    """More of a text block: text = text[:offset] + delta, offsets in UTF-16 code units."""

    lasting: ClassVar[bool] = False

    block: int
    offset: int
    text: str


@dataclass(slots=True)
class ReasoningDelta(StreamEvent):
    """More of a reasoning block, applied as TextDelta is."""

    lasting: ClassVar[bool] = False

    block: int
    offset: int
    text: str


@dataclass(slots=True)
class ToolCallStarted(StreamEvent):
    """A tool call has begun (or was answered without being run)."""

    tool_call_id: str
    name: str
    input: Any


@dataclass(slots=True)
class ToolCallProgress(StreamEvent):
    """What a running tool says of itself; `fraction` from 0 to 1."""

    lasting: ClassVar[bool] = False

    tool_call_id: str
    message: str
    fraction: float | None


@dataclass(slots=True)
class ToolCallFinished(StreamEvent):
    """A tool call has its result."""

    tool_call_id: str
    name: str
    input: Any
    result: Any
    is_error: bool


@dataclass(slots=True)
class InputQueued(StreamEvent):
    """An input waits to be folded in; `queued` is how many wait with it."""

    input_id: str
    queued: int


@dataclass(slots=True)
class InputApplied(StreamEvent):
    """Queued inputs have become part of the message `message_seq`."""

    input_ids: list[str]
    message_seq: int


@dataclass(slots=True)
class StepFinished(StreamEvent):
    """A step's answer is stored as the message `message_seq`; `stop_reason` is None where it was cut."""

    message_seq: int
    stop_reason: str | None
    usage: Usage


@dataclass(slots=True)
class StepRestarted(StreamEvent):
    """The step begins again: drop what you hold of it."""

    reason: str


@dataclass(slots=True)
class ModelFellBack(StreamEvent):
    """From this attempt on another model takes the turn's steps; `reason` says why, in words."""

    from_: str
    to: str
    reason: str


@dataclass(slots=True)
class ContextCompacted(StreamEvent):
    """From this step on the model reads less of the transcript; tokens of a request, as estimated before and after."""

    tokens_before: int
    tokens_after: int


@dataclass(slots=True)
class CallsWaiting(StreamEvent):
    """These calls begin to wait for a person's decision, or for a client's answer."""

    call_ids: list[str]


@dataclass(slots=True)
class SubagentStarted(StreamEvent):
    """A call has begun a run of another agent."""

    tool_call_id: str
    run_id: str
    agent: str


@dataclass(slots=True)
class SubagentFinished(StreamEvent):
    """The run that a call had begun is over, as far as the call goes; `status` is how it stands."""

    tool_call_id: str
    run_id: str
    status: RunStatus


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run failed, as its owner reads it."""

    code: ErrorCode
    message: str


@dataclass(slots=True)
class RunResult(StreamEvent):
    """The last event of every stream. `steps` and `usage` are of this generation."""

    run_id: str
    status: RunStatus
    finish: FinishReason
    text: str
    output: Any
    model: str | None
    steps: int
    usage: Usage
    cancelled: bool
    error: Failure | None


KINDS: dict[str, type[StreamEvent]] = {
    kind.__name__: kind
    for kind in (
        TextDelta,
        ReasoningDelta,
        ToolCallStarted,
        ToolCallProgress,
        ToolCallFinished,
        InputQueued,
        InputApplied,
        StepFinished,
        StepRestarted,
        ModelFellBack,
        ContextCompacted,
        CallsWaiting,
        SubagentStarted,
        SubagentFinished,
        RunResult,
    )
}
