"""The project speaks of itself alone: no address of a registry, no place on somebody's machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.project import name_of, project_files

# In pieces, because this file is one of those that are read.
REGISTRIES = [
    "pypi" + ".org",
    "pythonhosted" + ".org",
    "registry" + ".npmjs",
    "registry" + ".yarnpkg",
    "deb" + ".debian",
    "index" + ".crates",
]
MACHINE = re.compile(r"(?<![\w.~$}/-])/" + r"(?:wo" + r"rk|ro" + r"ot|tm" + r"p|home/\w+|Users/\w+)(?:/|\b(?!\w|-))")


def written() -> list[Path]:
    """Every file of the project that holds text."""
    return [path for path in project_files() if b"\0" not in path.read_bytes()]


def test_no_file_names_a_registry() -> None:
    """Where packages come from is the installer's setting, not the project's."""
    found = [
        f"{name_of(path)} names {host}"
        for path in written()
        for host in REGISTRIES
        if host in path.read_text(encoding="utf-8")
    ]
    assert found == []


def test_no_file_names_a_place_on_one_machine() -> None:
    """A path of the machine that a line was written on means nothing on another."""
    found = [
        f"{name_of(path)}:{number}: {line.strip()[:100]}"
        for path in written()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if MACHINE.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line", ["cd /wo" + "rk/main", "'/tm" + "p/x.db'", "see /ro" + "ot/.cache", "/home/" + "ann/src"]
)
def test_the_check_sees_such_a_path(line: str) -> None:
    """The pattern finds what it is for."""
    assert MACHINE.search(line)


@pytest.mark.parametrize("line", ["https://example.com/work/1", "/workers", "a/tmp/b", "/rooted", "$HOME/work/x"])
def test_the_check_leaves_other_text_alone(line: str) -> None:
    """A path inside an address or behind a variable is nobody's machine."""
    assert not MACHINE.search(line)
