"""`steersman run`, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from engine.providers.local import LocalModelUnavailable, find_model
from models.database import open_database
from models.enums import RunStatus
from models.page import Window
from models.run import Run, RunQuery, find_runs
from tests.support.commands import environment, in_terminal, started, steersman
from tests.support.databases import new_postgres
from tests.support.left_behind import leave_a_run
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer

ALL = RunQuery(user_id=None, status=None, agent=None, parent_id=None, search=None, metadata=None)


async def runs_in(folder: Path) -> list[Run]:
    """Every run of the database, the newest first."""
    async with open_database(f"sqlite:///{folder / 'test.db'}") as database:
        return (await database.read(find_runs, ALL, Window())).rows


async def test_a_run_needs_nothing_but_its_words(tmp_path: Path) -> None:
    """A fresh database is made, the demo model plays and says so, the answer alone is on standard output."""
    ended = await steersman("run", "calculator", "What is 3 ^ 40?", env=environment(tmp_path))
    assert ended.code == 0
    assert "12157665459056928801" in ended.out
    assert "scripted demo model" in ended.err
    assert '→ calculate(expression="3 ^ 40")' in ended.err
    assert re.search(r"← calculate \d+ ms  12157665459056928801\n", ended.err)
    (run,) = await runs_in(tmp_path)
    assert re.search(rf"completed\n2 steps · [\d,]+ tokens in, [\d,]+ out · \$0 · {run.id}\n", ended.err)
    assert (run.status, run.user_id, run.agent) == (RunStatus.COMPLETED, "dev", "calculator")
    assert "\x1b" not in ended.out + ended.err


async def test_the_answer_of_a_provider_is_streamed(tmp_path: Path) -> None:
    """With a key or an address in the environment the Messages API answers, and nobody speaks of a demo model."""
    async with MessagesServer() as server:
        server.play(Script().thinking("Hm, ", "well.").text("Six times ", "seven is 42."))
        env = environment(tmp_path, ANTHROPIC_BASE_URL=server.url)
        ended = await steersman("run", "calculator", "6 x 7?", env=env)
    assert (ended.code, ended.out) == (0, "Six times seven is 42.\n")
    assert "Hm, well." in ended.err
    assert "demo" not in ended.err


async def test_text_comes_from_standard_input_and_quiet_prints_the_answer_alone(tmp_path: Path) -> None:
    """For scripts: nothing but the last answer on standard output."""
    async with MessagesServer() as server:
        server.play(
            Script().text("Let me see. ").tool("calculate", {"expression": "6 * 7"}), Script().text("It is ", "42.")
        )
        env = environment(tmp_path, ANTHROPIC_BASE_URL=server.url)
        ended = await steersman("run", "calculator", "-", "--quiet", env=env, given="6 x 7?\n")
        assert server.requests[0].messages[0]["content"][0]["text"] == "6 x 7?\n"
    assert (ended.code, ended.out, ended.err) == (0, "It is 42.\n", "")


async def test_a_run_is_gone_on_with(tmp_path: Path) -> None:
    """By its id; another's run is not found."""
    env = environment(tmp_path)
    await steersman("run", "calculator", "1 + 1", env=env)
    (first,) = await runs_in(tmp_path)
    again = await steersman("run", "calculator", "2 + 2", "--run", first.id, env=env)
    (run,) = await runs_in(tmp_path)
    assert (again.code, run.id, run.seq) == (0, first.id, 8)
    other = await steersman("run", "calculator", "3 + 3", "--run", first.id, "--as-user", "bob", env=env)
    assert (other.code, "RUN_NOT_FOUND" in other.err) == (2, True)


@pytest.mark.service
async def test_on_postgresql_it_takes_nobody_elses_runs(tmp_path: Path) -> None:
    """A run that is free to take, for those who serve or work there, is as it was when this one has ended."""
    with new_postgres() as url:
        async with open_database(url) as database:
            left = await leave_a_run(database, "calculator")
            env = environment(tmp_path, STEERSMAN_DATABASE_URL=url)
            ended = await steersman("run", "calculator", "1 + 1", env=env)
            runs = (await database.read(find_runs, ALL, Window())).rows
    assert ended.code == 0, ended.err
    assert [run.status for run in runs if run.id != left.id] == [RunStatus.COMPLETED]
    assert [run for run in runs if run.id == left.id] == [left]


async def test_json_prints_every_event_as_one_line(tmp_path: Path) -> None:
    """Numbered, RunResult last; nothing else is on standard output."""
    ended = await steersman("run", "calculator", "1 + 1", "--json", env=environment(tmp_path))
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert events[-1]["__typename"] == "RunResult"
    assert events[-1]["usage"]["inputTokens"] > 0
    finished = [event for event in events if event["__typename"] == "ToolCallFinished"]
    assert [(event["name"], event["result"], event["isError"]) for event in finished] == [("calculate", "2", False)]


async def test_a_run_that_fails_ends_with_1(tmp_path: Path) -> None:
    """Its error is shown in words that name no key and no address."""
    async with MessagesServer() as server:
        server.play(Script.status(401))
        env = environment(tmp_path, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="sk-ant-hidden-word")
        ended = await steersman("run", "calculator", "6 x 7?", env=env)
    assert ended.code == 1
    assert "failed: The model's provider refused the API key. (PROVIDER_ERROR)" in ended.err
    assert "hidden-word" not in ended.err


