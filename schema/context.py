"""What every resolver is handed: who asks, the engine, and the loaders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import strawberry

from engine.agent import Agent as CodeAgent
from engine.user import User
from models.agent import StoredAgent
from models.call import ToolCall
from models.chat import Chat, Member
from models.chat_message import ChatMessage
from models.clock import Clock, system_clock
from models.message import Message
from models.model_call import ModelCall
from models.purse import Purse
from models.remote import Remote
from models.resource import Resource
from models.run import Run
from models.schedule import Schedule
from models.thread import Thread, ThreadResource
from models.usage import Usage
from models.webhook import Webhook

if TYPE_CHECKING:
    from engine.engine import Engine

T = TypeVar("T")


class Loaders(Protocol):
    """Batched reads for the fields of types (resolvers/loaders.py).

    What is asked for in the same moment is read together; nothing that can change is kept, so one set serves a whole
    socket. What is missing and what is someone else's come back as None alike.
    """

    async def run(self, run_id: str) -> Run | None:
        """The run with this id, where the viewer may see it."""
        ...

    async def message(self, message_id: str) -> Message | None:
        """A message of such a run."""
        ...

    async def tool_call(self, call_id: str) -> ToolCall | None:
        """A tool call of such a run, or one that the viewer may decide."""
        ...

    async def agent_of_run(self, run_id: str) -> CodeAgent | None:
        """The agent, as it is now, of a run that has shown something to the viewer; None where it can't be had."""
        ...

    async def shares(self, agent_id: str) -> Sequence[str]:
        """The roles that an agent is shared with."""
        ...

    async def pending_calls(self, run_id: str) -> Sequence[ToolCall]:
        """The calls of a run that wait for a decision or for a client, in the order the model made them."""
        ...

    async def model_call(self, call_id: str) -> ModelCall | None:
        """A model call of such a run."""
        ...

    async def agent(self, agent_id: str) -> StoredAgent | None:
        """The viewer's agent with this id."""
        ...

    async def resource(self, resource_id: str) -> Resource | None:
        """A resource of one of the viewer's agents."""
        ...

    async def schedule(self, schedule_id: str) -> Schedule | None:
        """The viewer's schedule with this id."""
        ...

    async def webhook(self, webhook_id: str) -> Webhook | None:
        """The viewer's webhook with this id."""
        ...

    async def remote(self, remote_id: str) -> Remote | None:
        """A remote that the viewer may use."""

    async def met_agent(self, agent_id: str) -> StoredAgent | None:
        """The agent with this id, whoever owns it: the viewer has met it in a chat."""
        ...

    async def chat(self, chat_id: str) -> Chat | None:
        """The chat with this id, where the viewer is in it."""
        ...

    async def any_chat(self, chat_id: str) -> Chat | None:
        """The chat with this id; without its title where the viewer is not in it."""
        ...

    async def chat_members(self, chat_id: str) -> Sequence[Member]:
        """Who is in a chat."""
        ...

    async def thread(self, thread_id: str) -> Thread | None:
        """A thread of one of the chats that the viewer is in."""
        ...

    async def thread_resource(self, resource_id: str) -> ThreadResource | None:
        """A resource of such a thread."""
        ...

    async def chat_message(self, message_id: str) -> ChatMessage | None:
        """A message of such a thread."""
        ...

    async def usage(self, run_id: str) -> Usage:
        """What all model calls of a run used; nothing, at no cost, where there were none."""
        ...

    async def purse(self, purse_id: str) -> Purse | None:
        """A purse that one of the viewer's runs names."""
        ...

    async def call_ids(self, run_id: str, step: int) -> Mapping[int, str]:
        """The ids of one step's tool calls by index; empty where it has none."""
        ...

    async def read(self, function: Callable[..., T], *arguments: Any) -> T:
        """`function(connection, *arguments)`, together with the other reads of the moment on one connection."""
        ...


@dataclass
class RequestContext:
    """The context of one HTTP request, or of all operations of one WebSocket.

    `user` is None where nobody is signed in; `request_id` stands in the log and in INTERNAL errors.
    """

    user: User | None
    engine: Engine
    request_id: str
    loaders: Loaders
    clock: Clock = system_clock

    @property
    def viewer(self) -> User:
        """The signed-in user, in fields that nobody else reaches (resolvers/root.py sees to that)."""
        if self.user is None:
            raise RuntimeError("a field was reached without a signed-in user")
        return self.user

    @property
    def is_admin(self) -> bool:
        """Whether an administrator is signed in."""
        return self.user is not None and self.engine.is_admin(self.user)


Info: TypeAlias = strawberry.Info[RequestContext, None]
