"""A real server process, killed with SIGKILL while runs are in every phase, and started again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed

from steersman.auth import mint
from steersman.settings import Settings
from tests.support import documents
from tests.support.clients import JsonClient, connected
from tests.support.commands import GUARD, SECRET, Started, environment, started
from tests.support.ground import Ground, new_ground
from tests.support.messages_rules import blocks_of
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer, Request
from tests.support.page import Page

TOKEN = mint(Settings(jwt_secret=SECRET), "alice")
AGENT = '''
import asyncio
from pathlib import Path

from steersman import Agent, Context, tool

FOLDER = Path(__file__).parent


async def wait(name: str, ctx: Context) -> str:
    with (FOLDER / f"{name}.ran").open("a") as file:
        file.write(f"{ctx.idempotency_key} {ctx.attempt}\\n")
    while not (FOLDER / "go").exists():
        await asyncio.sleep(0.01)
    return f"{name} is done"


@tool
async def once(ctx: Context) -> str:
    """Never done again."""
    return await wait("once", ctx)


@tool(on_crash="retry")
async def again(ctx: Context) -> str:
    """May be done again."""
    return await wait("again", ctx)


agent = Agent(system="You help.", model="claude-sonnet-5-5", tools=[once, again])
'''


class Provider:
    """Answers each run by its first input: how far it gets depends on how often it was asked."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def answer(self, request: Request) -> Script:
        """The script for a request."""
        name = request.messages[0]["content"][0]["text"]
        self.asked[name] = tries = self.asked.get(name, 0) + 1
        last = blocks_of(request.messages[-1])[-1]
        match name:
            case "silent" if tries == 1:
                return Script().hold(asyncio.Event())
            case "streaming" if tries <= 2:
                return Script().half_text("Half", f" of {tries}").hold(asyncio.Event())
            case "steered" if tries == 1:
                return Script().half_text("Half").hold(asyncio.Event())
            case "steered" if last["text"] == "more":
                return Script().text("And more.")
            case "once" | "again" if last["type"] == "text":
                return Script().text("On it. ").tool(name)
        return Script().text("Whole.")


@dataclass
class Watcher:
    """A client that watches one run's stream, and comes back after a crash for what follows its last number."""

    run: dict[str, Any]
    page: Page = field(default_factory=Page)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        """The kinds of the events that last, in order."""
        return [event["__typename"] for event in self.events if not event["__typename"].endswith("Delta")]

    async def watch(self, url: str) -> None:
        """Watch until RunResult, or until the connection breaks."""
        stream_id = self.run["streamId"]
        after = self.page.last.get(stream_id, 0)
        try:
            async with connected(f"ws{url.removeprefix('http')}/graphql", TOKEN) as client:
                variables = {"streamId": stream_id, "after": after}
                async for data in await client.subscribe(documents.WATCH_STREAM, variables):
                    self.page.show(data["stream"])
                    self.events.append(data["stream"])
        except ConnectionClosed:
            return


class World:
    """One database and one agents folder; one server process after the other."""

    def __init__(self, ground: Ground, folder: Path, provider_url: str) -> None:
        self.agents = folder / "agents"
        self.agents.mkdir()
        (self.agents / "helper.py").write_text(AGENT, encoding="utf-8")
        self.env = environment(
            folder,
            STEERSMAN_DATABASE_URL=ground.database_url,
            STEERSMAN_REDIS_URL=ground.redis_url or "",
            STEERSMAN_AGENTS=str(self.agents),
            STEERSMAN_JWT_SECRET=SECRET,
            # Whoever is alone on a file waits for no lease to end: it would be for ever. Others can't know who is dead.
            STEERSMAN_LEASE_SECONDS="2" if ground.is_cluster else "600",
            ANTHROPIC_BASE_URL=provider_url,
        )
        self.watchers: dict[str, Watcher] = {}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[tuple[Started, Server]]:
        """A server process, and its clients; whatever is watched is watched there."""
        async with started("serve", env=self.env) as process:
            url = await process.address()
            async with JsonClient(f"{url}/graphql", TOKEN) as client:
                server = Server(self, url, client)
                for watcher in self.watchers.values():
                    server.watch(watcher)
                yield process, server
                await server.leave()

    def ran(self, name: str) -> list[str]:
        """What a tool has noted: the idempotency key and the attempt of each time that it ran."""
        file = self.agents / f"{name}.ran"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


