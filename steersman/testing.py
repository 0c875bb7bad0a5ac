"""Tests of agents without a network: a scripted model, an in-process client, and a switch that refuses real models.

    from steersman.testing import Call, ScriptedModel, no_real_models, open_client

    async def test_it_looks_the_order_up():
        model = ScriptedModel(Call("find_order", {"order": "A-1042"}), "It left yesterday.")
        with no_real_models():
            async with open_client("agents", model) as client:
                result = await client.run("support", "Where is my order A-1042?")
        assert result.text == "It left yesterday."
        assert [call.name for call in result.tool_calls] == ["find_order"]

What the model was asked stands in `model.requests`. The runs are real ones, on a database that lives as long as the
client.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from engine.agent import Agent
from engine.engine import Engine, EngineConfig, open_engine
from engine.loading import Agents, load_agents
from engine.providers.prices import load_prices
from engine.providers.provider import Provider
from engine.providers.real_calls import refused as no_real_models
from engine.providers.scripted import Call, Hold, Say, ScriptedModel, Think, Turn
from engine.runs import Accepted
from engine.user import User
from models.database import open_database
from models.enums import SteerMode
from models.events import StreamEvent
from models.migrate import migrate
from models.run import Run
from steersman.inprocess import OnEvent, Result, follow
from steersman.process import known

__all__ = [
    "Call",
    "Client",
    "Hold",
    "Result",
    "Say",
    "ScriptedModel",
    "Think",
    "Turn",
    "no_real_models",
    "open_client",
]


class Client:
    """What a test says to its agents, as one user. `engine` is the whole engine behind it."""

    def __init__(self, engine: Engine, user: User) -> None:
        self.engine = engine
        self.user = user

    async def run(
        self,
        agent: str,
        input: str,  # noqa: A002 - the contract's name
        *,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        context: dict[str, Any] | None = None,
        on_event: OnEvent | None = None,
    ) -> Result:
        """Run an agent to the end of its turn; see `steersman.run`. Raises engine.errors.Refused."""
        accepted = await self.start(agent, input, run_id=run_id, metadata=metadata, context=context)
        return await self.result(accepted, on_event)

    async def start(
        self,
        agent: str,
        input: str,  # noqa: A002 - the contract's name
        *,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        context: dict[str, Any] | None = None,
    ) -> Accepted:
        """Start a run, or go on with one, without waiting. Raises engine.errors.Refused."""
        return await self.engine.runs.start(
            self.user, agent=agent, input=input, run_id=run_id, metadata=metadata, context=context
        )

    async def result(self, accepted: Accepted, on_event: OnEvent | None = None) -> Result:
        """Wait for the end of the turn that an input began or waits in."""
        return await follow(self.engine, accepted, on_event)

    async def steer(self, run_id: str, input: str, *, interrupt: bool = False) -> Accepted:  # noqa: A002 - as above
        """Say something to a run. Raises engine.errors.Refused."""
        mode = SteerMode.INTERRUPT if interrupt else SteerMode.QUEUE
        return await self.engine.runs.steer(self.user, run_id=run_id, input=input, mode=mode)

    async def cancel(self, run_id: str) -> Run:
        """Stop a run. Raises engine.errors.Refused."""
        return await self.engine.runs.cancel(self.user, run_id=run_id)

    def events(self, run_id: str) -> AsyncGenerator[StreamEvent]:
        """The events of a run, from its current generation on; close it when you have seen enough."""
        return self.engine.watching.run_stream(run_id)


@asynccontextmanager
async def open_client(
    agents: str | Path | Mapping[str, Agent], model: Provider, *, user: str = "tester", roles: Iterable[str] = ()
) -> AsyncIterator[Client]:
    """A client for a folder of agents, or for agents by their names, whose model is `model`.

    `steersman.run` and `steersman.start_run` use the same engine meanwhile. Raises LoadError where there is no such
    folder, and the first error of a file that did not load.
    """
    loaded = _loaded(agents)
    with TemporaryDirectory(prefix="steersman-test-") as folder:
        url = f"sqlite:///{Path(folder, 'test.db')}"
        async with open_database(url, synchronous="OFF") as database:
            await database.write(migrate)
        config = EngineConfig(database_url=url, drain_seconds=0, synchronous="OFF")
        async with open_engine(config, agents=loaded, provider=model, prices=load_prices()) as engine:
            with known(engine):
                yield Client(engine, User(user, frozenset(roles)))


def _loaded(agents: str | Path | Mapping[str, Agent]) -> Agents:
    if isinstance(agents, str | Path):
        loaded = load_agents(Path(agents))
        if loaded.errors:
            raise loaded.errors[0]
        return loaded
    if isinstance(agents, Agents):
        return agents
    return Agents({name: dataclasses.replace(agent, name=name) for name, agent in agents.items()})
