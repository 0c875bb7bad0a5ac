"""Verbs of remotes, and the calls that wait for them: each one transaction, on every database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from models.content import REMOTE_LEFT
from models.enums import RemoteKind, RunStatus, ToolCallState
from models.page import Window
from models.remote import FOREVER, Remote, RemoteTool, count_remotes, find_remotes, get_remotes, open_remote_calls
from models.verbs.errors import RemoteMissing, TooMany
from models.verbs.remoting import (
    NewRemote,
    configure_remotes,
    delete_remote,
    forsake,
    note_contact,
    register_remote,
    renew_remotes,
)
from models.verbs.waiting import AskedRemote, Wait, suspend
from tests.support.desk import Desk, Hands

READ = RemoteTool("read", "Reads.", {"type": "object", "properties": {}}, repeatable=True)
SERVER: dict[str, Any] = {"kind": RemoteKind.MCP, "url": "https://mcp.test/", "connected_until": FOREVER}


async def registered(desk: Desk, name: str = "browser", **more: Any) -> Remote:
    """A remote of alice's."""
    given: dict[str, Any] = {"user_id": "alice", "kind": RemoteKind.CLIENT, "url": None, "tools": (READ,), **more}
    new = NewRemote(name=name, **given)
    return await desk.database.write(register_remote, new=new, ids=desk.ids, at=desk.clock())


async def remote_now(desk: Desk, remote: Remote) -> Remote:
    """The remote as its row has it."""
    return (await desk.database.read(get_remotes, [remote.id]))[remote.id]


async def waiting(desk: Desk, remote: Remote) -> Hands:
    """A run whose call waits for the remote; what suspended it was called twice."""
    hands = await desk.open()
    (call,) = await hands.call_tools()
    asked = AskedRemote(remote.id, remote.name, "read")
    wait = Wait(call.id, None, desk.clock() + 60_000, asked=asked)
    what = {"seq": hands.run.seq + 1, "holder": desk.holder(), "next_stream": desk.ids("str"), "ids": desk.ids}
    await hands.again(suspend, waits=[wait], **what)
    return hands


async def test_a_name_is_one_remote_however_often_it_is_registered(desk: Desk) -> None:
    """At the same moment too; another user's of that name is another."""
    found = await asyncio.gather(*(registered(desk) for _ in range(6)))
    assert len({remote.id for remote in found}) == 1
    assert (await registered(desk, user_id="bob")).id != found[0].id
    assert await desk.database.read(count_remotes, "alice") == 1


async def test_a_client_that_registers_again_stays_connected_and_a_server_that_takes_its_place_is_new(
    desk: Desk,
) -> None:
    """Under the same id."""
    remote = await registered(desk)
    await desk.database.write(renew_remotes, remote_ids=[remote.id], until=desk.clock() + 5_000)
    again = await registered(desk, tools=(READ, RemoteTool("write", "Writes.", {"type": "object"})))
    assert (again.id, again.connected_until) == (remote.id, desk.clock() + 5_000)
    assert await remote_now(desk, remote) == again
    server = await registered(desk, **SERVER)
    assert (server.id, server.url, server.connected_until) == (remote.id, "https://mcp.test/", FOREVER)
    assert (await registered(desk)).connected_until == 0


async def test_a_user_has_a_bounded_number_of_remotes(desk: Desk) -> None:
    """One that is there can be registered anew all the same."""
    await registered(desk, "a")
    new = NewRemote("alice", "b", RemoteKind.CLIENT, None, (READ,))
    with pytest.raises(TooMany):
        await desk.database.write(register_remote, new=new, ids=desk.ids, at=desk.clock(), most=1)
    new = NewRemote("alice", "a", RemoteKind.CLIENT, None, ())
    assert (await desk.database.write(register_remote, new=new, ids=desk.ids, at=desk.clock(), most=1)).tools == ()


async def test_being_connected_never_ends_sooner_because_another_process_says_less(desk: Desk) -> None:
    """The latest moment counts; a server is not renewed as a client is."""
    remote, server = await registered(desk), await registered(desk, "server", **{**SERVER, "connected_until": 0})
    for until in (7_000, 5_000):
        await desk.database.write(renew_remotes, remote_ids=[remote.id, server.id, "rmt_none"], until=until)
    assert (await remote_now(desk, remote)).connected_until == 7_000
    assert (await remote_now(desk, server)).connected_until == 0


