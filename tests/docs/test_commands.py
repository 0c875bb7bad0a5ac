"""The commands of the pages are real.

Every line of an `sh` block is looked at: a `make` target must be there, and a `steersman` command with its options.
The blocks that are marked `sh run` are run as they stand, in a shell that stops at the first failure, on a database
of their own and without a key.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.markdown import Block, blocks
from tests.support.project import ROOT, name_of, pages

BIN = Path(sys.executable).parent
# Programs that a page may call without being proved here: they are no part of the project.
OTHERS = {"cd", "curl", "docker", "export", "git", "node", "npm", "npx", "pg_dump", "psql", "sqlite3", "uv", "websocat"}


def shell_blocks() -> Iterator[tuple[str, Block]]:
    """Every shell block of every page, with its place."""
    for page in pages():
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.info.split()[:1] == ["sh"]:
                yield f"{name_of(page)}:{block.line}", block


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of those blocks as its words, with its place; settings before it and comments left away."""
    for place, block in shell_blocks():
        for line in block.text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while words and re.match(r"\w+=", words[0]):
                words = words[1:]
            if words:
                yield place, words


def environment(folder: Path) -> dict[str, str]:
    """What a newcomer's shell has: nothing of this project's settings, and no key."""
    ours = ("STEERSMAN_", "ANTHROPIC_", "MAKE", "MFLAGS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {
        **kept,
        "PATH": f"{BIN}{os.pathsep}{kept['PATH']}",
        "STEERSMAN_DATABASE_URL": f"sqlite:///{folder}/steersman.db",
    }


@cache
def help_of(*words: str) -> str:
    """What a command says of itself."""
    shown = subprocess.run([BIN / "steersman", *words, "--help"], cwd=ROOT, check=True, capture_output=True, text=True)
    return shown.stdout


CASES = [pytest.param(words, id=f"{place} {shlex.join(words)}"[:120]) for place, words in commands()]


@pytest.mark.parametrize("words", CASES)
def test_a_command_of_the_pages_exists(words: list[str], tmp_path: Path) -> None:
    """Its program, its subcommand or target, and each option that is given to it."""
    program = words[0].removeprefix(".venv/bin/")
    if program == "make":
        subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, env=environment(tmp_path), check=True)  # noqa: S607
    elif program == "steersman":
        subcommand = next((word for word in words[1:] if not word.startswith("-")), None)
        shown = help_of(*([subcommand] if subcommand else []))
        for word in words[1:]:
            if word.startswith("--"):
                assert re.search(rf"{re.escape(word.partition('=')[0])}\b", shown), word
    elif program == "python":
        assert words[1:3] in [
            ["-m", module]
            for module in (
                "models.diagram",
                "pytest",
                "schema.contract_check",
                "steersman.settings",
                "tests.support.with_postgres",
            )
        ]
    else:
        assert program in OTHERS, f"{program}: not a command that is checked, nor one that need not be"


RUN = [pytest.param(block, id=place) for place, block in shell_blocks() if block.info.split() == ["sh", "run"]]


@pytest.mark.parametrize("block", RUN)
def test_a_block_that_is_marked_to_be_run_runs(block: Block, tmp_path: Path) -> None:
    """As it stands on the page."""
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],  # noqa: S607 - the reader's own shell
        cwd=ROOT,
        env=environment(tmp_path),
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, f"{block.text}\n{ran.stdout}\n{ran.stderr}"


def test_some_blocks_are_run() -> None:
    """The marks are still there."""
    assert RUN
