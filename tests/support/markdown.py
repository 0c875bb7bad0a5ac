"""Just enough Markdown for the checks of the pages: fenced blocks, headings and links."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the words behind its fence, its text, and the line that its fence stands on, from 1."""

    info: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(found["info"].strip(), found["text"], page.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(page)
    ]


def prose(page: str) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page)


def links(page: str) -> list[str]:
    """The targets of the page's links, outside fenced blocks."""
    return _LINK.findall(prose(page))


def headings(page: str, level: int) -> list[str]:
    """The headings of one level, without their marks."""
    return re.findall(rf"^#{{{level}}} (.+?)\s*$", prose(page), re.MULTILINE)


def anchors(page: str) -> set[str]:
    """The fragments that links to this page may name, as GitHub makes them of the headings."""
    found = re.findall(r"^#+ (.+?)\s*$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}
