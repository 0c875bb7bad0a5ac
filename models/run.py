"""The run: its row is the transcript's head, the job and the mailbox in one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
    Select,
    String,
    Table,
    func,
    select,
    tuple_,
)

from models.content import input_blocks
from models.enums import ErrorCode, FinishReason, RunStatus, SteerMode
from models.events import Failure
from models.json_codec import dump_json
from models.overrides import Overrides
from models.page import Slice, Window
from models.paging import by_column
from models.tables import Json, metadata

agent_runs = Table(
    "agent_runs",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("user_id", String(255), nullable=False),
    Column("agent", String(255), nullable=False),
    Column("agent_id", String(64)),
    Column("kind", String(64)),
    Column("title", String(512)),
    Column("status", String(16), nullable=False),
    Column("finish", String(32)),
    Column("error_code", String(64)),
    Column("error_message", String),
    Column("output", Json),
    Column("metadata", Json, nullable=False),
    Column("context", Json, nullable=False),
    Column("roles", Json, nullable=False),
    Column("parent_id", String(64), ForeignKey("agent_runs.id")),
    Column("parent_call", String(128)),
    Column("forked_from", String(64)),
    # the mailbox
    Column("pending", Json, nullable=False),
    Column("next_ordinal", Integer, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("cancel_ordinal", Integer, nullable=False),
    Column("cancel_reason", String),
    # the job
    Column("fence", Integer, nullable=False),
    Column("lease_until", BigInteger, nullable=False),
    Column("worker", String(128)),
    Column("takeovers", Integer, nullable=False),
    # the generation, the turn and the step under way
    Column("generation", Integer, nullable=False),
    Column("stream_id", String(64)),
    Column("turn_steps", Integer, nullable=False),
    Column("corrections", Integer, nullable=False, server_default="0"),
    Column("turn_started_at", BigInteger),
    Column("turn_spent_ms", BigInteger, nullable=False, server_default="0"),
    Column("step", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("step_fence", Integer, nullable=False),
    Column("step_max_tokens", Integer),
    Column("purses", Json),
    Column("overrides", Json),
    Column("thread_id", String(64)),
    # the transcript's head
    Column("seq", Integer, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("updated_at", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Index("ix_agent_runs_user_id_id", "user_id", "id"),
    Index("ix_agent_runs_status_lease_until", "status", "lease_until"),
    Index("ix_agent_runs_parent_id_id", "parent_id", "id"),
    Index("ix_agent_runs_parent_call", "parent_call", unique=True),
    Index("ix_agent_runs_updated_at_id", "updated_at", "id"),
    Index("ix_agent_runs_agent_id_id", "agent_id", "id"),
)


@dataclass(frozen=True, slots=True)
class PendingInput:
    """An input that waits to be folded into the transcript.

    `ordinal` rises within the run and is never used twice; `announced` tells whether InputQueued was written;
    `attached` are blocks that refer to its attachments.
    """

    id: str
    text: str
    mode: SteerMode
    created_at: int
    ordinal: int
    announced: bool = False
    attached: tuple[dict[str, Any], ...] = ()

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """What the transcript will have of it."""
        return input_blocks(self.text, self.attached)

    def to_json(self) -> dict[str, Any]:
        """As it is kept on the run's row."""
        values = {
            "id": self.id,
            "text": self.text,
            "mode": self.mode,
            "created_at": self.created_at,
            "ordinal": self.ordinal,
            "announced": self.announced,
        }
        return values | ({"attached": list(self.attached)} if self.attached else {})

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PendingInput:
        """Back from `to_json`."""
        attached = tuple(value.get("attached", ()))
        return cls(**{**value, "mode": SteerMode(value["mode"]), "attached": attached})


