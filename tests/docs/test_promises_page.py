"""Every row of docs/promises.md is kept: it names tests that are there, and says why where it reads otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

from tests.support.project import ROOT

TEXT = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
HEAD = "| promised | here | shown by |"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
OTHERWISE = "Otherwise: "


class Row(NamedTuple):
    """One promise: what was promised, how it reads here, and what shows it; `line` is its line, from 1."""

    line: int
    promised: str
    here: str
    shown: str


def rows() -> Iterator[Row]:
    """The rows of all tables, without their heads."""
    for line, text in enumerate(TEXT.splitlines(), start=1):
        if text.startswith("| ") and text != HEAD:
            cells = [cell.strip() for cell in text.strip("|").split(" | ")]
            yield Row(line, *cells)


@cache
def names_in(file: str) -> frozenset[str]:
    """The names of the test functions of a file; none where there is no such file."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


ROWS = [pytest.param(row, id=f"line {row.line}") for row in rows()]


@pytest.mark.parametrize("row", ROWS)
def test_a_promise_is_shown_by_tests_that_are_there(row: Row) -> None:
    """At least one, each by its file and its name; nothing else stands in that cell."""
    named = NAMED.findall(row.shown)
    assert ", ".join(f"`{file}::{name}`" for file, name in named) == row.shown
    assert named or row.here.startswith(OTHERWISE), row.promised
    assert [f"{file}::{name}" for file, name in named if name not in names_in(file)] == []


@pytest.mark.parametrize("row", ROWS)
def test_a_promise_says_how_it_reads_here(row: Row) -> None:
    """In a sentence; and with a reason of some length where it reads otherwise."""
    assert row.promised.endswith(".")
    assert row.here.endswith(".")
    assert not row.here.startswith(OTHERWISE) or len(row.here.split()) > 8


def test_the_page_goes_through_the_whole_reference() -> None:
    """Nine parts, each with a table."""
    parts = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    assert [part.count(HEAD) for part in parts] == [1] * 9
    assert len(ROWS) > 80
