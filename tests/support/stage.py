"""The whole loop on a stage: a real database file, the real SDK over HTTP, scripts in the provider's place.

    async def test_something(stage: Stage) -> None:
        node = await stage.open(tools=[search])
        stage.play(Script().tool("search"), Script().text("Found it."))
        run = await node.settled(await node.start("Look for it"))

After each test `stage.close` checks what holds of every run (truths.py), that each request was fit for the real API,
that what a live watcher saw is what the rows give afterwards, and that nothing is left behind.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from engine.agent import Agent
from engine.attachments.attachments import Attachments
from engine.chats import Chats
from engine.conversations import Conversations
from engine.files.folder import Folder
from engine.loading import Agents
from engine.patrol import DatabaseSigns, Patrol
from engine.providers.anthropic import AnthropicProvider
from engine.providers.prices import load_prices
from engine.roster import Roster
from engine.runner import Runner
from engine.runs import Accepted, Runs
from engine.streams.bell import Bell
from engine.streams.memory import MemoryStreams
from engine.user import User
from engine.verdicts import Decision
from engine.watching import DatabaseRows, Watching
from engine.worker import Worker
from engine.workshop import Workshop
from models.clock import ManualClock
from models.database import Database
from models.enums import RunStatus, SteerMode
from models.events import StreamEvent
from models.ids import Ids
from models.message import Message
from models.model_call import ModelCall, find_model_calls
from models.page import Window
from models.run import Run, get_run
from tests.support.databases import LeaseClock
from tests.support.ground import Ground, new_ground
from tests.support.memory import Memory, new_memory
from tests.support.messages_script import Script
from tests.support.messages_server import Chooser, MessagesServer
from tests.support.screens import Screen, viewed
from tests.support.truths import MODEL, Story, all_run_ids, read_story, shown_out_of_order, untruths

ALICE = User("alice", frozenset({"user"}))
LEASE_SECONDS = 600.0
FAR = 3_600.0
AGENT_TURNS = 3
HANG = 60.0
"""Seconds after which a test is given up: nothing takes anywhere near as long."""


def helper(**values: Any) -> Agent:
    """An agent with these settings."""
    return Agent(**{"system": "You help.", "model": MODEL, **values})


class Pauses:
    """Stands in for sleeping between attempts: notes how long, and lets them pass at once, or when released."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.released = asyncio.Event()
        self.released.set()
        self.begun = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        """Pause."""
        self.asked.append(seconds)
        self.begun.set()
        await self.released.wait()


