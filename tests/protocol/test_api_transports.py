"""The same API over every transport, as their specifications have them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support import documents
from tests.support.clients import bearer, connected, raw_socket
from tests.support.messages_script import Script
from tests.support.world import World, world

JSON = "application/json"
TYPED = "application/graphql-response+json"
ROW = documents.document("query ($id: ID!) { run(id: $id) { ...Row } }")


async def raw_events(w: World, body: dict[str, Any], token: str | None, **headers: str) -> tuple[httpx2.Headers, str]:
    """The headers and the whole text of an event stream, with its line ends as they came."""
    sent = {"Accept": "text/event-stream", **bearer(token), **headers}
    async with httpx2.AsyncClient(timeout=60) as http:
        response = await http.post(w.server.graphql, json=body, headers=sent)
        return response.headers, response.content.decode()


async def test_a_run_reads_the_same_over_post_get_socket_and_events(tmp_path: Path) -> None:
    """Whatever brings the question, the answer is one."""
    async with world(tmp_path) as w:
        w.play(Script().text("Hello."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        expected = (await alice.ask(ROW, id=run["id"]))["run"]
        socket = await alice.socket()
        assert (await socket.execute(ROW, {"id": run["id"]}))["run"] == expected
        async with httpx2.AsyncClient(headers=bearer(alice.token)) as http:
            params = {"query": ROW, "variables": json.dumps({"id": run["id"]})}
            got = await http.get(w.server.graphql, params=params)
        assert got.json()["data"]["run"] == expected
        _, text = await raw_events(w, {"query": ROW, "variables": {"id": run["id"]}}, alice.token)
        assert json.loads(text.split("data: ")[1].split("\n")[0])["data"]["run"] == expected


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_events_bring_a_stream_to_its_end(tmp_path: Path, method: str) -> None:
    """Over POST and GET: each event as `next`, then `complete`, and the text is whole."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().half_text("Be", "gun ").hold(held).event(_more("and ended \U0001f600.")))
        alice = w.client("alice")
        run = await alice.start("Hi")
        feed = await alice.watch_events(documents.WATCH_STREAM, method=method, streamId=run["streamId"])
        await feed.shows("Begun ")
        held.set()
        await feed.end()
        assert (feed.text, feed.page.problems) == ("Begun and ended \U0001f600.", [])
        assert feed.items[-1]["__typename"] == "RunResult"


def _more(text: str) -> dict[str, Any]:
    """One more delta of the first block."""
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


async def test_event_streams_are_written_as_their_standard_has_it(tmp_path: Path) -> None:
    """Lines end with LF alone, events with an empty line; nothing may be cached or held back on the way."""
    async with world(tmp_path) as w:
        w.play(Script().text("one\r\ntwo\rthree\n\u2028four"))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        body = {"query": documents.WATCH_STREAM, "variables": {"streamId": run["streamId"]}}
        headers, text = await raw_events(w, body, alice.token)
        assert headers["content-type"] == "text/event-stream; charset=utf-8"
        assert "no-cache" in headers["cache-control"]
        assert headers["x-accel-buffering"] == "no"
        assert "\r" not in text
        *events, last, rest = text.split("\n\n")
        assert (last, rest) == ("event: complete\ndata: ", "")
        for event in events:
            name, data = event.split("\n")
            assert name == "event: next"
            assert data.startswith("data: {")
        deltas = [json.loads(event.split("data: ")[1])["data"]["stream"] for event in events]
        assert "".join(d["text"] for d in deltas if d["__typename"] == "TextDelta") == "one\r\ntwo\rthree\n\u2028four"


