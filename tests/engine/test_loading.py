"""Agents found in a folder: one a file, and clear words for a file that does not load."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from engine.loading import Agents, LoadError, load_agents

Write = Callable[..., Path]
AGENT = 'agent = Agent(system="Be brief.", model="claude-sonnet-5-5"{more})\n'


def agent_source(before: str = "", more: str = "") -> str:
    """A file that defines an agent."""
    return f"from steersman import Agent, Context, tool\n{dedent(before)}\n{AGENT.format(more=more)}"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write files into an agents folder: `write(name=source)` with `.py` added, or a folder of its own by `into`."""

    def files(into: str = "agents", **sources: str) -> Path:
        folder = tmp_path / into
        folder.mkdir(exist_ok=True)
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(source)
        return folder

    return files


def only_error(agents: Agents) -> LoadError:
    """The one file that did not load."""
    assert len(agents.errors) == 1, agents.errors
    return agents.errors[0]


def test_each_file_is_an_agent_named_after_it(write: Write) -> None:
    """They come in the order of their names; helpers with an underscore are no agents."""
    agents = load_agents(write(writer=agent_source(), helper=agent_source(), _notes="1 / 0"))
    assert agents.names() == list(agents) == ["helper", "writer"]
    assert agents["writer"].name == "writer"
    assert agents.get("nobody") is None
    assert (agents.errors, agents.warnings, agents.deps) == ([], [], None)


def test_a_hyphen_in_a_file_name_is_fine(write: Write) -> None:
    """Names of agents are those that the provider takes."""
    folder = write()
    (folder / "my-agent.py").write_text(agent_source())
    assert load_agents(folder).names() == ["my-agent"]


def test_a_missing_folder_is_told_in_words(tmp_path: Path) -> None:
    """The error names the folder, and the setting that chooses it."""
    with pytest.raises(LoadError, match=r"agents: there is no such folder\..*STEERSMAN_AGENTS"):
        load_agents(tmp_path / "agents")


def test_a_file_that_fails_is_told_and_stops_no_other(write: Write) -> None:
    """File, line, the exception's class and message, and what to do."""
    agents = load_agents(write(good=agent_source(), broken="a = 1\nb = {}['missing']\n"))
    error = only_error(agents)
    assert agents.names() == ["good"]
    assert (error.file.name, error.line, error.problem) == ("broken.py", 2, "KeyError: 'missing'")
    assert str(error).endswith(
        "broken.py, line 2: KeyError: 'missing'. Mend that line; the agent is left out until the file loads."
    )


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        ("x = (\n", 1, "SyntaxError: '\\(' was never closed"),
        ("a = 1\nimport no_such_library\n", 2, "ModuleNotFoundError.*Install 'no_such_library'"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3.*only defines an agent"),
        ("", None, "it defines no `agent`.*underscore"),
        ("agent = 7\n", None, "its `agent` is a int"),
        (agent_source(more=', name="other"'), None, "names itself 'other'.*Leave out name="),
        (agent_source(more=', tools=[{"type": "web_search_20270101"}]'), 3, "provider runs itself are refused"),
        (agent_source(more=", budget=1"), 3, "TypeError.*budget"),
        (agent_source("@tool\ndef t(x): ...\n"), 2, "TypeError: tool t: argument 'x' has no type"),
        ("\x00", None, "SyntaxError|ValueError"),
        ("# coding: latin-9000\n", None, "SyntaxError"),
    ],
)
def test_every_kind_of_mistake_has_its_place_and_advice(write: Write, source: str, line: int | None, says: str) -> None:
    """Nothing but the file at fault is left out."""
    agents = load_agents(write(good=agent_source(), broken=source))
    error = only_error(agents)
    assert agents.names() == ["good"]
    assert error.file.name == "broken.py"
    assert line is None or error.line == line
    with pytest.raises(LoadError, match=says):
        raise error


def test_a_mistake_in_a_helper_is_told_where_it_is(write: Write) -> None:
    """The line is the helper's, not that of the import."""
    error = only_error(
        load_agents(write(user=f"from _helper import x\n{agent_source()}", _helper="x = 1\ny = 1 / 0\n"))
    )
    assert (error.file.name, error.line) == ("_helper.py", 2)
    assert "ZeroDivisionError" in error.problem


def test_a_bad_file_name_is_told(write: Write) -> None:
    """The name is the agent's, which clients write."""
    folder = write(good=agent_source())
    (folder / "not a name.py").write_text(agent_source())
    assert "is no name for an agent" in str(only_error(load_agents(folder)))
    assert "Rename the file" in str(only_error(load_agents(folder)))


def test_warnings_of_tools_are_gathered_with_their_files(write: Write) -> None:
    """What an author should mend is told at load."""
    source = agent_source('@tool\ndef find(query: str) -> str:\n    """Find."""\n    return query\n', ", tools=[find]")
    folder = write(finder=source)
    agents = load_agents(folder)
    assert agents.warnings == [f"{folder / 'finder.py'}: tool find: argument 'query' has no description"]


# Helpers


