"""What people do with chats: each method checks its input, calls one verb, and tells the worker and the bell.

An agent that is asked in a thread answers by a run. What it says there may ask other agents in turn: that is passed on
by whoever ended the run at once, and by every node from time to time, since the one that ended it may be gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from engine.errors import InputTooLarge, InvalidInput, KeyReused, NotFound, Refused
from engine.inputs import checked_title, key_of
from engine.runs import Runs
from engine.streams.bell import tell_others
from engine.tool import NAME
from engine.transcript import title_of
from engine.user import User
from engine.worker import Worker
from engine.workshop import Workshop
from models.agent import AgentQuery, StoredAgent, agents_usable, get_agents
from models.away import DatabaseAway
from models.chat import Chat, members_of_chats
from models.chat_message import ChatMessage, to_pass_on
from models.ids import prefix_of
from models.key import KeyUsedOtherwise
from models.remote import get_remotes
from models.run import get_run
from models.said import mentions
from models.text import clean
from models.thread import REMOTE, Thread, get_thread, threads_of_user
from models.uninterrupted import uninterrupted
from models.verbs.chatting import (
    MAX_MEMBERS,
    MAX_THREAD_RESOURCES,
    MAX_THREADS,
    MemberChanges,
    NewChat,
    create_chat,
    create_thread,
    set_thread_resource,
    update_members,
)
from models.verbs.errors import ChatMissing, MemberBound, MemberMissing, NoSuchResource, TooMany
from models.verbs.history import as_read
from models.verbs.opening import NewRun
from models.verbs.posting import Asked, Posted, pass_on, post_message
from models.verbs.row import Holder

log = logging.getLogger("steersman.chats")
T = TypeVar("T")
MAX_POST = 32_768  # characters: what an agent that is answering can still be told at once
MAX_USER_ID = 255
BATCH = 50


class Chats:
    """Makes chats and threads, and posts in them. Methods raise engine.errors.Refused.

    `agent_turns` is how many messages of agents may follow one of a person before agents ask no agent any more.
    `worker` is None in a process that only serves: then runs are opened free to claim.
    """

    def __init__(self, shop: Workshop, worker: Worker | None, runs: Runs, *, agent_turns: int) -> None:
        self._shop = shop
        self._worker = worker
        self._runs = runs
        self._agent_turns = agent_turns
        self._ended = asyncio.Event()

    async def create(
        self,
        user: User,
        *,
        title: str | None = None,
        temporary: bool = False,
        agents: Sequence[str] = (),
        users: Sequence[str] = (),
        key: str | None = None,
    ) -> tuple[Chat, Thread]:
        """A new chat of this user with its first thread; the same key gives the same ones."""
        given = {"title": title, "temporary": temporary, "agents": [*agents], "users": [*users]}
        kept = key_of(user, "createChat", key, **given)
        people = _checked_users("users", users)
        await self._check_usable(user, "agents", agents)
        new = NewChat(user.id, checked_title(title), temporary, people, tuple(agents))
        return await self._do("agents", create_chat, new=new, key=kept, ids=self._shop.ids, at=self._shop.clock())

    async def update_members(
        self,
        user: User,
        *,
        chat_id: str,
        add_agents: Sequence[str] = (),
        remove_agents: Sequence[str] = (),
        add_users: Sequence[str] = (),
        remove_users: Sequence[str] = (),
    ) -> Chat | None:
        """Let members come and go; None where the user has left the chat."""
        come, go = _checked_users("add_users", add_users), tuple(clean(one) for one in remove_users)
        await self._check_usable(user, "add_agents", add_agents)
        changes = MemberChanges(come, tuple(add_agents), go, tuple(clean(one) for one in remove_agents))
        if {*come} & {*go} or {*add_agents} & {*remove_agents}:
            raise InvalidInput("Nobody can be added and removed at once.")
        what = {"chat_id": clean(chat_id), "user_id": user.id, "changes": changes}
        chat, thread_ids = await self._do("chat_id", update_members, **what, at=self._shop.clock())
        for thread_id in thread_ids:
            self._shop.bell.ring(thread_id, "")
        return chat

    async def create_thread(
        self, user: User, *, chat_id: str, title: str | None = None, key: str | None = None
    ) -> Thread:
        """A further thread of a chat; the same key gives the same one."""
        kept = key_of(user, "createThread", key, chatId=chat_id, title=title)
        what = {"chat_id": clean(chat_id), "user_id": user.id, "title": checked_title(title), "key": kept}
        return await self._do("chat_id", create_thread, **what, ids=self._shop.ids, at=self._shop.clock())

    async def set_resource(self, user: User, *, thread_id: str, key: str, kind: str, value: Any) -> Thread:
        """Write a resource of a thread in the place of the one with this kind and key; None removes it."""
        if not NAME.fullmatch(key):
            raise InvalidInput("A key is 1 to 64 letters, digits, _ or -.", field=("key",))
        if kind != REMOTE:
            raise InvalidInput(f"Threads have resources of the kind {REMOTE!r}.", field=("kind",))
        remote = None if value is None else _checked_remote(value)
        if remote is not None:
            await self._check_own(user, remote["remoteId"])
        what = {"thread_id": clean(thread_id), "user_id": user.id, "kind": kind, "key": key, "value": remote}
        thread = await self._do("thread_id", set_thread_resource, **what, ids=self._shop.ids, at=self._shop.clock())
        self._shop.bell.ring(thread.id, "")
        return thread

    async def post(self, user: User, *, thread_id: str, text: str, key: str | None = None) -> ChatMessage:
        """Post a message, and have agents answer it: those that it mentions, else all that are in the chat."""
        said = _checked_post(text)
        kept = key_of(user, "postMessage", key, threadId=thread_id, text=said)
        read = self._shop.database.read
        thread = (await read(threads_of_user, user.id, [clean(thread_id)])).get(clean(thread_id))
        if thread is None:
            raise NotFound("There is no such thread.", field=("thread_id",))
        agents = await self._agents_in(thread.chat_id)
        named = [agent for agent in agents if agent.handle in mentions(said)]
        asked = [await self._asked(user, agent, said) for agent in named or agents]
        what = {"thread_id": thread.id, "user_id": user.id, "text": said, "asked": asked, "key": kept}
        return (await uninterrupted(self._post(what))).message

    async def _post(self, what: dict[str, Any]) -> Posted:
        holder, shop = self._holder, self._shop
        posted = await self._do("thread_id", post_message, **what, holder=holder, ids=shop.ids, at=shop.clock())
        self._tell(posted)
        return posted

    # ------------------------------------------------------------------ agents that ask agents

    def ended(self) -> None:
        """A run that answers in a thread has ended here: what it said may be for others."""
        self._ended.set()

    async def keep_passing_on(self, every: float) -> None:
        """Pass on what agents say to agents, at once and every so many seconds, for ever."""
        while True:
            try:
                async with asyncio.timeout(every):
                    await self._ended.wait()
            except TimeoutError:
                pass
            self._ended.clear()
            try:
                await self.pass_on()
            except DatabaseAway as away:
                log.info("nothing is passed on now: %s", away)
            except Exception:
                log.exception("what agents said could not be passed on; the next try is in %g s", every)

    async def pass_on(self) -> None:
        """Pass on all that waits for it; what that fails for holds up nothing else. Raises DatabaseAway."""
        last = ""
        while found := await self._shop.database.read(to_pass_on, last, BATCH):
            for message in found:
                last = message.id
                try:
                    await uninterrupted(self._pass_on(message))
                except DatabaseAway:
                    raise
                except Exception:
                    log.exception("what an agent said could not be passed on", extra={"run_id": message.run_id})

    async def _pass_on(self, message: ChatMessage) -> None:
        asked = await self._asked_by(message)
        what: dict[str, Any] = {
            "message_id": message.id,
            "asked": asked,
            "most": self._agent_turns,
            "holder": self._holder,
        }
        posted = await self._shop.database.write(pass_on, **what, ids=self._shop.ids, at=self._shop.clock())
        if posted is not None:
            self._tell(posted)

    async def _asked_by(self, message: ChatMessage) -> list[Asked]:
        """The agents that an agent's message mentions, on behalf of whom its run belongs to."""
        read = self._shop.database.read
        thread = await read(get_thread, message.thread_id)
        run = await read(get_run, str(message.run_id))
        if thread is None or run is None:
            return []
        named = mentions(message.text)
        agents = [agent for agent in await self._agents_in(thread.chat_id) if agent.handle in named]
        user, text = User(run.user_id, frozenset(run.roles)), as_read(message, run.user_id)
        return [await self._asked(user, agent, text) for agent in agents if agent.id != message.agent_id]

    # ------------------------------------------------------------------ what they share

    @property
    def _holder(self) -> Holder:
        return self._worker.holder if self._worker is not None else Holder()

    def _tell(self, posted: Posted) -> None:
        others = (*posted.begun, *posted.steered)
        if self._worker is not None:
            self._worker.touched(others)
        else:
            tell_others(self._shop.bell, others)
        self._shop.bell.ring(posted.message.thread_id, "")

    async def _agents_in(self, chat_id: str) -> list[StoredAgent]:
        members = (await self._shop.database.read(members_of_chats, [chat_id]))[chat_id]
        agent_ids = [member.agent_id for member in members if member.agent_id is not None]
        found = await self._shop.database.read(get_agents, agent_ids)
        return [found[agent_id] for agent_id in agent_ids if agent_id in found]

    async def _asked(self, user: User, agent: StoredAgent, text: str) -> Asked:
        """What an agent would do about a text that this user stands for: a run, or a refusal in words."""
        try:
            chosen = await self._shop.roster.chosen(agent, self._shop.database.read)
            bounds = await self._runs.terms(user, chosen)
        except Refused as refused:
            return Asked(agent.id, agent.word, refusal=refused.message)
        roles = sorted(user.roles)
        new = NewRun(user.id, chosen.word, text, title_of(text), roles=roles, budget=bounds, agent_id=chosen.agent_id)
        return Asked(agent.id, agent.word, replace(new, kind=chosen.kind))

    async def _check_usable(self, user: User, field: str, agent_ids: Sequence[str]) -> None:
        """Raise NotFound or InvalidInput unless all of these are stored agents that the user may use."""
        who, ids = AgentQuery(user.id, user.roles), [one for one in agent_ids if prefix_of(one) == "agt"]
        found = await self._shop.database.read(agents_usable, who, ids)
        for place, agent_id in enumerate(agent_ids):
            if agent_id in self._shop.roster.kinds:
                message = f"{agent_id!r} is an agent of code: create an agent of this kind, and add that one."
                raise InvalidInput(message, field=(field, str(place)))
            if agent_id not in found:
                raise NotFound("There is no such agent.", field=(field, str(place)))

    async def _check_own(self, user: User, remote_id: str) -> None:
        """Raise NotFound unless the user may use the remote, and so may lend it."""
        remote = (await self._shop.database.read(get_remotes, [remote_id])).get(remote_id)
        if remote is None or not remote.is_for(user.id):
            raise NotFound("There is no such remote.", field=("value", "remoteId"))

    async def _do(self, field: str, verb: Callable[..., T], **arguments: Any) -> T:
        """Call a verb, and tell in the client's words where it did nothing; `field` is what most of that is about."""
        try:
            return await self._shop.database.write(verb, **arguments)
        except KeyUsedOtherwise:
            raise KeyReused(field=("key",)) from None
        except ChatMissing:
            what = "thread" if field == "thread_id" else "chat"
            raise NotFound(f"There is no such {what}.", field=(field,)) from None
        except MemberMissing:
            raise NotFound(
                "There is no such agent.", field=("agents" if field == "agents" else "add_agents",)
            ) from None
        except MemberBound:
            raise InvalidInput("An agent and its owner stay in the agent's main chat.", field=(field,)) from None
        except NoSuchResource:
            raise NotFound("The thread has no such resource.", field=("key",)) from None
        except TooMany:
            most = f"{MAX_MEMBERS} members, {MAX_THREADS:,} threads, and {MAX_THREAD_RESOURCES} resources a thread"
            raise InvalidInput(f"A chat has at most {most}.", field=(field,)) from None


def _checked_post(text: str) -> str:
    """A text to post. Raises InvalidInput, InputTooLarge."""
    if len(text) > MAX_POST:
        raise InputTooLarge(f"The text has {len(text):,} characters; at most {MAX_POST:,} fit.", field=("text",))
    if not text.strip():
        raise InvalidInput("The text is empty.", field=("text",))
    return clean(text)


def _checked_users(field: str, users: Sequence[str]) -> tuple[str, ...]:
    for place, user_id in enumerate(users):
        if not user_id.strip() or len(user_id) > MAX_USER_ID:
            raise InvalidInput(f"A user's id has 1 to {MAX_USER_ID} characters.", field=(field, str(place)))
    return tuple(clean(user_id) for user_id in users)


def _checked_remote(value: Any) -> dict[str, Any]:
    """What a resource of the kind `remote` holds. Raises InvalidInput."""
    remote_id = value.get("remoteId") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(remote_id, str) or prefix_of(remote_id) is None:
        raise InvalidInput("The value of a remote is {remoteId}, the id of a remote.", field=("value",))
    return {"remoteId": remote_id}
