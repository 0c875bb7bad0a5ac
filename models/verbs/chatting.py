"""create_chat, update_members, create_thread, set_thread_resource, drop_temporary_chats: chats and who is in them.

A chat's row is locked by whoever changes the chat, its threads or what is said in them; runs are locked behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, insert, or_, select, update

from models.agent import agents
from models.chat import AGENT, TEMPORARY_MS, USER, Chat, chat_from_row, chat_members, chat_to_row, chats, has_member
from models.chat_message import chat_messages
from models.key import Key, claim_key, keep_answer
from models.thread import (
    Thread,
    ThreadResource,
    ThreadResourceQuery,
    chat_threads,
    count_thread_resources,
    thread_from_row,
    thread_resource_to_row,
    thread_resources,
    thread_to_row,
)
from models.verbs.errors import ChatMissing, MemberBound, MemberMissing, NoSuchResource, TooMany
from models.verbs.row import NewId

MAX_MEMBERS = 100
MAX_THREADS = 1_000
MAX_THREAD_RESOURCES = 100
DROPPED = 100  # chats at a time


@dataclass(frozen=True, slots=True)
class NewChat:
    """What a chat is made with, beside `user_id`, who makes it: users, and agents by their ids."""

    user_id: str
    title: str | None = None
    temporary: bool = False
    users: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemberChanges:
    """Who comes into a chat, and who goes; who is there already, or is not there, is no matter."""

    add_users: tuple[str, ...] = ()
    add_agents: tuple[str, ...] = ()
    remove_users: tuple[str, ...] = ()
    remove_agents: tuple[str, ...] = ()


def create_chat(c: Connection, *, new: NewChat, key: Key | None, ids: NewId, at: int) -> tuple[Chat, Thread]:
    """Write the chat with its first thread; the same key gives the same ones.

    Raises MemberMissing where an agent is gone, TooMany, ChatMissing where the one that the key has made is gone,
    KeyUsedOtherwise.
    """
    if (known := claim_key(c, key, at)) is not None:
        chat = lock_chat(c, known["chat_id"], new.user_id)
        return chat, _thread(c, known["thread_id"])
    chat, thread = insert_chat(c, new, ids, at)
    keep_answer(c, key, {"chat_id": chat.id, "thread_id": thread.id})
    return chat, thread


def insert_chat(c: Connection, new: NewChat, ids: NewId, at: int) -> tuple[Chat, Thread]:
    """Write the rows of a new chat. Raises MemberMissing, TooMany."""
    expires_at = at + TEMPORARY_MS if new.temporary else None
    chat = Chat(ids("cht"), at, new.title, new.temporary, expires_at)
    c.execute(insert(chats).values(chat_to_row(chat)))
    _add(c, chat.id, USER, [new.user_id, *new.users], at)
    _check_agents(c, new.agents)
    _add(c, chat.id, AGENT, new.agents, at)
    _check_room(c, chat.id)
    return chat, _insert_thread(c, chat.id, None, ids, at)


def update_members(
    c: Connection, *, chat_id: str, user_id: str, changes: MemberChanges, at: int
) -> tuple[Chat | None, list[str]]:
    """Let members come and go; the chat, None where the user has left it, and the ids of its threads.

    A chat that nobody is left in is removed. Raises ChatMissing, MemberMissing where an agent to add is gone, TooMany,
    and MemberBound where somebody would go without whom an agent's main chat would be none.
    """
    chat = lock_chat(c, chat_id, user_id)
    _check_agents(c, changes.add_agents)
    _check_free(c, chat_id, changes)
    for kind, members in ((USER, changes.remove_users), (AGENT, changes.remove_agents)):
        _remove(c, chat_id, kind, members)
    _add(c, chat_id, USER, changes.add_users, at)
    _add(c, chat_id, AGENT, changes.add_agents, at)
    _check_room(c, chat_id)
    columns = chat_threads.c
    thread_ids = list(c.execute(select(columns.id).where(columns.chat_id == chat_id)).scalars())
    moved = {"revision": columns.revision + 1, "updated_at": at}
    c.execute(update(chat_threads).where(columns.chat_id == chat_id).values(moved))
    if not _count(c, chat_id, USER):
        _drop(c, [chat_id])
    return (chat if is_member(c, chat_id, user_id) else None), thread_ids


def create_thread(
    c: Connection, *, chat_id: str, user_id: str, title: str | None, key: Key | None, ids: NewId, at: int
) -> Thread:
    """Write a further thread of a chat; the same key gives the same one.

    Raises ChatMissing, TooMany, KeyUsedOtherwise.
    """
    known = claim_key(c, key, at)
    lock_chat(c, chat_id, user_id)
    if known is not None:
        return _thread(c, known["thread_id"])
    there = c.execute(select(chat_threads.c.id).where(chat_threads.c.chat_id == chat_id)).all()
    if len(there) >= MAX_THREADS:
        raise TooMany(chat_id)
    thread = _insert_thread(c, chat_id, title, ids, at)
    keep_answer(c, key, {"thread_id": thread.id})
    return thread


def set_thread_resource(
    c: Connection,
    *,
    thread_id: str,
    user_id: str,
    kind: str,
    key: str,
    value: dict[str, Any] | None,
    ids: NewId,
    at: int,
) -> Thread:
    """Write a resource of a thread in the place of the one with its kind and key; without a value, remove it.

    Raises ChatMissing, NoSuchResource, TooMany.
    """
    thread, _ = lock_thread(c, thread_id, user_id)
    columns = thread_resources.c
    is_it = (columns.thread_id == thread_id, columns.kind == kind, columns.key == key)
    if value is None:
        if not c.execute(delete(thread_resources).where(*is_it)).rowcount:
            raise NoSuchResource(key)
    elif not c.execute(update(thread_resources).where(*is_it).values(value=value, updated_at=at)).rowcount:
        if count_thread_resources(c, ThreadResourceQuery(thread_id)) >= MAX_THREAD_RESOURCES:
            raise TooMany(thread_id)
        fresh = ThreadResource(ids("trs"), thread_id, kind, key, value, at, at)
        c.execute(insert(thread_resources).values(thread_resource_to_row(fresh)))
    return change_thread(c, thread, at)


def drop_temporary_chats(c: Connection, *, at: int | None) -> int:
    """Remove temporary chats with all that is in them: those whose time is over, or all; how many there were.

    The main chat of an agent that is there stays as long as the agent, unless all go. Whoever answers in one that is
    gone answers to nobody. Up to DROPPED at a time where it is about time: call it again while there are so many.
    """
    columns = chats.c
    found = select(columns.id).where(columns.temporary)
    if at is not None:
        is_main = exists().where(agents.c.main_chat_id == columns.id)
        found = found.where(columns.expires_at <= at, ~is_main)
    locked = found.order_by(columns.id).with_for_update(skip_locked=True)
    chat_ids = list(c.execute(locked if at is None else locked.limit(DROPPED)).scalars())
    for start in range(0, len(chat_ids), DROPPED):
        _drop(c, chat_ids[start : start + DROPPED])
    return len(chat_ids)


# ---------------------------------------------------------------- what other verbs share


def lock_chat(c: Connection, chat_id: str, user_id: str | None) -> Chat:
    """Lock the row of a chat that the user is in; of any, where no user is named. Raises ChatMissing."""
    found = select(chats).where(chats.c.id == chat_id)
    row = c.execute(found.with_for_update()).first()
    if row is None or (user_id is not None and not is_member(c, chat_id, user_id)):
        raise ChatMissing(chat_id)
    return chat_from_row(row)


def lock_thread(c: Connection, thread_id: str, user_id: str | None) -> tuple[Thread, Chat]:
    """The thread, and its chat, whose row is locked as by `lock_chat`. Raises ChatMissing."""
    chat_id = c.execute(select(chat_threads.c.chat_id).where(chat_threads.c.id == thread_id)).scalar()
    if chat_id is None:
        raise ChatMissing(thread_id)
    chat = lock_chat(c, chat_id, user_id)
    return _thread(c, thread_id), chat


def change_thread(c: Connection, thread: Thread, at: int, **changes: Any) -> Thread:
    """Write changes to a thread whose chat is locked: the only place where one that is there is changed."""
    moved = {**changes, "revision": thread.revision + 1, "updated_at": max(at, thread.updated_at)}
    c.execute(update(chat_threads).where(chat_threads.c.id == thread.id).values(moved))
    return replace(thread, **moved)


def put_off(c: Connection, chat: Chat, at: int) -> None:
    """A locked chat that is temporary stays so much longer."""
    if chat.temporary:
        c.execute(update(chats).where(chats.c.id == chat.id).values(expires_at=at + TEMPORARY_MS))


def is_member(c: Connection, chat_id: str, user_id: str) -> bool:
    """Whether the user is in the chat."""
    return (
        c.execute(select(chats.c.id).where(chats.c.id == chat_id, has_member(chats.c.id, user_id))).first() is not None
    )


def join_main_chat(c: Connection, chat_id: str, user_id: str, agent_id: str, at: int, *, temporary: bool) -> None:
    """Let an agent, whose row is being written, into the chat of its owner that becomes its main chat.

    Raises ChatMissing, and MemberBound where one of chat and agent is temporary and the other is not.
    """
    if lock_chat(c, chat_id, user_id).temporary is not temporary:
        raise MemberBound(chat_id)
    _add(c, chat_id, AGENT, [agent_id], at)
    _check_room(c, chat_id)


def leave_chats(c: Connection, agent_id: str) -> None:
    """Take an agent out of all of its chats."""
    c.execute(delete(chat_members).where(chat_members.c.kind == AGENT, chat_members.c.member == agent_id))


def _insert_thread(c: Connection, chat_id: str, title: str | None, ids: NewId, at: int) -> Thread:
    thread = Thread(ids("thr"), chat_id, at, at, title)
    c.execute(insert(chat_threads).values(thread_to_row(thread)))
    return thread


def _thread(c: Connection, thread_id: str) -> Thread:
    row = c.execute(select(chat_threads).where(chat_threads.c.id == thread_id)).first()
    if row is None:
        raise ChatMissing(thread_id)
    return thread_from_row(row)


def _add(c: Connection, chat_id: str, kind: str, members: Sequence[str], at: int) -> None:
    columns = chat_members.c
    there = set(c.execute(select(columns.member).where(columns.chat_id == chat_id, columns.kind == kind)).scalars())
    fresh = [member for member in dict.fromkeys(members) if member not in there]
    if fresh:
        rows = [{"chat_id": chat_id, "kind": kind, "member": member, "created_at": at} for member in fresh]
        c.execute(insert(chat_members), rows)


def _remove(c: Connection, chat_id: str, kind: str, members: Sequence[str]) -> None:
    columns = chat_members.c
    is_one = (columns.chat_id == chat_id, columns.kind == kind, columns.member.in_(list(members)))
    c.execute(delete(chat_members).where(*is_one))


def _check_agents(c: Connection, agent_ids: Collection[str]) -> None:
    """Raise MemberMissing unless all of the agents are there, and see to it that they stay meanwhile."""
    if agent_ids:
        found = select(agents.c.id).where(agents.c.id.in_(list(agent_ids))).order_by(agents.c.id)
        there = set(c.execute(found.with_for_update(read=True)).scalars())
        for agent_id in agent_ids:
            if agent_id not in there:
                raise MemberMissing(agent_id)


def _check_free(c: Connection, chat_id: str, changes: MemberChanges) -> None:
    """Raise MemberBound where an agent would go whose main chat this is, or its owner."""
    goes = or_(agents.c.id.in_(changes.remove_agents), agents.c.user_id.in_(changes.remove_users))
    bound = c.execute(select(agents.c.id).where(and_(agents.c.main_chat_id == chat_id, goes))).first()
    if bound is not None:
        raise MemberBound(bound.id)


def _check_room(c: Connection, chat_id: str) -> None:
    if _count(c, chat_id, USER) + _count(c, chat_id, AGENT) > MAX_MEMBERS:
        raise TooMany(chat_id)


def _count(c: Connection, chat_id: str, kind: str) -> int:
    columns = chat_members.c
    return len(c.execute(select(columns.member).where(columns.chat_id == chat_id, columns.kind == kind)).all())


def _drop(c: Connection, chat_ids: list[str]) -> None:
    """Remove locked chats with all that is in them."""
    columns = chat_threads.c
    thread_ids = select(columns.id).where(columns.chat_id.in_(chat_ids))
    c.execute(delete(chat_messages).where(chat_messages.c.thread_id.in_(thread_ids)))
    c.execute(delete(thread_resources).where(thread_resources.c.thread_id.in_(thread_ids)))
    c.execute(delete(chat_threads).where(columns.chat_id.in_(chat_ids)))
    c.execute(delete(chat_members).where(chat_members.c.chat_id.in_(chat_ids)))
    c.execute(delete(chats).where(chats.c.id.in_(chat_ids)))
