"""What owners do with their agents: each method checks its input and calls one verb."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from engine.bad_config import BadConfig
from engine.errors import Forbidden, HandleTaken, InvalidConfig, InvalidInput, KeyReused, NotFound
from engine.inputs import checked_object, checked_words, key_of
from engine.kinds import check_model, configured
from engine.tool import NAME
from engine.user import User
from engine.workshop import Workshop
from models.agent import AgentQuery, StoredAgent, agents_usable
from models.ids import prefix_of
from models.key import KeyUsedOtherwise
from models.resource import DOCUMENT, TOOLS
from models.text import clean
from models.verbs.errors import AgentMissing, ChatMissing, HandleInUse, MemberBound, NoSuchResource, TooMany
from models.verbs.keeping import (
    MAX_RESOURCES,
    NewAgent,
    create_agent,
    delete_agent,
    delete_resource,
    set_resource,
    update_agent,
)

T = TypeVar("T")
MAX_NAME = 255
MAX_DESCRIPTION = 4_000
MAX_PICTURE = 16_384
MAX_CONFIG = 65_536  # bytes as JSON
MAX_VALUE = 1_048_576  # bytes as JSON
MAX_ROLES = 20
MAX_ROLE = 64
_OTHERWISE = ("config", "shared_with")
HANDLE = re.compile(r"[a-z0-9_-]{1,64}")
_PICTURES = ("https://", "http://", "data:image/")


class StoredAgents:
    """Creates, changes and removes agents and their resources, their owners' alone. Raises engine.errors.Refused."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    async def create(
        self,
        user: User,
        *,
        kind: str,
        name: str,
        handle: str | None = None,
        description: str | None = None,
        picture: str | None = None,
        config: Any = None,
        temporary: bool = False,
        shared_with: Sequence[str] | None = None,
        main_chat_id: str | None = None,
        key: str | None = None,
    ) -> StoredAgent:
        """A new agent of a kind, in a main chat of its own unless one is named; the same key gives the same one."""
        given = {"name": name, "handle": handle, "description": description, "picture": picture}
        main = None if main_chat_id is None else clean(main_chat_id)
        more: dict[str, Any] = {"temporary": temporary, "shared_with": _roles(shared_with), "main_chat_id": main}
        told = {name: value for name, value in more.items() if value}
        checked = _object(config)
        kept = key_of(user, "createAgent", key, kind=kind, **given, config=checked, **told)
        values = self._checked(given)
        self._check_fits(user, kind, checked)
        new = NewAgent(user_id=user.id, kind=kind, config=checked, **values, **more)
        return await self._do(create_agent, new=new, key=kept, ids=self._shop.ids, at=self._shop.clock())

    async def update(self, user: User, *, agent_id: str, changes: Mapping[str, Any]) -> StoredAgent:
        """Change what is named in `changes`: None clears what may be left out; a configuration replaces the old one."""
        agent = await self._own(user, agent_id)
        values = self._checked({name: value for name, value in changes.items() if name not in _OTHERWISE})
        if "shared_with" in changes:
            values["shared_with"] = _roles(changes["shared_with"])
        if "config" in changes:
            values["config"] = _object(changes["config"])
            self._check_fits(user, agent.kind, values["config"], field="config")
        what = {"user_id": user.id, "agent_id": agent_id}
        return await self._do(update_agent, **what, changes=values, at=self._shop.clock())

    async def delete(self, user: User, *, agent_id: str) -> str:
        """Remove an agent with its resources; what it has said stays in its runs."""
        await self._own(user, agent_id)
        await self._do(delete_agent, user_id=user.id, agent_id=agent_id)
        return agent_id

    async def set_resource(self, user: User, *, agent_id: str, key: str, kind: str, value: Any) -> StoredAgent:
        """Write a resource in the place of the one with this kind and key."""
        agent = await self._own(user, agent_id, field="agent_id")
        if not NAME.fullmatch(key):
            raise InvalidInput("A key is 1 to 64 letters, digits, _ or -.", field=("key",))
        checked = checked_object("value", value, MAX_VALUE)
        if kind == TOOLS:
            self._check_tool(agent, key, checked)
        elif kind == DOCUMENT:
            _check_document(checked)
        else:
            raise InvalidInput(f"There are resources of the kinds {TOOLS!r} and {DOCUMENT!r}.", field=("kind",))
        what = {"user_id": user.id, "agent_id": agent_id, "kind": kind, "key": key}
        return await self._do(set_resource, **what, value=checked, ids=self._shop.ids, at=self._shop.clock())

    async def delete_resource(self, user: User, *, agent_id: str, key: str, kind: str) -> StoredAgent:
        """Remove a resource."""
        await self._own(user, agent_id, field="agent_id")
        what = {"user_id": user.id, "agent_id": agent_id, "kind": clean(kind), "key": clean(key)}
        return await self._do(delete_resource, **what, at=self._shop.clock())

    # ------------------------------------------------------------------ what they share

    async def _do(self, verb: Callable[..., T], **arguments: Any) -> T:
        """Call a verb, and tell in the client's words where it did nothing."""
        try:
            return await self._shop.database.write(verb, **arguments)
        except KeyUsedOtherwise:
            raise KeyReused(field=("key",)) from None
        except HandleInUse:
            raise HandleTaken(field=("handle",)) from None
        except AgentMissing:
            raise NotFound("There is no such agent.", field=("id",)) from None
        except ChatMissing:
            raise NotFound("There is no such chat.", field=("main_chat_id",)) from None
        except MemberBound:
            message = "The main chat of a temporary agent is a temporary chat, and that of any other is not."
            raise InvalidInput(message, field=("main_chat_id",)) from None
        except NoSuchResource:
            raise NotFound("The agent has no such resource.", field=("key",)) from None
        except TooMany:
            raise InvalidInput(f"An agent has at most {MAX_RESOURCES:,} resources.", field=("key",)) from None

    async def _own(self, user: User, agent_id: str, *, field: str = "id") -> StoredAgent:
        """The user's agent. Raises NotFound, and Forbidden where it is only shared with the user."""
        known, who = prefix_of(agent_id) == "agt", AgentQuery(user.id, user.roles)
        agent = (await self._shop.database.read(agents_usable, who, [agent_id])).get(agent_id) if known else None
        if agent is None:
            raise NotFound("There is no such agent.", field=(field,))
        if agent.user_id != user.id:
            raise Forbidden("The agent is shared with you: only its owner changes it.", field=(field,))
        return agent

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What identifies an agent, as far as it is given. Raises InvalidInput, HandleTaken."""
        values = dict(given)
        for name, most in (("name", MAX_NAME), ("description", MAX_DESCRIPTION), ("picture", MAX_PICTURE)):
            if name == "name" and name in values and values[name] is None:
                raise InvalidInput("An agent has a name.", field=("name",))
            if values.get(name) is not None:
                values[name] = checked_words(name, values[name], most)
        picture, handle = values.get("picture"), values.get("handle")
        if picture is not None and not picture.startswith(_PICTURES):
            raise InvalidInput("A picture is an address that begins with https:// or data:image/.", field=("picture",))
        if handle is not None:
            self._check_handle(handle)
        return values

    def _check_handle(self, handle: str) -> None:
        if not HANDLE.fullmatch(handle) or prefix_of(handle) is not None:
            raise InvalidInput("A handle is 1 to 64 small letters, digits, _ or -, and no id.", field=("handle",))
        roster = self._shop.roster
        if handle in {name.lower() for name in (*roster.kinds, *roster.broken)}:
            raise HandleTaken("An agent that code defines has this name.", field=("handle",))

    def _check_fits(self, user: User, identifier: str, config: dict[str, Any], *, field: str = "kind") -> None:
        """Raise KindUnavailable, Forbidden or InvalidConfig where the user can have no such agent of this kind.

        `field` is the input that the kind's own refusals are about.
        """
        kind = self._shop.roster.kind(identifier, field=field)
        if kind.auth != "user" and kind.auth not in user.roles:
            raise Forbidden(f"The kind {identifier!r} takes the role {kind.auth!r}.", field=(field,))
        try:
            check_model(configured(kind, config), self._shop.models_of, self._shop.refusal_of)
        except BadConfig as error:
            raise InvalidConfig(str(error), field=("config", *error.place)) from error

    def _check_tool(self, agent: StoredAgent, key: str, value: dict[str, Any]) -> None:
        """Raise InvalidConfig where no tool can be made of it."""
        strays = sorted(value.keys() - {"type", "config"})
        if strays:
            message = f"{strays[0][:60]}: a tool has a type and a config alone."
            raise InvalidConfig(message, field=("value", strays[0]))
        kind = self._shop.roster.kinds.get(agent.kind)
        if kind is not None and key in kind.toolbox:
            raise InvalidConfig(f"Agents of the kind {agent.kind!r} have a tool {key!r} of their own.", field=("key",))
        try:
            self._shop.roster.check_tool(key, value)
        except BadConfig as error:
            raise InvalidConfig(str(error), field=("value", *error.place)) from error


def _roles(given: Sequence[str] | None) -> tuple[str, ...]:
    """The roles that an agent is shared with, in order. Raises InvalidInput."""
    roles = sorted({clean(role).strip() for role in given or ()})
    if len(roles) > MAX_ROLES or any(not 1 <= len(role) <= MAX_ROLE for role in roles):
        raise InvalidInput(f"At most {MAX_ROLES} roles, of 1 to {MAX_ROLE} characters.", field=("shared_with",))
    return tuple(roles)


def _object(config: Any) -> dict[str, Any]:
    """A configuration as it is stored. Raises InvalidInput."""
    return checked_object("config", {} if config is None else config, MAX_CONFIG)


def _check_document(value: dict[str, Any]) -> None:
    """Raise InvalidConfig where it is no title with a text."""
    strays = sorted(value.keys() - {"title", "text"})
    if strays:
        message = f"{strays[0][:60]}: a document has a title and a text alone."
        raise InvalidConfig(message, field=("value", strays[0]))
    for name in ("title", "text"):
        if not isinstance(value.get(name), str) or not value[name].strip():
            raise InvalidConfig(f"{name}: a document has a {name}, as text.", field=("value", name))
