"""A folder of Markdown pages with full-text search, for the researcher."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIBRARY = Path(__file__).parent / "library"


@dataclass(frozen=True)
class Section:
    """A part of a page under one heading."""

    page: str
    heading: str
    text: str


@dataclass(frozen=True)
class Passage:
    """A section that was found: `excerpt` has the words that matched between ** **."""

    page: str
    heading: str
    excerpt: str


def pages(library: Path = LIBRARY) -> list[str]:
    """The names of all pages, in order."""
    return sorted(file.name for file in library.glob("*.md"))


def page_text(name: str, library: Path = LIBRARY) -> str | None:
    """A page's whole text; None where the library has no page of that name."""
    # Only names that the library lists are opened, so no path leads out of it.
    return (library / name).read_text("utf-8") if name in pages(library) else None


def search(query: str, limit: int, library: Path = LIBRARY) -> list[Passage]:
    """The sections that fit the words of a query best, best first; all words count, none must occur."""
    words = re.findall(r"\w+", query)
    if not words:
        return []
    # Each word is quoted, so that none of them is read as FTS5's own syntax.
    match = " OR ".join(f'"{word}"' for word in words)
    index = _index(library)
    try:
        rows = index.execute(
            "SELECT page, heading, snippet(sections, 2, '**', '**', ' … ', 40) FROM sections "
            "WHERE sections MATCH ? ORDER BY bm25(sections, 2.0, 4.0, 1.0) LIMIT ?",
            (match, limit),
        ).fetchall()
    finally:
        index.close()
    return [Passage(*row) for row in rows]


def _index(library: Path) -> sqlite3.Connection:
    """An index of the pages as they are now: for a small library it is made anew in a few milliseconds a search."""
    index = sqlite3.connect(":memory:")
    index.execute("CREATE VIRTUAL TABLE sections USING fts5(page, heading, text, tokenize='porter unicode61')")
    rows = ((part.page, part.heading, part.text) for name in pages(library) for part in _sections(library, name))
    index.executemany("INSERT INTO sections VALUES (?, ?, ?)", rows)
    return index


def _sections(library: Path, name: str) -> Iterator[Section]:
    heading, lines = name, list[str]()
    for line in (library / name).read_text("utf-8").splitlines():
        if line.startswith("#"):
            if any(lines):
                yield Section(name, heading, "\n".join(lines).strip())
            heading, lines = line.lstrip("# "), []
        else:
            lines.append(line)
    if any(lines):
        yield Section(name, heading, "\n".join(lines).strip())