class Node:
    """One process: its worker, what its clients call, and what they watch.

    Signals reach its loops by itself alone, on a cluster too: there others tell only those who watch.
    """

    def __init__(
        self, stage: Stage, agents: Agents, database: Database, memory: Memory, options: dict[str, Any]
    ) -> None:
        self.stage = stage
        self._dropped: set[asyncio.Task[None]] = set()
        self._patrolling: asyncio.Task[None] | None = None
        self.memory = memory
        self.owns_memory = True
        self.streams = memory.streams
        self.bell: Bell = options.pop("bell", memory.bell)
        self.works: bool = options.pop("works", True)
        poll = {name: options.pop(name, FAR) for name in ("poll_seconds", "watch_seconds")}
        if "shop_remotes" in options:  # `remotes` is an option of the agent
            options["remotes"] = options.pop("shop_remotes")
        limits = {"max_runs": 1_000, "drain_seconds": FAR, "takes": True, "leave_seconds": FAR}
        worker: dict[str, Any] = {name: options.pop(name, usual) for name, usual in limits.items()}
        self.shop = Workshop(
            database=database,
            streams=self.streams,
            bell=self.bell,
            provider=options.pop("provider", stage.provider),
            clock=stage.clock,
            ids=stage.ids,
            worker=options.pop("name", None) or stage.ids("wrk"),
            lease_ms=round(LEASE_SECONDS * 1000),
            roster=Roster(agents),
            attachments=Attachments(Folder(stage.folder / "files"), stage.clock, stage.ids),
            **{"random": lambda: 0.5, "sleep": stage.pauses, "prices": stage.prices, **options},
        )
        self.worker = Worker(self.shop, poll_seconds=poll["poll_seconds"], **worker)
        front = dataclasses.replace(self.shop, database=getattr(database, "front", stage.database))
        self.runs = Runs(front, self.worker if self.works else None)
        self.chats = Chats(front, self.worker if self.works else None, self.runs, agent_turns=AGENT_TURNS)
        self.watching = Watching(DatabaseRows(stage.database), self.streams, self.bell, ids=stage.ids)
        self.conversations = Conversations(stage.database, self.watching, self.bell)
        signs = DatabaseSigns(stage.database)
        self.patrol = Patrol(signs, self.streams, self.bell, stage.clock, poll["watch_seconds"])
        self.bell.on_trust = self.patrol.hurry

    # ------------------------------------------------------------------ what clients do

    async def start(self, text: str = "Hi", *, agent: str = "helper", user: User = ALICE, **more: Any) -> str:
        """Start a run and follow it on a screen; its id."""
        run = (await self.runs.start(user, agent=agent, input=text, **more)).run
        self.follow(run)
        return run.id

    async def steer(self, run_id: str, text: str, mode: SteerMode = SteerMode.QUEUE, **more: Any) -> Accepted:
        """Say something to a run."""
        return await self.runs.steer(ALICE, run_id=run_id, input=text, mode=mode, **more)

    async def interrupt(self, run_id: str, text: str) -> Accepted:
        """Say something to a run that can't wait."""
        return await self.steer(run_id, text, SteerMode.INTERRUPT)

    async def cancel(self, run_id: str) -> Run:
        """Stop a run."""
        return await self.runs.cancel(ALICE, run_id=run_id)

    async def decide(self, run_id: str, *decisions: Decision, user: User = ALICE, key: str | None = None) -> Run:
        """Decide calls that wait."""
        return (await self.runs.decide(user, run_id=run_id, decisions=decisions, key=key))[0]

    def follow(self, run: Run) -> Screen:
        """Follow a run from its present stream on."""
        screen = Screen(self.watching, run.id, run.stream_id)
        self.stage.screens.setdefault(run.id, []).append(screen)
        return screen

    # ------------------------------------------------------------------ what it does by itself

    def runner(self, run_id: str) -> Runner:
        """The loop that works on the run here."""
        return self.worker._runners[run_id]

    async def beat(self) -> None:
        """The worker's heartbeat, now."""
        await self.worker._beat()

    async def look(self) -> None:
        """The worker looks for runs that nobody works on, now."""
        await self.worker._take()

    async def settled(self, run_id: str) -> Run:
        """The run, once it is not RUNNING any more, its loop here has ended, and who watches here has seen it."""
        async with asyncio.timeout(HANG):
            async with aclosing(self.watching.run(run_id)) as runs:
                async for run in runs:
                    if run.status is not RunStatus.RUNNING:
                        break
            await self.idle(run_id)
            run = await self.stage.run(run_id)
            for screen in self.stage.screens.get(run_id, ()):
                if screen.watching is self.watching:
                    await screen.until(lambda screen: screen.ended(run.stream_id))
        return run

    async def begin(self) -> None:
        """Work, and look after those who watch here."""
        self._patrolling = asyncio.create_task(self.patrol.walk(), name="patrol")
        if self.works:
            await self.worker.start()

    async def leave(self) -> None:
        """Nobody watches here any more; the worker has stopped."""
        if self._patrolling is not None:
            self._patrolling.cancel()
            await asyncio.gather(self._patrolling, return_exceptions=True)
        if self.owns_memory:
            await self.memory.close()

    def drop(self) -> None:
        """The process is gone: none of its tasks does anything more. `database` must refuse it from now on."""
        worker = self.worker
        own = (worker._beating, worker._looking)
        self._dropped = {*worker._tasks, *worker._asides, *(task for task in own if task is not None)}
        for task in self._dropped:
            task.cancel()
        self.stage.nodes.remove(self)

    async def dropped(self) -> None:
        """Wait until the last of a dropped node's tasks has gone."""
        await asyncio.gather(*self._dropped, return_exceptions=True)
        await self.leave()

    async def idle(self, run_id: str) -> None:
        """Wait until no loop works on the run here."""
        while run_id in self.worker._runners:
            await asyncio.wait(set(self.worker._tasks))


