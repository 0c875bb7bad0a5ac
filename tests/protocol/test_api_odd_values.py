"""Values at the edge of what JSON and databases hold: they come back as they went in, or are refused in words."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from steersman import tool
from steersman.edge import MAX_BODY
from tests.support import documents
from tests.support.client import Client
from tests.support.clients import bearer, raw_socket
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.world import helper, world

KEPT = {
    "numbers": [0, -1, 1.5, 2**53, 2**63, 2**64, 2**70, -(2**70), 1e-7, 1e300],
    "words": ["", " ", "\u2028", "\U0001f600", "\r\n", '"', "\\", "</script>", "\x7f", "\x01"],
    "rest": [None, True, False, [], {}, {"": {"": [[]]}}],
}


async def both_ways(client: Client, value: str) -> list[dict[str, Any]]:
    """The answers to startRun with metadata of this JSON text, as a variable and written inline."""
    given = f'{{"input": {{"agent": "helper", "input": "Hi", "metadata": {{"a": {value}}}}}}}'
    inline = f'startRun(input: {{agent: "helper", input: "Hi", metadata: {{a: {value}}}}})'
    return [
        await client.answer_raw(documents.START, given),
        await client.answer(f"mutation {{ {inline} {{ run {{ metadata }} errors {{ code }} }} }}"),
    ]


def codes_of(answer: dict[str, Any]) -> list[str]:
    """The codes with which an answer to startRun refuses, as data or as such; empty where it was done."""
    refused = ((answer.get("data") or {}).get("startRun") or {"errors": []})["errors"]
    return [error["extensions"]["code"] for error in answer.get("errors", [])] + [error["code"] for error in refused]


def nested(depth: int) -> Any:
    """A list in a list, so deep."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


