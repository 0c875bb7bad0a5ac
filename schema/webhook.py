"""Webhook: an address that hears of the end of runs; the inputs and payloads of its mutations."""

from __future__ import annotations

from typing import Any, cast

import strawberry

from models.webhook import Webhook as WebhookRecord
from models.webhook import last_delivery
from schema.context import Info
from schema.errors import UserError
from schema.node import Node
from schema.operations import ERRORS, KEY
from schema.scalars import DateTime

UNSET: Any = strawberry.UNSET


@strawberry.type(description="What became of telling a webhook of the end of a run's turn.")
class WebhookDelivery:
    """Read from models.webhook.Delivery."""

    run_id: strawberry.ID = strawberry.field(description="The run that had ended.")
    status: int | None = strawberry.field(
        description="The HTTP status of the last attempt's answer; null where there was none."
    )
    attempts: int = strawberry.field(description="How many attempts were begun, of eight at most.")
    delivered_at: DateTime | None = strawberry.field(description="When the endpoint took it; null while it has not.")
    error: str | None = strawberry.field(description="What was wrong with the last attempt; null where nothing was.")


async def _last_delivery(root: strawberry.Parent[WebhookRecord], info: Info) -> Any:
    return await info.context.loaders.read(last_delivery, root.id)


@strawberry.type(description="An address that is posted to when a turn of a run has ended, signed with its secret.")
class Webhook(Node):
    """Read from models.webhook.Webhook."""

    url: str = strawberry.field(description="Where it is posted to.")
    agent: str | None = strawberry.field(
        description="The agent of whose runs it hears, as it was called when the webhook was created; null for all."
    )
    enabled: bool = strawberry.field(description="Whether it is posted to: false once it has answered 410 Gone.")
    last_delivery: WebhookDelivery | None = strawberry.field(
        resolver=_last_delivery, description="The newest delivery, of those of the last 30 days; null before the first."
    )


def as_webhook(webhook: WebhookRecord) -> Webhook:
    """The record, which stands for its type: said to the type checker alone."""
    return cast(Webhook, webhook)


@strawberry.input(description="The webhook to create.")
class CreateWebhookInput:
    """The input of createWebhook."""

    url: str = strawberry.field(
        description="Where to post, https://…, on the public internet; redirects are not followed."
    )
    agent: str | None = strawberry.field(
        description="Hear of this agent's runs alone: a code-defined agent's name, or a stored agent's id or handle.",
        default=UNSET,
    )
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of createWebhook.")
class CreateWebhookPayload:
    """The payload of createWebhook."""

    webhook: Webhook | None = strawberry.field(description="The webhook; null where the mutation was refused.")
    secret: str | None = strawberry.field(
        description=(
            "What deliveries are signed with, whsec_…. It is shown here alone: keep it. The same key shows it again."
        )
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="Which webhook to remove.")
class DeleteWebhookInput:
    """The input of deleteWebhook."""

    id: strawberry.ID = strawberry.field(description="The webhook to remove, with what it was not yet told.")


@strawberry.type(description="What came of deleteWebhook.")
class DeleteWebhookPayload:
    """The payload of deleteWebhook."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="The id of the webhook that is gone; null where the mutation was refused."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)