def test_files_import_their_siblings(write: Write) -> None:
    """Plainly or relatively, it is the same module."""
    before = """
        from _helper import LIMITS
        from ._helper import LIMITS as SAME
        from _parts.inner import WORD
        assert LIMITS is SAME
        assert WORD == "inner"
    """
    folder = write(user=agent_source(before, ", **LIMITS"), _helper='LIMITS = {"max_steps": 3}\n')
    (folder / "_parts").mkdir()
    (folder / "_parts" / "__init__.py").write_text("")
    (folder / "_parts" / "inner.py").write_text('WORD = "inner"\n')
    agents = load_agents(folder)
    assert agents.errors == []
    assert agents["user"].max_steps == 3


def test_two_folders_with_equal_names_do_not_meet(write: Write) -> None:
    """Each gets its own helpers, and sys.path stays as it was."""
    path = list(sys.path)
    source = f"from _limits import STEPS\n{agent_source(more=', max_steps=STEPS')}"
    one = load_agents(write("one", helper=source, _limits="STEPS = 1\n"))
    two = load_agents(write("two", helper=source, _limits="STEPS = 2\n"))
    assert (one["helper"].max_steps, two["helper"].max_steps) == (1, 2)
    assert sys.path == path


def test_a_helper_does_not_hide_an_installed_module(write: Write) -> None:
    """A file named like a module of Python is still an agent, and everyone gets the real module."""
    user = agent_source("import statistics\nassert statistics.mean([1, 3]) == 2\n")
    assert load_agents(write(statistics=agent_source(), user=user)).names() == ["statistics", "user"]


def test_loading_again_sees_what_was_changed(write: Write) -> None:
    """Even within the same second and with the same length, in helpers too; nothing is cached beside the files."""
    source = f"from _limits import STEPS\n{agent_source(more=', max_steps=STEPS')}"
    folder = write(helper=source, _limits="STEPS = 1\n")
    for steps in range(1, 5):
        write(_limits=f"STEPS = {steps}\n")
        assert load_agents(folder)["helper"].max_steps == steps
    assert not (folder / "__pycache__").exists()


def test_models_of_a_file_resolve_their_forward_references(write: Write) -> None:
    """A class of an agent file may name another that comes later, under postponed annotations."""
    source = f"from __future__ import annotations\n{agent_source(FORWARD, ', tools=[build]')}"
    agents = load_agents(write(builder=source))
    assert agents.errors == []
    assert agents["builder"].toolbox["build"].check({"house": {"rooms": [{"size": 1}]}})


FORWARD = '''
from dataclasses import dataclass
from pydantic import BaseModel

class House(BaseModel):
    rooms: list[Room]

class Room(BaseModel):
    size: int

@dataclass
class Plan:
    house: House

@tool
def build(ctx: Context[Plan], house: House) -> int:
    """Build.

    Args:
        house: what to build.
    """
    return len(house.rooms)
'''


async def test_a_helper_can_be_imported_inside_a_tool(write: Write) -> None:
    """An import that is run only at a call finds the sibling too."""
    before = '@tool\ndef answer() -> int:\n    """Answer."""\n    from _helper import ANSWER\n    return ANSWER\n'
    agents = load_agents(write(late=agent_source(before, ", tools=[answer]"), _helper="ANSWER = 42\n"))
    assert agents["late"].toolbox["answer"]() == 42


# What tools share

DEPS = """
from contextlib import asynccontextmanager
log = []
@asynccontextmanager
async def deps():
    log.append("opened")
    yield log
    log.append("closed")
"""


async def test_deps_are_opened_and_closed(write: Write) -> None:
    """deps.py is no agent; what it makes is entered at start-up and left at shutdown."""
    agents = load_agents(write(deps=DEPS, helper=agent_source()))
    assert agents.names() == ["helper"]
    async with agents.open_deps() as deps:
        assert deps == ["opened"]
    assert deps == ["opened", "closed"]


async def test_without_a_deps_file_nothing_is_shared(write: Write) -> None:
    """ctx.deps is None then, and a deps.py that only helps others is fine."""
    for folder in (write("one", helper=agent_source()), write("two", deps="POOL = 1\n")):
        agents = load_agents(folder)
        assert agents.errors == []
        async with agents.open_deps() as deps:
            assert deps is None


async def test_deps_of_the_wrong_kind_are_told(write: Write) -> None:
    """At load where it shows, else when they are opened."""
    assert "can't be called" in str(only_error(load_agents(write("one", deps="deps = 7\n"))))
    assert "ZeroDivisionError" in str(only_error(load_agents(write("two", deps="1 / 0\n"))))
    agents = load_agents(write("three", deps="def deps():\n    return 7\n"))
    with pytest.raises(TypeError, match="asynccontextmanager"):
        async with agents.open_deps():
            pass


# How light it is


def test_loading_agents_loads_no_server(write: Write) -> None:
    """Agents load where no database, provider or web library is loaded."""
    folder = write(helper=agent_source('@tool\ndef t(a: int) -> int:\n    """T."""\n    return a\n', ", tools=[t]"))
    script = f"""
import sys
from pathlib import Path
from engine.loading import load_agents
assert load_agents(Path({str(folder)!r})).names() == ["helper"]
heavy = {{"sqlalchemy", "anthropic", "strawberry", "fastapi", "starlette", "graphql", "uvicorn"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2])
