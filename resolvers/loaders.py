"""Batched reads: what the fields of one moment ask for is read together.

Nothing that can change is kept, not even within an operation: a context lives as long as its socket, and what an event
shows must be read after the event. So one set of loaders serves all operations of a context.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from strawberry.dataloader import DataLoader

from engine.agent import Agent
from engine.errors import Refused
from engine.roster import Roster
from models.agent import AgentQuery, StoredAgent, agents_usable, get_agents
from models.call import ToolCall, get_calls
from models.chat import Chat, Member, chats_of_user, get_chats, members_of_chats
from models.chat_message import ChatMessage, chat_messages_of_user
from models.child import pending_calls
from models.database import Database
from models.ids import prefix_of
from models.message import Message, get_messages
from models.model_call import ModelCall, get_model_calls, usage_of_runs
from models.purse import Purse, get_purses
from models.remote import Remote, get_remotes
from models.resource import Resource, resources_of_user
from models.run import Run, get_runs
from models.schedule import Schedule, get_schedules
from models.share import shares_of
from models.thread import Thread, ThreadResource, thread_resources_of_user, threads_of_user
from models.usage import Usage
from models.webhook import Webhook, get_webhooks
from resolvers.access import (
    Part,
    Sight,
    own_schedule,
    own_webhook,
    usable_remotes,
    visible_calls,
    visible_parts,
    visible_runs,
)
from resolvers.batching import loaded
from resolvers.call_ids import CallIds

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
BATCH = 1_000  # keys to one statement; databases limit the parameters of a statement


@dataclass(frozen=True, slots=True)
class _Read:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class BatchedLoaders:
    """The Loaders of one viewer (schema/context.py has what each method promises)."""

    def __init__(self, database: Database, roster: Roster, sight: Sight) -> None:
        self._database = database
        self._roster = roster
        self._sight = sight
        self._user = sight.user
        self._runs: DataLoader[str, Run | None] = self._loader(self._read_runs)
        self._messages: DataLoader[str, Message | None] = self._loader(self._parts_reader(get_messages))
        self._tool_calls: DataLoader[str, ToolCall | None] = self._loader(self._read_calls)
        self._model_calls: DataLoader[str, ModelCall | None] = self._loader(self._parts_reader(get_model_calls))
        self._agents_of_runs: DataLoader[str, Agent | None] = DataLoader(self._read_agents_of_runs, cache=False)
        self._pending_calls: DataLoader[str, list[ToolCall] | None] = self._loader(pending_calls)
        self._usage: DataLoader[str, Usage | None] = self._loader(usage_of_runs)
        self._purses: DataLoader[str, Purse | None] = self._loader(get_purses)
        self._agents: DataLoader[str, StoredAgent | None] = self._loader(self._read_agents)
        self._resources: DataLoader[str, Resource | None] = self._loader(self._read_resources)
        self._shares: DataLoader[str, list[str] | None] = self._loader(shares_of)
        self._schedules: DataLoader[str, Schedule | None] = self._loader(self._read_schedules)
        self._webhooks: DataLoader[str, Webhook | None] = self._loader(self._read_webhooks)
        self._remotes: DataLoader[str, Remote | None] = self._loader(self._read_remotes)
        self._met_agents: DataLoader[str, StoredAgent | None] = self._loader(get_agents)
        self._chats: DataLoader[str, Chat | None] = self._loader(self._of_user(chats_of_user))
        self._any_chats: DataLoader[str, Chat | None] = self._loader(get_chats)
        self._members: DataLoader[str, list[Member] | None] = self._loader(members_of_chats)
        self._threads: DataLoader[str, Thread | None] = self._loader(self._of_user(threads_of_user))
        self._thread_resources: DataLoader[str, ThreadResource | None] = self._loader(
            self._of_user(thread_resources_of_user)
        )
        self._chat_messages: DataLoader[str, ChatMessage | None] = self._loader(self._of_user(chat_messages_of_user))
        self._call_ids = CallIds(database)
        self._reads: DataLoader[_Read, Any] = DataLoader(self._read_all, cache=False)

    async def run(self, run_id: str) -> Run | None:
        """The run with this id, where the viewer may see it."""
        return await loaded(self._runs, run_id) if prefix_of(run_id) == "run" else None

    async def message(self, message_id: str) -> Message | None:
        """A message of such a run."""
        return await loaded(self._messages, message_id) if prefix_of(message_id) == "msg" else None

    async def tool_call(self, call_id: str) -> ToolCall | None:
        """A tool call of such a run, or one that the viewer may decide."""
        return await loaded(self._tool_calls, call_id) if prefix_of(call_id) == "call" else None

    async def agent_of_run(self, run_id: str) -> Agent | None:
        """The agent, as it is now, of a run that has shown something to the viewer; None where it can't be had."""
        return await loaded(self._agents_of_runs, run_id)

    async def pending_calls(self, run_id: str) -> Sequence[ToolCall]:
        """The calls that wait for a decision or for a client, in a run and below it."""
        return await loaded(self._pending_calls, run_id) or ()

    async def model_call(self, call_id: str) -> ModelCall | None:
        """A model call of such a run."""
        return await loaded(self._model_calls, call_id) if prefix_of(call_id) == "mdl" else None

    async def agent(self, agent_id: str) -> StoredAgent | None:
        """The agent with this id, where the viewer may use it."""
        return await loaded(self._agents, agent_id) if prefix_of(agent_id) == "agt" else None

    async def resource(self, resource_id: str) -> Resource | None:
        """A resource of one of the viewer's agents."""
        return await loaded(self._resources, resource_id) if prefix_of(resource_id) == "res" else None

    async def shares(self, agent_id: str) -> Sequence[str]:
        """The roles that an agent is shared with."""
        return await loaded(self._shares, agent_id) or ()

    async def schedule(self, schedule_id: str) -> Schedule | None:
        """The viewer's schedule with this id."""
        return await loaded(self._schedules, schedule_id) if prefix_of(schedule_id) == "sch" else None

    async def webhook(self, webhook_id: str) -> Webhook | None:
        """The viewer's webhook with this id."""
        return await loaded(self._webhooks, webhook_id) if prefix_of(webhook_id) == "whk" else None

    async def remote(self, remote_id: str) -> Remote | None:
        """A remote that the viewer may use."""
        return await loaded(self._remotes, remote_id) if prefix_of(remote_id) == "rmt" else None

    async def met_agent(self, agent_id: str) -> StoredAgent | None:
        """The agent with this id, whoever owns it: the viewer has met it in a chat."""
        return await loaded(self._met_agents, agent_id)

    async def chat(self, chat_id: str) -> Chat | None:
        """The chat with this id, where the viewer is in it."""
        return await loaded(self._chats, chat_id) if prefix_of(chat_id) == "cht" else None

    async def any_chat(self, chat_id: str) -> Chat | None:
        """The chat with this id; without its title where the viewer is not in it."""
        if (chat := await self.chat(chat_id)) is not None:
            return chat
        chat = await loaded(self._any_chats, chat_id)
        return None if chat is None else replace(chat, title=None)

    async def chat_members(self, chat_id: str) -> Sequence[Member]:
        """Who is in a chat."""
        return await loaded(self._members, chat_id) or ()

    async def thread(self, thread_id: str) -> Thread | None:
        """A thread of one of the chats that the viewer is in."""
        return await loaded(self._threads, thread_id) if prefix_of(thread_id) == "thr" else None

    async def thread_resource(self, resource_id: str) -> ThreadResource | None:
        """A resource of such a thread."""
        return await loaded(self._thread_resources, resource_id) if prefix_of(resource_id) == "trs" else None

    async def chat_message(self, message_id: str) -> ChatMessage | None:
        """A message of such a thread."""
        return await loaded(self._chat_messages, message_id) if prefix_of(message_id) == "cms" else None

    async def usage(self, run_id: str) -> Usage:
        """What all model calls of a run used; nothing, at no cost, where there were none."""
        usage = await loaded(self._usage, run_id)
        return Usage() if usage is None else usage

    async def purse(self, purse_id: str) -> Purse | None:
        """A purse that one of the viewer's runs names."""
        return await loaded(self._purses, purse_id)

    async def call_ids(self, run_id: str, step: int) -> Mapping[int, str]:
        """The ids of one step's tool calls by index."""
        return await self._call_ids.of_step(run_id, step)

    async def read(self, function: Callable[..., T], *arguments: Any) -> T:
        """`function(connection, *arguments)`, together with the other reads of the moment on one connection."""
        result: T = await loaded(self._reads, _Read(function, arguments))
        return result

    def _loader(self, read: Callable[[Any, Sequence[K]], Mapping[K, V]]) -> DataLoader[K, V | None]:
        """A loader over one read that takes many keys; a key that it does not give is None."""

        async def load(keys: list[K]) -> list[V | None]:
            found = await self._database.read(read, list(dict.fromkeys(keys)))
            return [found.get(key) for key in keys]

        return DataLoader(load, max_batch_size=BATCH, cache=False)

    def _of_user(
        self, get: Callable[[Any, str, Sequence[str]], dict[str, V]]
    ) -> Callable[[Any, Sequence[str]], dict[str, V]]:
        """A read of records by id, of those that the viewer may see."""

        def read(connection: Any, ids: Sequence[str]) -> dict[str, V]:
            return {} if self._user is None else get(connection, self._user.id, ids)

        return read

    def _read_runs(self, connection: Any, ids: Sequence[str]) -> dict[str, Run]:
        return visible_runs(self._sight, get_runs(connection, ids))

    def _read_agents(self, connection: Any, ids: Sequence[str]) -> dict[str, StoredAgent]:
        user = self._user
        return {} if user is None else agents_usable(connection, AgentQuery(user.id, user.roles), ids)

    def _read_schedules(self, connection: Any, ids: Sequence[str]) -> dict[str, Schedule]:
        found = get_schedules(connection, ids)
        return {one_id: one for one_id, one in found.items() if own_schedule(self._user, one) is not None}

    def _read_webhooks(self, connection: Any, ids: Sequence[str]) -> dict[str, Webhook]:
        found = get_webhooks(connection, ids)
        return {one_id: one for one_id, one in found.items() if own_webhook(self._user, one) is not None}

    def _read_resources(self, connection: Any, ids: Sequence[str]) -> dict[str, Resource]:
        return {} if self._user is None else resources_of_user(connection, self._user.id, ids)

    def _read_remotes(self, connection: Any, ids: Sequence[str]) -> dict[str, Remote]:
        return usable_remotes(self._user, get_remotes(connection, ids))

    def _read_calls(self, connection: Any, ids: Sequence[str]) -> dict[str, ToolCall]:
        calls = get_calls(connection, ids)
        return visible_calls(self._sight, calls, get_runs(connection, sorted({call.run_id for call in calls.values()})))

    def _parts_reader(
        self, get: Callable[[Any, Sequence[str]], dict[str, Part]]
    ) -> Callable[[Any, Sequence[str]], dict[str, Part]]:
        """A read of records by id that keeps those whose run the viewer may see."""

        def read(connection: Any, ids: Sequence[str]) -> dict[str, Part]:
            parts = get(connection, ids)
            runs = get_runs(connection, sorted({part.run_id for part in parts.values()}))
            return visible_parts(self._sight, parts, runs)

        return read

    async def _read_agents_of_runs(self, run_ids: list[str]) -> list[Agent | None]:
        """One read of all the runs, and what the roster reads of each that is of a stored agent, together."""
        runs = await self._database.read(get_runs, list(dict.fromkeys(run_ids)))

        async def agent_of(run: Run) -> Agent | None:
            try:
                return await self._roster.of_run(run, self.read)
            except Refused:
                return None

        agents = dict(zip(runs, await asyncio.gather(*map(agent_of, runs.values())), strict=True))
        return [agents.get(run_id) for run_id in run_ids]

    async def _read_all(self, reads: list[_Read]) -> list[Any]:
        return await self._database.read(_call_all, reads)


def _call_all(connection: Any, reads: list[_Read]) -> list[Any]:
    """The results in order; a read that raises ValueError (a bad cursor) gives it as a result, to its asker alone."""
    results: list[Any] = []
    for read in reads:
        try:
            results.append(read.function(connection, *read.arguments))
        except ValueError as error:
            results.append(error)
    return results
