"""Closing the calls that dangle: every tool_use gets its result."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, update

from models.call import ToolCall, calls_of_step, tool_calls
from models.content import INTERRUPTED, NOT_RUN
from models.enums import Role, ToolCallState
from models.events import ToolCallFinished, ToolCallStarted
from models.run import Run
from models.verbs.journal import Journal
from models.verbs.row import last_message


def dangling_calls(c: Connection, run: Run) -> list[ToolCall]:
    """The calls of the transcript's last message, where it is an answer: their results are not in it yet."""
    last = last_message(c, run)
    if last is None or last.role is not Role.ASSISTANT:
        return []
    return calls_of_step(c, run.id, last.step)


def close_dangling(c: Connection, run: Run, at: int, journal: Journal | None) -> list[ToolCall]:
    """Close those of them that are open, and give all of them; watchers are told where there is a journal.

    One that had begun is INTERRUPTED, since what it did is unknown; one that had not is CANCELLED.
    """
    return [close_call(c, call, at, journal) if call.is_open else call for call in dangling_calls(c, run)]


def close_call(c: Connection, call: ToolCall, at: int, journal: Journal | None) -> ToolCall:
    """Close one open call."""
    begun = call.state is ToolCallState.RUNNING
    state = ToolCallState.INTERRUPTED if begun else ToolCallState.CANCELLED
    closed = replace(call, state=state, result=INTERRUPTED if begun else NOT_RUN, is_error=True, finished_at=at)
    c.execute(
        update(tool_calls)
        .where(tool_calls.c.id == call.id)
        .values(state=closed.state, result=closed.result, is_error=True, finished_at=at)
    )
    if journal is not None:
        if not begun:
            tell_started(journal, closed)
        tell_finished(journal, closed)
    return closed


def tell_started(journal: Journal, call: ToolCall) -> None:
    """Write ToolCallStarted."""
    journal.add(ToolCallStarted, call.step, call.attempt, tool_call_id=call.id, name=call.name, input=call.input)


def tell_finished(journal: Journal, call: ToolCall) -> None:
    """Write ToolCallFinished."""
    journal.add(
        ToolCallFinished,
        call.step,
        call.attempt,
        tool_call_id=call.id,
        name=call.name,
        input=call.input,
        result=call.result,
        is_error=call.is_error,
    )
