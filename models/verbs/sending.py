"""send, withdraw, retry: what a run's owner says to it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from models.content import has_tool_use, result_blocks, user_content
from models.enums import Role, RunStatus, SteerMode
from models.key import Key, claim_key, keep_answer
from models.message import Message
from models.run import PendingInput, Run, get_run
from models.verbs.closing import close_dangling
from models.verbs.errors import Busy, NothingToAnswer, QueueFull
from models.verbs.row import (
    Done,
    Holder,
    NewId,
    begin_turn,
    change_run,
    last_message,
    lock,
    store_messages,
    user_message,
)

QUEUE_MESSAGES = 32
QUEUE_CHARACTERS = 32 * 1_024
_QUEUING = (RunStatus.RUNNING, RunStatus.WAITING)


def known_answer(c: Connection, key: Key | None, at: int) -> tuple[Done, dict[str, Any]] | None:
    """What was answered under this key before, with the run as it is now; None where the key is new."""
    if (known := claim_key(c, key, at)) is None:
        return None
    run = get_run(c, known["run_id"])
    assert run is not None  # noqa: S101 - a key is kept in the transaction that wrote its run
    return Done(run), known


def send(
    c: Connection,
    *,
    run_id: str,
    text: str,
    mode: SteerMode,
    key: Key | None,
    holder: Holder,
    ids: NewId,
    at: int,
    changes: dict[str, Any],
) -> tuple[Done, dict[str, Any]]:
    """Queue the input where the run is generating or waiting, else begin its next turn with it: one transaction.

    `changes` are the title and metadata that replace the run's, where given. Raises RunMissing, QueueFull,
    KeyUsedOtherwise.
    """
    if (known := known_answer(c, key, at)) is not None:
        return known
    run, _ = lock(c, run_id)
    if run.status in _QUEUING:
        item = PendingInput(ids("inp"), text, mode, at, run.next_ordinal)
        _check_room(run, text)
        done = Done(
            change_run(c, "send", run, at, pending=(*run.pending, item), next_ordinal=run.next_ordinal + 1, **changes)
        )
        answer = {"run_id": run.id, "queued": True, "input_id": item.id}
    else:
        done = _begin_with(c, "send", run, [text], holder, ids, at, changes)
        answer = {"run_id": run.id, "queued": False, "input_id": None}
    keep_answer(c, key, answer)
    return done, answer


def _check_room(run: Run, text: str) -> None:
    characters = sum(len(item.text) for item in run.pending) + len(text)
    if len(run.pending) >= QUEUE_MESSAGES or characters > QUEUE_CHARACTERS:
        raise QueueFull(run.id)


def _begin_with(
    c: Connection,
    verb: str,
    run: Run,
    inputs: list[str],
    holder: Holder,
    ids: NewId,
    at: int,
    changes: dict[str, Any],
) -> Done:
    """Begin a turn: results of calls that dangle and the inputs are one user message, so that the pair stays whole."""
    results = result_blocks(close_dangling(c, run, at, None))
    begun, numbers = begin_turn(
        c, verb, run, stream_id=ids("str"), holder=holder, at=at, **changes,
        seq=run.seq + 1 if results or inputs else run.seq,
    )  # fmt: skip
    messages: tuple[Message, ...] = ()
    if results or inputs:
        plain = not results and len(inputs) == 1
        content: Any = inputs[0] if plain else user_content(results, inputs)
        messages = (user_message(begun, ids, begun.seq, content, run.steps, at),)
        store_messages(c, messages)
    return Done(begun, numbers, messages=messages)


def withdraw(c: Connection, *, run_id: str, input_id: str, at: int) -> tuple[Done, bool]:
    """Take a queued input back: False where it is not queued (any more), or interrupts. Raises RunMissing."""
    run, _ = lock(c, run_id)
    kept = tuple(item for item in run.pending if item.id != input_id or item.mode is SteerMode.INTERRUPT)
    if len(kept) == len(run.pending):
        return Done(run), False
    return Done(change_run(c, "withdraw", run, at, pending=kept)), True


def retry(
    c: Connection, *, run_id: str, key: Key | None, holder: Holder, ids: NewId, at: int
) -> tuple[Done, dict[str, Any]]:
    """Begin a generation of a FAILED or CANCELLED run without input, from its last completed step.

    Raises RunMissing, Busy, NothingToAnswer, KeyUsedOtherwise.
    """
    if (known := known_answer(c, key, at)) is not None:
        return known
    run, _ = lock(c, run_id)
    if run.status in _QUEUING:
        raise Busy(run_id)
    if run.status in (RunStatus.IDLE, RunStatus.COMPLETED) or _is_answered(last_message(c, run)):
        raise NothingToAnswer(run_id)
    done = _begin_with(c, "retry", run, [], holder, ids, at, {})
    answer = {"run_id": run.id, "queued": False, "input_id": None}
    keep_answer(c, key, answer)
    return done, answer


def _is_answered(last: Message | None) -> bool:
    """Whether a model has nothing left to say to this end of a transcript: it is empty, or ends in a whole answer.

    An answer that was cut, that paused, or whose calls still lack their results is not the end.
    """
    if last is None:
        return True
    if last.role is Role.USER or last.stop_reason in (None, "pause_turn"):
        return False
    return not has_tool_use(last.content)
