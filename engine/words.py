"""An author's object as text, whatever its own `__str__` does."""

from __future__ import annotations


def words_of(value: object, otherwise: str) -> str:
    """What the object says of itself, or `otherwise` where saying it raises: SystemExit too would end the server."""
    try:
        return str(value)
    except BaseException:  # noqa: BLE001  # an author's own __str__ may raise anything
        return otherwise
