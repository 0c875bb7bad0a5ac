"""A worker that is told to stop hands its runs to another one: two real processes on one PostgreSQL database."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.engine import Engine, EngineConfig, open_engine
from engine.loading import load_agents
from engine.providers.prices import load_prices
from engine.providers.scripted import ScriptedModel
from engine.user import User
from models.enums import RunStatus
from models.events import RunResult, StepRestarted, StreamEvent, ToolCallFinished
from models.run import Run, get_run
from models.stream import streams_of_run
from tests.support.commands import GUARD, Started, environment, started
from tests.support.databases import new_postgres
from tests.support.messages_rules import blocks_of
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer, Request

pytestmark = pytest.mark.service

ALICE = User("alice", frozenset())
AGENT = '''
import asyncio
from pathlib import Path

from steersman import Agent, Context, tool

FOLDER = Path(__file__).parent


@tool(timeout=3_600)
async def wait(ctx: Context) -> str:
    """Wait until it may go on."""
    with (FOLDER / "ran").open("a") as file:
        file.write("once\\n")
    while not (FOLDER / "go").exists():
        await asyncio.sleep(0.01)
    return "it is done"


agent = Agent(system="You help.", model="claude-sonnet-5-5", tools=[wait])
'''


class Provider:
    """Calls the tool for who says "tool"; who says "talk" hears half of the answer the first time, and no more."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def answer(self, request: Request) -> Script:
        """The script for a request."""
        name = request.messages[0]["content"][0]["text"]
        self.asked[name] = tries = self.asked.get(name, 0) + 1
        if name == "tool" and blocks_of(request.messages[-1])[-1]["type"] == "text":
            return Script().text("On it. ").tool("wait")
        if name == "talk" and tries == 1:
            return Script().half_text("Half").hold(asyncio.Event())
        return Script().text("Whole.")


@dataclass
class Watched:
    """One run as its watchers see it from another process than those that work on it."""

    run: Run
    events: list[StreamEvent] = field(default_factory=list)
    statuses: set[RunStatus] = field(default_factory=set)

    async def watch(self, engine: Engine) -> None:
        """Follow its stream to the end of the run."""
        async with aclosing(engine.watching.run_stream(self.run.id)) as events:
            async for event in events:
                self.events.append(event)
                if isinstance(event, RunResult):
                    return

    async def look(self, engine: Engine) -> None:
        """Note every status that its watchers are shown."""
        async with aclosing(engine.watching.run(self.run.id)) as rows:
            async for run in rows:
                self.statuses.add(run.status)

    def of_kind(self, *kinds: type[StreamEvent]) -> list[StreamEvent]:
        """Its events of these kinds."""
        return [event for event in self.events if isinstance(event, kinds)]


class Stage:
    """One database, an agent, a provider, and a node that serves and runs nothing."""

    def __init__(self, folder: Path, url: str, engine: Engine, provider: Provider, address: str) -> None:
        self.engine = engine
        self.provider = provider
        self.agents = folder / "agents"
        self.env = environment(
            folder,
            STEERSMAN_DATABASE_URL=url,
            STEERSMAN_AGENTS=str(self.agents),
            STEERSMAN_LEASE_SECONDS="600",  # whoever waited for a lease to end would wait for ever
            STEERSMAN_CANCEL_POLL_SECONDS="0.2",
            ANTHROPIC_BASE_URL=address,
        )
        self.watching: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def worker(self, **settings: str) -> AsyncIterator[Started]:
        """A worker process, once it works."""
        async with started("worker", env={**self.env, **settings}) as worker:
            while "working; answers come from" not in worker.output:
                assert worker.process.returncode is None, worker.output
                await asyncio.sleep(0.05)
            yield worker

    async def start(self, name: str) -> Watched:
        """A run that begins with this word, and is watched."""
        accepted = await self.engine.runs.start(ALICE, agent="helper", input=name)
        it = Watched(accepted.run)
        for work in (it.watch(self.engine), it.look(self.engine)):
            self.watching.add(asyncio.create_task(work))
        return it

    async def until(self, it: Watched, *, worker: Started | None = None, status: RunStatus = RunStatus.RUNNING) -> Run:
        """The run's row, once it has this status and, where one is named, this worker."""
        while True:
            run = await self.engine.database.read(get_run, it.run.id)
            assert run is not None
            if run.status is status and (worker is None or f":{worker.process.pid}:" in (run.worker or "")):
                return run
            await asyncio.sleep(0.05)

    @property
    def ran(self) -> int:
        """How often the tool was begun."""
        file = self.agents / "ran"
        return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


