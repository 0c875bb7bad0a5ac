"""Full-text search over documents: they are cut into passages, and those that fit best are found."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from engine.builtin.document import Document
from models.text import clean

MAX_PASSAGE = 1_200  # characters
MAX_TITLE = 200  # characters; it is looked for beside each of a document's passages
MAX_WORDS = 32  # of a query
MAX_DOCUMENTS = 1_000
MAX_CHARS = 5_000_000  # of all documents that are searched: a quarter of a second of indexing

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document that was found."""

    key: str
    title: str
    excerpt: str


def searchable(documents: Iterable[Document]) -> list[Document]:
    """As many of the documents, in their order, as one search may take."""
    taken: list[Document] = []
    size = 0
    for one in documents:
        if len(taken) < MAX_DOCUMENTS and size + len(one.text) <= MAX_CHARS:
            taken.append(one)
            size += len(one.text)
    return taken


def search(documents: Sequence[Document], query: str, limit: int) -> list[Passage]:
    """The passages that fit the words of a query best, best first; all words count, none must occur.

    The index is made anew each time, in memory: for some hundred documents that takes milliseconds, and there is none
    that could be behind what is stored.
    """
    words = list(dict.fromkeys(re.findall(r"\w+", clean(query).lower())))[:MAX_WORDS]
    if not words:
        return []
    # Each word is quoted, so that none of them is read as FTS5's own syntax.
    match = " OR ".join(f'"{word}"' for word in words)
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute(
            "CREATE VIRTUAL TABLE passages USING fts5(number UNINDEXED, title, text, "
            "tokenize='porter unicode61 remove_diacritics 2')"
        )
        rows = (
            (number, clean(one.title[:MAX_TITLE]), part)
            for number, one in enumerate(documents)
            for part in parts_of(clean(one.text))
        )
        index.executemany("INSERT INTO passages VALUES (?, ?, ?)", rows)
        found = index.execute(
            "SELECT number, text FROM passages WHERE passages MATCH ? ORDER BY bm25(passages, 0.0, 3.0, 1.0) LIMIT ?",
            (match, limit),
        ).fetchall()
    return [Passage(documents[number].key, documents[number].title[:MAX_TITLE], text) for number, text in found]


def parts_of(text: str) -> Iterator[str]:
    """The text in passages of at most MAX_PASSAGE characters: whole paragraphs, as long as they are not too long."""
    passage = ""
    for paragraph in _PARAGRAPH.split(text):
        for piece in _pieces(paragraph.strip()):
            if passage and len(passage) + 2 + len(piece) > MAX_PASSAGE:
                yield passage
                passage = ""
            passage = f"{passage}\n\n{piece}" if passage else piece
    if passage:
        yield passage


def _pieces(paragraph: str) -> Iterator[str]:
    """A paragraph, cut at spaces where it is too long for a passage."""
    start = 0
    while len(paragraph) - start > MAX_PASSAGE:
        space = paragraph.rfind(" ", start + 1, start + MAX_PASSAGE)
        end = space if space > 0 else start + MAX_PASSAGE
        yield paragraph[start:end].strip()
        start = end
    if rest := paragraph[start:].strip():
        yield rest
