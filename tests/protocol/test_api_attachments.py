"""Attachments through the whole product: sent by clients, given to a model, and served to their owner alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from engine.attachments.limits import MAX_ENCODED
from models.ids import Ids
from tests.support import documents
from tests.support.client import Client
from tests.support.clients import TLS, bearer
from tests.support.messages_script import Script
from tests.support.pictures import encoded, noise, pdf, picture
from tests.support.s3_server import BUCKET, KEYS, s3_server
from tests.support.world import World, world

PNG, PDF = picture(), pdf()
CAT = {"name": "cat.png", "mediaType": "image/png", "data": encoded(PNG)}
TERMS = {"name": 'Übersicht "1".pdf', "mediaType": "application/pdf", "data": encoded(PDF)}
START = {"agent": "helper", "input": "Look"}


@pytest.fixture
async def w(tmp_path: Path) -> AsyncIterator[World]:
    """A world whose model says something to everything."""
    async with world(tmp_path) as it:
        it.model.answer(lambda request: Script().text("Seen."))
        yield it


async def fetched(w: World, url: str, sub: str | None = "alice", *roles: str, **headers: str) -> httpx2.Response:
    """What a user gets at a path of the server."""
    token = None if sub is None else w.token(sub, *roles)
    async with httpx2.AsyncClient(headers=bearer(token), verify=TLS, trust_env=False) as http:
        return await http.get(f"{w.server.url}{url}", headers=headers)


async def shown(w: World, alice: Client, *attachments: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of the first message of a run that was started with these."""
    run = await alice.start("Look", attachments=list(attachments))
    await alice.settled(run["id"])
    first = (await alice.run(run["id"]))["messages"]["nodes"][0]
    blocks: list[dict[str, Any]] = first["blocks"]
    assert [block["type"] for block in first["content"]][-1] == "text"
    return blocks


async def test_blocks_say_where_attachments_are_and_the_owner_reads_them_there(w: World) -> None:
    """A run's images and documents come back under their own types, byte for byte."""
    image, document, words = await shown(w, w.client("alice"), CAT, TERMS)
    assert (image["__typename"], image["mediaType"]) == ("ImageBlock", "image/png")
    assert (document["__typename"], document["title"]) == ("DocumentBlock", 'Übersicht "1".pdf')
    assert words == {"__typename": "TextBlock", "text": "Look"}
    for block, data in ((image, PNG), (document, PDF)):
        response = await fetched(w, block["url"])
        assert (response.status_code, response.content) == (200, data)
        assert response.headers["content-type"] == block["mediaType"]


async def test_a_browser_that_opens_one_runs_nothing_of_it(w: World) -> None:
    """Each is served under a sandbox and without sniffing: images to be shown, the rest to be saved by a safe name."""
    image, document, _ = await shown(w, w.client("alice"), CAT | {"name": "cat.html"}, TERMS)
    sent = (await fetched(w, image["url"])).headers
    assert "sandbox" in sent["content-security-policy"]
    assert sent["x-content-type-options"] == "nosniff"
    assert sent["cache-control"].startswith("private")
    assert sent["content-disposition"].startswith('inline; filename="cat.png"')
    saved = (await fetched(w, document["url"])).headers["content-disposition"]
    assert saved == "attachment; filename=\"_bersicht _1_.pdf\"; filename*=UTF-8''%C3%9Cbersicht%20_1_.pdf"