@dataclass
class Server:
    """One life of the server, as its clients see it."""

    world: World
    url: str
    client: JsonClient
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def start(self, name: str) -> None:
        """Start a run with this input, and watch it."""
        variables = {"input": {"agent": "helper", "input": name}}
        payload = (await self.client.execute(documents.START, variables))["startRun"]
        self.world.watchers[name] = Watcher(payload["run"])
        self.watch(self.world.watchers[name])

    async def steer(self, name: str, text: str) -> None:
        """Say something to a run."""
        variables = {"input": {"runId": self.world.watchers[name].run["id"], "input": text}}
        assert (await self.client.execute(documents.STEER, variables))["steerRun"]["queued"]

    async def run(self, name: str) -> dict[str, Any]:
        """A run, whole."""
        data = await self.client.execute(documents.RUN, {"id": self.world.watchers[name].run["id"]})
        return dict(data["run"])

    def watch(self, watcher: Watcher) -> None:
        """Watch a run here."""
        self.tasks.append(asyncio.create_task(watcher.watch(self.url)))

    async def leave(self) -> None:
        """All who watch here have gone; what went wrong with them is raised."""
        for task in self.tasks:
            await task


async def until(condition: Any) -> None:
    """Wait until it holds."""
    async with asyncio.timeout(GUARD):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_killed_server_goes_on_where_it_was(tmp_path: Path) -> None:
    """Runs in every phase survive SIGKILL, resume at once on a file, and whoever watches misses and doubles nothing."""
    provider = Provider()
    async with MessagesServer() as messages:
        messages.answer(provider.answer)
        world = World(await new_ground(tmp_path), tmp_path, messages.url)
        async with world.serving() as (process, server):
            await begin_every_phase(world, server, provider)
            accepted = await server.client.execute(documents.START, {"input": {"agent": "helper", "input": "accepted"}})
            process.process.kill()  # right after the response
            world.watchers["accepted"] = Watcher(accepted["startRun"]["run"])
        (world.agents / "go").touch()
        async with world.serving() as (process, server):
            await until(lambda: " of 2" in world.watchers["streaming"].page.text)
            process.process.kill()
        async with world.serving() as (_, server):
            await asyncio.gather(*server.tasks)
            for name, watcher in world.watchers.items():
                await judge(server, name, watcher)
            await judge_tools(world, server)
    assert messages.refused == []


async def begin_every_phase(world: World, server: Server, provider: Provider) -> None:
    """Bring one run into each phase that a kill can find it in."""
    for name in ("silent", "streaming", "steered", "once", "again", "finished"):
        await server.start(name)
    await until(lambda: provider.asked.get("silent"))
    watchers = world.watchers
    await until(lambda: "Half" in watchers["streaming"].page.text and "Half" in watchers["steered"].page.text)
    await server.steer("steered", "more")
    await until(lambda: "InputQueued" in watchers["steered"].kinds)
    await until(lambda: world.ran("once") and world.ran("again"))
    await until(lambda: "RunResult" in watchers["finished"].kinds)


async def judge(server: Server, name: str, watcher: Watcher) -> None:
    """The run is COMPLETED, told its end once, and is shown as one shows it who reads it all afterwards."""
    run = await server.run(name)
    assert (name, run["status"], run["finish"], run["error"]) == (name, "COMPLETED", "STOP", None)
    assert watcher.page.problems == []
    assert watcher.kinds.count("RunResult") == 1
    assert watcher.kinds[-1] == "RunResult"
    fresh = Watcher(run)
    await fresh.watch(server.url)
    assert fresh.kinds == watcher.kinds
    assert fresh.page.text == watcher.page.text
    expected = {"steered": "Whole.And more.", "once": "On it. Whole.", "again": "On it. Whole."}
    assert watcher.page.text == expected.get(name, "Whole.")
    assert watcher.kinds.count("StepRestarted") >= {"silent": 1, "streaming": 2, "steered": 1}.get(name, 0)
    assert [message["seq"] for message in run["messages"]["nodes"]] == list(range(1, len(run["messages"]["nodes"]) + 1))


async def judge_tools(world: World, server: Server) -> None:
    """The tool that must not is not run again, and its model reads so; the other ran again under the same key."""
    once, again = await server.run("once"), await server.run("again")
    (call,) = once["toolCalls"]["nodes"]
    assert (call["state"], call["result"]) == ("INTERRUPTED", "tool execution was interrupted")
    assert world.ran("once") == [f"{call['id']} 1"]
    (call,) = again["toolCalls"]["nodes"]
    assert (call["state"], call["result"]) == ("SUCCEEDED", "again is done")
    ran = world.ran("again")
    assert [line.split()[0] for line in ran] == [call["id"]] * len(ran)
    assert 1 < len(ran) <= int(ran[-1].split()[1]) <= 3, "an attempt may have died before it had noted anything"
    texts = [message["text"] for message in (await server.run("steered"))["messages"]["nodes"]]
    assert texts == ["steered", "Whole.", "more", "And more."]
