"""post_message, pass_on: what is said in a thread, and the agents that answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, insert, update

from models.chat import members_of_chats
from models.chat_message import (
    ChatMessage,
    answers_in_a_row,
    chat_message_to_row,
    chat_messages,
    get_chat_messages,
    growing_in,
    newest_before,
)
from models.enums import ChatMessageStatus, RunStatus, SteerMode
from models.key import Key, claim_key, keep_answer
from models.overrides import Overrides
from models.run import Run
from models.thread import Thread, lent_remotes
from models.verbs.chatting import change_thread, lock_thread, put_off
from models.verbs.errors import ChatMissing, QueueFull
from models.verbs.history import HISTORY_MESSAGES, as_read, history_of
from models.verbs.opening import NewRun, insert_opened
from models.verbs.row import Done, Holder, NewId, lock
from models.verbs.sending import send

FULL = "It has too much to read already; say it again when it has answered."


@dataclass(frozen=True, slots=True)
class Asked:
    """An agent that is to answer, by its id and what it is called: with this run, or by saying why it can't.

    The thread so far and what the thread has for its agents are no part of `new` yet.
    """

    agent_id: str
    name: str
    new: NewRun | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Posted:
    """A message that was posted or passed on, the runs that were begun for it, and those that it was said to."""

    message: ChatMessage
    begun: tuple[Done, ...] = ()
    steered: tuple[Done, ...] = ()


def post_message(
    c: Connection,
    *,
    thread_id: str,
    user_id: str,
    text: str,
    asked: Sequence[Asked],
    key: Key | None,
    holder: Holder,
    ids: NewId,
    at: int,
) -> Posted:
    """Store a user's message, and have these agents answer, as far as they are in the chat; once under a key.

    One that is answering already in this thread is told the message; for another a run is begun, whose answer is a
    message from now on. Raises ChatMissing, KeyUsedOtherwise.
    """
    known = claim_key(c, key, at)
    thread, chat = lock_thread(c, thread_id, user_id)
    if known is not None:
        posted = get_chat_messages(c, [known["message_id"]]).get(known["message_id"])
        if posted is None:
            raise ChatMissing(thread_id)
        return Posted(posted)
    message = ChatMessage(ids("cms"), thread_id, thread.seq + 1, user_id, None, user_id, at, text)
    _insert(c, message)
    put_off(c, chat, at)
    asking = _Asking(c, replace(thread, seq=message.seq), message, holder, ids, at)
    asking.ask(asked)
    change_thread(c, thread, at, seq=asking.thread.seq)
    keep_answer(c, key, {"message_id": message.id})
    return asking.posted()


def pass_on(
    c: Connection, *, message_id: str, asked: Sequence[Asked], most: int, holder: Holder, ids: NewId, at: int
) -> Posted | None:
    """Have these agents answer the answer of another, once; None where that was done, or the message is gone.

    No agent is asked any more once `most` messages of agents follow the last one of a person.
    """
    message = get_chat_messages(c, [message_id]).get(message_id)
    if message is None:
        return None
    try:
        thread, _ = lock_thread(c, message.thread_id, None)
    except ChatMissing:
        return None
    message = get_chat_messages(c, [message_id]).get(message_id)  # as it is behind whoever held the lock
    if message is None or message.passed_on:
        return None
    asking = _Asking(c, thread, message, holder, ids, at)
    asking.ask([one for one in asked if one.agent_id != message.agent_id], most)
    if asking.thread.seq > thread.seq:
        change_thread(c, thread, at, seq=asking.thread.seq)
    c.execute(update(chat_messages).where(chat_messages.c.id == message_id).values(passed_on=True))
    return asking.posted()


@dataclass(slots=True)
class _Asking:
    """The asking of agents about one message, under the lock of its chat."""

    c: Connection
    thread: Thread
    message: ChatMessage
    holder: Holder
    ids: NewId
    at: int
    begun: list[Done] = field(default_factory=list)
    steered: list[Done] = field(default_factory=list)

    def posted(self) -> Posted:
        """What it came to."""
        return Posted(self.message, tuple(self.begun), tuple(self.steered))

    def ask(self, asked: Sequence[Asked], most: int | None = None) -> None:
        """Ask each of the agents that are in the chat, until there are `most` answers in a row.

        Who has left the chat owns no run that is told any more of it.
        """
        members = members_of_chats(self.c, [self.thread.chat_id])[self.thread.chat_id]
        agents, people = {one.agent_id for one in members}, {one.user_id for one in members}
        asked = [one for one in asked if one.agent_id in agents and (one.new is None or one.new.user_id in people)]
        growing = growing_in(self.c, self.thread.id)
        named = {one.agent_id: str(growing[one.agent_id].run_id) for one in asked if one.agent_id in growing}
        locked = {run_id: lock(self.c, run_id)[0] for run_id in sorted(set(named.values()))}
        said = newest_before(self.c, self.thread.id, self.message.seq, HISTORY_MESSAGES)  # those runs end no more now
        lent = lent_remotes(self.c, self.thread)
        for one in asked:
            if most is not None and answers_in_a_row(self.c, self.thread.id) >= most:
                return
            run = locked.get(named.get(one.agent_id, ""))
            if one.new is None:
                self._answer(one, ChatMessageStatus.FAILED, one.refusal)
            elif run is not None and _listens(run) and run.user_id in people:
                self._steer(one, run)
            else:
                self._begin(one, one.new, said, lent)

    def _steer(self, one: Asked, run: Run) -> None:
        text = as_read(self.message, run.user_id)
        what: dict[str, Any] = {"run_id": run.id, "text": text, "mode": SteerMode.QUEUE, "key": None, "changes": {}}
        try:
            done, _ = send(self.c, **what, holder=self.holder, ids=self.ids, at=self.at)
        except QueueFull:
            self._answer(one, ChatMessageStatus.FAILED, FULL)
        else:
            self.steered.append(done)

    def _begin(self, one: Asked, new: NewRun, said: Sequence[ChatMessage], lent: tuple[str, ...]) -> None:
        own = Overrides(lent=lent) if lent else None
        history = history_of(said, one.agent_id, new.user_id)
        new = replace(new, history=history, overrides=own, thread_id=self.thread.id)
        done = insert_opened(self.c, new, self.holder, self.ids, self.at)
        self.begun.append(done)
        self._answer(one, ChatMessageStatus.STREAMING, "", done.run)

    def _answer(self, one: Asked, status: ChatMessageStatus, text: str, run: Run | None = None) -> None:
        seq = self.thread.seq + 1
        message = ChatMessage(
            self.ids("cms"), self.thread.id, seq, None, one.agent_id, one.name, self.at, text, status=status
        )
        if run is not None:
            message = replace(message, run_id=run.id, stream_id=run.stream_id, run_seq=run.seq)
        _insert(self.c, message)
        self.thread = replace(self.thread, seq=seq)


def _listens(run: Run) -> bool:
    """Whether what is said to a run becomes part of the answer that it is writing."""
    return run.status in (RunStatus.RUNNING, RunStatus.WAITING) and not run.cancel_requested


def _insert(c: Connection, message: ChatMessage) -> None:
    c.execute(insert(chat_messages).values(chat_message_to_row(message)))
