"""Webhooks: addresses that hear of the end of runs, and the deliveries to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Connection, Index, Integer, Row, String, Table, delete, func, select

from models.page import Slice, Window
from models.paging import by_column
from models.tables import metadata

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("user_id", String(255), nullable=False),
    Column("url", String, nullable=False),
    Column("agent", String(255)),
    Column("agent_id", String(64)),
    Column("secret", String(128), nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_webhooks_user_id_id", "user_id", "id"),
)
webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", String(128), primary_key=True),
    # no foreign key: an end that is told while its webhook is being deleted must not fail because of that
    Column("webhook_id", String(64), nullable=False),
    Column("run_id", String(64), nullable=False),
    Column("body", String, nullable=False),
    Column("due_at", BigInteger),
    Column("attempts", Integer, nullable=False),
    Column("status", Integer),
    Column("delivered_at", BigInteger),
    Column("error", String),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_webhook_deliveries_due_at", "due_at"),
    Index("ix_webhook_deliveries_webhook_id_created_at", "webhook_id", "created_at"),
    Index("ix_webhook_deliveries_created_at", "created_at"),
)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook as its row has it; times are milliseconds since the epoch, UTC.

    It hears of its owner's runs, of one agent where `agent` is given: a name of code, or the word of the stored agent
    `agent_id`. `secret` is what deliveries are signed with. One that is not `enabled` has said that it is gone.
    """

    id: str
    user_id: str
    url: str
    secret: str = field(repr=False)
    created_at: int
    agent: str | None = None
    agent_id: str | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery as its row has it: one for each webhook and turn of a run that has ended.

    It is tried next at `due_at`; None where it was delivered, or given up. `attempts` were begun, `status` is what the
    endpoint answered to the last that has ended, and `error` what was wrong with it.
    """

    id: str
    webhook_id: str
    run_id: str
    body: str
    created_at: int
    due_at: int | None
    attempts: int = 0
    status: int | None = None
    delivered_at: int | None = None
    error: str | None = None


def webhook_to_row(webhook: Webhook) -> dict[str, Any]:
    """The row's columns."""
    return {name: getattr(webhook, name) for name in Webhook.__slots__}


def webhook_from_row(row: Row[Any]) -> Webhook:
    """A Webhook from a row of all of its table's columns."""
    return Webhook(**{name: row._mapping[name] for name in Webhook.__slots__})


def delivery_to_row(delivery: Delivery) -> dict[str, Any]:
    """The row's columns."""
    return {name: getattr(delivery, name) for name in Delivery.__slots__}


def delivery_from_row(row: Row[Any]) -> Delivery:
    """A Delivery from a row with all of its table's columns."""
    return Delivery(**{name: row._mapping[name] for name in Delivery.__slots__})


def get_webhooks(c: Connection, webhook_ids: Sequence[str]) -> dict[str, Webhook]:
    """Those of the webhooks that exist, by id, whoever owns them."""
    rows = c.execute(select(webhooks).where(webhooks.c.id.in_(list(webhook_ids))))
    return {row.id: webhook_from_row(row) for row in rows}


def find_webhooks(c: Connection, user_id: str, window: Window) -> Slice[Webhook]:
    """A window of the user's webhooks, newest first; positions are ids. Raises BadCursor."""
    mine = select(webhooks).where(webhooks.c.user_id == user_id)
    return by_column(c, mine, webhooks.c.id, window, webhook_from_row, descending=True, prefix="whk_")


def count_webhooks(c: Connection, user_id: str) -> int:
    """How many webhooks the user has."""
    return int(c.execute(select(func.count(webhooks.c.id)).where(webhooks.c.user_id == user_id)).scalar_one())


def last_delivery(c: Connection, webhook_id: str) -> Delivery | None:
    """The newest delivery of a webhook."""
    found = select(webhook_deliveries).where(webhook_deliveries.c.webhook_id == webhook_id)
    newest = found.order_by(webhook_deliveries.c.created_at.desc(), webhook_deliveries.c.id.desc()).limit(1)
    row = c.execute(newest).first()
    return delivery_from_row(row) if row else None


def purge_deliveries(c: Connection, before: int) -> int:
    """Forget the deliveries made before a moment (ms since the epoch); how many there were."""
    return c.execute(delete(webhook_deliveries).where(webhook_deliveries.c.created_at < before)).rowcount
