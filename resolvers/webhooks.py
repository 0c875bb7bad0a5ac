"""Webhooks: webhooks, createWebhook, deleteWebhook."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from engine.errors import Refused
from models.webhook import Webhook, count_webhooks, find_webhooks
from schema.connections import After, Before, First, Last, Page, Paging, page
from schema.context import Info
from schema.errors import user_errors
from schema.given import given
from schema.webhook import (
    CreateWebhookInput,
    CreateWebhookPayload,
    DeleteWebhookInput,
    DeleteWebhookPayload,
    as_webhook,
)

UNSET: Any = strawberry.UNSET

Create = Annotated[CreateWebhookInput, strawberry.argument(description="The webhook to create.")]
Delete = Annotated[DeleteWebhookInput, strawberry.argument(description="Which webhook to remove.")]


async def list_webhooks(
    info: Info, first: First = UNSET, after: After = UNSET, last: Last = UNSET, before: Before = UNSET
) -> Page[Webhook]:
    """A page of the viewer's webhooks, newest first. Raises BadUserInput."""
    paging, viewer = Paging(first, after, last, before), info.context.viewer
    return await page(info.context, "webhooks", paging, find=find_webhooks, count=count_webhooks, of=viewer.id)


async def create_webhook(info: Info, input: Create) -> CreateWebhookPayload:  # noqa: A002 - the promised name
    """Have an address hear of the end of runs."""
    context = info.context
    try:
        webhook = await context.engine.webhooks.create(
            context.viewer, url=input.url, agent=given(input.agent), key=given(input.key)
        )
    except Refused as refused:
        return CreateWebhookPayload(webhook=None, secret=None, errors=user_errors(refused))
    return CreateWebhookPayload(webhook=as_webhook(webhook), secret=webhook.secret, errors=[])


async def delete_webhook(info: Info, input: Delete) -> DeleteWebhookPayload:  # noqa: A002 - the promised name
    """Remove a webhook."""
    context = info.context
    try:
        deleted = await context.engine.webhooks.delete(context.viewer, webhook_id=input.id)
    except Refused as refused:
        return DeleteWebhookPayload(deleted_id=None, errors=user_errors(refused))
    return DeleteWebhookPayload(deleted_id=strawberry.ID(deleted), errors=[])
