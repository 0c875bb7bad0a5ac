"""What agent authors import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import steersman

ROOT = Path(__file__).parents[2]
HEAVY = {"sqlalchemy", "aiosqlite", "anthropic", "strawberry", "graphql", "fastapi", "starlette", "uvicorn", "alembic"}

AGENT_FILE = """
from pydantic import BaseModel
from steersman import Agent, Context, Tool, ToolError, tool

class Deps(BaseModel):
    words: list[str]

@tool(timeout=30)
async def search(ctx: Context[Deps], query: str, limit: int = 5) -> list[str]:
    '''Search.

    Args:
        query: what to look for.
        limit: how many at most.
    '''
    if not query:
        raise ToolError("Say what to look for.")
    return ctx.deps.words[:limit]

assert isinstance(search, Tool)
agent = Agent(system="Search.", model="claude-sonnet-5-5", tools=[search])
"""


def modules_after(script: str) -> set[str]:
    """The modules that a fresh interpreter holds after it ran a script."""
    asks = f"{script}\nimport sys\nprint(chr(10).join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", asks], check=True, cwd=ROOT, capture_output=True, text=True)
    return set(done.stdout.split())


def test_an_agent_file_loads_nothing_of_the_server() -> None:
    """Neither the database, nor the provider, nor the web: an agent file loads in milliseconds."""
    modules = modules_after(AGENT_FILE)
    assert not modules & HEAVY
    assert not {name for name in modules if name.startswith(("schema", "resolvers", "engine.providers"))}


def test_importing_steersman_alone_loads_next_to_nothing() -> None:
    """Names are fetched when they are asked for."""
    assert not modules_after("import steersman") & {*HEAVY, "pydantic", "engine"}


def test_the_promised_names_are_there() -> None:
    """All of them, once and for good; nothing else is made up."""
    for name in ("Agent", "Context", "Tool", "ToolError", "tool"):
        assert name in steersman.__all__
        assert name in dir(steersman)
        assert getattr(steersman, name) is getattr(steersman, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = steersman.nothing
    with pytest.raises(ImportError, match="nothing"):
        exec("from steersman import nothing")  # noqa: S102  # a checker would refuse the statement itself
