"""Answers questions from the Markdown pages in agents/library, and says where it read what it says."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from _library import page_text, pages, search
from pydantic import Field

from steersman import Agent, ToolError, tool


@tool
def search_docs(query: str, limit: Annotated[int, Field(ge=1, le=20)] = 5) -> list[dict[str, str]]:
    """Search the document library for relevant passages.

    Args:
        query: what to look for, as words or a question.
        limit: how many passages at most, 1 to 20.
    """
    found = search(query, limit)
    if not found:
        raise ToolError(f"Nothing fits. The library has these pages: {', '.join(pages())}. Try other words.")
    return [asdict(passage) for passage in found]


@tool
def read_page(path: str) -> str:
    """Read a whole page of the document library.

    Args:
        path: the page's file name as search_docs gives it, such as `idempotency.md`.
    """
    text = page_text(path)
    if text is None:
        raise ToolError(f"There is no such page. The library has: {', '.join(pages())}.")
    return text


agent = Agent(
    description="Answers from a small library about durable agents and live APIs, with its sources.",
    examples=["How does steering a run work?", "What makes an operation idempotent?", "How is a run cancelled?"],
    system=(
        "You are a research assistant for a small library of documents. Search it before you answer, read the pages "
        "that matter, and answer from them alone. Name the page after each claim, in brackets. Where the library does "
        "not have the answer, say so."
    ),
    model="claude-sonnet-5-5",
    tools=[search_docs, read_page],
)