@pytest.fixture
def url() -> Iterator[str]:
    """A PostgreSQL database of one's own."""
    with new_postgres() as address:
        yield address


@pytest.fixture
async def stage(tmp_path: Path, url: str) -> AsyncIterator[Stage]:
    """A stage without a worker; whoever watches is gone at the end."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "helper.py").write_text(AGENT, encoding="utf-8")
    config = EngineConfig(database_url=url, worker=False, cancel_poll_seconds=0.1)
    provider = Provider()
    async with (
        MessagesServer() as server,
        open_engine(config, agents=load_agents(agents), provider=ScriptedModel(), prices=load_prices()) as engine,
    ):
        server.answer(provider.answer)
        it = Stage(tmp_path, url, engine, provider, server.url)
        try:
            yield it
        finally:
            for task in it.watching:
                task.cancel()
            await asyncio.gather(*it.watching, return_exceptions=True)


async def test_a_tool_that_ends_in_time_is_not_run_again_and_another_worker_goes_on(stage: Stage) -> None:
    """The step under way ends where it began; what follows is another process's, in the same stream, without a cut."""
    async with asyncio.timeout(4 * GUARD), stage.worker(STEERSMAN_DRAIN_SECONDS="3600") as first:
        run = await stage.start("tool")
        while not stage.ran:
            await asyncio.sleep(0.05)
        before = await stage.until(run, worker=first)
        async with stage.worker() as second:
            first.send(signal.SIGTERM)
            await first.until("draining")
            (stage.agents / "go").touch()
            assert await first.ended() == 0
            await stage.until(run, status=RunStatus.COMPLETED)
            while not run.of_kind(RunResult):
                await asyncio.sleep(0.05)
    assert second.output.count("why=hand_back") == 1
    assert (stage.ran, stage.provider.asked) == (1, {"tool": 2})
    (finished,) = run.of_kind(ToolCallFinished)
    assert isinstance(finished, ToolCallFinished)
    assert (finished.result, finished.is_error) == ("it is done", False)
    assert run.of_kind(StepRestarted) == []
    await assert_never_stopped(stage, run, before)


async def test_what_does_not_end_in_time_is_handed_over_at_once(stage: Stage) -> None:
    """A tool is reported as interrupted, never run again; an answer is asked for again, and watchers are told so."""
    async with asyncio.timeout(4 * GUARD), stage.worker(STEERSMAN_DRAIN_SECONDS="0.2") as first:
        tool, talk = await stage.start("tool"), await stage.start("talk")
        while not stage.ran or not stage.provider.asked.get("talk"):
            await asyncio.sleep(0.05)
        before = [await stage.until(run, worker=first) for run in (tool, talk)]
        async with stage.worker() as second:
            first.send(signal.SIGTERM)
            assert await first.ended() == 0
            for run in (tool, talk):
                await stage.until(run, status=RunStatus.COMPLETED)
                while not run.of_kind(RunResult):
                    await asyncio.sleep(0.05)
    assert second.output.count("why=hand_back") == 2
    assert (stage.ran, stage.provider.asked) == (1, {"tool": 2, "talk": 2})
    (finished,) = tool.of_kind(ToolCallFinished)
    assert isinstance(finished, ToolCallFinished)
    assert (finished.is_error, tool.of_kind(StepRestarted)) == (True, [])
    assert len(talk.of_kind(StepRestarted)) == 1
    for run, row in zip((tool, talk), before, strict=True):
        await assert_never_stopped(stage, run, row)


async def assert_never_stopped(stage: Stage, it: Watched, before: Run) -> None:
    """It went on in the one stream, numbered without a step back; nobody was shown any end of it but the right one."""
    numbers = [event.seq for event in it.events]
    assert numbers == sorted(set(numbers))
    assert {event.stream_id for event in it.events} == {before.stream_id}
    assert len(await stage.engine.database.read(streams_of_run, it.run.id)) == 1
    while RunStatus.COMPLETED not in it.statuses:
        await asyncio.sleep(0.05)
    assert it.statuses == {RunStatus.RUNNING, RunStatus.COMPLETED}
    now = await stage.engine.database.read(get_run, it.run.id)
    assert now is not None
    assert not now.cancel_requested
