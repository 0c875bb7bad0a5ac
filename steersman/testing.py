"""Tests of agents without a network.

There is a scripted model, an in-process client, a clock that is moved by hand, and a switch that refuses real models:

    from steersman.testing import Call, ScriptedModel, no_real_models, open_client

    async def test_it_looks_the_order_up():
        model = ScriptedModel(Call("find_order", {"order": "A-1042"}), "It left yesterday.")
        with no_real_models():
            async with open_client("agents", model) as client:
                result = await client.run("support", "Where is my order A-1042?")
        assert result.text == "It left yesterday."
        assert [call.name for call in result.tool_calls] == ["find_order"]

What the model was asked stands in `model.requests`. The runs are real ones, on a database that lives as long as the
client. With `open_client(…, clock=ManualClock())` it is as late as the test says: `client.advance(seconds)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from engine.agent import Agent
from engine.budget import Budget
from engine.engine import Engine, EngineConfig, Fakes, open_engine
from engine.errors import RunNotFound
from engine.loading import Agents, load_agents
from engine.providers.prices import load_prices
from engine.providers.provider import Provider
from engine.providers.real_calls import refused as no_real_models
from engine.providers.scripted import Call, Hold, Say, ScriptedModel, Think, Turn, overloaded, retired
from engine.runs import Accepted
from engine.sweeping import sweep
from engine.user import User
from models.call import Decider, ToolCall
from models.clock import ManualClock, system_clock
from models.database import open_database
from models.enums import SteerMode
from models.events import StreamEvent
from models.ids import Ids
from models.message import Message
from models.migrate import migrate
from models.run import Run, get_run
from steersman.inprocess import OnEvent, Result, decide, follow
from steersman.process import known

__all__ = [
    "Call",
    "Client",
    "Hold",
    "ManualClock",
    "Result",
    "Say",
    "ScriptedModel",
    "Think",
    "Turn",
    "no_real_models",
    "open_client",
    "overloaded",
    "retired",
]


class Client:
    """What a test says to its agents, as one user, and what it sees of them.

    `engine` is the whole engine behind it, `clock` the one that `open_client` was given.
    """

    def __init__(self, engine: Engine, user: User, clock: ManualClock | None = None) -> None:
        self.engine = engine
        self.user = user
        self.clock = clock

    async def run(
        self,
        agent: str,
        input: str,  # noqa: A002 - the contract's name
        *,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        context: dict[str, Any] | None = None,
        budget: Budget | None = None,
        on_event: OnEvent | None = None,
    ) -> Result:
        """Run an agent to the end of its turn; see `steersman.run`. Raises engine.errors.Refused."""
        accepted = await self.start(agent, input, run_id=run_id, metadata=metadata, context=context, budget=budget)
        return await self.result(accepted, on_event)

    async def start(
        self,
        agent: str,
        input: str,  # noqa: A002 - the contract's name
        *,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        context: dict[str, Any] | None = None,
        budget: Budget | None = None,
    ) -> Accepted:
        """Start a run, or go on with one, without waiting. Raises engine.errors.Refused."""
        return await self.engine.runs.start(
            self.user, agent=agent, input=input, run_id=run_id, metadata=metadata, context=context, budget=budget
        )

    async def result(self, accepted: Accepted, on_event: OnEvent | None = None) -> Result:
        """Wait for the end of the turn that an input began or waits in."""
        return await follow(self.engine, accepted, on_event)

    async def ended(self, run_id: str, on_event: OnEvent | None = None) -> Result:
        """Wait until the turn that a run is in has ended, or waits; what came of it. Raises engine.errors.Refused."""
        run = await self.engine.database.read(get_run, run_id)
        if run is None:
            raise RunNotFound
        return await follow(self.engine, Accepted(run, queued=False, input_id=None), on_event)

    async def steer(self, run_id: str, input: str, *, interrupt: bool = False) -> Accepted:  # noqa: A002 - as above
        """Say something to a run. Raises engine.errors.Refused."""
        mode = SteerMode.INTERRUPT if interrupt else SteerMode.QUEUE
        return await self.engine.runs.steer(self.user, run_id=run_id, input=input, mode=mode)

    async def decide(
        self,
        run_id: str,
        *,
        approve: Iterable[str] = (),
        deny: Mapping[str, str | None] | None = None,
        as_user: str | None = None,
        roles: Iterable[str] | None = None,
    ) -> Result:
        """Decide calls that wait, as this client's user or as another; see `steersman.decide`."""
        who = self.user.id if as_user is None else as_user
        given = self.user.roles if roles is None else roles
        return await decide(run_id, as_user=who, roles=given, approve=approve, deny=deny)

    async def complete(self, run_id: str, call_id: str, result: Any, *, is_error: bool = False) -> Result:
        """Answer a call in its client's place, and give what came of it. Raises engine.errors.Refused."""
        await self.engine.runs.complete(self.user, run_id=run_id, call_id=call_id, result=result, is_error=is_error)
        return await self.ended(run_id)

    async def retry(self, run_id: str, *, budget: Budget | None = None) -> Result:
        """Go on with a run that failed or was cancelled, to the end of that turn. Raises engine.errors.Refused."""
        await self.engine.runs.retry(self.user, run_id=run_id, budget=budget)
        return await self.ended(run_id)

    async def cancel(self, run_id: str) -> Run:
        """Stop a run. Raises engine.errors.Refused."""
        return await self.engine.runs.cancel(self.user, run_id=run_id)

    async def advance(self, seconds: float) -> None:
        """Move the clock on, and let happen what is due by then: calls that nobody decided or answered expire.

        The patience with tools, with models and with runs is of real time, and does not end by it. Raises RuntimeError
        where `open_client` was given no clock.
        """
        if self.clock is None:
            raise RuntimeError("there is no clock to move: open the client with clock=ManualClock()")
        self.clock.advance(seconds)
        await sweep(self.engine.shop)

    # What follows are the API's subscriptions; close each when you have seen enough, as by contextlib.aclosing.

    def events(self, run_id: str) -> AsyncGenerator[StreamEvent]:
        """The events of a run, from its current generation on: `runStream` of the API."""
        return self.engine.watching.run_stream(run_id)

    def messages(self, run_id: str, after_seq: int = 0) -> AsyncGenerator[Message]:
        """Each message of a run once: those that are stored, then each as it is stored."""
        return self.engine.watching.messages(run_id, after_seq)

    def watch(self, run_id: str) -> AsyncGenerator[Run]:
        """The run as it is now, then at each change: `run` of the API."""
        return self.engine.watching.run(run_id)

    def approvals(self, *, as_user: str | None = None, roles: Iterable[str] | None = None) -> AsyncGenerator[ToolCall]:
        """What waits for this client's user, or for another; then each call that begins to, and what becomes of it."""
        who = self.user.id if as_user is None else as_user
        return self.engine.watching.approvals(Decider(who, tuple(self.user.roles if roles is None else roles)))


