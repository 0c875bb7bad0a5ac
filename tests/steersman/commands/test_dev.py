"""`steersman dev`: what a newcomer types."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import socket
from pathlib import Path

from tests.support.clients import JsonClient
from tests.support.commands import Started, environment, in_terminal, started, steersman
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer
from tests.support.project import ROOT

START = """mutation ($agent: String!, $input: String!) {
  startRun(input: {agent: $agent, input: $input}) { run { id } errors { code message } } }"""
RUN = "query ($id: ID!) { run(id: $id) { status steps userId toolCalls { nodes { name state result } } } }"


async def start_run(server: str, agent: str, words: str) -> str:
    """Start a run at a server; its id."""
    async with JsonClient(f"{server}/graphql") as client:
        payload = (await client.execute(START, {"agent": agent, "input": words}))["startRun"]
    assert payload["errors"] == []
    run_id: str = payload["run"]["id"]
    return run_id


async def read_run(server: str, run_id: str) -> dict[str, object]:
    """A run as the server shows it."""
    async with JsonClient(f"{server}/graphql") as client:
        run: dict[str, object] = (await client.execute(RUN, {"id": run_id}))["run"]
    return run


async def until_status(server: str, run_id: str, status: str) -> dict[str, object]:
    """Wait for a run's status; the run."""
    async with asyncio.timeout(60):
        while (run := await read_run(server, run_id))["status"] != status:
            await asyncio.sleep(0.1)
    return run


async def ready(server: Started, after: int = 0) -> str:
    """Wait until it serves; its address."""
    address = await server.address(after)
    await server.until("Agents ", after=after)
    return address


async def test_it_says_what_to_open_and_who_answers(tmp_path: Path) -> None:
    """The address, the user, the model and why, the data, the agents: without a question, on a fresh machine."""
    async with started("dev", "--no-reload", env=environment(tmp_path)) as server:
        address = await ready(server)
        assert f"{address}/graphql" in server.output
        assert "the user 'dev'" in server.output
        assert "the scripted demo model, no real one: ANTHROPIC_API_KEY is not set" in server.output
        assert re.search(r"Agents +calculator, desk, frontdesk, researcher, slowpoke\n", server.output)
        assert "test.db" in server.output
        run_id = await start_run(address, "calculator", "What is 6 * 7?")
        run = await until_status(address, run_id, "COMPLETED")
    assert run["userId"] == "dev"
    assert run["toolCalls"] == {"nodes": [{"name": "calculate", "state": "SUCCEEDED", "result": "42"}]}


async def test_a_key_makes_the_real_provider_answer(tmp_path: Path) -> None:
    """And `--scripted` the demo model all the same."""
    env = environment(tmp_path, ANTHROPIC_API_KEY="sk-ant-hidden-word")
    for words, told in (([], "Answers    come from the Messages API of Anthropic"), (["--scripted"], "demo model")):
        async with started("dev", "--no-reload", *words, env=env) as server:
            await ready(server)
            assert told in server.output
            assert "hidden-word" not in server.output


async def test_ctrl_c_stops_it_and_runs_go_on_at_the_next_start(tmp_path: Path) -> None:
    """In a terminal, with the supervisor: both processes end, the run was not cancelled."""
    env = environment(tmp_path)
    async with MessagesServer() as provider:
        env["ANTHROPIC_BASE_URL"] = provider.url
        provider.play(Script().text("Shown. ").hold(asyncio.Event()))
        async with in_terminal("dev", env=env) as server:
            address = await ready(server)
            run_id = await start_run(address, "calculator", "Talk")
            async with asyncio.timeout(60):
                while not provider.requests:
                    await asyncio.sleep(0.05)
            server.type("\x03")
            assert await server.ended() == 0
            assert "Traceback" not in server.output
        await provider.requests[0].cut_off()
        provider.play(Script().text("Done."))
        async with started("dev", "--no-reload", env=env) as server:
            run = await until_status(await ready(server), run_id, "COMPLETED")
    assert run["steps"] == 1


async def test_after_a_kill_runs_go_on_at_once(tmp_path: Path) -> None:
    """No lease has to run out: the file is this process's alone."""
    env = environment(tmp_path, STEERSMAN_LEASE_SECONDS="3600")
    async with MessagesServer() as provider:
        env["ANTHROPIC_BASE_URL"] = provider.url
        provider.play(Script().text("Shown. ").hold(asyncio.Event()))
        async with started("dev", "--no-reload", env=env) as server:
            run_id = await start_run(await ready(server), "calculator", "Talk")
            async with asyncio.timeout(60):
                while not provider.requests:
                    await asyncio.sleep(0.05)
            server.send(signal.SIGKILL)
            await server.ended()
        provider.play(Script().text("Done."))
        async with started("dev", "--no-reload", env=env) as server:
            await until_status(await ready(server), run_id, "COMPLETED")


