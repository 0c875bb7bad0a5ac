"""Webhooks as their owners meet them: created over the API, told by the server, with their deliveries in view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import documents
from tests.support.client import Client
from tests.support.messages_script import Script
from tests.support.receiver import receiver
from tests.support.world import World, world

OPEN = {"webhook_private": True, "cancel_poll_seconds": 0.05}
HOOK = "https://example.com/hook"


async def created(client: Client, **given: Any) -> tuple[dict[str, Any], str]:
    """A new webhook, and its secret."""
    payload = await client.done(documents.CREATE_WEBHOOK, **given)
    return payload["webhook"], payload["secret"]


async def refused(
    client: Client, document: str = documents.CREATE_WEBHOOK, **given: Any
) -> tuple[str, list[str] | None]:
    """Code and field of the one reason why it is refused."""
    payload = await client.do(document, **given)
    assert not payload.get("webhook")
    assert not payload.get("secret")
    (error,) = payload["errors"]
    assert error["message"].endswith(".")
    return error["code"], error["field"]


async def listed(client: Client) -> list[dict[str, Any]]:
    """The client's webhooks."""
    found: list[dict[str, Any]] = (await client.ask(documents.WEBHOOKS))["webhooks"]["nodes"]
    return found


async def delivered(client: Client) -> dict[str, Any]:
    """The last delivery of the client's one webhook, once there is an answer."""
    while True:
        ((hook),) = await listed(client)
        last: dict[str, Any] | None = hook["lastDelivery"]
        if last is not None and last["status"] is not None:
            return last


async def ran(w: World, client: Client) -> dict[str, Any]:
    """A run that has answered."""
    w.play(Script().text("Done."))
    return await client.settled((await client.start())["id"])


async def test_the_end_of_a_run_reaches_the_endpoint_signed_and_is_shown(tmp_path: Path) -> None:
    """The secret is shown at creation and never again; the delivery tells how it went."""
    async with receiver() as endpoint, world(tmp_path, settings=OPEN) as w:
        alice = w.client("alice")
        hook, secret = await created(alice, url=endpoint.url, agent="helper")
        assert secret.startswith("whsec_")
        assert hook == {
            "__typename": "Webhook", "id": hook["id"], "url": endpoint.url, "agent": "helper", "enabled": True,
            "lastDelivery": None,
        }  # fmt: skip
        run = await ran(w, alice)
        last = await delivered(alice)
        assert last.pop("deliveredAt") is not None
        assert last == {"runId": run["id"], "status": 204, "attempts": 1, "error": None}
        (post,) = endpoint.posts
        assert post.is_signed_with(secret)
        assert (post.json["runId"], post.json["status"], post.json["text"]) == (run["id"], "COMPLETED", "Done.")
        node = documents.document("query ($id: ID!) { node(id: $id) { ...Hook } }")
        shown = await alice.answer(node, id=hook["id"])
        assert shown["data"]["node"]["id"] == hook["id"]
        assert secret not in str([shown, await alice.answer(documents.WEBHOOKS)])


async def test_what_waits_for_an_endpoint_survives_a_restart(tmp_path: Path) -> None:
    """A run that ended as the server stopped is told of by the next one, once."""
    async with receiver() as endpoint, world(tmp_path, settings={**OPEN, "cancel_poll_seconds": 3_600.0}) as w:
        alice = w.client("alice")
        await created(alice, url=endpoint.url)
        run = await ran(w, alice)
        assert endpoint.posts == []
        await w.stop()
        w.settings = type(w.settings)(**{**_values(w.settings), "cancel_poll_seconds": 0.05})
        await w.start()
        assert (await delivered(alice))["runId"] == run["id"]
        assert len(endpoint.posts) == 1