async def test_what_can_t_be_started_ends_with_2(tmp_path: Path) -> None:
    """An unknown agent, one that does not load, no folder, no words, options that do not go together."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "broken.py").write_text("agent = \n")
    (agents / "fine.py").write_text("from steersman import Agent\nagent = Agent(system='x', model='m')\n")
    env = environment(tmp_path, STEERSMAN_AGENTS=str(agents))
    for words, told in (
        (["nobody", "Hi"], "There is no agent 'nobody'; there are: fine."),
        (["broken", "Hi"], "The agent 'broken' did not load."),
        (["fine", "  "], "The input is empty. (AGENT_INPUT_REQUIRED)"),
        (["fine", "Hi", "--json", "--quiet"], "not both"),
        (["fine", "Hi", "--token", "x"], "--url"),
        (["fine", "Hi", "--url", "http://127.0.0.1:9", "--as-user", "bob"], "--as-user"),
    ):
        ended = await steersman("run", *words, env=env)
        assert (ended.code, ended.out) == (2, ""), words
        assert told in ended.err
        assert "Traceback" not in ended.err
    ended = await steersman("run", "fine", "Hi", env={**env, "STEERSMAN_AGENTS": str(tmp_path / "nowhere")})
    assert (ended.code, "there is no such folder" in ended.err) == (2, True)


async def test_ctrl_c_stops_the_run_and_waits_until_it_has_settled(tmp_path: Path) -> None:
    """The tool is asked to stop, the run is CANCELLED in the database, the exit code is 130."""
    async with in_terminal("run", "slowpoke", "count to 300", env=environment(tmp_path)) as run:
        await run.until("2 of 60")
        run.type("\x03")
        await run.until("Stopping the run", "stopped")
        assert await run.ended() == 130
    (row,) = await runs_in(tmp_path)
    assert (row.status, row.cancel_requested) == (RunStatus.CANCELLED, False)


async def test_ctrl_c_in_the_middle_of_an_answer_keeps_what_was_shown(tmp_path: Path) -> None:
    """The response in flight is cut, its text so far is the assistant's turn."""
    async with MessagesServer() as server:
        server.play(Script().text("Shown ", "until ", "here. ").hold(asyncio.Event()))
        env = environment(tmp_path, ANTHROPIC_BASE_URL=server.url)
        async with in_terminal("run", "calculator", "Talk", env=env) as run:
            await run.until("here.")
            run.type("\x03")
            assert await run.ended() == 130
        await server.requests[0].cut_off()
    (row,) = await runs_in(tmp_path)
    assert (row.status, row.seq) == (RunStatus.CANCELLED, 2)


async def test_a_second_ctrl_c_leaves_at_once_and_the_stop_stays_asked_for(tmp_path: Path) -> None:
    """Although a tool hears nothing; the next process that works on the database settles the run."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "deaf.py").write_text(
        "import asyncio\nfrom steersman import Agent, tool\n\n@tool(timeout=0)\nasync def sleep() -> str:\n"
        "    '''Hear nothing.'''\n    while True:\n        try:\n            await asyncio.sleep(3600)\n"
        "        except asyncio.CancelledError:\n            pass\n\n"
        "agent = Agent(system='x', model='m', tools=[sleep])\n"
    )
    env = environment(tmp_path, STEERSMAN_AGENTS=str(agents))
    async with in_terminal("run", "deaf", "sleep", env=env) as run:
        await run.until("→ sleep()")
        run.type("\x03")
        await run.until("Stopping the run")
        run.type("\x03")
        await run.until("left at once")
        assert await run.ended() == 130
    (row,) = await runs_in(tmp_path)
    assert (row.status, row.cancel_requested) == (RunStatus.RUNNING, True)
    async with started("dev", "--no-reload", env=env) as server:
        await server.address()
        while row.status is RunStatus.RUNNING:
            await asyncio.sleep(0.1)
            (row,) = await runs_in(tmp_path)
    assert row.status is RunStatus.CANCELLED


async def test_a_terminal_gets_colours_and_no_commands_of_the_model(tmp_path: Path) -> None:
    """Calls are coloured; control characters in an answer are left out; NO_COLOR leaves colours out too."""
    async with MessagesServer() as server:
        env = environment(tmp_path, ANTHROPIC_BASE_URL=server.url)
        for more, coloured in ({}, True), ({"NO_COLOR": "1"}, False):
            server.play(
                Script().tool("calculate", {"expression": "1"}), Script().text("Red: \x1b[31m", "alert\x07 done.")
            )
            async with in_terminal("run", "calculator", "Go", env={**env, **more}) as run:
                assert await run.ended() == 0
                await run.until("completed")
            assert ("\x1b[36m→ calculate" in run.output) is coloured
            assert "Red: [31malert done." in run.output


async def test_a_local_model_that_is_not_installed_is_told(tmp_path: Path) -> None:
    """With how to install it."""
    try:
        find_model()
    except LocalModelUnavailable:
        ended = await steersman("run", "calculator", "Hi", "--local-model", env=environment(tmp_path))
        assert (ended.code, "make local-model" in ended.err) == (2, True)
        return
    ended = await steersman("run", "calculator", "Say hello.", "--local-model", env=environment(tmp_path))
    assert ended.code == 0, ended.err
    assert ended.out.strip()


@pytest.mark.parametrize("which", ["--scripted", "--local-model"])
async def test_what_is_asked_for_goes_before_a_key(tmp_path: Path, which: str) -> None:
    """Not even a key makes the API answer then."""
    env = environment(tmp_path, ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    ended = await steersman("run", "calculator", "1 + 1", which, env=env)
    assert "127.0.0.1:9" not in ended.err
    assert ended.code == 0 or "make local-model" in ended.err
