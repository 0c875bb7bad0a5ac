"""The stream: one a generation, with the numbers its owner has reserved and the lasting events as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    Row,
    String,
    Table,
    UniqueConstraint,
    func,
    select,
)

from models.call import get_calls
from models.event_body import ENVELOPE, body_of, event_of
from models.events import RunResult, StepFinished, StreamEvent, ToolCallFinished, ToolCallStarted
from models.message import agent_messages
from models.tables import Json, metadata

streams = Table(
    "streams",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("run_id", String(64), ForeignKey("agent_runs.id"), nullable=False),
    Column("generation", Integer, nullable=False),
    Column("reserved", Integer, nullable=False),
    Column("steps_before", Integer, nullable=False),
    Column("seq_before", Integer, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("run_id", "generation"),
    Index("ix_streams_created_at", "created_at"),
)

stream_events = Table(
    "stream_events",
    metadata,
    Column("stream_id", String(64), ForeignKey("streams.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(32), nullable=False),
    Column("step", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("body", Json, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Stream:
    """One generation's stream: `reserved` is the highest event number that its owner may use.

    `steps_before` and `seq_before` are the run's `steps` and `seq` when the generation began.
    """

    id: str
    run_id: str
    generation: int
    reserved: int
    steps_before: int
    seq_before: int
    ended: bool
    created_at: int


@dataclass(frozen=True, slots=True)
class StreamRows:
    """What the rows tell of a stream beyond some number.

    `lasting` rise; `answers` has the stored blocks of each StepFinished among them, by the message's seq; `ended`
    tells whether RunResult is stored.
    """

    lasting: list[StreamEvent]
    answers: dict[int, list[dict[str, Any]]]
    ended: bool


def get_stream(c: Connection, stream_id: str) -> Stream | None:
    """The stream, or None."""
    row = c.execute(select(streams).where(streams.c.id == stream_id)).first()
    return Stream(**row._mapping) if row else None


def streams_of_run(c: Connection, run_id: str) -> list[Stream]:
    """A run's streams in the order of their generations."""
    rows = c.execute(select(streams).where(streams.c.run_id == run_id).order_by(streams.c.generation))
    return [Stream(**row._mapping) for row in rows]


def read_stream(c: Connection, stream_id: str, after: int) -> StreamRows:
    """What the rows hold of the stream beyond the number `after`; empty for a stream that is not there."""
    stream = get_stream(c, stream_id)
    if stream is None:
        return StreamRows([], {}, ended=False)
    found = select(stream_events).where(stream_events.c.stream_id == stream_id, stream_events.c.seq > after)
    lasting = [event_from_row(row) for row in c.execute(found.order_by(stream_events.c.seq))]
    _fill_calls(c, lasting)
    seqs = [event.message_seq for event in lasting if isinstance(event, StepFinished)]
    messages = select(agent_messages.c.seq, agent_messages.c.content).where(
        agent_messages.c.run_id == stream.run_id, agent_messages.c.seq.in_(seqs)
    )
    answers = {row.seq: row.content for row in c.execute(messages)} if seqs else {}
    return StreamRows(lasting, answers, stream.ended)


def result_of(c: Connection, stream_id: str) -> RunResult | None:
    """The end of a generation; None while it is under way."""
    found = select(stream_events).where(
        stream_events.c.stream_id == stream_id, stream_events.c.kind == RunResult.__name__
    )
    row = c.execute(found.order_by(stream_events.c.seq.desc()).limit(1)).first()
    event = event_from_row(row) if row else None
    return event if isinstance(event, RunResult) else None


def stream_heads(c: Connection, stream_ids: Sequence[str]) -> dict[str, tuple[int, bool]]:
    """The highest number among each stream's lasting events (0 without any), and whether the stream has ended."""
    last = (
        select(func.coalesce(func.max(stream_events.c.seq), 0))
        .where(stream_events.c.stream_id == streams.c.id)
        .scalar_subquery()
    )
    found = select(streams.c.id, last.label("last"), streams.c.ended).where(streams.c.id.in_(list(stream_ids)))
    return {row.id: (row.last, row.ended) for row in c.execute(found)}


def event_to_row(event: StreamEvent) -> dict[str, Any]:
    """The row's columns. What a tool call's row tells (name, input, result) is not stored twice."""
    body = {"tool_call_id": event.tool_call_id} if isinstance(event, _OF_CALLS) else body_of(event)
    envelope = {name: getattr(event, name) for name in ENVELOPE}
    return {**envelope, "kind": type(event).__name__, "body": body}


def event_from_row(row: Row[Any]) -> StreamEvent:
    """An event from its row; those of tool calls still lack what the call's row tells."""
    body = dict(row.body)
    if row.kind == ToolCallStarted.__name__:
        body |= {"name": "", "input": None}
    elif row.kind == ToolCallFinished.__name__:
        body |= {"name": "", "input": None, "result": None, "is_error": False}
    return event_of(row.kind, body, **{name: getattr(row, name) for name in ENVELOPE})


_OF_CALLS = (ToolCallStarted, ToolCallFinished)


def _fill_calls(c: Connection, events: list[StreamEvent]) -> None:
    of_calls = [event for event in events if isinstance(event, _OF_CALLS)]
    calls = get_calls(c, [event.tool_call_id for event in of_calls]) if of_calls else {}
    for event in of_calls:
        call = calls[event.tool_call_id]
        event.name, event.input = call.name, call.input
        if isinstance(event, ToolCallFinished):
            event.result, event.is_error = call.result, call.is_error
