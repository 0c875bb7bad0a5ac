"""fork: a new run with a copy of a transcript."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, insert

from models.call import OPEN_STATES, call_to_row, calls_of_steps, tool_calls
from models.compaction import compactions_of, insert_compaction
from models.content import INTERRUPTED, has_tool_use
from models.enums import Role, RunStatus, ToolCallState
from models.key import Key, keep_answer
from models.message import Message, messages_after
from models.run import Run
from models.spending import Bounds
from models.verbs.errors import NoSuchMessage
from models.verbs.row import (
    Done,
    Holder,
    NewId,
    insert_run,
    lease_of,
    lock,
    open_stream,
    store_messages,
    user_message,
)
from models.verbs.sending import known_answer
from models.verbs.spending import open_purse


def fork(
    c: Connection,
    *,
    run_id: str,
    seq: int,
    text: str | None,
    key: Key | None,
    holder: Holder,
    ids: NewId,
    at: int,
    budget: Bounds | None = None,
) -> tuple[Done, dict[str, Any]]:
    """Copy the transcript up to `seq`, moved back where that would part a call from its result.

    The copy's tool calls are rows under new ids that are never run. With `text` the new run begins a turn with it, and
    with this `budget`, else it is IDLE. Raises RunMissing, NoSuchMessage, KeyUsedOtherwise.
    """
    if (known := known_answer(c, key, at)) is not None:
        return known
    source, _ = lock(c, run_id)
    if not 1 <= seq <= source.seq:
        raise NoSuchMessage(f"{run_id} {seq}")
    kept = _whole(messages_after(c, run_id, 0, seq))
    run = _new_run(source, kept, text, holder, ids, at)
    if text is not None:
        run = replace(run, purses=open_purse(c, run.id, 1, budget))
    insert_run(c, "fork", run, lease_of(holder) if text is not None else 0)
    messages = [replace(message, id=ids("msg"), run_id=run.id, fence=0, created_at=at, usage=None) for message in kept]
    if text is not None:
        messages.append(user_message(run, ids, run.seq, text, run.steps, at))
    store_messages(c, messages)
    _copy_calls(c, source, run, kept, ids)
    _copy_compaction(c, source, run, len(kept), ids)
    numbers = None
    if run.stream_id is not None:
        numbers = open_stream(c, run, run.stream_id, 1, holder, at, seq_before=len(kept))
    answer = {"run_id": run.id, "queued": False, "input_id": None}
    keep_answer(c, key, answer)
    return Done(run, numbers, messages=tuple(messages)), answer


def _whole(messages: list[Message]) -> list[Message]:
    """The transcript without a last answer whose calls would lack their results."""
    parts = messages and messages[-1].role is Role.ASSISTANT and has_tool_use(messages[-1].content)
    return messages[:-1] if parts else messages


def _new_run(source: Run, kept: list[Message], text: str | None, holder: Holder, ids: NewId, at: int) -> Run:
    begins = text is not None
    steps = max((message.step for message in kept), default=0)
    return Run(
        id=ids("run"),
        user_id=source.user_id,
        agent=source.agent,
        agent_id=source.agent_id,
        kind=source.kind,
        status=RunStatus.RUNNING if begins else RunStatus.IDLE,
        created_at=at,
        updated_at=at,
        title=source.title,
        metadata=source.metadata,
        context=source.context,
        roles=source.roles,
        forked_from=kept[-1].id if kept else None,
        overrides=source.overrides,
        fence=1 if begins else 0,
        worker=holder.worker if begins else None,
        generation=1 if begins else 0,
        stream_id=ids("str") if begins else None,
        turn_started_at=at if begins else None,
        step=steps,
        steps=steps,
        seq=len(kept) + (1 if begins else 0),
        started_at=at if begins and holder.worker else None,
    )


def _copy_compaction(c: Connection, source: Run, run: Run, kept: int, ids: NewId) -> None:
    """What stands for a part of the copied transcript alone stands for it in the copy too."""
    within = [one for one in compactions_of(c, source.id) if one.summed_to < kept]
    if within:
        newest = within[-1]
        trimmed_to, seq = min(newest.trimmed_to, kept), min(newest.seq, kept)
        copied = replace(newest, id=ids("cmp"), run_id=run.id, model_call_id=None, trimmed_to=trimmed_to, seq=seq)
        insert_compaction(c, copied)


def _copy_calls(c: Connection, source: Run, run: Run, kept: list[Message], ids: NewId) -> None:
    answers = [message for message in kept if message.role is Role.ASSISTANT]
    by_step = calls_of_steps(c, [(source.id, message.step) for message in answers]) if answers else {}
    rows = []
    for call in (call for calls in by_step.values() for call in calls):
        copied = replace(call, id=ids("call"), run_id=run.id, user_id=run.user_id, child_run_id=None)
        if call.state in OPEN_STATES:
            copied = replace(copied, state=ToolCallState.INTERRUPTED, result=INTERRUPTED, is_error=True)
        rows.append(call_to_row(copied))
    if rows:
        c.execute(insert(tool_calls), rows)