async def test_metadata_comes_back_as_it_went_in(tmp_path: Path) -> None:
    """Numbers beyond 64 bits, empty keys and every kind of text, over POST and the socket, and to filter by."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi", metadata=KEPT))["id"])
        assert run["metadata"] == KEPT
        feed = await alice.watch_run(run["id"])
        await feed.until(lambda feed: feed.items)
        assert feed.items[0]["metadata"] == KEPT
        query = "query ($f: RunFilter) { runs(filter: $f) { totalCount } }"
        for wanted in (KEPT, {"numbers": KEPT["numbers"]}, {"rest": KEPT["rest"]}):
            assert (await alice.ask(query, f={"metadata": wanted}))["runs"]["totalCount"] == 1


@pytest.mark.parametrize("depth", [100, 300, 900, 5_000])
async def test_deep_metadata_is_kept_or_refused_in_words(tmp_path: Path, depth: int) -> None:
    """However deep, it is never a defect: it comes back whole, or is refused with a code, as a variable and inline."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        alice = w.client("alice")
        deep = "[" * depth + "]" * depth
        for answer in await both_ways(alice, deep):
            found = codes_of(answer)
            assert found in ([], ["BAD_USER_INPUT"], ["TOO_COMPLEX"], ["INVALID_INPUT"], ["GRAPHQL_PARSE_FAILED"])
            assert found or answer["data"]["startRun"]["run"]["metadata"] == {"a": nested(depth - 1)}
        for run_id in await w.run_ids():
            await alice.settled(run_id)


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
async def test_a_number_that_json_can_not_hold_is_refused(tmp_path: Path, number: str) -> None:
    """It is never stored as something else, whether it comes as a variable or inline."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        for answer in await both_ways(alice, f"[{number}]"):
            assert codes_of(answer) in (["BAD_USER_INPUT"], ["INVALID_INPUT"])
        assert await w.run_ids() == []


ODD_ARGUMENTS = ["1e400", "NaN", "9" * 400, "[" * 3_000 + "]" * 3_000]


@pytest.mark.parametrize("x", ODD_ARGUMENTS, ids=["infinite", "NaN", "400 digits", "deep"])
async def test_odd_arguments_of_a_model_never_end_a_run(tmp_path: Path, x: str) -> None:
    """Whatever a model writes as a tool's arguments is answered, stored and shown as JSON."""

    @tool
    def take(x: Any) -> str:
        """Take anything."""
        return f"took a {type(x).__name__}"

    async with world(tmp_path, helper=helper(tools=[take])) as w:
        w.play(Script().tool("take", f'{{"x": {x}}}'), Script().text("Well."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        assert (run["status"], run["messages"]["nodes"][-1]["text"]) == ("COMPLETED", "Well.")
        events = await alice.stream(run["streamId"])
        assert [e["toolCallId"] for e in events if e["__typename"] == "ToolCallFinished"] == [
            run["toolCalls"]["nodes"][0]["id"]
        ]


async def test_an_answer_that_is_cut_within_a_character_shows_the_same_live_and_later(tmp_path: Path) -> None:
    """Half an emoji at the cut: what the page shows is what a replay shows, and what the transcript holds."""
    async with world(tmp_path) as w:
        w.play(Script().half_text("So \U0001f600\ud83d").hold(asyncio.Event()))
        alice = w.client("alice")
        run = await alice.start("Hi")
        live = await alice.watch_stream(run["streamId"])
        await live.shows("So \U0001f600")
        await alice.cancel(run["id"])
        await live.end()
        replayed = await alice.watch_stream(run["streamId"])
        await replayed.end()
        stored = (await alice.run(run["id"]))["messages"]["nodes"][-1]["text"]
        assert live.text == replayed.text == stored == live.items[-1]["text"]
        assert stored.startswith("So \U0001f600")


async def test_empty_answers_are_stored_and_never_sent_back(tmp_path: Path) -> None:
    """An answer without text, or of white space, ends a turn; the next turn's request is still fit for the API."""
    async with world(tmp_path) as w:
        w.play(Script().text("").stop(), Script().text(" \n").stop(), Script().stop(), Script().text("Hello."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        for _ in range(3):
            await alice.start("And?", runId=run["id"])
            run = await alice.settled(run["id"])
        assert (run["status"], run["messages"]["nodes"][-1]["text"]) == ("COMPLETED", "Hello.")
        assert w.model.refused == []


async def test_blocks_that_are_not_known_are_shown_whole(tmp_path: Path) -> None:
    """What the provider thinks of next is an OtherBlock, kept byte for byte and sent back as it was."""
    block = {"type": "server_thing", "payload": {"n": [1, {"deep": None}]}}
    async with world(tmp_path) as w:
        w.play(Script().block(block).redacted("b3BhcXVl").text("So."), Script().text("Yes."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        message = run["messages"]["nodes"][1]
        assert [b["__typename"] for b in message["blocks"]] == ["OtherBlock", "OtherBlock", "TextBlock"]
        assert message["blocks"][0] == {"__typename": "OtherBlock", "type": "server_thing", "data": block}
        assert message["content"][0] == block
        await alice.start("And?", runId=run["id"])
        await alice.settled(run["id"])
        assert w.model.requests[1].messages[1]["content"][0] == block


async def test_a_frame_that_is_too_big_closes_the_socket_with_1009(tmp_path: Path) -> None:
    """The socket's own limit is the body's; nothing is stored, and new sockets work."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        async with raw_socket(w.server.socket) as socket:
            await socket.send(json.dumps({"type": "connection_init", "payload": bearer(alice.token)}))
            await socket.recv()
            with suppress(ConnectionClosed):
                await socket.send("x" * (MAX_BODY + 1))
            await socket.wait_closed()
            assert socket.close_code == 1009
        assert (await (await alice.socket()).execute("{ viewer { id } }")) == {"viewer": {"id": "alice"}}


async def test_a_number_beyond_the_end_of_a_live_stream_brings_nothing_but_its_end(tmp_path: Path) -> None:
    """A client with a number of its own invention is not left hanging when the stream ends."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().tool("work"), Script().text("Done."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        await gate.begun.wait()
        feed = await alice.watch_stream(run["streamId"], 2**31 - 1)
        gate.open.set()
        await feed.end()
        assert feed.items == []