@asynccontextmanager
async def open_client(
    agents: str | Path | Mapping[str, Agent],
    model: Provider,
    *,
    user: str = "tester",
    roles: Iterable[str] = (),
    clock: ManualClock | None = None,
) -> AsyncIterator[Client]:
    """A client for a folder of agents, or for agents by their names, whose model is `model`.

    `clock` takes the place of the machine's: it stands still until the test moves it (`Client.advance`).
    `steersman.run` and `steersman.start_run` use the same engine meanwhile. Raises LoadError where there is no such
    folder, and the first error of a file that did not load.
    """
    loaded = _loaded(agents)
    with TemporaryDirectory(prefix="steersman-test-") as folder:
        url = f"sqlite:///{Path(folder, 'test.db')}"
        async with open_database(url, synchronous="OFF") as database:
            await database.write(migrate)
        config = EngineConfig(database_url=url, drain_seconds=0, synchronous="OFF")
        fakes = Fakes(clock=clock or system_clock, ids=Ids(clock or system_clock))
        async with open_engine(config, agents=loaded, provider=model, prices=load_prices(), fakes=fakes) as engine:
            with known(engine):
                yield Client(engine, User(user, frozenset(roles)), clock)


def _loaded(agents: str | Path | Mapping[str, Agent]) -> Agents:
    if isinstance(agents, str | Path):
        loaded = load_agents(Path(agents))
        if loaded.errors:
            raise loaded.errors[0]
        return loaded
    if isinstance(agents, Agents):
        return agents
    return Agents({name: dataclasses.replace(agent, name=name) for name, agent in agents.items()})
