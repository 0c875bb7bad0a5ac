"""Idempotency keys: they belong to a user and an operation, and give the first answer again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Index, String, Table, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from models.tables import Json, metadata

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("user_id", String(255), primary_key=True),
    Column("operation", String(64), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("answer", Json),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_idempotency_keys_created_at", "created_at"),
)


class KeyUsedOtherwise(Exception):
    """The key was used before with another input."""


@dataclass(frozen=True, slots=True)
class Key:
    """A caller's own key for one operation; `digest` stands for the operation's input."""

    user_id: str
    operation: str
    key: str
    digest: str


def claim_key(c: Connection, key: Key | None, at: int) -> dict[str, Any] | None:
    """Take the key for this transaction: None where it is new, else the answer that was kept under it.

    A second caller waits here until the first has committed. Raises KeyUsedOtherwise.
    """
    if key is None:
        return None
    make = postgresql.insert if c.dialect.name == "postgresql" else sqlite.insert
    fresh = c.execute(
        make(idempotency_keys)
        .values(
            user_id=key.user_id, operation=key.operation, key=key.key, digest=key.digest, answer=None, created_at=at
        )
        .on_conflict_do_nothing()
        .returning(idempotency_keys.c.key)
    ).scalar()
    if fresh is not None:
        return None
    kept = c.execute(select(idempotency_keys).where(*_is(key))).one()
    if kept.digest != key.digest:
        raise KeyUsedOtherwise
    answer: dict[str, Any] = kept.answer
    return answer


def keep_answer(c: Connection, key: Key | None, answer: dict[str, Any]) -> None:
    """Keep the answer under a key that this transaction has claimed."""
    if key is not None:
        c.execute(idempotency_keys.update().where(*_is(key)).values(answer=answer))


def purge_keys(c: Connection, before: int) -> int:
    """Forget the keys made before a moment (ms since the epoch); how many there were."""
    return c.execute(delete(idempotency_keys).where(idempotency_keys.c.created_at < before)).rowcount


def _is(key: Key) -> tuple[Any, ...]:
    columns = idempotency_keys.c
    return columns.user_id == key.user_id, columns.operation == key.operation, columns.key == key.key