async def test_what_a_client_has_already_is_not_sent_again(w: World) -> None:
    """The ETag is the content's: with it the answer is 304, for the owner alone."""
    image, *_ = await shown(w, w.client("alice"), CAT)
    etag = (await fetched(w, image["url"])).headers["etag"]
    assert etag.startswith('"')
    again = await fetched(w, image["url"], **{"If-None-Match": f'"other", {etag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert (await fetched(w, image["url"], **{"If-None-Match": '"other"'})).status_code == 200
    assert (await fetched(w, image["url"], "bob", **{"If-None-Match": etag})).status_code == 404


async def test_missing_and_foreign_files_look_the_same(w: World) -> None:
    """Bob learns nothing of Alice's file from its address; nobody signed in is told to sign in."""
    image, *_ = await shown(w, w.client("alice"), CAT)
    foreign = await fetched(w, image["url"], "bob")
    for path in (f"/files/{Ids()('att')}", "/files/att_x", f"/files/{Ids()('run')}", "/files/%00", "/files/..%2fx"):
        missing = await fetched(w, path, "bob")
        assert (missing.status_code, missing.content) == (404, foreign.content), path
    assert foreign.status_code == 404
    for path in (image["url"], f"/files/{Ids()('att')}"):
        response = await fetched(w, path, None)
        assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
        wrong = await fetched(w, path, None, Authorization="Bearer nonsense")
        assert wrong.status_code == 401


async def test_an_administrator_reads_what_is_attached_to_another_s_run(w: World) -> None:
    """As all else of the run; a role of another name opens nothing."""
    image, *_ = await shown(w, w.client("alice"), CAT)
    assert (await fetched(w, image["url"], "root", "admin")).content == PNG
    assert (await fetched(w, image["url"], "root", "boss")).status_code == 404


async def test_a_fork_s_attachments_stay_readable(w: World) -> None:
    """The copy's blocks lead to the same file."""
    alice = w.client("alice")
    run = await alice.start("Look", attachments=[CAT])
    await alice.settled(run["id"])
    fork = (await alice.done(documents.FORK, runId=run["id"], seq=2))["run"]
    (block, _) = (await alice.run(fork["id"]))["messages"]["nodes"][0]["blocks"]
    assert (await fetched(w, block["url"])).content == PNG


async def test_a_steered_run_has_them_after_a_restart(w: World) -> None:
    """The model is sent every image again by a server that has just started."""
    alice = w.client("alice")
    run = await alice.start("Look", attachments=[CAT])
    await alice.settled(run["id"])
    await w.restart()
    await alice.steer(run["id"], "And this?", attachments=[TERMS])
    await alice.settled(run["id"])
    last = w.model.requests[-1].messages
    kinds = [[(block["type"], block.get("source", {}).get("data")) for block in turn["content"]] for turn in last]
    assert kinds[0] == [("image", encoded(PNG)), ("text", None)]
    assert kinds[-1] == [("document", encoded(PDF)), ("text", None)]


async def test_an_upload_over_a_socket_is_taken_too(w: World) -> None:
    """A mutation with megabytes of attachments may come on the WebSocket, as by POST."""
    alice = w.client("alice")
    large = CAT | {"data": encoded(noise(size=(1_500, 1_400)))}
    operation = await (await alice.socket()).subscribe(
        documents.START, {"input": START | {"attachments": [large, large]}}
    )
    (payload,) = [data["startRun"] async for data in operation]
    assert payload["errors"] == []
    await alice.settled(payload["run"]["id"])


@pytest.mark.parametrize(
    ("attachment", "field"),
    [
        (CAT | {"data": encoded(b"no image at all")}, ["input", "attachments", "0", "data"]),
        (CAT | {"data": "not base64"}, ["input", "attachments", "0", "data"]),
        (CAT | {"mediaType": "image/jpeg"}, ["input", "attachments", "0", "mediaType"]),
        (CAT | {"name": "x" * 300}, ["input", "attachments", "0", "name"]),
    ],
)
async def test_a_bad_attachment_is_refused_by_both_mutations(
    w: World, attachment: dict[str, Any], field: list[str]
) -> None:
    """ATTACHMENT_REFUSED names the attachment and its part; no run begins, and none is changed."""
    alice = w.client("alice")
    refused = ("ATTACHMENT_REFUSED", field)
    assert await alice.refusal(documents.START, **START, attachments=[attachment]) == refused
    assert await w.run_ids() == []
    run = await alice.start()
    await alice.settled(run["id"])
    assert await alice.refusal(documents.STEER, runId=run["id"], input="Look", attachments=[attachment]) == refused
    assert len((await alice.run(run["id"]))["messages"]["nodes"]) == 2


async def test_what_is_too_much_is_refused_in_words(w: World) -> None:
    """Beyond the attachments' own limit the mutation says so; the largest that is allowed gets past the transport."""
    alice = w.client("alice")
    for attachments in ([CAT] * 21, [CAT | {"data": "x" * (MAX_ENCODED + 1)}]):
        code, field = await alice.refusal(documents.START, **START, attachments=attachments)
        assert (code, field) == ("ATTACHMENT_REFUSED", ["input", "attachments"])
    whole = CAT | {"data": "A" * MAX_ENCODED}
    code, field = await alice.refusal(documents.START, **START, attachments=[whole])
    assert (code, field) == ("ATTACHMENT_REFUSED", ["input", "attachments", "0", "data"])


async def test_null_and_none_are_no_attachments(w: World) -> None:
    """The input stays a plain text."""
    alice = w.client("alice")
    nothings: list[list[Any] | None] = [None, []]
    for nothing in nothings:
        run = await alice.start("Hi", attachments=nothing)
        await alice.settled(run["id"])
        assert (await alice.run(run["id"]))["messages"]["nodes"][0]["content"] == "Hi"


async def test_they_may_be_kept_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a bucket set, the whole way goes through it: nothing is written beside the database."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    async with s3_server() as url:
        settings = {"files_url": f"s3://{BUCKET}/steersman", "files_endpoint": url}
        async with world(tmp_path, settings=settings) as w:
            w.play(Script().text("Seen."))
            image, *_ = await shown(w, w.client("alice"), CAT)
            assert (await fetched(w, image["url"])).content == PNG
            (block, _) = w.model.requests[0].messages[0]["content"]
            assert block["source"]["data"] == encoded(PNG)
    assert not await asyncio.to_thread((tmp_path / "files").exists)