async def test_what_was_learnt_of_a_server_is_dropped_where_it_was_registered_elsewhere_meanwhile(desk: Desk) -> None:
    """It was another server."""
    before = await registered(desk, "server", **SERVER)
    after = await registered(desk, "server", **SERVER | {"url": "https://other.test/"})
    await desk.database.write(note_contact, remote=before, connected_until=0, tools=(), at=desk.clock())
    assert await remote_now(desk, after) == after
    await desk.database.write(note_contact, remote=after, connected_until=5, tools=(), at=desk.clock())
    assert (await remote_now(desk, after)).connected_until == 5


async def test_the_configured_remotes_are_those_of_the_file(desk: Desk) -> None:
    """Everybody sees them; one that stays keeps its id, one that goes is gone, and one that moved begins anew."""
    await registered(desk, "own")

    async def configure(urls: dict[str, str | None]) -> dict[str, Remote]:
        kept = await desk.database.write(configure_remotes, urls=urls, ids=desk.ids, at=desk.clock())
        return {remote.name: remote for remote in kept}

    first = await configure({"files": None, "search": "https://a.test/"})
    await desk.database.write(note_contact, remote=first["files"], connected_until=9, tools=(READ,), at=desk.clock())
    again = await configure({"files": None, "search": "https://b.test/"})
    assert {name: one.id for name, one in again.items()} == {name: one.id for name, one in first.items()}
    assert (again["files"].tools, again["search"].url) == ((READ,), "https://b.test/")
    for user, names in (("alice", ["search", "files", "own"]), ("bob", ["search", "files"])):
        found = await desk.database.read(find_remotes, user, Window(size=10))
        assert sorted(remote.name for remote in found.rows) == sorted(names)
    assert await configure({}) == {}
    assert await desk.database.read(count_remotes, "alice") == 1
    with pytest.raises(RemoteMissing):
        await desk.database.write(delete_remote, user_id="alice", remote_id=first["files"].id)


async def test_a_call_that_waits_is_one_call_however_often_its_wait_is_stored(desk: Desk) -> None:
    """Under its own id, with what the model has sent and until when an answer counts."""
    remote = await registered(desk)
    hands = await waiting(desk, remote)
    (asked,) = await desk.database.read(open_remote_calls, remote.id)
    (call,) = await desk.calls(hands.id, 1)
    assert (asked.call_id, asked.run_id, asked.tool, asked.input) == (call.id, hands.id, "read", call.input)
    assert asked.id.startswith("rcl_")
    assert asked.deadline == call.expires_at


async def test_what_waits_for_a_remote_that_left_or_was_removed_is_closed_once(desk: Desk) -> None:
    """Its run goes on in a new generation; that of a remote which is there waits."""
    gone, removed, there = [await registered(desk, name) for name in ("gone", "removed", "there")]
    now = desk.clock()
    await desk.database.write(renew_remotes, remote_ids=[gone.id], until=now)
    await desk.database.write(renew_remotes, remote_ids=[there.id], until=now + 1)
    runs = [await waiting(desk, remote) for remote in (gone, removed, there)]
    await desk.database.write(delete_remote, user_id="alice", remote_id=removed.id)
    done = await desk.database.write(forsake, limit=10, ids=desk.ids, at=now)
    assert sorted(one.run.id for one in done) == sorted(hands.id for hands in runs[:2])
    for name, hands in zip(("gone", "removed"), runs, strict=False):
        (call,) = await desk.calls(hands.id, 1)
        assert (call.state, call.result, call.is_error) == (ToolCallState.FAILED, REMOTE_LEFT.format(name), True)
        assert ((await desk.run(hands.id)).status, (await desk.run(hands.id)).generation) == (RunStatus.RUNNING, 2)
    assert (await desk.run(runs[2].id)).status is RunStatus.WAITING
    assert await desk.database.write(forsake, limit=10, ids=desk.ids, at=now) == []
