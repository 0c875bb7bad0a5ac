"""Any event there may be, for hypothesis: every kind, with odd text, big integers and values of any JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import (
    KINDS,
    CallsWaiting,
    ContextCompacted,
    Failure,
    InputApplied,
    InputQueued,
    ModelFellBack,
    ReasoningDelta,
    RunResult,
    StepFinished,
    StepRestarted,
    StreamEvent,
    SubagentFinished,
    SubagentStarted,
    TextDelta,
    ToolCallFinished,
    ToolCallProgress,
    ToolCallStarted,
)
from models.usage import Usage

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
"""All text that passes the boundary: no NUL, no lone surrogate."""
_COUNTS = st.integers(0, 2**31)
_PRICES = st.none() | st.decimals(0, 10**6, allow_nan=False, places=9).map(Decimal)
_FRACTIONS = st.none() | st.floats(0, 1)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
_USAGES = st.builds(Usage, _COUNTS, _COUNTS, _COUNTS, _COUNTS, _PRICES)
_CALL = {"tool_call_id": TEXTS, "name": TEXTS}
_DELTA = {"block": _COUNTS, "offset": _COUNTS, "text": TEXTS}
_BODIES: dict[type[StreamEvent], dict[str, st.SearchStrategy[Any]]] = {
    TextDelta: _DELTA,
    ReasoningDelta: _DELTA,
    ToolCallStarted: {**_CALL, "input": VALUES},
    ToolCallProgress: {"tool_call_id": TEXTS, "message": TEXTS, "fraction": _FRACTIONS},
    ToolCallFinished: {**_CALL, "input": VALUES, "result": VALUES, "is_error": st.booleans()},
    InputQueued: {"input_id": TEXTS, "queued": _COUNTS},
    InputApplied: {"input_ids": st.lists(TEXTS), "message_seq": _COUNTS},
    StepFinished: {"message_seq": _COUNTS, "stop_reason": st.none() | TEXTS, "usage": _USAGES},
    StepRestarted: {"reason": TEXTS},
    SubagentStarted: {"tool_call_id": TEXTS, "run_id": TEXTS, "agent": TEXTS},
    SubagentFinished: {"tool_call_id": TEXTS, "run_id": TEXTS, "status": st.sampled_from(RunStatus)},
    ModelFellBack: {"from_": TEXTS, "to": TEXTS, "reason": TEXTS},
    ContextCompacted: {"tokens_before": _COUNTS, "tokens_after": _COUNTS},
    CallsWaiting: {"call_ids": st.lists(TEXTS)},
    RunResult: {
        "run_id": TEXTS,
        "status": st.sampled_from(RunStatus),
        "finish": st.sampled_from(FinishReason),
        "text": TEXTS,
        "output": VALUES,
        "model": st.none() | TEXTS,
        "steps": _COUNTS,
        "usage": _USAGES,
        "cancelled": st.booleans(),
        "error": st.none() | st.builds(Failure, st.sampled_from(ErrorCode), TEXTS),
    },
}
assert set(_BODIES) == set(KINDS.values())


def events(stream_id: str) -> st.SearchStrategy[StreamEvent]:
    """Any event of this stream."""
    envelope = {"seq": st.integers(1, 2**53), "step": _COUNTS, "attempt": _COUNTS, "at": st.integers(0, 2**53)}
    return st.one_of(
        *(st.builds(kind, stream_id=st.just(stream_id), **envelope, **body) for kind, body in _BODIES.items())
    )
