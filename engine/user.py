"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class User:
    """A signed-in user: the subject of its token, and its roles."""

    id: str
    roles: frozenset[str] = frozenset()
