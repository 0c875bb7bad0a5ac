"""The events of a stream, as subscriptions give them: read straight from models/events.py, nothing is converted."""

from __future__ import annotations

from typing import Any

import strawberry
from graphql import GraphQLAbstractType, GraphQLResolveInfo
from strawberry.scalars import JSON

from schema.enums import FinishReason, RunStatus
from schema.run import RunError
from schema.scalars import DateTime
from schema.usage import Usage


@strawberry.interface(
    description=(
        "One event of a generation. Steps count over the whole run, from 1. A step's order: its deltas, StepFinished "
        "(its message is stored), ToolCallStarted to ToolCallFinished of its calls, InputApplied, and the next step."
    )
)
class StreamEvent:
    """The parent of all events; each type has the name of the dataclass that it reads."""

    stream_id: strawberry.ID = strawberry.field(description="The stream that it belongs to.")
    seq: int = strawberry.field(
        description="Its number in the stream: from 1 and rising; numbers may be skipped. `after` takes it."
    )
    step: int = strawberry.field(description="The step of the run that it belongs to, from 1.")
    attempt: int = strawberry.field(description="Which attempt at the step it belongs to, from 1.")
    at: DateTime = strawberry.field(description="When it happened.")

    @staticmethod
    def resolve_type(event: Any, info: GraphQLResolveInfo[Any], abstract_type: GraphQLAbstractType) -> str:
        """The GraphQL type of an event: its class's own name."""
        return type(event).__name__

    @staticmethod
    def is_type_of(event: Any, info: GraphQLResolveInfo[Any]) -> bool:
        """Always so: `resolve_type` has told."""
        return True


_OFFSET = "Where the text belongs in its block, in UTF-16 code units, as a browser's string length counts them."
_BLOCK = "The index of its block in the response."
_CALL = "The id of the ToolCall."


@strawberry.type(
    description=(
        "More of a block of the answer's text. Apply it as `text = text.slice(0, offset) + delta.text`, block by "
        "block; applying one again changes nothing."
    )
)
class TextDelta(StreamEvent):
    """Text, as it comes."""

    block: int = strawberry.field(description=_BLOCK)
    offset: int = strawberry.field(description=_OFFSET)
    text: str = strawberry.field(description="The text to put there.")


@strawberry.type(description="More of a block of the model's thoughts, applied as TextDelta is.")
class ReasoningDelta(StreamEvent):
    """Thinking, as it comes."""

    block: int = strawberry.field(description=_BLOCK)
    offset: int = strawberry.field(description=_OFFSET)
    text: str = strawberry.field(description="The text to put there.")


@strawberry.type(description="A tool call has begun, or was answered without being run.")
class ToolCallStarted(StreamEvent):
    """A call begins."""

    tool_call_id: strawberry.ID = strawberry.field(description=_CALL)
    name: str = strawberry.field(description="The tool's name.")
    input: JSON = strawberry.field(description="The arguments that it is called with.")


@strawberry.type(description="What a running tool says of its own progress. Not kept: a replay leaves it out.")
class ToolCallProgress(StreamEvent):
    """A word from a tool at work."""

    tool_call_id: strawberry.ID = strawberry.field(description=_CALL)
    message: str = strawberry.field(description="What it is doing, in words.")
    fraction: float | None = strawberry.field(description="How much is done, from 0 to 1; null where it is not told.")


@strawberry.type(description="A tool call has its result.")
class ToolCallFinished(StreamEvent):
    """A call ends."""

    tool_call_id: strawberry.ID = strawberry.field(description=_CALL)
    name: str = strawberry.field(description="The tool's name.")
    input: JSON = strawberry.field(description="The arguments that it was called with.")
    result: JSON | None = strawberry.field(description="The result as the model reads it.")
    is_error: bool = strawberry.field(description="Whether the model is told that the call failed.")


@strawberry.type(description="An input was sent to the generation and waits to be folded in.")
class InputQueued(StreamEvent):
    """The receipt of a steering input."""

    input_id: strawberry.ID = strawberry.field(description="The input's id, as the mutation gave it.")
    queued: int = strawberry.field(description="How many inputs wait, this one included.")


@strawberry.type(description="Inputs that waited have become part of the transcript.")
class InputApplied(StreamEvent):
    """Steering inputs reach the model."""

    input_ids: list[strawberry.ID] = strawberry.field(description="The inputs' ids, in their order.")
    message_seq: int = strawberry.field(description="The `seq` of the message that holds them.")


@strawberry.type(description="A step's answer is stored as a message; its tool calls, if any, begin now.")
class StepFinished(StreamEvent):
    """An answer is safe."""

    message_seq: int = strawberry.field(description="The `seq` of the message that holds the answer.")
    stop_reason: str | None = strawberry.field(
        description="Why the model stopped, in the provider's word; null where the answer was cut."
    )
    usage: Usage = strawberry.field(description="What the step's model call used.")


@strawberry.type(description="The step begins again: drop what you hold of it.")
class StepRestarted(StreamEvent):
    """What was shown of the step is withdrawn."""

    reason: str = strawberry.field(description="Why, in words: the provider failed, or another worker took over.")


@strawberry.type(description="The end of the generation: the last event of every stream, however it ended.")
class RunResult(StreamEvent):
    """The last event."""

    run_id: strawberry.ID = strawberry.field(description="The run that it belongs to.")
    status: RunStatus = strawberry.field(description="What can be done with the run next.")
    finish: FinishReason = strawberry.field(description="Why the generation stopped.")
    text: str = strawberry.field(description="The text of the generation's last answer.")
    output: JSON | None = strawberry.field(
        description="The checked structured answer, if the agent has an output type."
    )
    model: str | None = strawberry.field(description="The model that wrote the last answer; null where there was none.")
    steps: int = strawberry.field(description="How many model calls this generation made.")
    usage: Usage = strawberry.field(description="What this generation's model calls used.")
    cancelled: bool = strawberry.field(description="Whether it was cancelled.")
    error: RunError | None = strawberry.field(description="Why it failed; null where it did not.")


EVENT_TYPES: tuple[type, ...] = (
    TextDelta,
    ReasoningDelta,
    ToolCallStarted,
    ToolCallProgress,
    ToolCallFinished,
    InputQueued,
    InputApplied,
    StepFinished,
    StepRestarted,
    RunResult,
)
"""The types behind StreamEvent, for the schema's list of further types."""
