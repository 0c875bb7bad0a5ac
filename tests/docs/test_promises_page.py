"""Every row of the pages of promises is kept: it names tests that are there, and says why where it reads otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

from tests.support.project import ROOT

PAGES = {"promises.md": 9, "promises-in-code.md": 10, "promises-as-data.md": 8}
"""The pages, one for each reference page, and how many parts that one has."""
HEAD = "| promised | here | shown by |"
NAMED = re.compile(r"`(tests/[\w/.-]+\.(?:py|mjs))::([^`]+)`")
IN_BROWSER = re.compile(r"""\btest\(\s*(["'])(.+?)\1,""")
OTHERWISE = "Otherwise: "


class Row(NamedTuple):
    """One promise: what was promised, how it reads here, and what shows it; `line` is its line, from 1."""

    line: int
    promised: str
    here: str
    shown: str


def text_of(page: str) -> str:
    """A page."""
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def rows(page: str) -> Iterator[Row]:
    """The rows of a page's tables, without their heads."""
    for line, text in enumerate(text_of(page).splitlines(), start=1):
        if text.startswith("| ") and text != HEAD:
            cells = [cell.strip() for cell in text.strip("|").split(" | ")]
            yield Row(line, *cells)


@cache
def names_in(file: str) -> frozenset[str]:
    """The names of the tests of a file; none where there is no such file."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    if path.suffix == ".mjs":
        return frozenset(name for _, name in IN_BROWSER.findall(path.read_text(encoding="utf-8")))
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


ROWS = [pytest.param(row, id=f"{page} line {row.line}") for page in PAGES for row in rows(page)]


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


@pytest.mark.parametrize("page", PAGES)
def test_a_page_goes_through_the_whole_reference(page: str) -> None:
    """Each of its parts has a table, and no promise stands there twice."""
    parts = re.split(r"^## ", text_of(page), flags=re.MULTILINE)[1:]
    assert [part.count(HEAD) for part in parts] == [1] * PAGES[page]
    promised = [row.promised for row in rows(page)]
    assert len(promised) > 60
    assert len(promised) == len(set(promised))
