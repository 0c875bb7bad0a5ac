"""create_webhook, delete_webhook; claim_deliveries, record_delivery: each delivery is posted by one node at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from models.key import Key, claim_key, keep_answer
from models.verbs.errors import NoSuchWebhook, TooMany
from models.verbs.row import NewId
from models.webhook import (
    Delivery,
    Webhook,
    count_webhooks,
    get_webhooks,
    webhook_deliveries,
    webhook_to_row,
    webhooks,
)

MAX_WEBHOOKS = 20
AT_ONCE = 4
"""How many deliveries of one webhook one claim takes: a slow endpoint leaves room for the others."""


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """What a webhook is created with (see models.webhook.Webhook)."""

    user_id: str
    url: str
    secret: str = field(repr=False)
    agent: str | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that its claimer alone may post until its lease is over; `attempts` counts this attempt too."""

    delivery: Delivery
    url: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an attempt ended: the endpoint's answer, if any, and when to try again; None for never.

    `gone` says that the endpoint wants no more of them.
    """

    number: int
    status: int | None
    error: str | None
    due_at: int | None
    delivered: bool = False
    gone: bool = False


def create_webhook(
    c: Connection, *, new: NewWebhook, key: Key | None, ids: NewId, at: int, most: int = MAX_WEBHOOKS
) -> Webhook:
    """Write the webhook; the same key gives the same one, with its first secret.

    Raises TooMany where its owner has `most` already, KeyUsedOtherwise, and NoSuchWebhook where the one that the key
    has made is there no more.
    """
    if (known := claim_key(c, key, at)) is not None:
        made = get_webhooks(c, [known["webhook_id"]]).get(known["webhook_id"])
        if made is None:
            raise NoSuchWebhook(known["webhook_id"])
        return made
    if count_webhooks(c, new.user_id) >= most:
        raise TooMany(new.user_id)
    values = {name: getattr(new, name) for name in NewWebhook.__slots__}
    webhook = Webhook(id=ids("whk"), created_at=at, **values)
    c.execute(insert(webhooks).values(webhook_to_row(webhook)))
    keep_answer(c, key, {"webhook_id": webhook.id})
    return webhook


def delete_webhook(c: Connection, *, user_id: str, webhook_id: str) -> None:
    """Remove a webhook of the user's with its deliveries. Raises NoSuchWebhook.

    Deliveries are locked before their webhook, as `record_delivery` locks them.
    """
    mine = webhooks.c.id == webhook_id, webhooks.c.user_id == user_id
    if c.execute(select(webhooks.c.id).where(*mine)).first() is None:
        raise NoSuchWebhook(webhook_id)
    c.execute(delete(webhook_deliveries).where(webhook_deliveries.c.webhook_id == webhook_id))
    if not c.execute(delete(webhooks).where(*mine)).rowcount:
        raise NoSuchWebhook(webhook_id)


def claim_deliveries(c: Connection, *, limit: int, lease_ms: int, at: int) -> list[Claimed]:
    """Take deliveries that are due, a few of each webhook: nobody else does until `lease_ms` are over.

    Those whose webhook is gone, or has said that it is, are never taken.
    """
    taken = _due(c, limit, at)
    if not taken:
        return []
    ids = [one.delivery.id for one in taken]
    changes: dict[str, Any] = {"due_at": at + lease_ms, "attempts": webhook_deliveries.c.attempts + 1}
    c.execute(update(webhook_deliveries).where(webhook_deliveries.c.id.in_(ids)).values(changes))
    return taken


def _due(c: Connection, limit: int, at: int) -> list[Claimed]:
    deliveries = webhook_deliveries.c
    place = func.row_number().over(partition_by=deliveries.webhook_id, order_by=(deliveries.due_at, deliveries.id))
    ranked = (
        select(deliveries.id, deliveries.due_at, place.label("place"))
        .join(webhooks, webhooks.c.id == deliveries.webhook_id)
        .where(deliveries.due_at <= at, webhooks.c.enabled)
        .subquery()
    )
    first = select(ranked.c.id).where(ranked.c.place <= AT_ONCE).order_by(ranked.c.due_at, ranked.c.id).limit(limit)
    chosen = list(c.execute(first).scalars())
    found = (
        select(webhook_deliveries, webhooks.c.url, webhooks.c.secret)
        .join(webhooks, webhooks.c.id == deliveries.webhook_id)
        .where(deliveries.id.in_(chosen), deliveries.due_at <= at)
        .order_by(deliveries.id)
        .with_for_update(of=webhook_deliveries, skip_locked=True)
    )
    return [Claimed(_begun(row), row.url, row.secret) for row in c.execute(found).all()] if chosen else []


def _begun(row: Any) -> Delivery:
    """The delivery with the attempt that begins now."""
    values = {**row._mapping, "attempts": row.attempts + 1}
    return Delivery(**{name: values[name] for name in Delivery.__slots__})


def record_delivery(c: Connection, *, delivery_id: str, attempt: Attempt, at: int) -> None:
    """Write how an attempt ended: nothing where a later one has begun, or the delivery is over or gone."""
    deliveries = webhook_deliveries.c
    own = deliveries.id == delivery_id, deliveries.attempts == attempt.number, deliveries.due_at.is_not(None)
    row = c.execute(select(deliveries.webhook_id).where(*own).with_for_update()).first()
    if row is None:
        return
    changes: dict[str, Any] = {"status": attempt.status, "error": attempt.error, "due_at": attempt.due_at}
    changes["delivered_at"] = at if attempt.delivered else None
    c.execute(update(webhook_deliveries).where(deliveries.id == delivery_id).values(changes))
    if attempt.gone:
        c.execute(update(webhooks).where(webhooks.c.id == row.webhook_id).values(enabled=False))
