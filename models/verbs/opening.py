"""open: a run is there, with its first message and its stream, before its caller gets an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from models.attachment import Attachment, store_attachments
from models.content import input_blocks, plain_or_blocks
from models.enums import Role, RunStatus
from models.key import Key, claim_key, keep_answer
from models.message import Message
from models.overrides import Overrides
from models.run import Run, get_run
from models.spending import Bounds
from models.verbs.expiring import renew_agent
from models.verbs.row import (
    Done,
    Holder,
    NewId,
    insert_run,
    lease_of,
    open_stream,
    store_messages,
    user_message,
)
from models.verbs.spending import open_purse


@dataclass(frozen=True, slots=True)
class Said:
    """Something that was said before the run: text, or blocks of text."""

    role: Role
    content: Any


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a run is opened with. `context` holds trusted values for tools, which only server code sets.

    The files of `attached` are stored already.
    `agent_id` and `kind` are those of a stored agent, and `agent` is its word.
    `history` is what was said before, oldest first: the transcript begins with it, and `input` follows.
    `thread_id` is the thread of a chat that its first turn answers in.
    `budget` is that of its first turn. A run that another one begins draws from the other's `purses` too.
    """

    user_id: str
    agent: str
    input: str
    title: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)
    roles: list[str] = field(default_factory=list)
    attached: tuple[Attachment, ...] = ()
    budget: Bounds | None = None
    purses: list[str] | None = None
    agent_id: str | None = None
    kind: str | None = None
    overrides: Overrides | None = None
    history: tuple[Said, ...] = ()
    thread_id: str | None = None


def open_run(
    c: Connection, *, new: NewRun, key: Key | None, holder: Holder, ids: NewId, at: int
) -> tuple[Done, dict[str, Any]]:
    """Write the run as RUNNING with its first user message and its stream; the same key gives the same run.

    Returns what was done and the answer to give; `numbers` is None where the key was known and nothing was done.
    Raises KeyUsedOtherwise.
    """
    if (known := claim_key(c, key, at)) is not None:
        run = get_run(c, known["run_id"])
        assert run is not None  # noqa: S101 - a key is kept in the transaction that wrote its run
        return Done(run), known
    done = insert_opened(c, new, holder, ids, at)
    answer = {"run_id": done.run.id, "queued": False, "input_id": None}
    keep_answer(c, key, answer)
    return done, answer


def insert_opened(
    c: Connection, new: NewRun, holder: Holder, ids: NewId, at: int, *, parent: tuple[str, str] | None = None
) -> Done:
    """Write the rows of a run that begins.

    `parent` is the run that begins it as a sub-agent's, and the name of the call that does (see models/child.py).
    """
    run_id = ids("run")
    parent_id, parent_call = parent or (None, None)
    own = open_purse(c, run_id, 1, new.budget)
    run = insert_run(
        c,
        "open",
        Run(
            id=run_id,
            user_id=new.user_id,
            agent=new.agent,
            agent_id=new.agent_id,
            kind=new.kind,
            status=RunStatus.RUNNING,
            created_at=at,
            updated_at=at,
            title=new.title,
            metadata=new.metadata,
            context=new.context,
            roles=new.roles,
            parent_id=parent_id,
            parent_call=parent_call,
            fence=1,
            worker=holder.worker,
            generation=1,
            stream_id=ids("str"),
            turn_started_at=at,
            seq=len(new.history) + 1,
            overrides=new.overrides,
            thread_id=new.thread_id,
            started_at=at if holder.worker else None,
            purses=[*(new.purses or ()), *(own or ())] or None,
        ),
        lease_of(holder),
    )
    renew_agent(c, new.agent_id, at)
    store_attachments(c, new.attached)
    content = plain_or_blocks(input_blocks(new.input, [one.block for one in new.attached]))
    messages = [
        Message(ids("msg"), run.id, run.user_id, seq, said.role, said.content, 0, at, 0)
        for seq, said in enumerate(new.history, start=1)
    ]
    messages.append(user_message(run, ids, run.seq, content, 0, at))
    store_messages(c, messages)
    assert run.stream_id is not None  # noqa: S101 - given just above
    numbers = open_stream(c, run, run.stream_id, 1, holder, at, seq_before=len(new.history))
    return Done(run, numbers, messages=tuple(messages))
