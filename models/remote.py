"""Remotes: what is connected and offers tools to runs of its owner; and the calls that wait for one to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, ForeignKey, Index, Row, Select, String, Table, func, select

from models.call import tool_calls
from models.enums import RemoteKind, ToolCallState
from models.page import Slice, Window
from models.paging import by_column
from models.tables import Json, metadata

remotes = Table(
    "remotes",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("user_id", String(255), nullable=False),
    Column("name", String(64), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("url", String),
    Column("tools", Json, nullable=False),
    Column("connected_until", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index("ix_remotes_user_id_name", "user_id", "name", unique=True),
    Index("ix_remotes_user_id_id", "user_id", "id"),
)

remote_calls = Table(
    "remote_calls",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("remote_id", String(64), nullable=False),
    Column("remote", String(64), nullable=False),
    Column("run_id", String(64), ForeignKey("agent_runs.id"), nullable=False),
    Column("call_id", String(64), ForeignKey("tool_calls.id"), nullable=False),
    Column("tool", String, nullable=False),
    Index("ix_remote_calls_remote_id_id", "remote_id", "id"),
    Index("ix_remote_calls_call_id", "call_id", unique=True),
)

CONFIGURED = ""
"""The owner of the remotes that an administrator has configured: no user's name."""
FOREVER = 2**53 - 1
"""Until when a server counts as connected that answers when it is asked."""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its remote tells of it. `repeatable` says that to call it twice does no more than to call it once."""

    name: str
    description: str
    input_schema: dict[str, Any]
    repeatable: bool = False

    def to_json(self) -> dict[str, Any]:
        """As it is kept on the remote's row."""
        return {name: getattr(self, name) for name in RemoteTool.__slots__}


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote as its row has it. `name` is its only one of its owner's; `url` is where a server was registered.

    It is connected as long as the clock does not show `connected_until`. Times are milliseconds since the epoch, UTC.
    """

    id: str
    user_id: str
    name: str
    kind: RemoteKind
    url: str | None
    tools: tuple[RemoteTool, ...]
    connected_until: int
    created_at: int
    updated_at: int

    @property
    def is_configured(self) -> bool:
        """Whether it is everybody's, because an administrator has configured it."""
        return self.user_id == CONFIGURED

    def is_for(self, user_id: str) -> bool:
        """Whether runs of this user may use it."""
        return self.is_configured or self.user_id == user_id


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """A tool call that a remote is asked to answer. `remote` is what the remote was called then.

    `deadline` is the moment (ms since the epoch) after which nobody need answer any more, None of one that was
    answered or has ceased to wait.
    """

    id: str
    remote_id: str
    remote: str
    run_id: str
    call_id: str
    tool: str
    input: Any
    deadline: int | None


def remote_to_row(remote: Remote) -> dict[str, Any]:
    """The row's columns."""
    values = {name: getattr(remote, name) for name in Remote.__slots__}
    return values | {"tools": [one.to_json() for one in remote.tools]}


def remote_from_row(row: Row[Any]) -> Remote:
    """A Remote from a row of all of its table's columns."""
    values = {name: row._mapping[name] for name in Remote.__slots__}
    tools = tuple(RemoteTool(**one) for one in values["tools"])
    return Remote(**{**values, "kind": RemoteKind(values["kind"]), "tools": tools})


def get_remotes(c: Connection, remote_ids: Sequence[str]) -> dict[str, Remote]:
    """Those of the remotes that exist, by id, whoever owns them."""
    rows = c.execute(select(remotes).where(remotes.c.id.in_(list(remote_ids))))
    return {row.id: remote_from_row(row) for row in rows}


def find_remotes(c: Connection, user_id: str, window: Window) -> Slice[Remote]:
    """A window of the remotes that this user may use, newest first; positions are ids. Raises BadCursor."""
    return by_column(
        c, _usable(user_id, remotes), remotes.c.id, window, remote_from_row, descending=True, prefix="rmt_"
    )


def count_remotes(c: Connection, user_id: str) -> int:
    """How many remotes this user may use."""
    return int(c.execute(_usable(user_id, func.count(remotes.c.id))).scalar_one())


def configured_remotes(c: Connection) -> list[Remote]:
    """Those that administrators have configured, by name."""
    found = select(remotes).where(remotes.c.user_id == CONFIGURED).order_by(remotes.c.name)
    return [remote_from_row(row) for row in c.execute(found)]


def open_remote_calls(c: Connection, remote_id: str) -> list[RemoteCall]:
    """The calls that wait for this remote's answer, in the order in which they began to."""
    waits = _calls().where(remote_calls.c.remote_id == remote_id, tool_calls.c.state == ToolCallState.WAITING)
    return [_call_from_row(row) for row in c.execute(waits.order_by(remote_calls.c.id))]


def get_remote_call(c: Connection, call_id: str) -> RemoteCall | None:
    """The call that a remote was asked to answer under this id, whether it waits or not."""
    row = c.execute(_calls().where(remote_calls.c.id == call_id)).first()
    return None if row is None else _call_from_row(row)


def _calls() -> Select[Any]:
    columns = (tool_calls.c.input, tool_calls.c.expires_at.label("deadline"))
    return select(remote_calls, *columns).join(tool_calls, tool_calls.c.id == remote_calls.c.call_id)


def _call_from_row(row: Row[Any]) -> RemoteCall:
    return RemoteCall(**{name: row._mapping[name] for name in RemoteCall.__slots__})


def _usable(user_id: str, *columns: Any) -> Select[Any]:
    return select(*columns).where(remotes.c.user_id.in_([user_id, CONFIGURED]))