def interrupting(inputs: Iterable[PendingInput]) -> tuple[str, ...]:
    """The ids of those that ask for the response in flight to be cut."""
    return tuple(item.id for item in inputs if item.mode is SteerMode.INTERRUPT)


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its row has it. Times are milliseconds since the epoch, UTC; leases by the database's clock.

    `revision` rises at each change that a client can see. `step` and `attempt` are the step begun last, `step_fence`
    the fence under which that was; the step is under way while `step == steps + 1`. `step_max_tokens` is how long its
    answer may be, None where nobody has said. `corrections` is how often the turn's answer was sent back to the model,
    because it did not fit the agent's output type. `turn_spent_ms` is how long the turn's earlier generations took;
    what it waited between them does not count. `purses` are those (models/purse.py) that the turn draws from, the
    narrowest last; None without a budget. `parent_call` names the call of the run `parent_id` that began this one as
    a sub-agent's, so that it begins no second (see `child_key`). `roles` are those the owner had when the turn began,
    `context` trusted values that only server code sets; tools see both. `agent` is the name of a code-defined agent, or
    the word of the stored agent `agent_id` when the run was opened, whose kind is then `kind`. `overrides` is what the
    run has in its agent's place. `thread_id` is the thread of a chat in which its first turn answers.
    """

    id: str
    user_id: str
    agent: str
    status: RunStatus
    created_at: int
    updated_at: int
    title: str | None = None
    finish: FinishReason | None = None
    error: Failure | None = None
    output: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)
    roles: list[str] = field(default_factory=list)
    parent_id: str | None = None
    parent_call: str | None = None
    forked_from: str | None = None
    pending: tuple[PendingInput, ...] = ()
    next_ordinal: int = 1
    cancel_requested: bool = False
    cancel_ordinal: int = 0
    cancel_reason: str | None = None
    fence: int = 0
    lease_until: int = 0
    worker: str | None = None
    takeovers: int = 0
    generation: int = 0
    stream_id: str | None = None
    turn_steps: int = 0
    corrections: int = 0
    turn_started_at: int | None = None
    turn_spent_ms: int = 0
    step: int = 0
    attempt: int = 1
    step_fence: int = 0
    step_max_tokens: int | None = None
    purses: list[str] | None = None
    seq: int = 0
    steps: int = 0
    started_at: int | None = None
    revision: int = 1
    agent_id: str | None = None
    kind: str | None = None
    overrides: Overrides | None = None
    thread_id: str | None = None

    @property
    def code(self) -> str:
        """The name of the code that runs it: the stored agent's kind, or the agent itself."""
        return self.kind or self.agent

    @property
    def interrupting(self) -> tuple[str, ...]:
        """The ids of the inputs that ask for the response in flight to be cut."""
        return interrupting(self.pending)


_PLAIN = tuple(name for name in Run.__slots__ if name not in ("error", "pending", "status", "finish", "overrides"))


def run_to_row(run: Run) -> dict[str, Any]:
    """The row's columns."""
    values: dict[str, Any] = {name: getattr(run, name) for name in _PLAIN}
    return values | run_columns(
        {
            "status": run.status,
            "finish": run.finish,
            "error": run.error,
            "pending": run.pending,
            "overrides": run.overrides,
        }
    )


def run_columns(changes: dict[str, Any]) -> dict[str, Any]:
    """Changes to a Run's fields, as changes to the row's columns."""
    columns = dict(changes)
    if "error" in columns:
        error: Failure | None = columns.pop("error")
        columns["error_code"] = error.code if error else None
        columns["error_message"] = error.message if error else None
    if "pending" in columns:
        columns["pending"] = [item.to_json() for item in columns["pending"]]
    if (overrides := columns.get("overrides")) is not None:
        columns["overrides"] = overrides.to_json()
    return columns


def run_from_row(row: Row[Any]) -> Run:
    """A Run from a row of all of agent_runs' columns."""
    values = row._mapping
    return Run(
        **{name: values[name] for name in _PLAIN},
        status=RunStatus(values["status"]),
        finish=FinishReason(values["finish"]) if values["finish"] else None,
        error=Failure(ErrorCode(values["error_code"]), values["error_message"]) if values["error_code"] else None,
        pending=tuple(PendingInput.from_json(item) for item in values["pending"]),
        overrides=Overrides.from_json(values["overrides"]),
    )


def get_run(c: Connection, run_id: str) -> Run | None:
    """The run, whoever owns it, or None."""
    row = c.execute(select(agent_runs).where(agent_runs.c.id == run_id)).first()
    return run_from_row(row) if row else None


def get_runs(c: Connection, run_ids: Sequence[str]) -> dict[str, Run]:
    """Those of the runs that exist, by id."""
    rows = c.execute(select(agent_runs).where(agent_runs.c.id.in_(run_ids)))
    return {row.id: run_from_row(row) for row in rows}


@dataclass(frozen=True, slots=True)
class Sign:
    """As much of a run's row as shows whether it has changed."""

    id: str
    user_id: str
    revision: int
    updated_at: int


def signs_of(c: Connection, run_ids: Sequence[str]) -> list[Sign]:
    """The signs of these runs, as far as they exist."""
    return _signs(c, select(*_SIGN).where(agent_runs.c.id.in_(list(run_ids))))


