"""Runs with remotes, by a clock that stands still: what they wait for, what leaves, and who takes over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from engine.builtin.fetch_policy import FetchPolicy
from engine.remotes.mcp_pool import FIRST_PAUSE_MS, McpPool, Unreachable
from engine.remotes.presence import Presence
from engine.remotes.remote_policy import RemotePolicy
from engine.remotes.remote_tools import RemoteTools
from engine.remotes.remotes import Contacts, Remotes
from engine.run_overrides import RunOverrides
from engine.sweeping import sweep
from engine.tool import tool
from models.call import ToolCall
from models.enums import FinishReason, RemoteKind, RunStatus, SteerMode, ToolCallState
from models.remote import FOREVER, Remote, RemoteTool, get_remotes, open_remote_calls
from models.run import Run
from models.verbs.remoting import NewRemote, register_remote
from tests.support.mcp_server import mcp_server
from tests.support.messages_script import Script
from tests.support.stage import ALICE, LEASE_SECONDS, Node, Stage

GRACE = 10.0
CALL = 60.0
"""Seconds that a remote has to answer."""
MOMENT = 0.001
READ = RemoteTool("read", "Reads a tab.", {"type": "object", "properties": {"tab": {"type": "integer"}}})
PRIVATE = RemotePolicy(net=FetchPolicy(private=True))


async def registered(stage: Stage, name: str = "browser", **more: Any) -> Remote:
    """A client of Alice's, which is not connected yet; or what else is given."""
    new = NewRemote(
        **{"user_id": "alice", "name": name, "kind": RemoteKind.CLIENT, "url": None, "tools": (READ,)} | more
    )
    return await stage.database.write(register_remote, new=new, ids=stage.ids, at=stage.clock())


@asynccontextmanager
async def here(stage: Stage, remote: Remote) -> AsyncIterator[Presence]:
    """The client has a subscription within this context, which is renewed when the test says so."""
    presence = Presence(stage.database, stage.clock, GRACE)
    async with presence.of(remote.id):
        yield presence


async def waiting(stage: Stage, node: Node, *remotes: Remote) -> Run:
    """A run that waits for the remotes' answers."""
    script = Script()
    for remote in remotes:
        script.tool(f"{remote.name}_read", {"tab": 1})
    stage.play(script)
    overrides = RunOverrides(remotes=tuple(remote.id for remote in remotes))
    run = await node.settled(await node.start(overrides=overrides))
    assert (run.status, run.finish, run.worker) == (RunStatus.WAITING, FinishReason.CLIENT_TOOL, None)
    return run


async def calls(stage: Stage, run_id: str) -> list[ToolCall]:
    """The calls of a run."""
    return (await stage.story(run_id)).calls


def offered(stage: Stage, request: int) -> list[str]:
    """The names of the tools that the model was told of."""
    return [told["name"] for told in stage.server.requests[request].body.get("tools", [])]


async def test_a_remote_that_nobody_answers_for_times_out_at_the_deadline(stage: Stage) -> None:
    """Not a moment before; the model reads so, and the run goes on."""
    node = await stage.open()
    remote = await registered(stage)
    async with here(stage, remote) as presence:
        run = await waiting(stage, node, remote)
        stage.clock.advance(CALL - MOMENT)
        await presence.renew()
        await sweep(node.shop)
        assert (await stage.run(run.id)).status is RunStatus.WAITING
        (waits,) = await stage.database.read(open_remote_calls, remote.id)
        assert waits.deadline == stage.clock() + 1
        stage.play(Script().text("Nobody answered."))
        stage.clock.advance(MOMENT)
        await sweep(node.shop)
        await node.look()
        assert (await node.settled(run.id)).status is RunStatus.COMPLETED
    (call,) = await calls(stage, run.id)
    assert (call.state, call.result) == (ToolCallState.TIMED_OUT, "no answer: nobody answered this call in time")
    assert await stage.database.read(open_remote_calls, remote.id) == []


async def test_a_remote_has_left_when_its_grace_is_over(stage: Stage) -> None:
    """Not a moment before; of two that are asked, the one that is there is still waited for."""
    node = await stage.open()
    browser, desktop = await registered(stage), await registered(stage, "desktop")
    async with here(stage, desktop) as presence:
        async with here(stage, browser):
            run = await waiting(stage, node, browser, desktop)
        stage.clock.advance(GRACE - MOMENT)
        await presence.renew()
        await sweep(node.shop)
        assert [call.state for call in await calls(stage, run.id)] == [ToolCallState.WAITING] * 2
        stage.clock.advance(MOMENT)
        await sweep(node.shop)
        left, waits = await calls(stage, run.id)
        assert (left.state, waits.state) == (ToolCallState.FAILED, ToolCallState.WAITING)
        assert str(left.result).startswith("no answer: the remote browser has left")
        stage.play(Script().text("One of them has left."))
        await node.runs.complete(ALICE, run_id=run.id, call_id=waits.id, result="here")
        assert (await node.settled(run.id)).status is RunStatus.COMPLETED
    assert offered(stage, 1) == ["browser_read", "desktop_read"]


