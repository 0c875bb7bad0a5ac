"""send, withdraw, retry: what a run's owner says to it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from models.attachment import Attachment, store_attachments
from models.content import has_tool_use, input_blocks, plain_or_blocks, result_blocks, user_content
from models.enums import Role, RunStatus, SteerMode, ToolCallState
from models.key import Key, claim_key, keep_answer
from models.message import Message
from models.run import PendingInput, Run, get_run
from models.spending import Bounds
from models.verbs.closing import close_dangling, dangling_calls, tell_closed
from models.verbs.errors import Busy, NothingToAnswer, QueueFull
from models.verbs.journal import Journal
from models.verbs.row import (
    Done,
    Holder,
    NewId,
    begin_generation,
    begin_turn,
    change_run,
    last_message,
    lock,
    store_messages,
    user_message,
)
from models.verbs.stepping import apply_inputs

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
    attached: tuple[Attachment, ...] = (),
    budget: Bounds | None = None,
) -> tuple[Done, dict[str, Any]]:
    """Queue the input where the run is generating or waiting, else begin its next turn with it: one transaction.

    A WAITING run that is to be interrupted goes on with it at once: what waits is answered as not run. `changes` are
    the title and metadata that replace the run's, where given; the files of `attached` are stored already;
    `budget` is that of a turn that begins. Raises RunMissing, QueueFull, KeyUsedOtherwise.
    """
    if (known := known_answer(c, key, at)) is not None:
        return known
    run, _ = lock(c, run_id)
    store_attachments(c, attached)
    blocks = [one.block for one in attached]
    if run.status in _QUEUING:
        item = PendingInput(ids("inp"), text, mode, at, run.next_ordinal, attached=tuple(blocks))
        _check_room(run, text)
        changes = {**changes, "pending": (*run.pending, item), "next_ordinal": run.next_ordinal + 1}
        if run.status is RunStatus.WAITING and mode is SteerMode.INTERRUPT:
            done = _go_on_with(c, run, holder, ids, at, changes)
        else:
            done = Done(change_run(c, "send", run, at, **changes))
        answer = {"run_id": run.id, "queued": True, "input_id": item.id}
    else:
        done = _begin_with(c, "send", run, input_blocks(text, blocks), holder, ids, at, changes, budget)
        answer = {"run_id": run.id, "queued": False, "input_id": None}
    keep_answer(c, key, answer)
    return done, answer


def _go_on_with(c: Connection, run: Run, holder: Holder, ids: NewId, at: int, changes: dict[str, Any]) -> Done:
    """Begin a WAITING run's next generation with all of its queued input, within the same turn."""
    inputs: tuple[PendingInput, ...] = changes["pending"]
    begun = [call.id for call in dangling_calls(c, run) if call.state is ToolCallState.RUNNING]
    others: list[Done] = []
    calls = close_dangling(c, run, at, None, others)
    now, numbers = begin_generation(
        c, "send", run, stream_id=ids("str"), holder=holder, at=at, **{**changes, "pending": (), "seq": run.seq + 1}
    )
    journal = Journal(c, numbers, at)
    tell_closed(c, run, journal, begun)
    content = user_content(result_blocks(calls), [item.blocks for item in inputs])
    message = user_message(now, ids, now.seq, content, run.steps, at)
    store_messages(c, [message])
    apply_inputs(journal, inputs, now.seq, run.steps, 1)
    return Done(now, journal.write(), tuple(journal.events), (message,), others=tuple(others))


def _check_room(run: Run, text: str) -> None:
    characters = sum(len(item.text) for item in run.pending) + len(text)
    if len(run.pending) >= QUEUE_MESSAGES or characters > QUEUE_CHARACTERS:
        raise QueueFull(run.id)


def _begin_with(
    c: Connection,
    verb: str,
    run: Run,
    said: list[dict[str, Any]],
    holder: Holder,
    ids: NewId,
    at: int,
    changes: dict[str, Any],
    budget: Bounds | None,
) -> Done:
    """Begin a turn: results of calls that dangle and what is said are one user message: the pair stays whole."""
    others: list[Done] = []
    blocks = user_content(result_blocks(close_dangling(c, run, at, None, others)), [said])
    begun, numbers = begin_turn(
        c, verb, run, stream_id=ids("str"), holder=holder, at=at, budget=budget, **changes,
        seq=run.seq + 1 if blocks else run.seq,
    )  # fmt: skip
    messages: tuple[Message, ...] = ()
    if blocks:
        messages = (user_message(begun, ids, begun.seq, plain_or_blocks(blocks), run.steps, at),)
        store_messages(c, messages)
    return Done(begun, numbers, messages=messages, others=tuple(others))


def withdraw(c: Connection, *, run_id: str, input_id: str, at: int) -> tuple[Done, bool]:
    """Take a queued input back: False where it is not queued (any more), or interrupts. Raises RunMissing."""
    run, _ = lock(c, run_id)
    kept = tuple(item for item in run.pending if item.id != input_id or item.mode is SteerMode.INTERRUPT)
    if len(kept) == len(run.pending):
        return Done(run), False
    return Done(change_run(c, "withdraw", run, at, pending=kept)), True


def retry(
    c: Connection,
    *,
    run_id: str,
    key: Key | None,
    holder: Holder,
    ids: NewId,
    at: int,
    budget: Bounds | None = None,
) -> tuple[Done, dict[str, Any]]:
    """Begin a generation of a FAILED or CANCELLED run without input, from its last completed step.

    It is a turn of its own, with this `budget`.

    Raises RunMissing, Busy, NothingToAnswer, KeyUsedOtherwise.
    """
    if (known := known_answer(c, key, at)) is not None:
        return known
    run, _ = lock(c, run_id)
    if run.status in _QUEUING:
        raise Busy(run_id)
    if run.status in (RunStatus.IDLE, RunStatus.COMPLETED) or _is_answered(last_message(c, run)):
        raise NothingToAnswer(run_id)
    done = _begin_with(c, "retry", run, [], holder, ids, at, {}, budget)
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
