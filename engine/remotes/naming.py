"""The names under which a model calls tools of remotes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

MOST = 64  # characters that the Messages API takes in a tool's name
_OTHER = re.compile(r"[^a-zA-Z0-9_-]+")


def tool_names(offered: Iterable[tuple[str, str]], taken: Collection[str]) -> list[str]:
    """A name for each (remote's name, tool's name), in order: no two are the same, and none is one of `taken`.

    It is both names with `_` between, with what a model's maker does not take in a name left out; numbered from the
    second on where it is another's already.
    """
    used = set(taken)
    names = []
    for remote, tool in offered:
        plain = _OTHER.sub("_", f"{remote}_{tool}")[:MOST]
        name, number = plain, 1
        while name in used:
            number += 1
            ending = f"_{number}"
            name = plain[: MOST - len(ending)] + ending
        used.add(name)
        names.append(name)
    return names
