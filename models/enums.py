"""The closed sets of words that rows and clients share; each is stored and shown by its name."""

from __future__ import annotations

from enum import StrEnum


class RunStatus(StrEnum):
    """What can be done with a run next."""

    IDLE = "IDLE"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class FinishReason(StrEnum):
    """Why the last generation stopped."""

    STOP = "STOP"
    LENGTH = "LENGTH"
    CONTENT_FILTER = "CONTENT_FILTER"
    MAX_STEPS = "MAX_STEPS"
    STUCK = "STUCK"
    BUDGET = "BUDGET"
    BALANCE = "BALANCE"
    LIMIT = "LIMIT"
    ERROR = "ERROR"
    APPROVAL = "APPROVAL"
    CLIENT_TOOL = "CLIENT_TOOL"
    ABORTED = "ABORTED"


class Role(StrEnum):
    """Who speaks in a message."""

    USER = "USER"
    ASSISTANT = "ASSISTANT"


class SteerMode(StrEnum):
    """How a queued input reaches a generation under way."""

    QUEUE = "QUEUE"
    INTERRUPT = "INTERRUPT"


class ToolCallState(StrEnum):
    """Where a tool call stands."""

    READY = "READY"
    WAITING = "WAITING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    DENIED = "DENIED"
    TIMED_OUT = "TIMED_OUT"
    CANCELLED = "CANCELLED"
    INTERRUPTED = "INTERRUPTED"


class RemoteKind(StrEnum):
    """What a remote is: a client that answers calls over GraphQL, or an MCP server."""

    CLIENT = "CLIENT"
    MCP = "MCP"


class ChatMessageStatus(StrEnum):
    """Where a message of a thread stands."""

    STREAMING = "STREAMING"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class ErrorCode(StrEnum):
    """The stable codes of expected failures (contract.graphql: ErrorCode)."""

    RUN_NOT_FOUND = "RUN_NOT_FOUND"
    AGENT_NOT_FOUND = "AGENT_NOT_FOUND"
    AGENT_MISMATCH = "AGENT_MISMATCH"
    AGENT_INPUT_REQUIRED = "AGENT_INPUT_REQUIRED"
    AGENT_INPUT_QUEUE_FULL = "AGENT_INPUT_QUEUE_FULL"
    AGENT_MAX_STEPS = "AGENT_MAX_STEPS"
    RUN_BUSY = "RUN_BUSY"
    MODEL_NOT_ALLOWED = "MODEL_NOT_ALLOWED"
    INPUT_TOO_LARGE = "INPUT_TOO_LARGE"
    INVALID_INPUT = "INVALID_INPUT"
    ATTACHMENT_REFUSED = "ATTACHMENT_REFUSED"
    KEY_REUSED = "KEY_REUSED"
    PROVIDER_ERROR = "PROVIDER_ERROR"
    PROVIDER_OVERLOADED = "PROVIDER_OVERLOADED"
    PROVIDER_TIMEOUT = "PROVIDER_TIMEOUT"
    RUN_INTERRUPTED = "RUN_INTERRUPTED"
    RUN_TIMEOUT = "RUN_TIMEOUT"
    OUTPUT_INVALID = "OUTPUT_INVALID"
    BUDGET_SPENT = "BUDGET_SPENT"
    BALANCE_SPENT = "BALANCE_SPENT"
    LIMIT_REACHED = "LIMIT_REACHED"
    LOOP_STOPPED = "LOOP_STOPPED"
    PRICE_UNKNOWN = "PRICE_UNKNOWN"
    CALL_NOT_FOUND = "CALL_NOT_FOUND"
    CALL_ALREADY_DECIDED = "CALL_ALREADY_DECIDED"
    NOT_ALLOWED_TO_DECIDE = "NOT_ALLOWED_TO_DECIDE"
    HANDLE_TAKEN = "HANDLE_TAKEN"
    INVALID_CONFIG = "INVALID_CONFIG"
    KIND_UNAVAILABLE = "KIND_UNAVAILABLE"
    NOT_FOUND = "NOT_FOUND"
    FORBIDDEN = "FORBIDDEN"
