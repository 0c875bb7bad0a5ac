"""The tool call: a row of its own, written before the tool starts and finished when it ends."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
    Select,
    String,
    Table,
    UniqueConstraint,
    and_,
    func,
    or_,
    select,
    text,
    tuple_,
)

from models.enums import ToolCallState
from models.page import Slice, Window
from models.paging import by_column
from models.tables import Json, metadata


def _while(state: str) -> dict[str, Any]:
    """Let an index hold only the rows in this state."""
    condition = text(f"state = '{state}'")
    return {"postgresql_where": condition, "sqlite_where": condition}


tool_calls = Table(
    "tool_calls",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("run_id", String(64), ForeignKey("agent_runs.id"), nullable=False),
    Column("agent", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("step", Integer, nullable=False),
    Column("index", Integer, nullable=False),
    Column("position", BigInteger, nullable=False),  # step and index as one rising number, for paging
    Column("provider_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("input", Json),
    Column("state", String(16), nullable=False),
    Column("result", Json),
    Column("is_error", Boolean, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    Column("approvers", String(255)),
    Column("expires_at", BigInteger),
    Column("decided_by", String(255)),
    Column("decided_at", BigInteger),
    Column("reason", String),
    Column("child_run_id", String(64)),
    UniqueConstraint("run_id", "position"),
    Index("ix_tool_calls_waiting_expires_at", "expires_at", **_while("WAITING")),
    Index("ix_tool_calls_waiting_approvers", "approvers", "id", **_while("WAITING")),
)

OWNER = "owner"
"""The word of `approvers` for the run's own user; engine.tool has the same, and imports no database."""
CALLS_A_STEP = 10_000  # more than any model makes; keeps positions of one step below those of the next
OPEN_STATES = frozenset({ToolCallState.READY, ToolCallState.RUNNING, ToolCallState.WAITING})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call as its row has it.

    The i-th tool_use block of a step's assistant message is the call with `index` i, and so is the i-th tool_result of
    the user message behind it. `result` is what the model reads. `fence` is the one under which it was started.
    """

    id: str
    run_id: str
    agent: str
    user_id: str
    step: int
    index: int
    provider_id: str
    name: str
    input: Any
    state: ToolCallState = ToolCallState.READY
    result: Any = None
    is_error: bool = False
    attempt: int = 1
    fence: int = 0
    started_at: int | None = None
    finished_at: int | None = None
    approvers: str | None = None
    expires_at: int | None = None
    decided_by: str | None = None
    decided_at: int | None = None
    reason: str | None = None
    child_run_id: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has no result yet."""
        return self.state in OPEN_STATES

    @property
    def is_for_client(self) -> bool:
        """Whether it waits for a client's answer rather than for a decision."""
        return self.state is ToolCallState.WAITING and (self.approvers is None or self.decided_at is not None)

    def may_be_decided_by(self, user_id: str, roles: Collection[str]) -> bool:
        """Whether this user is one who decides it."""
        return user_id == self.user_id if self.approvers == OWNER else self.approvers in roles


@dataclass(frozen=True, slots=True)
class Decider:
    """One who asks what waits for his decision."""

    user_id: str
    roles: tuple[str, ...] = ()


def call_to_row(call: ToolCall) -> dict[str, Any]:
    """The row's columns."""
    values = {name: getattr(call, name) for name in ToolCall.__slots__}
    return values | {"position": call.step * CALLS_A_STEP + call.index}


def call_from_row(row: Row[Any]) -> ToolCall:
    """A ToolCall from a row of all of tool_calls' columns."""
    values = {name: row._mapping[name] for name in ToolCall.__slots__}
    return ToolCall(**{**values, "state": ToolCallState(values["state"])})


def find_calls(c: Connection, run_id: str, window: Window) -> Slice[ToolCall]:
    """The calls of a window of a run, in the order the model made them. Raises BadCursor."""
    of_run = select(tool_calls).where(tool_calls.c.run_id == run_id)
    return by_column(c, of_run, tool_calls.c.position, window, call_from_row)


def get_calls(c: Connection, ids: Sequence[str]) -> dict[str, ToolCall]:
    """Those of the calls that exist, by id."""
    rows = c.execute(select(tool_calls).where(tool_calls.c.id.in_(ids)))
    return {row.id: call_from_row(row) for row in rows}


def count_calls(c: Connection, run_id: str) -> int:
    """How many calls the run has made."""
    return c.execute(select(func.count()).where(tool_calls.c.run_id == run_id)).scalar_one()


def calls_of_steps(c: Connection, steps: Sequence[tuple[str, int]]) -> dict[tuple[str, int], list[ToolCall]]:
    """The calls of each (run id, step), by index."""
    found: dict[tuple[str, int], list[ToolCall]] = {step: [] for step in steps}
    query = select(tool_calls).where(tuple_(tool_calls.c.run_id, tool_calls.c.step).in_(list(found)))
    for row in c.execute(query.order_by(tool_calls.c.position)):
        found[row.run_id, row.step].append(call_from_row(row))
    return found


def calls_of_step(c: Connection, run_id: str, step: int) -> list[ToolCall]:
    """The calls of one step, by index."""
    return calls_of_steps(c, [(run_id, step)])[run_id, step]


def find_decidable(c: Connection, who: Decider, window: Window) -> Slice[ToolCall]:
    """The calls of a window that wait for this user's decision, oldest first. Raises BadCursor."""
    return by_column(c, _decidable(who, tool_calls), tool_calls.c.id, window, call_from_row, prefix="call_")


def count_decidable(c: Connection, who: Decider) -> int:
    """How many calls wait for this user's decision."""
    return int(c.execute(_decidable(who, func.count(tool_calls.c.id))).scalar_one())


def decidable_of_runs(c: Connection, who: Decider, run_ids: Sequence[str]) -> list[ToolCall]:
    """The calls of these runs that wait for this user's decision."""
    return [
        call_from_row(row) for row in c.execute(_decidable(who, tool_calls).where(tool_calls.c.run_id.in_(run_ids)))
    ]


def waiting_calls(c: Connection, run_ids: Sequence[str]) -> dict[str, list[ToolCall]]:
    """The calls of each of these runs that wait, in the order the model made them."""
    found: dict[str, list[ToolCall]] = {run_id: [] for run_id in run_ids}
    waits = select(tool_calls).where(tool_calls.c.run_id.in_(run_ids), tool_calls.c.state == ToolCallState.WAITING)
    for row in c.execute(waits.order_by(tool_calls.c.position)):
        found[row.run_id].append(call_from_row(row))
    return found


def _decidable(who: Decider, *columns: Any) -> Select[Any]:
    own = and_(tool_calls.c.approvers == OWNER, tool_calls.c.user_id == who.user_id)
    by_role = tool_calls.c.approvers.in_([role for role in who.roles if role != OWNER])
    undecided = tool_calls.c.state == ToolCallState.WAITING, tool_calls.c.decided_at.is_(None)
    return select(*columns).where(*undecided, or_(own, by_role))