async def test_who_had_no_way_to_say_that_it_is_there_has_not_left(stage: Stage) -> None:
    """A sweep right after the start of a process, or after an outage, does not look at who has left."""
    node = await stage.open()
    remote = await registered(stage)
    async with here(stage, remote):
        run = await waiting(stage, node, remote)
    stage.clock.advance(CALL - MOMENT)
    await sweep(node.shop, leaving=False)
    assert (await stage.run(run.id)).status is RunStatus.WAITING
    async with here(stage, remote):
        await sweep(node.shop)
        assert (await stage.run(run.id)).status is RunStatus.WAITING


async def test_a_remote_that_leaves_within_a_turn_stays_in_the_list_and_is_not_asked(stage: Stage) -> None:
    """The model reads that it is away; in the next turn it is not told of it any more, and in the one after it is."""

    @tool
    def think() -> str:
        """Think for longer than the grace."""
        stage.clock.advance(GRACE)
        return "thought"

    node = await stage.open(tools=[think])
    remote = await registered(stage)
    stage.play(Script().tool("think"), Script().tool("browser_read", {"tab": 1}), Script().text("It is away."))
    async with here(stage, remote):
        run_id = await node.start(overrides=RunOverrides(remotes=(remote.id,)))
        assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert [offered(stage, request) for request in range(3)] == [["think", "browser_read"]] * 3
    _, call = await calls(stage, run_id)
    assert (call.state, call.result) == (ToolCallState.FAILED, "not run: the remote browser is not connected now")
    assert await stage.database.read(open_remote_calls, remote.id) == []
    stage.play(Script().text("Again."))
    await node.steer(run_id, "Again")
    await node.settled(run_id)
    assert offered(stage, 3) == ["think"]
    async with here(stage, remote):
        stage.play(Script().text("And again."))
        await node.steer(run_id, "And again")
        await node.settled(run_id)
    assert offered(stage, 4) == ["think", "browser_read"]


async def test_an_answer_given_on_one_machine_lets_the_run_go_on_on_another(stage: Stage) -> None:
    """The machine that had asked is gone by then."""
    node = await stage.open()
    remote = await registered(stage)
    async with here(stage, remote):
        run = await waiting(stage, node, remote)
        await stage.retire(node)
        other = await stage.open(watch_seconds=0.02)
        await stage.screen(run.id).reconnect(other.watching)
        (call,) = await calls(stage, run.id)
        stage.play(Script().text("I see."))
        await other.runs.complete(ALICE, run_id=run.id, call_id=call.id, result="seen")
        assert (await other.settled(run.id)).status is RunStatus.COMPLETED
    assert [call.result for call in await calls(stage, run.id)] == ["seen"]


async def test_a_call_appears_and_is_answered_on_whichever_machine_the_client_is(stage: Stage) -> None:
    """The run works on one, the client listens on another."""
    node = await stage.open(watch_seconds=0.02)
    other = await stage.open(watch_seconds=0.02, works=False)
    presence = Presence(stage.database, stage.clock, GRACE)
    remotes = Remotes(other.shop, other.runs, RemotePolicy(), pool_of(stage), presence)
    read = ("read", "Reads a tab.", {"type": "object"})
    remote = await remotes.register(ALICE, name="browser", kind=RemoteKind.CLIENT, tools=[read])
    async with aclosing(remotes.calls(remote)) as listened:
        first = asyncio.ensure_future(anext(listened))
        while not len(presence):
            await asyncio.sleep(0)
        while not (await remotes.of(ALICE, remote.id)).connected_until:
            await asyncio.sleep(0)
        run = await waiting(stage, node, remote)
        call = await first
        assert (call.run_id, call.input) == (run.id, {"tab": 1})
        stage.play(Script().text("I see."))
        assert await remotes.answer_call(ALICE, call_id=call.id, result="seen") is True
        await node.look()
        assert (await node.settled(run.id)).status is RunStatus.COMPLETED
        assert await remotes.answer_call(ALICE, call_id=call.id, result="again") is False
    assert len(presence) == 0


async def test_a_call_that_waits_and_is_interrupted_or_cancelled_waits_no_more(stage: Stage) -> None:
    """No client is asked for it any longer."""
    node = await stage.open()
    remote = await registered(stage)
    async with here(stage, remote):
        run = await waiting(stage, node, remote)
        stage.play(Script().text("Instead."))
        await node.steer(run.id, "Do something else", SteerMode.INTERRUPT)
        await node.settled(run.id)
        assert await stage.database.read(open_remote_calls, remote.id) == []
        other = await waiting(stage, node, remote)
        assert len(await stage.database.read(open_remote_calls, remote.id)) == 1
        await node.cancel(other.id)
        assert await stage.database.read(open_remote_calls, remote.id) == []


