"""The workshop: what every run's loop of a process works with."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from engine.agent import Agent
from engine.attachments.attachments import Attachments
from engine.limits import Limits
from engine.outages import repeated, seen_through
from engine.providers.prices import Prices, load_prices
from engine.providers.provider import KnowsContexts, KnowsParameters, Provider
from engine.remotes.remote_tools import RemoteTools
from engine.roster import Roster
from engine.streams.bell import Bell
from engine.streams.memory import MemoryStreams
from engine.user import User
from models.clock import Clock
from models.database import Database
from models.ids import Ids
from models.verbs.row import Holder

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Workshop:
    """What every loop of a process works with. `worker` is the process's own name on the leases it holds."""

    database: Database
    streams: MemoryStreams
    bell: Bell
    provider: Provider
    clock: Clock
    ids: Ids
    worker: str
    lease_ms: int
    attachments: Attachments
    roster: Roster = field(default_factory=Roster)
    deps: Any = None
    allowed_models: frozenset[str] | None = None
    override_roles: frozenset[str] = frozenset()
    """The roles whose holders may give a run what stands in its agent's place."""
    admin_role: str = "admin"
    """The role of administrators."""
    prices: Prices = field(default_factory=load_prices)
    context_tokens: int = 200_000
    summary_model: str | None = None
    contexts: dict[str, int] = field(default_factory=dict)
    """What the provider has told of its models' contexts."""
    limits: Limits = field(default_factory=Limits)
    remotes: RemoteTools = field(default_factory=RemoteTools)
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep

    @property
    def holder(self) -> Holder:
        """This process, as one who takes a lease."""
        return Holder(self.worker, self.lease_ms)

    def is_admin(self, user: User) -> bool:
        """Whether the user is an administrator (docs/decisions/0029)."""
        return self.admin_role in user.roles

    def models_of(self, agent: Agent) -> tuple[str, ...]:
        """Those of the agent's models that may be asked here, in the order in which to use them."""
        allowed = self.allowed_models
        return tuple(model for model in agent.models if allowed is None or model in allowed)

    def refusal_of(self, parameter: str) -> str | None:
        """Why the provider does not take a parameter of a request, as a sentence; None where it does."""
        return self.provider.refusal_of(parameter) if isinstance(self.provider, KnowsParameters) else None

    def context_of(self, model: str) -> int:
        """How many tokens a model reads at most: by the file of prices, by its provider's word, or by the setting."""
        priced = self.prices.get(model)
        known = priced.context_tokens if priced is not None else None
        return known or self.contexts.get(model) or self.context_tokens

    async def learn_context(self, model: str) -> None:
        """Ask the provider, once, where it can tell and the file of prices does not."""
        priced = self.prices.get(model)
        if model in self.contexts or (priced is not None and priced.context_tokens):
            return
        told = await self.provider.context_of(model) if isinstance(self.provider, KnowsContexts) else None
        self.contexts[model] = told or self.context_tokens

    async def store(self, verb: Callable[..., T], **arguments: Any) -> T:
        """Call a verb that finds what an earlier try has done, again and again while the database is away."""
        return await seen_through(partial(self.database.write, verb, **arguments), self.random, self.sleep)

    async def read(self, function: Callable[..., T], *arguments: Any) -> T:
        """Read, again and again while the database is away."""
        return await repeated(partial(self.database.read, function, *arguments), self.random, self.sleep)
