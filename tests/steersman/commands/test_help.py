"""The commands explain themselves, and their page says the same."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from steersman.commands import COMMANDS
from steersman.commands.complaints import expected
from steersman.commands.page import helps, page
from tests.support.commands import environment, steersman
from tests.support.project import ROOT

HELPS = list(helps())


def test_the_page_of_commands_is_what_they_say_of_themselves() -> None:
    """Made anew by `python -m steersman.commands.page` after a change."""
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == page()


@pytest.mark.parametrize(("path", "text"), [pytest.param(*one, id=one[0]) for one in HELPS])
async def test_help_is_printed_as_the_page_has_it(path: str, text: str, tmp_path: Path) -> None:
    """By the real command, whatever the width of the terminal, with exit code 0."""
    words = path.split()[1:]
    ended = await steersman(*words, "--help", env={**environment(tmp_path), "COLUMNS": "40"}, cwd=tmp_path)
    assert (ended.code, ended.out, ended.err) == (0, text + "\n", "")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_list_of_commands_says_what_each_says_first(name: str) -> None:
    """The list is kept apart so that printing it imports nothing."""
    command: click.Command = import_module(f"steersman.commands.{name}").command
    assert command.name == name
    assert (command.help or "").split("\n\n")[0] == COMMANDS[name]


async def test_bad_use_is_told_in_words(tmp_path: Path) -> None:
    """An unknown command, option or value: exit code 2, and how to get help."""
    for words in (["nothing"], ["serve", "--nothing"], ["token", "--sub", "a", "--hours", "x"], ["run", "calculator"]):
        ended = await steersman(*words, env=environment(tmp_path), cwd=tmp_path)
        assert (ended.code, ended.out) == (2, "")
        assert "--help" in ended.err
        assert "Traceback" not in ended.err


@pytest.mark.parametrize("words", [["--help"], ["version"], ["settings"], ["dev", "--help"], ["run", "--help"]])
def test_short_commands_load_nothing_heavy(words: list[str]) -> None:
    """They answer at once: neither the server nor a database's or provider's library is imported."""
    script = (
        "import sys\nfrom steersman.commands import main\n"
        f"try: main({words!r})\n"
        "except SystemExit: pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    for heavy in ("sqlalchemy", "alembic", "anthropic", "strawberry", "fastapi", "uvicorn", "pydantic"):
        assert f"'{heavy}'" not in ran.stderr, heavy


def test_a_worker_loads_no_graphql() -> None:
    """It runs agents and answers probes: what serves the API would cost each worker memory and a second of start-up."""
    script = (
        "import sys\nimport steersman.commands.worker, steersman.commands.probing, steersman.process\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    for heavy in ("strawberry", "graphql", "fastapi", "resolvers", "schema"):
        assert f"'{heavy}'" not in ran.stderr, heavy


def test_the_exceptions_that_are_meant_for_people_exist() -> None:
    """They are known by name, so that knowing them imports nothing."""
    for module, name in expected():
        assert issubclass(getattr(import_module(module), name), Exception)