async def test_an_agent_may_want_no_remotes(stage: Stage) -> None:
    """Its runs are told of none."""
    node = await stage.open(remotes=False)
    remote = await registered(stage)
    stage.play(Script().text("Hello."))
    async with here(stage, remote):
        await node.settled(await node.start(overrides=RunOverrides(remotes=(remote.id,))))
    assert offered(stage, 0) == []


# ---------------------------------------------------------------- MCP servers


def pool_of(stage: Stage) -> McpPool:
    """The connections of one process."""
    return McpPool(PRIVATE, stage.clock, Contacts(stage.database, stage.clock))


async def with_server(stage: Stage, pool: McpPool, **options: Any) -> Node:
    """A process with these connections."""
    return await stage.open(shop_remotes=RemoteTools(PRIVATE, pool), watch_seconds=0.02, **options)


async def test_a_call_of_a_server_is_reported_as_interrupted_after_a_crash(stage: Stage, tmp_path: Path) -> None:
    """Whether it had been done nobody knows, so it is not done again."""
    async with mcp_server(tmp_path) as server:
        first, second = pool_of(stage), pool_of(stage)
        node = await with_server(stage, first)
        tools = tuple(await first.tools_at(server.url))
        what = {"kind": RemoteKind.MCP, "url": server.url, "tools": tools, "connected_until": FOREVER}
        remote = await registered(stage, "sums", **what)
        stage.play(Script().tool("sums_work"), Script().text("It was interrupted."))
        run_id = await node.start(overrides=RunOverrides(remotes=(remote.id,)))
        await server.noted("work begun")
        await stage.leases.advance(LEASE_SECONDS + 1)
        other = await with_server(stage, second)
        assert (await other.settled(run_id)).status is RunStatus.COMPLETED
        await node.beat()
        await node.idle(run_id)
        (call,) = await calls(stage, run_id)
        assert (call.state, call.result) == (ToolCallState.INTERRUPTED, "tool execution was interrupted")
        assert server.notes().count("work begun") == 1
        await server.noted("work cancelled")
        await first.close()
        await second.close()


async def test_a_call_that_may_be_repeated_is_made_again_after_a_crash(stage: Stage, tmp_path: Path) -> None:
    """The server's annotations say so: it is idempotent."""
    async with mcp_server(tmp_path) as server:
        first, second = pool_of(stage), pool_of(stage)
        node = await with_server(stage, first)
        tools = tuple(await first.tools_at(server.url))
        what = {"kind": RemoteKind.MCP, "url": server.url, "tools": tools, "connected_until": FOREVER}
        remote = await registered(stage, "sums", **what)
        done = tmp_path / "done"
        stage.play(Script().tool("sums_slowly", {"file": str(done)}), Script().text("It was done."))
        run_id = await node.start(overrides=RunOverrides(remotes=(remote.id,)))
        await server.noted("slowly")
        await stage.leases.advance(LEASE_SECONDS + 1)
        other = await with_server(stage, second)
        await server.noted("slowly", 2)
        done.touch()
        assert (await other.settled(run_id)).status is RunStatus.COMPLETED
        await node.beat()
        await node.idle(run_id)
        (call,) = await calls(stage, run_id)
        assert (call.state, call.result, call.attempt) == (ToolCallState.SUCCEEDED, "done", 2)
        assert server.notes().count("slowly") == 2
        await first.close()
        await second.close()


async def test_a_server_that_does_not_answer_is_tried_again_after_longer_and_longer_pauses(stage: Stage) -> None:
    """Within a pause nobody waits for it, and every try is told on its row."""
    pool = pool_of(stage)
    what = {"kind": RemoteKind.MCP, "url": "http://127.0.0.1:1/mcp", "tools": (), "connected_until": FOREVER}
    remote = await registered(stage, "gone", **what)

    async def words() -> str:
        try:
            await pool.connect(remote)
        except Unreachable as error:
            return str(error)
        raise AssertionError("it was reached")

    for pause in (1, 2, 4):
        assert "tried again" not in await words()
        assert (await words()).endswith(f"; it is tried again in {pause} s")
        stage.clock.advance(pause * FIRST_PAUSE_MS / 1000)
    found = (await stage.database.read(get_remotes, [remote.id]))[remote.id]
    assert found.connected_until <= stage.clock()


async def test_a_run_that_is_cancelled_does_not_wait_for_a_server_to_be_reached(stage: Stage) -> None:
    """The server takes the connection and never answers; the cancel ends the attempt."""
    accepted = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pool = pool_of(stage)
    node = await with_server(stage, pool)
    what = {"kind": RemoteKind.MCP, "url": f"http://127.0.0.1:{port}/mcp", "tools": (), "connected_until": 0}
    remote = await registered(stage, "silent", **what)
    run_id = await node.start(overrides=RunOverrides(remotes=(remote.id,)))
    await accepted.wait()
    await node.cancel(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED
    assert stage.server.requests == []
    await pool.close()
    server.close()
    await server.wait_closed()
