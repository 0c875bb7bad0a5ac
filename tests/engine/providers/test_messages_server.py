"""The scripted Messages API server, on which other tests rely: strict as the real one, and exact about what it saw."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.messages_process import step_of
from tests.support.messages_script import Script, script_of
from tests.support.messages_server import MessagesServer, Request

HEADERS = {"authorization": "Bearer key", "anthropic-version": "2026-10-21"}
TOOL = {"name": "search", "input_schema": {"type": "object"}}
ROOT = Path(__file__).parents[3]


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    """A server."""
    async with MessagesServer() as server:
        yield server


def body(**more: Any) -> dict[str, Any]:
    """The body of a good request, with changes."""
    return {"model": "m", "max_tokens": 10, "stream": True, "messages": [{"role": "user", "content": "Hi"}], **more}


async def post(server: MessagesServer, content: Any, headers: dict[str, str] = HEADERS) -> httpx2.Response:
    """Send a request."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(f"{server.url}/v1/messages", json=content, headers=headers)


def turns(*contents: Any) -> list[dict[str, Any]]:
    """Turns that alternate, the user's first."""
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": content} for place, content in enumerate(contents)]


CALL = {"type": "tool_use", "id": "t1", "name": "search", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
MARK = {"cache_control": {"type": "ephemeral"}}

BAD: dict[str, Any] = {
    "no messages": body(messages=[]),
    "max_tokens of 0": body(max_tokens=0),
    "no model": body(model=""),
    "a field that the API does not take": body(temperature=0.5),
    "an empty text": body(messages=turns([{"type": "text", "text": " \n"}])),
    "an empty turn": body(messages=turns([])),
    "an assistant first": body(messages=[{"role": "assistant", "content": "x"}, {"role": "user", "content": "x"}]),
    "a role twice": body(messages=[{"role": "user", "content": "x"}] * 2),
    "an assistant last": body(messages=turns("x", "y")),
    "a call without a result": body(messages=turns("x", [CALL], "y")),
    "a result without a call": body(messages=turns([RESULT])),
    "a result behind text": body(messages=turns("x", [CALL], [{"type": "text", "text": "y"}, RESULT])),
    "a call's id twice": body(messages=turns("x", [CALL, CALL], [RESULT, RESULT])),
    "thinking without a signature": body(
        messages=turns("x", [{"type": "thinking", "thinking": "a"}, {"type": "text", "text": "b"}], "y")
    ),
    "a signature that was never given": body(
        messages=turns(
            "x", [{"type": "thinking", "thinking": "a", "signature": "s"}, {"type": "text", "text": "b"}], "y"
        )
    ),
    "a bad tool name": body(tools=[{**TOOL, "name": "no spaces"}]),
    "a tool twice": body(tools=[TOOL, TOOL]),
    "a tool's schema of no object": body(tools=[{**TOOL, "input_schema": {"type": "string"}}]),
    "an empty system prompt": body(system=[{"type": "text", "text": ""}]),
    "five breakpoints": body(messages=turns([{"type": "text", "text": "x", **MARK}] * 5)),
    "no object": [1],
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
async def test_what_the_api_refuses_is_refused_and_recorded(server: MessagesServer, content: Any) -> None:
    """With 400 and a reason; no script is used up."""
    server.play(Script().text("x"))
    response = await post(server, content)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert len(server.refused) >= 1
    assert (await post(server, body())).status_code == 200


async def test_headers_are_required(server: MessagesServer) -> None:
    """A key, and the version of the API."""
    assert (await post(server, body(), {"anthropic-version": "2026-10-21"})).status_code == 401
    assert (await post(server, body(), {"authorization": "Bearer key"})).status_code == 400


async def test_a_request_without_a_script_is_refused(server: MessagesServer) -> None:
    """A client that asks more often than a test expects is found out."""
    assert (await post(server, body())).status_code == 400
    assert server.refused == ["no script is left for this request"]


async def test_thinking_goes_back_to_its_own_model_alone(server: MessagesServer) -> None:
    """And byte for byte."""
    server.play(Script().thinking("Hm").text("x"), Script().text("y"))
    told = (await post(server, body())).text
    signature = json.loads(next(line for line in told.splitlines() if "signature_delta" in line)[6:])["delta"][
        "signature"
    ]
    thinking = {"type": "thinking", "thinking": "Hm", "signature": signature}

    def back(**changes: str) -> list[dict[str, Any]]:
        return turns("Hi", [{**thinking, **changes}, {"type": "text", "text": "x"}], "go on")

    assert (await post(server, body(messages=back(thinking="Hm.")))).status_code == 400
    assert (await post(server, body(messages=back(), model="another"))).status_code == 400
    assert (await post(server, body(messages=back()))).status_code == 200


async def test_a_paused_turn_may_be_sent_back_as_it_is(server: MessagesServer) -> None:
    """After pause_turn the last message is the assistant's."""
    server.play(Script().text("x").stop("pause_turn"), Script().text("y"))
    await post(server, body())
    assert (await post(server, body(messages=turns("Hi", "x")))).status_code == 200


async def test_it_tells_how_far_an_answer_got_and_whether_it_was_cut_off(server: MessagesServer) -> None:
    """An answer that was taken whole is finished; one whose client left is not, and says when."""
    server.play(Script().text("a"), Script().half_text("a").hold(asyncio.Event()))
    whole = await post(server, body())
    async with httpx2.AsyncClient(trust_env=False) as client:
        url = f"{server.url}/v1/messages"
        async with client.stream("POST", url, json=body(), headers=HEADERS) as response:
            await anext(response.aiter_bytes())
    first, second = server.requests
    assert (first.finished, first.was_cut_off, first.bytes) == (True, False, len(whole.content))
    await second.cut_off()
    assert (second.finished, second.events) == (False, 3)
    assert second.cut_off_at is not None
    with pytest.raises(AssertionError, match="to its end"):
        await first.cut_off()


async def test_connections_are_kept_between_requests(server: MessagesServer) -> None:
    """As real servers keep them."""
    server.answer(lambda _: Script().text("a"))
    async with httpx2.AsyncClient(trust_env=False) as client:
        for _ in range(3):
            response = await client.post(f"{server.url}/v1/messages", json=body(), headers=HEADERS)
            assert response.text.endswith('data: {"type": "message_stop"}\n\n')
    assert len(server.requests) == 3


def test_scripts_can_be_told_as_json() -> None:
    """For a server in a process of its own."""
    told = script_of([{"text": ["Hel", "lo"]}, {"tool": ["search", {"q": 1}]}, {"pause": 0.1}, {"stop": "tool_use"}])
    assert told.stop_reason == "tool_use"
    assert script_of([{"status": [529, "overloaded_error"]}]).http is not None


def test_the_number_of_a_step_is_told_by_its_request_alone() -> None:
    """A step that is asked for again after a crash gets the same answer."""
    messages = turns("Hi", "Hello", "And?", [CALL], [RESULT, {"type": "text", "text": "steered"}])
    assert [step_of(Request(body(messages=messages[:length]), {})) for length in (1, 3, 5)] == [0, 0, 1]


async def test_it_runs_in_a_process_of_its_own() -> None:
    """It prints its address, plays steps that call the tool that is offered, and tells what it was asked."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.messages_server", "--steps", "2", "--deltas", "3"),
        stdout=asyncio.subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        url = (await process.stdout.readline()).decode().strip()
        async with httpx2.AsyncClient(trust_env=False) as client:
            answer = await client.post(f"{url}/v1/messages", json=body(tools=[TOOL]), headers=HEADERS)
            state = (await client.get(f"{url}/requests")).json()
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    assert answer.text.count("text_delta") == 3
    assert '"name": "search"' in answer.text
    assert state["requests"][0]["finished"]
    assert state["refused"] == []
