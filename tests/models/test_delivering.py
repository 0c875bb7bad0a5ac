"""create_webhook, delete_webhook, claim_deliveries, record_delivery: each one transaction, on every database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from models.page import Window
from models.verbs.delivering import (
    AT_ONCE,
    Attempt,
    Claimed,
    NewWebhook,
    claim_deliveries,
    create_webhook,
    delete_webhook,
    record_delivery,
)
from models.verbs.errors import NoSuchWebhook, TooMany
from models.webhook import Delivery, Webhook, find_webhooks, get_webhooks, last_delivery, purge_deliveries
from tests.support.desk import COMPLETED, Desk, a_key

LEASE = 60_000


async def created(desk: Desk, *, key: Any = None, most: int = 10, **values: Any) -> Webhook:
    """A webhook of alice's."""
    new = NewWebhook(**{"user_id": "alice", "url": "https://example.com", "secret": "whsec_MfKQ", **values})
    what: dict[str, Any] = {"key": key, "ids": desk.ids, "at": desk.clock(), "most": most}
    return await desk.database.write(create_webhook, new=new, **what)


async def ended(desk: Desk) -> str:
    """A run of alice's that is over; its id."""
    hands = await desk.open()
    await hands.settle(COMPLETED)
    return hands.id


async def claimed(desk: Desk, limit: int = 10) -> list[Claimed]:
    """What can be claimed now."""
    return await desk.database.write(claim_deliveries, limit=limit, lease_ms=LEASE, at=desk.clock())


async def recorded(desk: Desk, one: Claimed, attempt: Attempt) -> None:
    """Record how an attempt ended."""
    await desk.database.write(record_delivery, delivery_id=one.delivery.id, attempt=attempt, at=desk.clock())


async def newest(desk: Desk, webhook: Webhook) -> Delivery | None:
    """The webhook's newest delivery."""
    return await desk.database.read(last_delivery, webhook.id)


async def test_a_key_makes_one_webhook_with_one_secret(desk: Desk) -> None:
    """The secret is the first try's; where the webhook was deleted, that is said."""
    key = a_key(operation="createWebhook")
    first = await created(desk, key=key)
    assert await created(desk, key=key, secret="whsec_other") == first
    await desk.database.write(delete_webhook, user_id="alice", webhook_id=first.id)
    with pytest.raises(NoSuchWebhook):
        await created(desk, key=key)


async def test_a_webhook_is_its_owners_alone(desk: Desk) -> None:
    """To list and to delete; a user has so many and no more."""
    mine = await created(desk, most=1)
    with pytest.raises(TooMany):
        await created(desk, most=1)
    theirs = await created(desk, user_id="bob", most=1)
    assert (await desk.database.read(find_webhooks, "alice", Window(size=9))).rows == [mine]
    with pytest.raises(NoSuchWebhook):
        await desk.database.write(delete_webhook, user_id="alice", webhook_id=theirs.id)
    assert list(await desk.database.read(get_webhooks, [mine.id, theirs.id])) == [mine.id, theirs.id]


async def test_a_delivery_is_claimed_once_until_its_lease_is_over(desk: Desk) -> None:
    """By whoever comes first; each claim is an attempt."""
    webhook = await created(desk)
    run_id = await ended(desk)
    found = await asyncio.gather(*(claimed(desk) for _ in range(4)))
    ((one,),) = [some for some in found if some]
    assert (one.delivery.run_id, one.delivery.attempts, one.url) == (run_id, 1, webhook.url)
    desk.clock.now += LEASE - 1
    assert await claimed(desk) == []
    desk.clock.now += 1
    (again,) = await claimed(desk)
    assert (again.delivery.id, again.delivery.body, again.delivery.attempts) == (one.delivery.id, one.delivery.body, 2)


async def test_an_attempt_that_another_has_followed_records_nothing(desk: Desk) -> None:
    """A node that was frozen past its lease does not undo what the next one found out."""
    webhook = await created(desk)
    await ended(desk)
    (old,) = await claimed(desk)
    desk.clock.now += LEASE
    (new,) = await claimed(desk)
    await recorded(desk, old, Attempt(1, 500, "It answered 500.", desk.clock()))
    assert await claimed(desk) == []
    await recorded(desk, new, Attempt(2, 204, None, None, delivered=True))
    taken = await newest(desk, webhook)
    for late in (Attempt(1, 500, "late", desk.clock()), Attempt(2, 500, "twice", desk.clock())):
        await recorded(desk, old, late)
    assert await newest(desk, webhook) == taken
    assert taken is not None
    assert (taken.delivered_at, taken.due_at, taken.status) == (desk.clock(), None, 204)


async def test_a_claim_takes_a_few_of_each_webhook(desk: Desk) -> None:
    """One with many that wait leaves room for the others."""
    busy = await created(desk)
    for _ in range(AT_ONCE + 2):
        await ended(desk)
    other = await created(desk)
    await ended(desk)
    found = [one.delivery.webhook_id for one in await claimed(desk, 100)]
    assert sorted(found) == sorted([busy.id] * AT_ONCE + [other.id])
    assert [one.delivery.webhook_id for one in await claimed(desk, 2)] == [busy.id] * 2


async def test_a_turn_that_is_ended_from_several_sides_at_once_has_one_delivery(desk: Desk) -> None:
    """Its loop settles it while it is cancelled, twice; and it is cancelled again when all is over."""
    webhook = await created(desk)
    runs = [await desk.open() for _ in range(12)]
    for run in runs:
        ends = run.settle(COMPLETED), desk.cancel(run.id), desk.cancel(run.id)
        await asyncio.gather(*ends, return_exceptions=True)
        await desk.cancel(run.id)
    found: list[Claimed] = []
    while some := await claimed(desk):
        found += some
    assert sorted(one.delivery.run_id for one in found) == sorted(run.id for run in runs)
    assert {one.delivery.webhook_id for one in found} == {webhook.id}
    assert webhook.secret not in repr([found, webhook])


async def test_what_is_gone_disables_its_webhook(desk: Desk) -> None:
    """What waits for it is taken by nobody, and no more is written down."""
    webhook = await created(desk)
    await ended(desk)
    (one,) = await claimed(desk)
    await ended(desk)
    await recorded(desk, one, Attempt(1, 410, "It answered 410.", None, gone=True))
    await ended(desk)
    desk.clock.now += 10 * LEASE
    assert await claimed(desk) == []
    assert not (await desk.database.read(get_webhooks, [webhook.id]))[webhook.id].enabled


async def test_deliveries_are_forgotten_in_time(desk: Desk) -> None:
    """Those made before a moment, and no others."""
    webhook = await created(desk)
    await ended(desk)
    desk.clock.advance(1)
    await ended(desk)
    kept = await newest(desk, webhook)
    assert await desk.database.write(purge_deliveries, desk.clock()) == 1
    assert await newest(desk, webhook) == kept
    assert len(await claimed(desk)) == 1


async def test_a_webhook_that_is_deleted_while_a_run_ends_fails_nothing(desk: Desk) -> None:
    """What was written down for it meanwhile is taken by nobody, and forgotten in time."""
    hooks = [await created(desk) for _ in range(3)]
    runs = [await desk.open() for _ in range(3)]
    gone = [desk.database.write(delete_webhook, user_id="alice", webhook_id=hook.id) for hook in hooks]
    await asyncio.gather(*gone, *(run.settle(COMPLETED) for run in runs))
    assert await claimed(desk) == []