def changed_signs(c: Connection, since: tuple[int, str], user_ids: Sequence[str] | None, limit: int) -> list[Sign]:
    """The signs of the runs of these users, or everybody's, that were changed last after `since`: a time and an id.

    At most `limit`, in that order.
    """
    changed = tuple_(agent_runs.c.updated_at, agent_runs.c.id)
    found = select(*_SIGN).where(changed > tuple_(*since))
    if user_ids is not None:
        found = found.where(agent_runs.c.user_id.in_(list(user_ids)))
    return _signs(c, found.order_by(agent_runs.c.updated_at, agent_runs.c.id).limit(limit))


_SIGN = (agent_runs.c.id, agent_runs.c.user_id, agent_runs.c.revision, agent_runs.c.updated_at)


def _signs(c: Connection, found: Select[Any]) -> list[Sign]:
    return [Sign(*row) for row in c.execute(found)]


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs; None means any. `search` looks into the title without regard to case.

    `metadata` gives the keys that must have equal values. `created_after` and `created_before` are milliseconds since
    the epoch: a run that was begun at the first is meant, one that was begun at the second is not.
    """

    user_id: str | None = None
    status: tuple[RunStatus, ...] | None = None
    agent: str | None = None
    parent_id: str | None = None
    search: str | None = None
    metadata: dict[str, Any] | None = None
    agent_id: str | None = None
    finish: tuple[FinishReason, ...] | None = None
    created_after: int | None = None
    created_before: int | None = None

    def matches(self, run: Run) -> bool:
        """Whether the run is among those asked for: the same rule as the SQL of `find_runs`."""
        return (
            self.user_id in (None, run.user_id)
            and (self.status is None or run.status in self.status)
            and (self.finish is None or run.finish in self.finish)
            and (self.created_after is None or run.created_at >= self.created_after)
            and (self.created_before is None or run.created_at < self.created_before)
            and self.agent in (None, run.agent)
            and self.agent_id in (None, run.agent_id)
            and self.parent_id in (None, run.parent_id)
            and (self.search is None or self.search.lower() in (run.title or "").lower())
            and all(_alike(run.metadata, key, value) for key, value in (self.metadata or {}).items())
        )


def _alike(tags: dict[str, Any], key: str, value: Any) -> bool:
    """Whether the tag is there with an equal JSON value; to Python, but not to JSON, true equals 1."""
    return key in tags and tags[key] == value and dump_json(tags[key]) == dump_json(value)


def _query(query: RunQuery, *columns: Any) -> Select[Any]:
    found = select(*columns)
    if query.user_id is not None:
        found = found.where(agent_runs.c.user_id == query.user_id)
    if query.status is not None:
        found = found.where(agent_runs.c.status.in_(query.status))
    if query.finish is not None:
        found = found.where(agent_runs.c.finish.in_(query.finish))
    if query.created_after is not None:
        found = found.where(agent_runs.c.created_at >= query.created_after)
    if query.created_before is not None:
        found = found.where(agent_runs.c.created_at < query.created_before)
    if query.agent is not None:
        found = found.where(agent_runs.c.agent == query.agent)
    if query.agent_id is not None:
        found = found.where(agent_runs.c.agent_id == query.agent_id)
    if query.parent_id is not None:
        found = found.where(agent_runs.c.parent_id == query.parent_id)
    return found


def _needs_python(query: RunQuery) -> bool:
    """Whether the filter has what SQL does not do alike on every database: letters' case, and equality of JSON."""
    return bool(query.search) or bool(query.metadata)


def find_runs(c: Connection, query: RunQuery, window: Window) -> Slice[Run]:
    """The runs of a window, newest first; positions are ids. Raises BadCursor."""
    keep = query.matches if _needs_python(query) else None
    return by_column(
        c, _query(query, agent_runs), agent_runs.c.id, window, run_from_row, descending=True, keep=keep, prefix="run_"
    )


def count_runs(c: Connection, query: RunQuery) -> int:
    """How many runs there are."""
    if _needs_python(query):
        return len(matching_run_ids(c, query))
    return int(c.execute(_query(query, func.count(agent_runs.c.id))).scalar_one())


def newest_run_ids(c: Connection, query: RunQuery, count: int) -> list[str]:
    """The ids of the newest runs that match, newest first, at most `count`."""
    if _needs_python(query):
        return find_runs(c, query, Window(size=count)).positions
    newest = _query(query, agent_runs.c.id).order_by(agent_runs.c.id.desc()).limit(count)
    return list(c.execute(newest).scalars())


def matching_run_ids(c: Connection, query: RunQuery) -> set[str]:
    """The ids of all runs that match."""
    if not _needs_python(query):
        return set(c.execute(_query(query, agent_runs.c.id)).scalars())
    return {row.id for row in c.execute(_query(query, agent_runs)) if query.matches(run_from_row(row))}
