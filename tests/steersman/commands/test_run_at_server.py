"""`steersman run --url`: the same in the terminal, while a server does the work."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from steersman.auth import mint
from steersman.settings import Settings
from tests.support.clients import JsonClient
from tests.support.commands import SECRET, environment, in_terminal, started, steersman

RUNS = "{ runs(first: 10) { nodes { id status userId agent } } }"


async def runs_at(server: str, token: str | None = None) -> list[dict[str, Any]]:
    """The runs that a server shows."""
    async with JsonClient(f"{server}/graphql", token) as client:
        nodes: list[dict[str, Any]] = (await client.execute(RUNS))["runs"]["nodes"]
    return nodes


async def test_a_file_in_use_is_told_with_the_way_round(tmp_path: Path) -> None:
    """The server that works on it can be asked instead."""
    env = environment(tmp_path)
    async with started("dev", "--no-reload", env=env) as server:
        address = await server.address()
        refused = await steersman("run", "calculator", "6 * 7", env=env)
        there = await steersman("run", "calculator", "6 * 7", "--url", address, env=env)
        (run,) = await runs_at(address)
    assert (refused.code, refused.out) == (2, "")
    assert "is in use by another Steersman process" in refused.err
    assert "--url" in refused.err
    assert (there.code, "42" in there.out) == (0, True)
    assert "→ calculate(" in there.err
    assert "completed\n2 steps · " in there.err
    assert run["id"] in there.err
    assert (run["status"], run["userId"], run["agent"]) == ("COMPLETED", "dev", "calculator")


async def test_both_ways_print_the_same_json(tmp_path: Path) -> None:
    """The events of a run here and of one at a server have the same kinds, fields and types."""
    here_folder, there_folder = tmp_path / "here", tmp_path / "there"
    here_folder.mkdir()
    there_folder.mkdir()
    here = await steersman("run", "calculator", "6 * 7", "--json", env=environment(here_folder))
    async with started("dev", "--no-reload", env=environment(there_folder)) as server:
        words = ["run", "calculator", "6 * 7", "--json", "--url", await server.address()]
        there = await steersman(*words, env=environment(here_folder))
    assert shapes(here.out) == shapes(there.out)


def shapes(out: str) -> dict[str, Any]:
    """Of each kind of event the first one, with types in the place of what differs from run to run."""
    found: dict[str, Any] = {}
    for line in out.splitlines():
        event = json.loads(line)
        for name in ("streamId", "at", "runId", "toolCallId", "seq"):
            if name in event:
                event[name] = type(event[name]).__name__
        found.setdefault(event["__typename"], event)
    return found


async def test_a_token_signs_in(tmp_path: Path) -> None:
    """Without one nobody is asked for; a wrong one is refused in words."""
    env = environment(tmp_path, STEERSMAN_JWT_SECRET=SECRET, ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    token = mint(Settings(jwt_secret=SECRET), "alice")
    assert (await steersman("migrate", env=env)).code == 0
    async with started("serve", env=env) as server:
        address = await server.address()
        nobody = await steersman("run", "calculator", "Hi", "--url", address, env=env)
        wrong = await steersman("run", "calculator", "Hi", "--url", address, "--token", "wrong", env=env)
        unknown = await steersman("run", "nobody", "Hi", "--url", address, "--token", token, env=env)
    assert (nobody.code, "--token" in nobody.err) == (2, True)
    assert (wrong.code, "token is not valid" in wrong.err) == (2, True)
    assert (unknown.code, "AGENT_NOT_FOUND" in unknown.err) == (2, True)


async def test_where_no_server_answers_it_says_so(tmp_path: Path) -> None:
    """Exit code 1; an address that is none is bad use."""
    env = environment(tmp_path)
    ended = await steersman("run", "calculator", "Hi", "--url", "http://127.0.0.1:1", env=env)
    assert (ended.code, "No Steersman answers at http://127.0.0.1:1" in ended.err) == (1, True)
    ended = await steersman("run", "calculator", "Hi", "--url", "nowhere", env=env)
    assert (ended.code, "is no address of a server" in ended.err) == (2, True)


async def test_ctrl_c_stops_the_run_at_the_server(tmp_path: Path) -> None:
    """It waits until the run has settled there; the exit code is 130."""
    env = environment(tmp_path)
    async with started("dev", "--no-reload", env=env) as server:
        address = await server.address()
        async with in_terminal("run", "slowpoke", "count to 60", "--url", address, env=env) as run:
            await run.until("2 of 60")
            run.type("\x03")
            await run.until("Stopping the run", "stopped")
            assert await run.ended() == 130
        (row,) = await runs_at(address)
    assert row["status"] == "CANCELLED"


async def test_a_run_is_watched_through_a_restart_of_its_server(tmp_path: Path) -> None:
    """The server is killed in the middle and started again: the run goes on, and so does what is shown of it."""
    env = environment(tmp_path)
    words = ["dev", "--no-reload", "--port"]
    async with started(*words, "0", env=env) as server:
        address = await server.address()
        async with started("run", "researcher", "What is a lease?", "--json", "--url", address, env=env) as run:
            await run.until("ToolCallFinished")
            server.send(signal.SIGKILL)
            await server.ended()
            await run.until("trying again")
            async with started(*words, address.rpartition(":")[2], env=env) as again:
                await again.address()
                assert await run.ended() == 0
    assert '"__typename": "RunResult"' in run.output
    assert '"status": "COMPLETED"' in run.output
