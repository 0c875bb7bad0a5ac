"""Arguments that were left out."""

from __future__ import annotations

from typing import TypeVar

import strawberry

T = TypeVar("T")


def given(value: T | None) -> T | None:
    """The value, or None where it was null or was left out (UNSET)."""
    return None if value is strawberry.UNSET else value
