"""The enums of the contract: the words are those of models/enums.py, their meaning is told to clients here."""

from __future__ import annotations

from enum import EnumMeta, StrEnum
from typing import TypeVar

import strawberry

from models.enums import (
    ChatMessageStatus,
    ErrorCode,
    FinishReason,
    RemoteKind,
    Role,
    RunStatus,
    SteerMode,
    ToolCallState,
)

__all__ = [
    "ChangeKind",
    "ChatMessageStatus",
    "Decision",
    "ErrorCode",
    "FinishReason",
    "RemoteKind",
    "Role",
    "RunStatus",
    "SteerMode",
    "ToolCallState",
]

_Enum = TypeVar("_Enum", bound=EnumMeta)


class Decision(StrEnum):
    """What a person says about a call that waits."""

    APPROVE = "APPROVE"
    DENY = "DENY"


class ChangeKind(StrEnum):
    """What happened to a run in a watched list."""

    ADDED = "ADDED"
    CHANGED = "CHANGED"
    REMOVED = "REMOVED"


def _show(enum: _Enum, description: str, values: dict[str, str]) -> _Enum:
    """Make an enum part of the schema; every value must be described, or this raises KeyError at import."""
    shown = strawberry.enum(enum, description=description)
    definition = shown.__strawberry_definition__  # type: ignore[attr-defined]  # strawberry sets it on the class
    for value in definition.values:
        value.description = values[value.name]
    return shown


