"""The whole product as its clients meet it: the real application on a real server, scripts in the model's place.

    async with world(tmp_path, helper=helper(tools=[search])) as w:
        w.play(Script().tool("search"), Script().text("Found it."))
        alice = w.client("alice")
        run = await alice.start("Look for it")
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"

At the end it checks what holds of every run (truths.py), that each request was fit for the real API, and that no
client has left anything behind.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from engine.agent import Agent
from engine.builtin.registry import BUILTIN
from engine.builtin.tool_type import ToolType
from engine.engine import Engine, Fakes, open_engine
from engine.loading import Agents
from engine.providers.anthropic import AnthropicProvider
from engine.providers.prices import load_prices
from models.clock import Clock, system_clock
from models.ids import Ids
from models.run import Run, get_run
from steersman.app import create_app, drain
from steersman.auth import mint
from steersman.process import engine_config
from steersman.settings import Settings
from tests.support.client import Client
from tests.support.ground import Ground, new_ground
from tests.support.messages_script import Script
from tests.support.messages_server import Chooser, MessagesServer
from tests.support.server import Running, running
from tests.support.truths import MODEL, Story, all_run_ids, read_story, untruths

SECRET = "a secret of the tests, long enough for HS256"
GUARD = 60.0
"""Seconds after which a test is given up: nothing takes anywhere near as long."""


def helper(**values: Any) -> Agent:
    """An agent with these settings."""
    return Agent(**{"system": "You help.", "model": MODEL, **values})


async def at_once(seconds: float) -> None:
    """In the place of sleeping between attempts at the model."""
    await asyncio.sleep(0)


class World:
    """One database file, one model's provider, and the application, which can be stopped and started again."""

    def __init__(
        self, ground: Ground, model: MessagesServer, agents: dict[str, Agent], settings: dict[str, Any]
    ) -> None:
        self.model = model
        given: dict[str, Any] = {"jwt_secret": SECRET, "drain_seconds": 0.0, "console": False, **settings}
        self.settings = Settings(database_url=ground.database_url, redis_url=ground.redis_url, **given)
        self.agents = Agents(agents)
        self.types: Mapping[str, ToolType] = BUILTIN
        self.origin: Clock = system_clock
        self.clients: list[Client] = []
        self._late_ms = 0
        self._engine: Engine | None = None
        self._running: Running | None = None
        self._stack = AsyncExitStack()

    @property
    def engine(self) -> Engine:
        """The engine behind the application, for what only the machine's owner can see."""
        assert self._engine is not None
        return self._engine

    @property
    def server(self) -> Running:
        """The server."""
        assert self._running is not None
        return self._running

    def clock(self) -> int:
        """The engine's clock: the system's, or the test's own, and what has passed since by the test's word."""
        return self.origin() + self._late_ms

    def advance(self, seconds: float) -> None:
        """Let so much time pass for what is kept with a time; leases, which the database counts, are not touched."""
        self._late_ms += round(seconds * 1000)

    def play(self, *scripts: Script | Chooser) -> None:
        """What the model answers next."""
        self.model.play(*scripts)

    def token(self, sub: str, *roles: str, seconds: int = 3600) -> str:
        """A token that the server takes."""
        return mint(self.settings, sub, roles, seconds=seconds)

    def client(self, sub: str | None, *roles: str) -> Client:
        """A client of this user, or of nobody."""
        client = Client(lambda: self.server, None if sub is None else self.token(sub, *roles))
        self.clients.append(client)
        return client

    # ------------------------------------------------------------------ its life

    async def start(self) -> None:
        """Start the application on the file as it is."""
        app = create_app(self.settings, self._open_engine)
        self._running = await self._stack.enter_async_context(running(app, drain=lambda: drain(app)))
        self.app = app

    async def stop(self, *, leave: bool = True) -> None:
        """Stop it as SIGTERM would; its clients leave before, or are left to find out."""
        for client in self.clients if leave else ():
            await client.disconnect()
        await self._stack.aclose()

    async def restart(self) -> None:
        """Stop it, and start it again on the same file."""
        await self.stop()
        await self.start()

    def _open_engine(self) -> AbstractAsyncContextManager[Engine]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Engine]:
        prices = load_prices()
        config = dataclasses.replace(engine_config(self.settings), synchronous="OFF")
        async with (
            AnthropicProvider(base_url=self.model.url, api_key="test", prices=prices) as provider,
            open_engine(
                config,
                agents=self.agents,
                provider=provider,
                prices=prices,
                types=self.types,
                fakes=Fakes(clock=self.clock, ids=Ids(self.clock), sleep=at_once),
            ) as self._engine,
        ):
            yield self._engine

    # ------------------------------------------------------------------ what its owner sees

    async def row(self, run_id: str) -> Run:
        """The run's row."""
        run = await self.engine.database.read(get_run, run_id)
        assert run is not None
        return run

    async def run_ids(self) -> list[str]:
        """The ids of all runs there are, whoever owns them."""
        return await self.engine.database.read(all_run_ids)

    async def story(self, run_id: str) -> Story:
        """All rows of a run."""
        return await self.engine.database.read(read_story, run_id)

    @property
    def watched(self) -> tuple[int, int, int]:
        """How many streams are in memory, subscriptions listen for changes, and event streams are open."""
        watching = self.engine.watching
        return len(watching._streams), len(watching._bell), len(self.app.state.endpoint.streams)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something holds of the server; the end of a connection takes a few turns of the loop."""
        while not condition():
            await asyncio.sleep(0.005)

    async def check(self) -> None:
        """Check what must hold once the clients have gone."""
        for client in self.clients:
            await client.close()
        await self.until(lambda: not self.engine.worker)
        await self.until(lambda: self.watched == (0, 0, 0))
        for run_id in await self.run_ids():
            assert untruths(await self.story(run_id)) == []
        assert self.model.refused == []


@asynccontextmanager
async def world(
    folder: Path,
    *,
    settings: dict[str, Any] | None = None,
    types: Mapping[str, ToolType] | None = None,
    clock: Clock = system_clock,
    **agents: Agent,
) -> AsyncIterator[World]:
    """A world with these agents, else with one that is named "helper"; checked at the end, unless the test failed.

    `types` are those that tools of stored agents are made of, where the test has its own. `clock` is the server's, but
    for leases and tokens.
    """
    async with asyncio.timeout(GUARD), MessagesServer() as model:
        it = World(await new_ground(folder), model, agents or {"helper": helper()}, settings or {})
        it.types = BUILTIN if types is None else types
        it.origin = clock
        await it.start()
        try:
            yield it
            await it.check()
        finally:
            for client in it.clients:
                await client.close()
            await it.stop()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"left behind: {left}"


def kinds(events: Sequence[dict[str, Any]]) -> list[str]:
    """The types of events, in order."""
    return [event["__typename"] for event in events]
