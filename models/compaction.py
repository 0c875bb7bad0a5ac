"""The compaction: what a run's requests are built from instead of its whole transcript, which stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, ForeignKey, Index, Integer, Row, String, Table, insert, select

from models.tables import metadata

compactions = Table(
    "compactions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("run_id", String(64), ForeignKey("agent_runs.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("trimmed_to", Integer, nullable=False),
    Column("summed_to", Integer, nullable=False),
    Column("summary", String),
    Column("model_call_id", String(64)),  # null where results were trimmed alone
    Column("tokens_before", BigInteger, nullable=False),
    Column("tokens_after", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_compactions_run_id", "run_id"),
)


@dataclass(frozen=True, slots=True)
class Compacted:
    """One compaction of a run; it takes the place of the one before it.

    `summary` stands for the messages up to `summed_to`, None where that is 0. In messages up to `trimmed_to` long
    results of tools are shortened. `seq` is that of the run's last message when it was made: what a provider counted
    up to there is no measure of the requests since. Tokens are estimates.
    """

    id: str
    run_id: str
    seq: int
    trimmed_to: int
    summed_to: int
    summary: str | None
    model_call_id: str | None
    tokens_before: int
    tokens_after: int
    created_at: int


def insert_compaction(c: Connection, compaction: Compacted) -> None:
    """Store one."""
    c.execute(insert(compactions).values({name: getattr(compaction, name) for name in Compacted.__slots__}))


def get_compaction(c: Connection, compaction_id: str) -> Compacted | None:
    """A compaction by its id."""
    row = c.execute(select(compactions).where(compactions.c.id == compaction_id)).first()
    return _from_row(row) if row else None


def compactions_of(c: Connection, run_id: str) -> Sequence[Compacted]:
    """All compactions of a run, the newest last: each reaches further than the one before it."""
    columns = compactions.c
    of_run = select(compactions).where(columns.run_id == run_id).order_by(columns.summed_to, columns.trimmed_to)
    return [_from_row(row) for row in c.execute(of_run)]


def newest_compaction(c: Connection, run_id: str) -> Compacted | None:
    """The compaction that the run's requests are built by; None where they are built from the whole transcript."""
    columns = compactions.c
    of_run = select(compactions).where(columns.run_id == run_id)
    row = c.execute(of_run.order_by(columns.summed_to.desc(), columns.trimmed_to.desc()).limit(1)).first()
    return _from_row(row) if row else None


def _from_row(row: Row[Any]) -> Compacted:
    return Compacted(**row._mapping)
