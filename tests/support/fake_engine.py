"""An engine without workers: real rows, real watching, and a `runs` facade that remembers what it was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.engine import EngineConfig
from engine.errors import Refused
from engine.roster import Roster
from engine.streams.bell import Bell
from engine.streams.memory import MemoryStreams
from engine.user import User
from engine.watching import DatabaseRows, Watching
from models.database import Database
from tests.support.rows import new_id


@dataclass
class FakeAccepted:
    """What start and steer answer."""

    run: Any
    queued: bool = False
    input_id: str | None = None


@dataclass
class FakeRuns:
    """Answers every verb with `answer`, or raises it where it is a refusal; keeps each call in `asked`."""

    answer: Any = None
    asked: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)

    def _take(self, verb: str, user: Any, arguments: dict[str, Any]) -> Any:
        self.asked.append((verb, user.id, arguments))
        if isinstance(self.answer, Refused):
            raise self.answer
        return self.answer

    async def start(self, user: Any, **arguments: Any) -> Any:
        """As engine.runs.Runs.start."""
        return self._take("start", user, arguments)

    async def steer(self, user: Any, **arguments: Any) -> Any:
        """As engine.runs.Runs.steer."""
        return self._take("steer", user, arguments)

    async def withdraw(self, user: Any, **arguments: Any) -> Any:
        """As engine.runs.Runs.withdraw."""
        return self._take("withdraw", user, arguments)

    async def cancel(self, user: Any, **arguments: Any) -> Any:
        """As engine.runs.Runs.cancel."""
        return self._take("cancel", user, arguments)

    async def retry(self, user: Any, **arguments: Any) -> Any:
        """As engine.runs.Runs.retry."""
        return self._take("retry", user, arguments)

    async def prompt(self, user: Any, **arguments: Any) -> Any:
        """As engine.runs.Runs.prompt."""
        return self._take("prompt", user, arguments)

    async def fork(self, user: Any, **arguments: Any) -> Any:
        """As engine.runs.Runs.fork."""
        return self._take("fork", user, arguments)


class FakeStored(FakeRuns):
    """The same for the verbs of agents."""

    async def create(self, user: Any, **arguments: Any) -> Any:
        """As engine.stored_agents.StoredAgents.create."""
        return self._take("create", user, arguments)

    async def update(self, user: Any, **arguments: Any) -> Any:
        """As engine.stored_agents.StoredAgents.update."""
        return self._take("update", user, arguments)

    async def delete(self, user: Any, **arguments: Any) -> Any:
        """As engine.stored_agents.StoredAgents.delete."""
        return self._take("delete", user, arguments)

    async def set_resource(self, user: Any, **arguments: Any) -> Any:
        """As engine.stored_agents.StoredAgents.set_resource."""
        return self._take("set_resource", user, arguments)

    async def delete_resource(self, user: Any, **arguments: Any) -> Any:
        """As engine.stored_agents.StoredAgents.delete_resource."""
        return self._take("delete_resource", user, arguments)


class FakeSchedules(FakeRuns):
    """The same for the verbs of schedules."""

    async def create(self, user: Any, **arguments: Any) -> Any:
        """As engine.schedules.Schedules.create."""
        return self._take("create", user, arguments)

    async def delete(self, user: Any, **arguments: Any) -> Any:
        """As engine.schedules.Schedules.delete."""
        return self._take("delete", user, arguments)


class FakeWebhooks(FakeSchedules):
    """The same for the verbs of webhooks."""


class FakeRemotes(FakeRuns):
    """The same for remotes."""

    async def register(self, user: Any, **arguments: Any) -> Any:
        """As engine.remotes.remotes.Remotes.register."""
        return self._take("register", user, arguments)

    async def delete(self, user: Any, **arguments: Any) -> Any:
        """As engine.remotes.remotes.Remotes.delete."""
        return self._take("delete", user, arguments)

    async def answer_call(self, user: Any, **arguments: Any) -> Any:
        """As engine.remotes.remotes.Remotes.answer_call."""
        return self._take("answer_call", user, arguments)


class FakeChats(FakeRuns):
    """The same for the verbs of chats."""

    async def create(self, user: Any, **arguments: Any) -> Any:
        """As engine.chats.Chats.create."""
        return self._take("create", user, arguments)

    async def update_members(self, user: Any, **arguments: Any) -> Any:
        """As engine.chats.Chats.update_members."""
        return self._take("update_members", user, arguments)

    async def create_thread(self, user: Any, **arguments: Any) -> Any:
        """As engine.chats.Chats.create_thread."""
        return self._take("create_thread", user, arguments)

    async def set_resource(self, user: Any, **arguments: Any) -> Any:
        """As engine.chats.Chats.set_resource."""
        return self._take("set_resource", user, arguments)

    async def post(self, user: Any, **arguments: Any) -> Any:
        """As engine.chats.Chats.post."""
        return self._take("post", user, arguments)


class FakeEngine:
    """What resolvers use of an engine."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.config = EngineConfig(str(database.url))
        self.roster = Roster()
        self.bell = Bell()
        self.streams = MemoryStreams()
        self.watching = Watching(DatabaseRows(database), self.streams, self.bell, ids=new_id)
        self.runs = FakeRuns()
        self.stored = FakeStored()
        self.schedules = FakeSchedules()
        self.webhooks = FakeWebhooks()
        self.remotes = FakeRemotes()
        self.chats = FakeChats()

    def is_admin(self, user: User) -> bool:
        """As engine.engine.Engine.is_admin."""
        return self.config.admin_role in user.roles
