"""The attachment: a row names a stored file for its owner. Messages refer to rows, and never hold a file's bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Integer, Row, String, Table, insert, select

from models.tables import metadata

PREFIX = "att"
"""What ids of attachments begin with: a file id of a provider's own begins otherwise."""
MAX_NAME = 255

attachments = Table(
    "attachments",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("user_id", String(255), nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("media_type", String(64), nullable=False),
    Column("name", String(MAX_NAME)),
    Column("size", Integer, nullable=False),
    Column("width", Integer),
    Column("height", Integer),
    Column("pages", Integer),
    Column("created_at", BigInteger, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file as its owner gave it, or as it was scaled down: `sha256` and `size` (bytes) are those of what is stored.

    `width` and `height` are an image's, in pixels, `pages` a PDF's. `name` is the owner's own, where one was given.
    """

    id: str
    user_id: str
    sha256: str
    media_type: str
    name: str | None
    size: int
    width: int | None
    height: int | None
    pages: int | None
    created_at: int

    @property
    def block(self) -> dict[str, Any]:
        """The block of a message that refers to it: the file's bytes take this source's place when a model is asked."""
        source = {"type": "file", "file_id": self.id, "media_type": self.media_type}
        if self.media_type.startswith("image/"):
            return {"type": "image", "source": source}
        named = {"title": self.name} if self.name else {}
        return {"type": "document", "source": source, **named}


def reference_in(block: Any) -> str | None:
    """The id of the attachment that a block refers to; None where it refers to none."""
    match block:
        case {"type": "image" | "document", "source": {"type": "file", "file_id": str(identifier)}}:
            return identifier if identifier.startswith(f"{PREFIX}_") else None
    return None


def store_attachments(c: Connection, given: Sequence[Attachment]) -> None:
    """Name stored files for their owner: in the transaction of the verb whose message refers to them."""
    if given:
        c.execute(insert(attachments), [_to_row(one) for one in given])


def get_attachments(c: Connection, ids: Sequence[str], user_id: str | None) -> dict[str, Attachment]:
    """Those of the attachments that exist and are this user's, or with None anybody's, by id."""
    found = select(attachments).where(attachments.c.id.in_(list(ids)))
    if user_id is not None:
        found = found.where(attachments.c.user_id == user_id)
    return {row.id: _from_row(row) for row in c.execute(found)}


def _to_row(attachment: Attachment) -> dict[str, Any]:
    return {name: getattr(attachment, name) for name in Attachment.__slots__}


def _from_row(row: Row[Any]) -> Attachment:
    return Attachment(**row._mapping)
