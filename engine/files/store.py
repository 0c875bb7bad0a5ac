"""The seam between attachments and where their files are kept."""

from __future__ import annotations

import hashlib
from typing import Protocol


class FilesAway(Exception):
    """The store can't be reached, or refuses; the text is for the log and for operators."""


class FileStore(Protocol):
    """Keeps files under the SHA-256 of their content, so that one that is given again is stored once."""

    async def put(self, digest: str, data: bytes) -> None:
        """Keep a file, where it is not there already; no crash leaves half of one. Raises FilesAway."""
        ...

    async def get(self, digest: str) -> bytes | None:
        """The file, or None where there is none, or none with that content any more. Raises FilesAway."""
        ...

    async def problem(self) -> str | None:
        """What is wrong with the store, found without writing to it; None where nothing is seen to be wrong."""
        ...


def unchanged(digest: str, data: bytes) -> bool:
    """Whether the content is still the one that it was stored as."""
    return hashlib.sha256(data).hexdigest() == digest
