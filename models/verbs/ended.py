"""What else is written with the end of a run's turn, in the same transaction, whoever ends it."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from models.chat_message import chat_messages
from models.enums import ChatMessageStatus, Role, RunStatus
from models.message import agent_messages
from models.run import Run
from models.said import shown

_STATUSES = {
    RunStatus.COMPLETED: ChatMessageStatus.DONE,
    RunStatus.FAILED: ChatMessageStatus.FAILED,
    RunStatus.CANCELLED: ChatMessageStatus.CANCELLED,
}
ENDED = frozenset(_STATUSES)


def turn_ended(c: Connection, run: Run) -> None:
    """The run, whose row is locked, has gone from RUNNING or WAITING to what it is now."""
    if run.thread_id is not None:
        end_chat_messages(c, run)


def end_chat_messages(c: Connection, run: Run) -> None:
    """Write what the run's first turn has said into the message of a thread that it is, with how it ended.

    A failure that said nothing says why it failed.
    """
    columns = chat_messages.c
    growing = select(columns.id, columns.run_seq).where(
        columns.run_id == run.id, columns.status == ChatMessageStatus.STREAMING
    )
    message = c.execute(growing).first()
    if message is None:  # the turn is a later one, or the chat was temporary
        return
    answers = (
        select(agent_messages.c.content)
        .where(
            agent_messages.c.run_id == run.id,
            agent_messages.c.seq > message.run_seq,
            agent_messages.c.role == Role.ASSISTANT,
        )
        .order_by(agent_messages.c.seq)
    )
    text, reasoning = shown(list(c.execute(answers).scalars()))
    if run.status is RunStatus.FAILED and not text and run.error is not None:
        text = run.error.message
    passed_on = run.status is not RunStatus.COMPLETED or "@" not in text
    ended = {"status": _STATUSES[run.status], "text": text, "reasoning": reasoning, "passed_on": passed_on}
    c.execute(update(chat_messages).where(columns.id == message.id).values(ended))
