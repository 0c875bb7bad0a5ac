"""`steersman tools`: a shell loop for authors."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.support.commands import environment, started, steersman

AGENT = """
import json
from steersman import Agent, Context, tool

@tool
def show(ctx: Context, words: list[str], table: dict[str, int] | None = None, text: str = "none") -> str:
    '''Show what came.

    Args:
        words: some words.
        table: some numbers.
        text: a text.
    '''
    return json.dumps([ctx.user_id, sorted(ctx.roles), ctx.deps, words, table, text])

agent = Agent(system="Show.", model="m", tools=[show])
"""
DEPS = """
from contextlib import asynccontextmanager

@asynccontextmanager
async def deps():
    yield "shared"
"""


async def test_tools_are_listed_with_what_they_take(tmp_path: Path) -> None:
    """Of one agent, or of all."""
    env = environment(tmp_path)
    one = await steersman("tools", "list", "calculator", env=env)
    every = await steersman("tools", "list", env=env)
    assert "calculator.calculate(expression: string)\n    Work out an arithmetic expression" in one.out
    assert "researcher.search_docs(query: string, limit: integer = 5)" in every.out
    assert one.out in every.out


async def test_a_tool_is_called_as_a_model_would(tmp_path: Path) -> None:
    """Arguments are checked, deps.py is entered, values that look like JSON are read unless a text is wanted."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "shower.py").write_text(AGENT)
    (agents / "deps.py").write_text(DEPS)
    env = environment(tmp_path, STEERSMAN_AGENTS=str(agents))
    words = ['words=["a", "b"]', 'table={"x": 1}', "text=[not json"]
    ended = await steersman("tools", "call", "shower.show", *words, "--as-user", "alice", "--role", "r", env=env)
    assert ended.out == '["alice", ["r"], "shared", ["a", "b"], {"x": 1}, "[not json"]\n'
    assert ended.code == 0


async def test_what_fails_is_told(tmp_path: Path) -> None:
    """Arguments that do not fit and names that are not there: exit code 2. A tool that fails: its words, and 1."""
    env = environment(tmp_path)
    for words, told in (
        (["calculator.calculate"], "expression: is missing"),
        (["calculator.calculate", "expression"], "KEY=VALUE"),
        (["calculator.divide"], "its tools are: calculate, convert"),
        (["nobody.calculate"], "there are: calculator, desk, frontdesk, researcher, slowpoke"),
        (["calculate"], "AGENT.TOOL"),
    ):
        ended = await steersman("tools", "call", *words, env=env)
        assert (ended.code, ended.out) == (2, ""), words
        assert told in ended.err
    ended = await steersman("tools", "call", "calculator.calculate", "expression=1/0", env=env)
    assert (ended.code, ended.out) == (1, "")
    assert "divides by zero" in ended.err


async def test_ctrl_c_asks_the_tool_to_stop(tmp_path: Path) -> None:
    """Its progress is shown meanwhile, and its own words come at the end."""
    words = ["tools", "call", "slowpoke.count_slowly", "steps=300", "pause=0.2"]
    async with started(*words, env=environment(tmp_path)) as tool:
        await tool.until("2 of 300 (1%)")
        tool.send(signal.SIGINT)
        await tool.until("Stopped by request: counted to")
        assert await tool.ended() == 0


CONFIGURED = """
from pydantic import BaseModel
from steersman import Agent, Context, tool

class Desk(BaseModel):
    company: str = "Ink & Co"

@tool
def whose(ctx: Context) -> str:
    '''Say whose desk this is.'''
    return ctx.config.company

agent = Agent(system="Answer.", model="m", tools=[whose], fields=Desk)
"""


async def test_a_tool_sees_the_defaults_of_its_agent_s_fields(tmp_path: Path) -> None:
    """There is no stored agent here whose configuration it could be."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "desk.py").write_text(CONFIGURED)
    ended = await steersman("tools", "call", "desk.whose", env=environment(tmp_path, STEERSMAN_AGENTS=str(agents)))
    assert (ended.code, ended.out.strip()) == (0, "Ink & Co")


STUBBORN = """
import asyncio
from steersman import Agent, tool

@tool(timeout=0.1)
async def stay() -> str:
    '''Stay.'''
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

agent = Agent(system="Stay.", model="m", tools=[stay])
"""


async def test_a_tool_that_never_ends_does_not_keep_the_process(tmp_path: Path) -> None:
    """One that ignores its time, and that it is cancelled, is left behind where a command, or a server, ends."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "mule.py").write_text(STUBBORN)
    ended = await steersman("tools", "call", "mule.stay", env=environment(tmp_path, STEERSMAN_AGENTS=str(agents)))
    assert ended.code == 1
    assert "timed out after 0.1 s" in ended.err
    assert "stay goes on although it was cancelled; the process ends without it" in ended.err
    assert "Traceback" not in ended.err
