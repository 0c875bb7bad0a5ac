"""Code that stands on the project's pages, found by the words behind its fence, and written into files."""

from __future__ import annotations

from pathlib import Path

from tests.support.markdown import Block, blocks
from tests.support.project import ROOT


def blocks_of(page: str, language: str) -> list[Block]:
    """The blocks of one language on a page of docs/, in order."""
    return [block for block in all_blocks(page) if block.info.split()[:1] == [language]]


def all_blocks(page: str) -> list[Block]:
    """Every block of a page of docs/, in order."""
    return blocks((ROOT / "docs" / page).read_text(encoding="utf-8"))


def files_of(page: str, language: str = "python") -> dict[str, str]:
    """The blocks whose second word names a file, such as `python agents/orders.py`: their texts by those names."""
    named = [(block.info.split()[1:], block.text) for block in blocks_of(page, language)]
    return {words[0]: text for words, text in named if words}


def write_files(files: dict[str, str], folder: Path) -> None:
    """Write each file below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
