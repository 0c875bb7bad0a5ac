"""Which verb may lead from which status to which. Everything else raises.

A run is made by `open` or `fork` (from None). Verbs that a worker calls (claim to hand_back) touch only RUNNING runs
and are guarded by the fence as well. The README's diagram is drawn from this table.
"""

from __future__ import annotations

from models.enums import RunStatus

_R = RunStatus
_ENDED = (_R.COMPLETED, _R.FAILED, _R.CANCELLED)

TRANSITIONS: dict[str, dict[RunStatus | None, frozenset[RunStatus]]] = {
    "open": {None: frozenset({_R.RUNNING})},
    "fork": {None: frozenset({_R.IDLE, _R.RUNNING})},
    "send": {
        _R.IDLE: frozenset({_R.RUNNING}),
        _R.RUNNING: frozenset({_R.RUNNING}),
        _R.WAITING: frozenset({_R.WAITING, _R.RUNNING}),
        **dict.fromkeys(_ENDED, frozenset({_R.RUNNING})),
    },
    "claim": {_R.RUNNING: frozenset({_R.RUNNING})},
    "take_over": {_R.RUNNING: frozenset({_R.RUNNING})},
    "begin_step": {_R.RUNNING: frozenset({_R.RUNNING})},
    "compact": {_R.RUNNING: frozenset({_R.RUNNING})},
    "beat": {_R.RUNNING: frozenset({_R.RUNNING})},
    "announce": {_R.RUNNING: frozenset({_R.RUNNING})},
    "append_answer": {_R.RUNNING: frozenset({_R.RUNNING})},
    "start_call": {_R.RUNNING: frozenset({_R.RUNNING})},
    "finish_call": {_R.RUNNING: frozenset({_R.RUNNING})},
    "append_results": {_R.RUNNING: frozenset({_R.RUNNING})},
    "hand_back": {_R.RUNNING: frozenset({_R.RUNNING})},
    "open_child": {_R.RUNNING: frozenset({_R.RUNNING})},
    "suspend": {_R.RUNNING: frozenset({_R.RUNNING, _R.WAITING})},
    "decide": {_R.WAITING: frozenset({_R.WAITING, _R.RUNNING})},
    "complete": {_R.WAITING: frozenset({_R.WAITING, _R.RUNNING})},
    "expire": {_R.WAITING: frozenset({_R.WAITING, _R.RUNNING})},
    "look_below": {_R.RUNNING: frozenset({_R.RUNNING}), _R.WAITING: frozenset({_R.WAITING})},
    "resume": {_R.WAITING: frozenset({_R.RUNNING})},
    "settle": {_R.RUNNING: frozenset({_R.RUNNING, *_ENDED})},
    "finish_subcall": {status: frozenset({status}) for status in _R},
    "add_tools": {status: frozenset({status}) for status in _R},
    "withdraw": {status: frozenset({status}) for status in _R},
    "retry": {_R.FAILED: frozenset({_R.RUNNING}), _R.CANCELLED: frozenset({_R.RUNNING})},
    "request_cancel": {
        _R.RUNNING: frozenset({_R.RUNNING, _R.CANCELLED}),
        **{status: frozenset({_R.CANCELLED}) for status in _R if status is not _R.RUNNING},
    },
}


class IllegalTransition(Exception):
    """A verb was asked for a move that the table does not have: a defect of its caller."""


def check_transition(verb: str, before: RunStatus | None, after: RunStatus) -> None:
    """Raise IllegalTransition unless `verb` may lead from `before` to `after`."""
    if after not in TRANSITIONS[verb].get(before, ()):
        raise IllegalTransition(f"{verb} may not lead from {before} to {after}")
