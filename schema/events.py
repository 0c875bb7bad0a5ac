"""The events of a stream, as subscriptions give them: read straight from models/events.py, nothing is converted."""

from __future__ import annotations

import asyncio
from typing import Any

import strawberry
from graphql import GraphQLAbstractType, GraphQLResolveInfo
from strawberry.scalars import JSON

from models.events import CallsWaiting as CallsWaitingRecord
from schema.call import ToolCall
from schema.context import Info
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


@strawberry.type(
    description=(
        "The step's model has failed, and the next one of the agent's list takes this step and the rest of the turn. "
        "StepRestarted stands before it."
    )
)
class ModelFellBack(StreamEvent):
    """Another model goes on."""

    from_: str = strawberry.field(name="from", description="The model that failed.")
    to: str = strawberry.field(description="The model that is asked from now on.")
    reason: str = strawberry.field(description="What kind of failure it was, in words.")


@strawberry.type(
    description=(
        "From this step on the model is sent less: a summary stands for older turns, or long results of tools are "
        "shortened. The transcript itself stays whole."
    )
)
class ContextCompacted(StreamEvent):
    """Older turns are summed up."""

    tokens_before: int = strawberry.field(description="Tokens that the request would have had, as estimated.")
    tokens_after: int = strawberry.field(description="Tokens that it has now, as estimated.")


async def _calls(root: strawberry.Parent[CallsWaitingRecord], info: Info) -> Any:
    calls = await asyncio.gather(*(info.context.loaders.tool_call(call_id) for call_id in root.call_ids))
    return [call for call in calls if call is not None]


@strawberry.type(
    description=(
        "Tool calls begin to wait for a person's decision, or for a client's answer, in this run or in runs below it: "
        "each names its own; RunResult follows. Replayed, it shows them as they are now."
    )
)
class CallsWaiting(StreamEvent):
    """The generation stops until somebody decides or answers."""

    calls: list[ToolCall] = strawberry.field(resolver=_calls, description="What waits, in the order of the calls.")


@strawberry.type(
    description=(
        "A tool call has begun a run of another agent, with a stream of its own; ToolCallFinished follows when that "
        "run is over, in a later generation where it had to wait for a person meanwhile."
    )
)
class SubagentStarted(StreamEvent):
    """A task is handed on."""

    tool_call_id: strawberry.ID = strawberry.field(description=_CALL)
    run_id: strawberry.ID = strawberry.field(description="The run that was begun: a child of this one.")
    agent: str = strawberry.field(description="Its agent.")


@strawberry.type(description="The run that a tool call had begun is over, or, where a tool's own code began it, waits.")
class SubagentFinished(StreamEvent):
    """A task that was handed on is done."""

    tool_call_id: strawberry.ID = strawberry.field(description=_CALL)
    run_id: strawberry.ID = strawberry.field(description="The run that was begun: a child of this one.")
    status: RunStatus = strawberry.field(description="How it stands.")


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
    ModelFellBack,
    ContextCompacted,
    CallsWaiting,
    SubagentStarted,
    SubagentFinished,
    RunResult,
)
"""The types behind StreamEvent, for the schema's list of further types."""
