"""Threads: the conversations of a chat, each with what agents may use in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
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
)

from models.chat import has_member, members_of_chats
from models.page import Slice, Window
from models.paging import by_column
from models.remote import Remote, get_remotes
from models.run import Sign
from models.tables import Json, metadata

REMOTE = "remote"

chat_threads = Table(
    "chat_threads",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("chat_id", String(64), ForeignKey("chats.id"), nullable=False),
    Column("title", String(512)),
    Column("seq", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index("ix_chat_threads_chat_id_id", "chat_id", "id"),
)

thread_resources = Table(
    "thread_resources",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("thread_id", String(64), ForeignKey("chat_threads.id"), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("key", String(64), nullable=False),
    Column("value", Json, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index("ix_thread_resources_thread_id_kind_key", "thread_id", "kind", "key", unique=True),
    Index("ix_thread_resources_thread_id_id", "thread_id", "id"),
)


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as its row has it: `seq` is that of its last message, `revision` rises at each change told to watchers.

    What becomes of a message that is there is no change of its thread. Times are milliseconds since the epoch, UTC.
    """

    id: str
    chat_id: str
    created_at: int
    updated_at: int
    title: str | None = None
    seq: int = 0
    revision: int = 1


@dataclass(frozen=True, slots=True)
class ThreadResource:
    """A resource of a thread as its row has it; `key` is its only one of that kind."""

    id: str
    thread_id: str
    kind: str
    key: str
    value: dict[str, Any]
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class ThreadQuery:
    """Which threads: those of a chat, where the user is in it."""

    chat_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class ThreadResourceQuery:
    """Which resources of a thread; None means of any kind."""

    thread_id: str
    kind: str | None = None


def thread_to_row(thread: Thread) -> dict[str, Any]:
    """The row's columns."""
    return {name: getattr(thread, name) for name in Thread.__slots__}


def thread_from_row(row: Row[Any]) -> Thread:
    """A Thread from a row of all of its table's columns."""
    return Thread(**{name: row._mapping[name] for name in Thread.__slots__})


def thread_resource_to_row(resource: ThreadResource) -> dict[str, Any]:
    """The row's columns."""
    return {name: getattr(resource, name) for name in ThreadResource.__slots__}


def thread_resource_from_row(row: Row[Any]) -> ThreadResource:
    """A ThreadResource from a row of all of its table's columns."""
    return ThreadResource(**{name: row._mapping[name] for name in ThreadResource.__slots__})


def get_thread(c: Connection, thread_id: str) -> Thread | None:
    """The thread, whoever may see it, or None."""
    row = c.execute(select(chat_threads).where(chat_threads.c.id == thread_id)).first()
    return thread_from_row(row) if row else None


def threads_of_user(c: Connection, user_id: str, thread_ids: Sequence[str]) -> dict[str, Thread]:
    """Those of the threads whose chat the user is in, by id."""
    mine = has_member(chat_threads.c.chat_id, user_id)
    rows = c.execute(select(chat_threads).where(chat_threads.c.id.in_(list(thread_ids)), mine))
    return {row.id: thread_from_row(row) for row in rows}


def find_threads(c: Connection, query: ThreadQuery, window: Window) -> Slice[Thread]:
    """A window of a chat's threads, oldest first; positions are ids. Raises BadCursor."""
    return by_column(c, _threads(query, chat_threads), chat_threads.c.id, window, thread_from_row, prefix="thr_")


def count_threads(c: Connection, query: ThreadQuery) -> int:
    """How many threads there are."""
    return int(c.execute(_threads(query, func.count(chat_threads.c.id))).scalar_one())


def thread_signs(c: Connection, thread_ids: Sequence[str]) -> list[Sign]:
    """What shows whether these threads have changed; they are nobody's alone."""
    columns = chat_threads.c
    found = select(columns.id, columns.revision, columns.updated_at).where(columns.id.in_(list(thread_ids)))
    return [Sign(row.id, "", row.revision, row.updated_at) for row in c.execute(found)]


def lent_remotes(c: Connection, thread: Thread) -> tuple[str, ...]:
    """The ids of the remotes that agents may use in a thread, in the order of their keys.

    Whoever lends one is in the chat; those that an administrator has configured are everybody's.
    """
    ordered = _resources(ThreadResourceQuery(thread.id, REMOTE), thread_resources).order_by(thread_resources.c.key)
    named = [str(thread_resource_from_row(row).value.get("remoteId")) for row in c.execute(ordered)]
    found = get_remotes(c, named) if named else {}
    there = {member.user_id for member in members_of_chats(c, [thread.chat_id])[thread.chat_id]} if found else set()
    return tuple(one for one in dict.fromkeys(named) if one in found and _is_lent(found[one], there))


def _is_lent(remote: Remote, there: Collection[str | None]) -> bool:
    return remote.is_configured or remote.user_id in there


def thread_resources_of_user(c: Connection, user_id: str, resource_ids: Sequence[str]) -> dict[str, ThreadResource]:
    """Those of the resources that belong to threads of chats that the user is in, by id."""
    joined = select(thread_resources).join(chat_threads, chat_threads.c.id == thread_resources.c.thread_id)
    mine = has_member(chat_threads.c.chat_id, user_id)
    rows = c.execute(joined.where(thread_resources.c.id.in_(list(resource_ids)), mine))
    return {row.id: thread_resource_from_row(row) for row in rows}


def find_thread_resources(c: Connection, query: ThreadResourceQuery, window: Window) -> Slice[ThreadResource]:
    """A window of a thread's resources, oldest first; positions are ids. Raises BadCursor."""
    found = _resources(query, thread_resources)
    return by_column(c, found, thread_resources.c.id, window, thread_resource_from_row, prefix="trs_")


def count_thread_resources(c: Connection, query: ThreadResourceQuery) -> int:
    """How many resources there are."""
    return int(c.execute(_resources(query, func.count(thread_resources.c.id))).scalar_one())


def _threads(query: ThreadQuery, *columns: Any) -> Select[Any]:
    mine = has_member(chat_threads.c.chat_id, query.user_id)
    return select(*columns).where(chat_threads.c.chat_id == query.chat_id, mine)


def _resources(query: ThreadResourceQuery, *columns: Any) -> Select[Any]:
    found = select(*columns).where(thread_resources.c.thread_id == query.thread_id)
    return found if query.kind is None else found.where(thread_resources.c.kind == query.kind)
