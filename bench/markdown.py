"""Tables in Markdown, and figures as they stand in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """A table; the first column and, with `words` above 1, as many at the end hold words, all others figures."""
    columns = ["---", *["--:"] * (len(head) - words), *["---"] * (words - 1)]
    lines = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(columns)}|", *lines[1:]])


def shown(value: float) -> str:
    """A value in three figures."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
