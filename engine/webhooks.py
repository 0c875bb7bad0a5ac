"""Webhooks: what their owners do with them. Deliveries are the courier's."""

from __future__ import annotations

import secrets

from engine.builtin.fetch_policy import FetchPolicy
from engine.errors import InvalidInput, KeyReused, NotFound
from engine.inputs import key_of
from engine.posting import BadUrl, checked_url
from engine.signing import KEY_BYTES, secret_of
from engine.user import User
from engine.workshop import Workshop
from models.key import KeyUsedOtherwise
from models.text import clean
from models.verbs.delivering import MAX_WEBHOOKS, NewWebhook, create_webhook, delete_webhook
from models.verbs.errors import NoSuchWebhook, TooMany
from models.webhook import Webhook


class Webhooks:
    """Creates and removes webhooks, their owners' alone. Raises engine.errors.Refused."""

    def __init__(self, shop: Workshop, policy: FetchPolicy) -> None:
        self._shop = shop
        self._policy = policy

    async def create(self, user: User, *, url: str, agent: str | None = None, key: str | None = None) -> Webhook:
        """A new webhook with a secret of its own; the same key gives the same one, so that no secret is lost."""
        kept = key_of(user, "createWebhook", key, url=url, agent=agent)
        address = clean(url.strip())
        try:
            checked_url(address, self._policy)
        except BadUrl as error:
            raise InvalidInput(str(error), field=("url",)) from None
        secret = secret_of(secrets.token_bytes(KEY_BYTES))
        word = agent_id = None
        if agent is not None:
            chosen = await self._shop.roster.named(user, agent, self._shop.database.read)
            word, agent_id = chosen.word, chosen.agent_id
        new = NewWebhook(user_id=user.id, url=address, secret=secret, agent=word, agent_id=agent_id)
        ids, at = self._shop.ids, self._shop.clock()
        try:
            return await self._shop.database.write(create_webhook, new=new, key=kept, ids=ids, at=at)
        except KeyUsedOtherwise:
            raise KeyReused(field=("key",)) from None
        except TooMany:
            raise InvalidInput(f"One user has at most {MAX_WEBHOOKS} webhooks; delete one first.") from None
        except NoSuchWebhook:
            raise NotFound("The webhook that this key had made was deleted.", field=("key",)) from None

    async def delete(self, user: User, *, webhook_id: str) -> str:
        """Remove a webhook; what it has not been told is told no more."""
        try:
            await self._shop.database.write(delete_webhook, user_id=user.id, webhook_id=webhook_id)
        except NoSuchWebhook:
            raise NotFound("There is no such webhook.", field=("id",)) from None
        return webhook_id