_show(
    RunStatus,
    "What can be done with a run next. Why its last generation stopped is told by `finish`.",
    {
        "IDLE": "Nothing was asked yet: a fork without input. An input begins its first turn.",
        "RUNNING": "A generation is under way, or waits for a worker. Input is queued; the run can be cancelled.",
        "WAITING": "Tool calls wait for a decision or for a client. Input is queued; the run can be cancelled.",
        "COMPLETED": "The model answered. An input begins the next turn.",
        "FAILED": "The turn could not be finished; `error` says why. Retry it, or begin the next turn with an input.",
        "CANCELLED": "The turn was stopped. Retry it, or begin the next turn with an input.",
    },
)
_show(
    FinishReason,
    "Why the last generation of a run stopped.",
    {
        "STOP": "The model answered. The run is COMPLETED.",
        "LENGTH": "The answer hit max_tokens and was cut. The run is COMPLETED.",
        "CONTENT_FILTER": "The model's maker refused to answer. The run is COMPLETED.",
        "MAX_STEPS": "The model still wanted tools when the turn had used up its steps. The run has FAILED.",
        "STUCK": "The brakes stopped a loop of calls that repeated themselves. The run has FAILED.",
        "BUDGET": "The run's own budget is spent. The run has FAILED.",
        "BALANCE": "The workspace's balance is spent. The run has FAILED.",
        "LIMIT": "The user's daily limit, or the deployment's monthly one, is spent. The run has FAILED.",
        "ERROR": "The provider failed, or the run could not be recovered; `error` says more. The run has FAILED.",
        "APPROVAL": "Tool calls wait for a person's decision. The run is WAITING.",
        "CLIENT_TOOL": "Tool calls wait for a client or a remote to answer them. The run is WAITING.",
        "ABORTED": "The generation was cancelled. The run is CANCELLED.",
    },
)
_show(
    Role,
    "Who speaks in a message.",
    {
        "USER": "The user, or the results of the tools that the model called.",
        "ASSISTANT": "The model.",
    },
)
_show(
    SteerMode,
    "How an input reaches a run that is generating.",
    {
        "QUEUE": "The input waits and is folded in at the next turn boundary, behind the results of the tools.",
        "INTERRUPT": (
            "The model's response in flight is stopped, what was shown of it is kept, and the input is folded in at "
            "once."
        ),
    },
)
_show(
    RemoteKind,
    "What a remote is.",
    {
        "CLIENT": "A client of this API, which answers the calls that `remoteCalls` gives it.",
        "MCP": "A server that speaks the Model Context Protocol.",
    },
)
_show(
    ToolCallState,
    "Where a tool call stands.",
    {
        "READY": "The model asked for it; it has not begun.",
        "WAITING": "It waits for a decision, or for a client to answer it.",
        "RUNNING": "The tool is working.",
        "SUCCEEDED": "The tool gave its result.",
        "FAILED": "The tool failed, or the call was not acceptable; the model reads why.",
        "DENIED": "A person declined it.",
        "TIMED_OUT": "The tool, or the decision it waited for, took too long.",
        "CANCELLED": "The run was stopped before the call had its result.",
        "INTERRUPTED": "Its worker died while it ran, so its outcome is unknown.",
    },
)
_show(
    Decision,
    "What a person says about a tool call that waits.",
    {
        "APPROVE": "It is run, with other arguments where they are given.",
        "DENY": "It is not run; the model reads the reason.",
    },
)
_show(
    ChangeKind,
    "What happened to a run in a watched list.",
    {
        "ADDED": "The run is new, or has begun to match the filter.",
        "CHANGED": "The run has changed and still matches.",
        "REMOVED": "The run is gone, or no longer matches the filter.",
    },
)
_show(
    ChatMessageStatus,
    "Where a message of a thread stands. Only one that is STREAMING still changes.",
    {
        "STREAMING": "An agent is writing it, or waits for a person or a client in the middle of it.",
        "DONE": "It is whole: posted by a user, or an agent's whole answer.",
        "FAILED": "The agent could not answer, or not to the end; where it said nothing, the text says why.",
        "CANCELLED": "The agent was stopped; what it had said is kept.",
    },
)
_show(
    ErrorCode,
    "The stable code of an expected failure. Messages are for people and may change; codes do not.",
    {
        "RUN_NOT_FOUND": "There is no such run, or it is someone else's.",
        "AGENT_NOT_FOUND": "There is no agent of this name, handle or id, or it is someone else's.",
        "AGENT_MISMATCH": "The run to be continued belongs to another agent.",
        "AGENT_INPUT_REQUIRED": "The input is empty, or the run has nothing to go on with unless it is given an input.",
        "AGENT_INPUT_QUEUE_FULL": "Too much input waits already: at most 32 messages and 32,768 characters.",
        "AGENT_MAX_STEPS": "The turn has used up its steps.",
        "RUN_BUSY": "The run is generating or waiting, and this can only be done with one that is not.",
        "MODEL_NOT_ALLOWED": "The agent's model is not among those that this deployment allows.",
        "INPUT_TOO_LARGE": "The input is larger than what is accepted.",
        "INVALID_INPUT": "The input does not have the right form; the message says what is expected.",
        "ATTACHMENT_REFUSED": "The attachment can't be taken: its kind or its size is not accepted.",
        "KEY_REUSED": "The idempotency key was used before with other arguments.",
        "PROVIDER_ERROR": "The model's provider failed.",
        "PROVIDER_OVERLOADED": "The model's provider is overloaded.",
        "PROVIDER_TIMEOUT": "The model's provider did not answer in time.",
        "RUN_INTERRUPTED": "The run was interrupted too often by crashes and was given up.",
        "RUN_TIMEOUT": "The turn took too long.",
        "OUTPUT_INVALID": "The model's answer does not fit the agent's output type.",
        "BUDGET_SPENT": "The run's own budget is spent.",
        "BALANCE_SPENT": "The workspace's balance is spent.",
        "LIMIT_REACHED": "The user's daily limit, or the deployment's monthly one, is spent.",
        "LOOP_STOPPED": "The brakes stopped a loop of calls that repeated themselves.",
        "PRICE_UNKNOWN": "Money is limited, by a budget, a limit or a balance, and the model has no known price.",
        "CALL_NOT_FOUND": "There is no such tool call in this run.",
        "CALL_ALREADY_DECIDED": "The tool call was decided or answered before.",
        "NOT_ALLOWED_TO_DECIDE": "Only someone with another role may decide this tool call.",
        "HANDLE_TAKEN": "Another agent has this handle.",
        "INVALID_CONFIG": "The configuration does not fit its kind.",
        "KIND_UNAVAILABLE": "The agent's kind is not available in this deployment.",
        "NOT_FOUND": "There is no such thing, or it is someone else's.",
        "FORBIDDEN": "The viewer may not do this.",
    },
)
