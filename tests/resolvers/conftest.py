"""A migrated SQLite database and an engine over it, for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from engine.agent import Agent
from engine.engine import Engine, EngineConfig, Fakes, open_engine
from engine.loading import Agents
from engine.providers.prices import load_prices
from engine.providers.provider import ModelRequest, Response
from models.clock import ManualClock
from models.database import Database, open_database
from models.migrate import migrate
from tests.support.fake_engine import FakeEngine
from tests.support.rows import NOW


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database at the newest revision."""
    async with open_database(f"sqlite:///{tmp_path / 'test.db'}") as opened:
        await opened.write(migrate)
        yield opened


@pytest.fixture
def engine(database: Database) -> FakeEngine:
    """An engine without workers over the database."""
    return FakeEngine(database)


class NoProvider:
    """Stands where no model is asked."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[Response]:
        """Not to be called."""
        raise AssertionError(request.model)


def add(a: int) -> int:
    """Add one.

    Args:
        a: to what.
    """
    return a + 1


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Engine]:
    """A real engine that serves and runs nothing, with two agents of which one's model is not allowed."""
    url = f"sqlite:///{tmp_path / 'served.db'}"
    async with open_database(url) as opened:
        await opened.write(migrate)
    config = EngineConfig(url, worker=False, allowed_models=frozenset({"claude-sonnet-5-5", "model-a"}))
    helper = Agent(system="Help.", model="model-a", tools=[add])
    agents = Agents({"helper": helper, "odd": Agent(system="Be odd.", model="model-b")})
    fakes = Fakes(clock=ManualClock(NOW))
    async with open_engine(config, agents=agents, provider=NoProvider(), prices=load_prices(), fakes=fakes) as engine:
        yield engine
