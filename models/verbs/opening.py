"""open: a run is there, with its first message and its stream, before its caller gets an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from models.enums import RunStatus
from models.key import Key, claim_key, keep_answer
from models.run import Run, get_run
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


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a run is opened with. `context` holds trusted values for tools, which only server code sets."""

    user_id: str
    agent: str
    input: str
    title: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)
    roles: list[str] = field(default_factory=list)


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
    run = insert_run(
        c,
        "open",
        Run(
            id=ids("run"),
            user_id=new.user_id,
            agent=new.agent,
            status=RunStatus.RUNNING,
            created_at=at,
            updated_at=at,
            title=new.title,
            metadata=new.metadata,
            context=new.context,
            roles=new.roles,
            fence=1,
            worker=holder.worker,
            generation=1,
            stream_id=ids("str"),
            turn_started_at=at,
            seq=1,
            started_at=at if holder.worker else None,
        ),
        lease_of(holder),
    )
    message = user_message(run, ids, 1, new.input, 0, at)
    store_messages(c, [message])
    assert run.stream_id is not None  # noqa: S101 - given just above
    numbers = open_stream(c, run, run.stream_id, 1, holder, at, seq_before=0)
    answer = {"run_id": run.id, "queued": False, "input_id": None}
    keep_answer(c, key, answer)
    return Done(run, numbers, messages=(message,)), answer
