"""What is said in a thread: whom it mentions, and what of a run a thread shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from models.content import blocks_of_type, text_of

BETWEEN = "\n\n"
"""What parts the answers of one turn, which are one message of a thread."""
_MENTION = re.compile(r"(?<![\w@.-])@([A-Za-z0-9_-]{1,64})(?![\w-])", re.ASCII)


def mentions(text: str) -> set[str]:
    """The words that stand behind an `@` of their own, in small letters: the handles that the text may name."""
    words = {word.lower() for word in _MENTION.findall(text)}
    return words | {word.rstrip("-_") for word in words}


def one_text(parts: Iterable[str]) -> str:
    """The texts of a turn's answers as one, in order; those that are empty say nothing."""
    return BETWEEN.join(part for part in parts if part.strip())


def shown(contents: Sequence[Any]) -> tuple[str, str]:
    """Text and reasoning of a turn whose answers have these contents."""
    return one_text(map(text_of, contents)), one_text(map(_reasoning_of, contents))


def _reasoning_of(content: Any) -> str:
    texts = (block.get("thinking") for block in blocks_of_type(content, "thinking"))
    return "".join(text for text in texts if isinstance(text, str))
