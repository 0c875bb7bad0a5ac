"""Documents: texts of a stored agent, in which its tools look things up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A text under a key, with a title for people and models."""

    key: str
    title: str
    text: str


Documents = Callable[[], Awaitable[Sequence[Document]]]
"""Gives the documents as they are now, each time it is asked."""


async def no_documents() -> Sequence[Document]:
    """The documents of an agent that has none."""
    return ()
