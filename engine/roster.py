"""The roster: the one place where a name becomes an agent that runs, of code alone or of a stored row."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from engine.agent import Agent
from engine.builtin import bad_config
from engine.builtin.document import Document
from engine.builtin.registry import BUILTIN
from engine.builtin.tool_type import ToolSetting, ToolType
from engine.errors import AgentNotFound, InvalidConfig, KindUnavailable
from engine.expert import NAME as EXPERT
from engine.expert import expert
from engine.fields import BadConfig
from engine.kinds import configured
from engine.loading import Agents
from engine.tool import Tool
from models.agent import StoredAgent, agent_named, get_agents
from models.resource import DOCUMENT, TOOLS, Resource, resources_of
from models.run import Run
from models.text import clean

log = logging.getLogger("steersman.roster")


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

    async def named(self, user_id: str, name: str, read: Read) -> Chosen:
        """The agent of code with this name, else the user's own with this id or handle.

        Raises AgentNotFound, KindUnavailable, InvalidConfig.
        """
        if (kind := self.kinds.get(name)) is not None:
            return Chosen(self._configured(kind, None), name)
        stored: StoredAgent | None = await read(agent_named, user_id, clean(name))
        if stored is None:
            raise AgentNotFound(f"There is no agent {name[:64]!r}.", field=("agent",))
        return await self.chosen(stored, read)

    async def chosen(self, stored: StoredAgent, read: Read) -> Chosen:
        """A stored agent, whoever owns it: that somebody may use it is the caller's to know.

        Raises KindUnavailable, InvalidConfig.
        """
        return Chosen(await self._made(stored, read), stored.word, stored.id, stored.kind)

    async def of_run(self, run: Run, read: Read) -> Agent:
        """The agent of a run as it is now. Raises AgentNotFound, KindUnavailable, InvalidConfig."""
        if run.agent_id is None:
            if (kind := self.kinds.get(run.agent)) is None:
                raise AgentNotFound(f"There is no agent {run.agent[:64]!r}.", field=("agent",))
            return self._configured(kind, None)
        # It may be somebody else's, who shares it.
        found: dict[str, StoredAgent] = await read(get_agents, [run.agent_id])
        if (stored := found.get(run.agent_id)) is None:
            raise AgentNotFound(f"The agent {run.agent!r} was deleted.", field=("agent",))
        return await self._made(stored, read)

    async def _made(self, stored: StoredAgent, read: Read) -> Agent:
        agent = self._configured(self.kind(stored.kind), stored.config)
        tools: list[Resource] = await read(resources_of, stored.id, TOOLS)
        setting = replace(self._setting, documents=partial(_documents, stored.id, read))
        return self._equipped(agent, tools, setting)

    def _configured(self, kind: Agent, given: Any) -> Agent:
        """The kind with this configuration. Raises InvalidConfig."""
        if kind.fields is None:
            return kind
        try:
            return self.agents.introduce(configured(kind, given))
        except BadConfig as error:
            what = "its configuration" if given is not None else "it can't be run by its kind's name"
            raise InvalidConfig(f"The agent can't be run, {what}: {error}", field=("agent",)) from error

    def _equipped(self, agent: Agent, resources: list[Resource], setting: ToolSetting) -> Agent:
        """The agent with the tools of its resources; those that can't be made any more are left out."""
        made: list[Tool[..., Any]] = []
        for resource in resources:
            told = {"agent_id": resource.agent_id, "key": resource.key}
            try:
                one = self._tool_of(resource.key, resource.value, setting)
            except BadConfig as error:
                log.warning("a tool is left out: %s", error, extra=told)
                continue
            if one.name in agent.toolbox:
                log.warning("a tool is left out: the kind has one of this name by now", extra=told)
                continue
            made.append(one)
        return agent.equipped(made)

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
        except bad_config.BadConfig as error:
            said = "; ".join(line.removeprefix("- ") for line in error.problems)
            raise BadConfig(f"{said}.", ("config", *error.field)) from error
        except (ValueError, TypeError) as error:
            raise BadConfig(f"{error}.") from error


async def _documents(agent_id: str, read: Read) -> list[Document]:
    found: list[Resource] = await read(resources_of, agent_id, DOCUMENT)
    return [Document(one.key, str(one.value.get("title", one.key)), str(one.value.get("text", ""))) for one in found]