async def test_a_silent_stream_is_kept_alive_on_every_transport(tmp_path: Path) -> None:
    """While a run says nothing, event streams carry comments and sockets are pinged, so no proxy cuts them."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.app.state.endpoint.ping_seconds = 0.05
        w.app.state.endpoint.streams._keep_alive = 0.05
        w.play(Script().hold(held).text("At last."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        body = {"query": documents.WATCH_STREAM, "variables": {"streamId": run["streamId"]}}
        events = asyncio.create_task(raw_events(w, body, alice.token))
        async with connected(w.server.socket, alice.token) as socket:
            watched = await socket.subscribe(documents.WATCH_STREAM, {"streamId": run["streamId"]})
            await w.until(lambda: socket.pings >= 3)
            held.set()
            told = [item["stream"]["__typename"] async for item in watched]
        _, text = await events
        assert text.count(":\n\n") >= 1
        assert told[-1] == "RunResult"


async def test_what_a_transport_can_not_carry_is_refused_in_words(tmp_path: Path) -> None:
    """A subscription by plain POST, a mutation by GET and a batch: what to do instead, and nothing is done."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        start = {"query": documents.START, "variables": {"input": {"agent": "helper", "input": "Hi"}}}
        watch = {"query": "subscription { runs { kind } }"}
        for accept in (JSON, TYPED):
            refused = await alice.post(watch, Accept=accept)
            assert refused.status_code == 400
            message = refused.json()["errors"][0]["message"]
            assert "graphql-transport-ws" in message
            assert "text/event-stream" in message
        batch = await alice.post([start, start])
        assert batch.status_code == 400
        assert "one operation" in batch.json()["errors"][0]["message"]
        async with httpx2.AsyncClient(headers=bearer(alice.token)) as http:
            params = {"query": documents.START, "variables": json.dumps(start["variables"])}
            for accept in (JSON, "text/event-stream"):
                got = await http.get(w.server.graphql, params=params, headers={"Accept": accept})
                assert "POST" in got.text
        async with raw_socket(w.server.socket) as socket:
            await socket.send(json.dumps({"type": "connection_init", "payload": bearer(alice.token)}))
            await socket.recv()
            await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": [start]}))
            await socket.wait_closed()
            assert socket.close_code == 4400
        assert await w.run_ids() == []


async def test_the_typed_media_type_says_what_became_of_a_request(tmp_path: Path) -> None:
    """With application/graphql-response+json a refused mutation is 200 with data; a broken request is 400."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        body = {"query": documents.CANCEL, "variables": {"input": {"runId": "run_x"}}}
        refused = await alice.post(body, Accept=TYPED)
        assert refused.status_code == 200
        assert refused.headers["content-type"] == f"{TYPED}; charset=utf-8"
        assert refused.json()["data"]["cancelRun"]["errors"][0]["code"] == "RUN_NOT_FOUND"
        for broken, code in (("{ run", "GRAPHQL_PARSE_FAILED"), ("{ nonsense }", "GRAPHQL_VALIDATION_FAILED")):
            response = await alice.post({"query": broken}, Accept=TYPED)
            assert response.status_code == 400
            assert response.json()["errors"][0]["extensions"]["code"] == code
            assert (await alice.post({"query": broken}, Accept=JSON)).status_code == 200


async def test_mutations_and_queries_run_over_the_socket_too(tmp_path: Path) -> None:
    """A client may do everything on one socket, many things at once."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        alice = w.client("alice")
        socket = await alice.socket()
        starts = [
            socket.execute(documents.START, {"input": {"agent": "helper", "input": f"Hi {number}"}})
            for number in range(10)
        ]
        runs = [answer["startRun"]["run"] for answer in await asyncio.gather(*starts)]
        streams = [await alice.watch_stream(run["streamId"]) for run in runs]
        for stream in streams:
            assert (await stream.end()).text == "Yes."
        assert len({run["id"] for run in runs}) == 10


async def test_a_request_is_known_by_its_id(tmp_path: Path) -> None:
    """X-Request-ID comes back as it was sent, or is made where it is none; it stands in INTERNAL errors."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        sent = await alice.post({"query": "{ viewer { id } }"}, **{"X-Request-ID": "req-of-mine.1"})
        assert sent.headers["x-request-id"] == "req-of-mine.1"
        for none in ("", "with space", "x" * 200):
            made = await alice.post({"query": "{ viewer { id } }"}, **{"X-Request-ID": none})
            assert made.headers["x-request-id"].startswith("req_")