async def test_a_changed_file_starts_it_anew_at_the_same_address(tmp_path: Path) -> None:
    """A file that does not load is told with its line, and the other agents go on; runs under way go on too."""
    agents = tmp_path / "agents"
    agents.mkdir()
    for file in ("calculator.py", "_units.py"):
        shutil.copy(ROOT / "agents" / file, agents)
    env = environment(tmp_path, STEERSMAN_AGENTS=str(agents))
    async with MessagesServer() as provider, started("dev", env={**env, "ANTHROPIC_BASE_URL": provider.url}) as server:
        address = await ready(server)
        provider.play(Script().text("Shown. ").hold(asyncio.Event()))
        run_id = await start_run(address, "calculator", "Talk")
        async with asyncio.timeout(60):
            while not provider.requests:
                await asyncio.sleep(0.05)
        provider.answer(lambda request: Script().text("Done."))

        before = len(server.output)
        (agents / "broken.py").write_text("agent = \n")
        await server.until("broken.py has changed", "broken.py, line 1: SyntaxError", "Serving again", after=before)
        assert await server.address(before) == address
        await until_status(address, run_id, "COMPLETED")

        before = len(server.output)
        shutil.copy(ROOT / "agents" / "slowpoke.py", agents / "broken.py")
        await server.until("broken, calculator", "Serving again", after=before)
        assert "SyntaxError" not in server.output[before:]
        run_id = await start_run(address, "broken", "Talk")
        await until_status(address, run_id, "COMPLETED")
        server.send(signal.SIGTERM)
        assert await server.ended() == 0


async def test_the_server_ends_with_its_supervisor(tmp_path: Path) -> None:
    """Even where that was killed: the port and the file are free for the next start."""
    env = environment(tmp_path)
    async with started("dev", env=env) as server:
        port = (await ready(server)).rpartition(":")[2]
        server.send(signal.SIGKILL)
        await server.ended()
    async with started("dev", "--port", port, env=env) as server:
        assert (await ready(server)).endswith(f":{port}")
        server.send(signal.SIGINT)
        assert await server.ended() == 0


async def test_it_listens_on_this_machine_alone(tmp_path: Path) -> None:
    """Whoever asks is signed in, so an address that others reach is refused, by setting or option."""
    env = environment(tmp_path)
    for words, settings in (["--host", "0.0.0.0"], {}), ([], {"STEERSMAN_HOST": "192.0.2.1"}):  # noqa: S104 - refused
        ended = await steersman("dev", *words, env={**env, **settings})
        assert (ended.code, "listens on this machine alone" in ended.err) == (2, True)


async def test_what_keeps_it_from_starting_is_told(tmp_path: Path) -> None:
    """A port that is taken, a file that is in use, no agents folder, a bad port: exit code 2, one sentence."""
    env = environment(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = await steersman("dev", "--port", port, env=env)
        assert (ended.code, f"Port {port} of 127.0.0.1 is taken" in ended.err) == (2, True)
    async with started("dev", "--no-reload", env=env) as server:
        await ready(server)
        for words in ([], ["--no-reload"]):
            ended = await steersman("dev", *words, env=env)
            assert (ended.code, "in use by another Steersman process" in ended.err) == (2, True)
    ended = await steersman("dev", env={**env, "STEERSMAN_AGENTS": str(tmp_path / "nowhere")})
    assert (ended.code, "There is no folder" in ended.err) == (2, True)
    ended = await steersman("dev", "--port", "many", env=env)
    assert (ended.code, "--port must be a whole number" in ended.err) == (2, True)


async def test_who_comes_from_elsewhere_is_not_signed_in(tmp_path: Path) -> None:
    """A page of another site, opened in a browser on the same machine, is not the user `dev`."""
    async with (
        started("dev", "--no-reload", env=environment(tmp_path)) as server,
        JsonClient(f"{await ready(server)}/graphql") as client,
    ):
        assert (await client.execute("{ viewer { id } }"))["viewer"] == {"id": "dev"}
        client.http.headers["Origin"] = "https://elsewhere.example"
        answer = await client.answer("{ viewer { id } }")
    assert (answer.get("data") or {}).get("viewer") is None