class Stage:
    """One database, one provider, any number of nodes."""

    def __init__(self, ground: Ground, folder: Path, server: MessagesServer) -> None:
        self.ground = ground
        self.folder = folder
        self.server = server
        self.leases = LeaseClock()
        self.clock = ManualClock()
        self.ids = Ids(self.clock)
        self.pauses = Pauses()
        self.prices = load_prices()
        self.provider = AnthropicProvider(base_url=server.url, api_key="test", prices=self.prices, clock=self.clock)
        self.database = Database(ground.database_url, synchronous="OFF", lease_clock=self.leases)
        self.nodes: list[Node] = []
        self.memories: list[Memory] = []
        self.screens: dict[str, list[Screen]] = {}

    async def open(
        self, *, tools: Sequence[Any] = (), agents: dict[str, Agent] | Agents | None = None, **options: Any
    ) -> Node:
        """A node with the agent "helper", of these tools and settings, or with these agents."""
        settings = {name: options.pop(name) for name in list(options) if name in Agent.__dataclass_fields__}
        known = {"helper": helper(tools=tools, **settings)} if agents is None else agents
        known = Agents(known) if isinstance(known, dict) else known
        given: Memory | None = options.pop("memory", None)
        memory = given or await self.memory()
        node = Node(self, known, options.pop("database", self.database), memory, options)
        node.owns_memory = given is None
        self.nodes.append(node)
        await node.begin()
        return node

    async def memory(self) -> Memory:
        """The memory of a process, for nodes that follow one another in the same one."""
        memory = await new_memory(self.ground, self.ids("node"))
        self.memories.append(memory)
        return memory

    def play(self, *scripts: Script | Chooser) -> None:
        """What the provider answers next."""
        self.server.play(*scripts)

    # ------------------------------------------------------------------ what is stored

    async def run(self, run_id: str) -> Run:
        """The run's row."""
        run = await self.database.read(get_run, run_id)
        assert run is not None
        return run

    async def story(self, run_id: str) -> Story:
        """All rows of the run."""
        return await self.database.read(read_story, run_id)

    async def messages(self, run_id: str) -> list[Message]:
        """The run's transcript."""
        return (await self.story(run_id)).messages

    async def model_calls(self, run_id: str) -> list[ModelCall]:
        """The run's model calls, in the order they were begun."""
        return (await self.database.read(find_model_calls, run_id, Window(size=100))).rows

    def screen(self, run_id: str) -> Screen:
        """The first screen that follows the run."""
        return self.screens[run_id][0]

    # ------------------------------------------------------------------ the end

    async def retire(self, node: Node) -> None:
        """Close a node before the test's end."""
        await node.worker.close()
        await node.leave()
        self.nodes.remove(node)

    async def close(self, *, check: bool = True) -> None:
        """Let everything end, and check what must hold of it."""
        try:
            async with asyncio.timeout(HANG):
                for node in self.nodes:
                    await node.worker.close()
                if check:
                    await self._check()
        finally:
            for screen in [screen for screens in self.screens.values() for screen in screens]:
                await screen.leave()
            for node in self.nodes:
                await node.leave()
            for memory in self.memories:
                await memory.close()
            await self.provider.close()
            await self.database.close()
        if check:
            assert self.server.refused == []
            assert [len(node.streams) for node in self.nodes] == [0] * len(self.nodes), "a stream's memory is left"
            assert [len(node.bell) for node in self.nodes] == [0] * len(self.nodes), "a listener is left"

    async def _check(self) -> None:
        for run_id in await self.database.read(all_run_ids):
            await self.check_run(run_id)

    async def check_run(self, run_id: str) -> None:
        """Check what holds of every run; and let go of who watched it."""
        story = await self.story(run_id)
        assert untruths(story) == [], story
        for screen in self.screens.pop(run_id, ()):
            await self._check_screen(screen, story)
            await screen.leave()

    async def _check_screen(self, screen: Screen, story: Story) -> None:
        """What was seen live is what the rows give afterwards: every lasting event, and each step's text."""
        ended = [stream.id for stream in story.streams if stream.ended]
        await screen.until(lambda screen: not ended or screen.ended(ended[-1]))
        late = shown_out_of_order(screen.events)
        assert late == [], f"{late} among {screen.events}"
        for stream_id in (stream_id for stream_id in ended if stream_id in screen.viewers):
            replayed = await viewed(self._replay(stream_id))
            seen = screen.viewers[stream_id]
            assert seen.lasting == replayed.lasting, f"live: {seen.lasting}; from the rows: {replayed.lasting}"
            assert seen.texts == replayed.texts, f"live: {seen.texts}; from the rows: {replayed.texts}"

    def _replay(self, stream_id: str) -> AsyncIterator[StreamEvent]:
        fresh = Watching(DatabaseRows(self.database), MemoryStreams(), Bell(), ids=self.ids)
        return fresh.stream(stream_id)


@asynccontextmanager
async def open_stage(folder: Path, ground: Ground | None = None) -> AsyncIterator[Stage]:
    """A stage, on the ground that was chosen unless one is given; closed and checked, unless the test has failed."""
    async with MessagesServer() as server:
        stage = Stage(ground or await new_ground(folder), folder, server)
        try:
            await stage.leases.rule(stage.database)
            yield stage
        except BaseException:
            await stage.close(check=False)
            raise
        await stage.close()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"left behind: {left}"


async def quiet() -> None:
    """Let everybody in this loop do what there is to do, bytes on their way included; threads are not waited for."""
    for _ in range(300):
        await asyncio.sleep(0)


Act = Callable[[Node, str], Coroutine[Any, Any, None]]
"""What a client does with a run on a node."""
