"""The roster: the one place where a name becomes an agent that runs, of code alone or of a stored row."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from engine.agent import Agent
from engine.bad_config import BadConfig
from engine.builtin.document import Document
from engine.builtin.registry import BUILTIN
from engine.builtin.tool_type import ToolSetting, ToolType
from engine.errors import AgentNotFound, Forbidden, InvalidConfig, KindUnavailable
from engine.expert import NAME as EXPERT
from engine.expert import expert
from engine.kinds import configured
from engine.loading import Agents
from engine.tool import Tool
from engine.user import User
from models.agent import AgentQuery, StoredAgent, agent_named, get_agents
from models.overrides import Overrides
from models.resource import DOCUMENT, TOOLS, Resource, resources_of
from models.run import Run
from models.text import clean

log = logging.getLogger("steersman.roster")

NOTHING = Overrides()
"""A run that has nothing of its own."""

Read: TypeAlias = Callable[..., Awaitable[Any]]
"""Reads rows: `read(function, *arguments)` gives what `function(connection, *arguments)` does."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An agent that somebody has named: what runs, and what its runs say of it.

    `word` is what they call it; `agent_id` and `kind` are those of a stored agent, None of one that code defines.
    """

    agent: Agent
    word: str
    agent_id: str | None = None
    kind: str | None = None


class Roster:
    """All that may be run here: the agents of the folder, each a kind too, the built-in kinds, and what is stored.

    A name of the folder goes before a built-in one, and both before a handle. What is read is read by the `read` that
    a method is given: it says what becomes of a database that is away. `setting` is what tools of stored agents may
    use, beside the documents of their own agent.
    """

    def __init__(
        self,
        agents: Agents | None = None,
        types: Mapping[str, ToolType] = BUILTIN,
        setting: ToolSetting | None = None,
    ) -> None:
        self.agents = Agents({}) if agents is None else agents
        self.types = types
        self._setting = ToolSetting() if setting is None else setting
        built_in = {EXPERT: expert} if EXPERT not in self.agents.broken else {}
        self.kinds: Mapping[str, Agent] = MappingProxyType({**built_in, **self.agents})

    @property
    def broken(self) -> frozenset[str]:
        """The kinds whose files are there and did not load."""
        return self.agents.broken

    def kind(self, identifier: str, *, field: str = "agent") -> Agent:
        """The kind. Raises KindUnavailable, about the input of this name."""
        if (kind := self.kinds.get(identifier)) is None:
            raise KindUnavailable(f"The code of the kind {identifier[:64]!r} is not there.", field=(field,))
        return kind

    async def named(self, user: User, name: str, read: Read, overrides: Overrides = NOTHING) -> Chosen:
        """The agent of code with this name, else the one that this user may use with this id or handle.

        Raises AgentNotFound, KindUnavailable, InvalidConfig, Forbidden.
        """
        if (kind := self.kinds.get(name)) is not None:
            return Chosen(self._of_code(kind, overrides), name)
        stored: StoredAgent | None = await read(agent_named, AgentQuery(user.id, user.roles), clean(name))
        if stored is None:
            raise AgentNotFound(f"There is no agent {name[:64]!r}.", field=("agent",))
        if overrides.options and stored.user_id != user.id:
            raise Forbidden("Options change the configuration of an agent that is somebody else's.", field=("options",))
        return await self.chosen(stored, read, overrides)

    async def chosen(self, stored: StoredAgent, read: Read, overrides: Overrides = NOTHING) -> Chosen:
        """A stored agent, whoever owns it: that somebody may use it is the caller's to know.

        Raises KindUnavailable, InvalidConfig.
        """
        return Chosen(await self._made(stored, read, overrides), stored.word, stored.id, stored.kind)

    async def of_run(self, run: Run, read: Read) -> Agent:
        """The agent of a run as it is now. Raises AgentNotFound, KindUnavailable, InvalidConfig."""
        if run.agent_id is None:
            if (kind := self.kinds.get(run.agent)) is None:
                raise AgentNotFound(f"There is no agent {run.agent[:64]!r}.", field=("agent",))
            return self._of_code(kind, run.overrides or NOTHING)
        # It may be somebody else's, who shares it.
        found: dict[str, StoredAgent] = await read(get_agents, [run.agent_id])
        if (stored := found.get(run.agent_id)) is None:
            raise AgentNotFound(f"The agent {run.agent!r} was deleted.", field=("agent",))
        return await self._made(stored, read, run.overrides or NOTHING)

    def rearmed(self, agent: Agent, before: Overrides | None, run: Run, read: Read) -> Agent:
        """The agent of a run that has got further tools since it was taken, `before` being its overrides then.

        All else of it stays: a generation has one agent.
        """
        added, setting = (run.overrides or NOTHING).added, self._setting_of(run.agent_id, read)
        bare = agent.without([one.name for one in (before or NOTHING).added])
        return self._armed(bare, (), Overrides(added=added), setting, {"run_id": run.id})

    def _setting_of(self, agent_id: str | None, read: Read) -> ToolSetting:
        """What tools may use; of a stored agent its documents too."""
        if agent_id is None:
            return self._setting
        return replace(self._setting, documents=partial(_documents, agent_id, read))

    def _of_code(self, kind: Agent, overrides: Overrides) -> Agent:
        agent = self._configured(kind, None, overrides)
        return self._armed(agent, (), overrides, self._setting, {"agent": kind.name})

    async def _made(self, stored: StoredAgent, read: Read, overrides: Overrides) -> Agent:
        agent = self._configured(self.kind(stored.kind), stored.config, overrides)
        own: list[Resource] = await read(resources_of, stored.id, TOOLS)
        setting = self._setting_of(stored.id, read)
        return self._armed(agent, [(one.key, one.value) for one in own], overrides, setting, {"agent_id": stored.id})

    def _configured(self, kind: Agent, given: Any, overrides: Overrides) -> Agent:
        """The kind with this configuration. Raises InvalidConfig."""
        options, agent = overrides.options, kind
        if kind.fields is not None or options:
            try:
                agent = configured(kind, {**(given or {}), **(options or {})} if options else given)
            except BadConfig as error:
                if options and error.place[:1] and error.place[0] in options:
                    raise InvalidConfig(str(error), field=("options", *error.place)) from error
                what = "its configuration" if given is not None else "it can't be run by its kind's name"
                raise InvalidConfig(f"The agent can't be run, {what}: {error}", field=("agent",)) from error
        if overrides.system is not None:
            agent = replace(agent, system=overrides.system)
        return agent if agent is kind else self.agents.introduce(agent)

    def _armed(
        self,
        agent: Agent,
        own: Sequence[tuple[str, Mapping[str, Any]]],
        overrides: Overrides,
        setting: ToolSetting,
        told: Mapping[str, Any],
    ) -> Agent:
        """The agent with the tools of its resources, or its run's; those that can't be made any more are left out."""
        if overrides.tools is not None:
            agent, own = agent.without(agent.toolbox), [(one.name, one.value) for one in overrides.tools]
        made: dict[str, Tool[..., Any]] = {}
        for key, value in (*own, *((one.name, one.value) for one in overrides.added)):
            try:
                one = self._tool_of(key, value, setting)
            except BadConfig as error:
                log.warning("a tool is left out: %s", error, extra={**told, "key": key})
                continue
            if one.name in agent.toolbox or one.name in made:
                log.warning("a tool is left out: there is one of this name", extra={**told, "key": key})
                continue
            made[one.name] = one
        return agent.equipped(tuple(made.values()))

    def check_tool(self, key: str, value: Mapping[str, Any]) -> None:
        """Raise BadConfig where no tool can be made of this value of a resource of the kind `tools`."""
        self._tool_of(key, value, self._setting)

    def _tool_of(self, key: str, value: Mapping[str, Any], setting: ToolSetting) -> Tool[..., Any]:
        """The tool that a resource of the kind `tools` stands for. Raises BadConfig."""
        named = value.get("type")
        if not isinstance(named, str) or (kind := self.types.get(named)) is None:
            known = ", ".join(self.types) or "none"
            raise BadConfig(f"There is no tool type {str(named)[:64]!r}; the types are: {known}.", ("type",))
        try:
            return kind.tool(key, value.get("config"), setting)
        except BadConfig as error:
            raise error.within("config") from error
        except (ValueError, TypeError) as error:
            raise BadConfig(f"{error}.") from error


async def _documents(agent_id: str, read: Read) -> list[Document]:
    found: list[Resource] = await read(resources_of, agent_id, DOCUMENT)
    return [Document(one.key, str(one.value.get("title", one.key)), str(one.value.get("text", ""))) for one in found]
