"""The page on webhooks is real: its operations are sent, its code checks a real post, its numbers are the code's."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from engine.courier import JITTER, PAUSES
from engine.housekeeping import DELIVERIES_KEPT_MS
from engine.posting import SECONDS
from models.verbs.delivering import MAX_WEBHOOKS
from models.verbs.telling import MAX_TEXT
from tests.support.messages_script import Script
from tests.support.project import ROOT
from tests.support.receiver import Post, receiver
from tests.support.world import helper, world
from tests.support.written import blocks_of, files_of

PAGE = "webhooks.md"
TEXT = " ".join((ROOT / "docs" / PAGE).read_text(encoding="utf-8").split())


def is_genuine(secret: str, post: Post, **changed: Any) -> bool:
    """What the page's code says of a post, or of one in which something was changed."""
    found: dict[str, Any] = {}
    exec(compile(files_of(PAGE)["verify.py"], "verify.py", "exec"), found)  # noqa: S102 - the page's own code
    given = {"headers": post.headers, "body": post.body, **changed}
    return bool(found["is_genuine"](secret, given["headers"], given["body"]))


async def test_the_story_of_the_page_is_what_happens(tmp_path: Path) -> None:
    """Each operation does what it says, in their order."""
    hook, listed, unhook = [block.text for block in blocks_of(PAGE, "graphql")]
    async with world(tmp_path, researcher=helper()) as w:
        ann = w.client("ann")
        made = (await ann.ask(hook))["createWebhook"]
        assert (made["errors"], made["secret"][:6]) == ([], "whsec_")
        assert [one["id"] for one in (await ann.ask(listed))["webhooks"]["nodes"]] == [made["webhook"]["id"]]
        gone = (await ann.ask(unhook, webhookId=made["webhook"]["id"]))["deleteWebhook"]
        assert gone == {"deletedId": made["webhook"]["id"], "errors": []}


async def test_the_page_s_code_takes_a_real_post_and_nothing_else(tmp_path: Path) -> None:
    """Not with another secret, another body, another id or at another time; and the body is the one that is shown."""
    settings = {"webhook_private": True, "cancel_poll_seconds": 0.05}
    async with receiver() as endpoint, world(tmp_path, settings=settings, researcher=helper()) as w:
        ann = w.client("ann")
        create = "mutation ($url: String!) { createWebhook(input: {url: $url}) { secret } }"
        secret = (await ann.ask(create, url=endpoint.url))["createWebhook"]["secret"]
        w.play(Script().text("Done."))
        await ann.settled((await ann.start(agent="researcher"))["id"])
        await endpoint.until(lambda one: one.posts)
        (post,) = endpoint.posts
    assert is_genuine(secret, post)
    assert not is_genuine("whsec_" + "A" * 43 + "=", post)
    assert not is_genuine(secret, post, body=post.body + b" ")
    for name, value in (("webhook-id", "other"), ("webhook-timestamp", str(int(time.time()) - 400))):
        assert not is_genuine(secret, post, headers={**post.headers, name: value})
    several = f"v1,x {post.headers['webhook-signature']}"
    assert is_genuine(secret, post, headers={**post.headers, "webhook-signature": several})
    (shown,) = [json.loads(block.text) for block in blocks_of(PAGE, "json")]
    assert list(shown) == list(post.json)
    assert list(shown["usage"]) == list(post.json["usage"])


@pytest.mark.parametrize(
    "words",
    [
        f"at most {MAX_WEBHOOKS} webhooks",
        f"first {MAX_TEXT:,} characters",
        f"within {SECONDS:g} seconds",
        "after 5 seconds, 5 minutes, 30 minutes, 2 hours, 5 hours, 10 hours and 10 hours",
        f"kept for {DELIVERIES_KEPT_MS // 86_400_000} days",
        f"After eight attempts, about {sum(PAUSES) // 3_600:.0f} hours",
    ],
)
def test_the_numbers_of_the_page_are_those_of_the_code(words: str) -> None:
    """Each stands on it."""
    assert words in TEXT


def test_the_pauses_of_the_page_are_those_of_the_code() -> None:
    """A fifth sooner or later."""
    hour = 3_600
    assert list(PAUSES) == [5, 5 * 60, 30 * 60, 2 * hour, 5 * hour, 10 * hour, 10 * hour]
    assert pytest.approx(1 / 5) == JITTER