async def test_what_was_allowed_once_is_checked_again_at_each_post(tmp_path: Path) -> None:
    """A deployment that allows private addresses no more posts to none, whatever was stored before."""
    async with receiver() as endpoint, world(tmp_path, settings=OPEN) as w:
        alice = w.client("alice")
        await created(alice, url=endpoint.url)
        await w.stop()
        w.settings = type(w.settings)(**{**_values(w.settings), "webhook_private": False})
        await w.start()
        run = await ran(w, alice)
        while (last := (await listed(alice))[0]["lastDelivery"]) is None or last["error"] is None:
            pass
        assert (last["runId"], last["status"], last["error"]) == (run["id"], None, "The URL must begin with https://.")
        assert endpoint.posts == []


async def test_odd_text_is_stored_as_it_can_be_read(tmp_path: Path) -> None:
    """In a run's metadata, which the endpoint is told; and in an input that comes again and again."""
    async with receiver() as endpoint, world(tmp_path, settings=OPEN) as w:
        alice = w.client("alice")
        await created(alice, url=endpoint.url)
        w.play(Script().text("Done."))
        run = await alice.start("W\0s\ud800", metadata={"k\0": "\udfff"})
        await alice.settled(run["id"])
        await endpoint.until(lambda one: one.posts)
        assert endpoint.posts[0].json["metadata"] == {"k\ufffd": "\ufffd"}
        given = {"agent": "helper", "input": "W\0s\ud800", "cron": "@daily"}
        schedule = (await alice.done(documents.CREATE_SCHEDULE, **given))["schedule"]
        assert schedule["input"] == "W\ufffds\ufffd"


def _values(settings: Any) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in settings.__slots__}


async def test_an_endpoint_that_fails_is_shown(tmp_path: Path) -> None:
    """With its status and what was wrong; the next attempt comes by itself."""
    async with receiver(503) as endpoint, world(tmp_path, settings=OPEN) as w:
        alice = w.client("alice")
        await created(alice, url=endpoint.url)
        run = await ran(w, alice)
        assert await delivered(alice) == {
            "runId": run["id"], "status": 503, "attempts": 1, "deliveredAt": None, "error": "It answered 503.",
        }  # fmt: skip


@pytest.mark.parametrize(
    "url",
    ["http://example.com/", "https://127.0.0.1/", "https://localhost/", "https://10.0.0.1/", "https://[::1]/",
     "https://169.254.169.254/", "https://u:p@example.com/", "", "x\0", "https://example.com/" + "x" * 3_000],
)  # fmt: skip
async def test_an_address_that_must_not_be_posted_to_is_refused(tmp_path: Path, url: str) -> None:
    """Private, loopback and link-local ones, plain http, and what is no address."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        assert await refused(alice, url=url) == ("INVALID_INPUT", ["input", "url"])
        assert await listed(alice) == []


async def test_an_agent_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """As is a key that was used otherwise."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        assert await refused(alice, url=HOOK, agent="nobody") == ("AGENT_NOT_FOUND", ["input", "agent"])
        first = await created(alice, url=HOOK, key="k")
        assert await created(alice, url=HOOK, key="k") == first, "who lost the answer is given the secret again"
        assert await refused(alice, url=HOOK + "/2", key="k") == ("KEY_REUSED", ["input", "key"])


async def test_a_webhook_that_was_deleted_is_gone(tmp_path: Path) -> None:
    """A second delete finds nothing; one user has at most twenty."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        hooks = [(await created(alice, url=f"{HOOK}/{number}"))[0]["id"] for number in range(20)]
        assert await refused(alice, url=HOOK) == ("INVALID_INPUT", None)
        assert [hook["id"] for hook in await listed(alice)] == hooks[::-1]
        gone = await alice.done(documents.DELETE_WEBHOOK, id=hooks[0])
        assert gone["deletedId"] == hooks[0]
        assert await refused(alice, documents.DELETE_WEBHOOK, id=hooks[0]) == ("NOT_FOUND", ["input", "id"])
        assert len(await listed(alice)) == 19
