"""Server-sent events: the distinct connections mode of graphql-sse, over a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.support.clients import Event, GraphQLFailed, event_stream
from tests.support.server import Running, running
from tests.support.small_schema import HIDDEN, Small, small_app, token

TICKS = "subscription ($count: Int!) { ticks(count: $count) }"
SILENCE = "subscription { silence }"


@pytest.fixture
def small() -> Small:
    """The small application."""
    return small_app()


@pytest.fixture
async def server(small: Small) -> AsyncIterator[Running]:
    """The small application on a real server."""
    async with running(small.app) as it:
        yield it


async def until(condition: Any) -> None:
    """Wait until the condition holds."""
    while not condition():
        await asyncio.sleep(0.01)


async def all_of(server: Running, query: str, variables: dict[str, Any] | None = None, **more: Any) -> list[Event]:
    """Every event of the answer."""
    async with event_stream(server.graphql, query, variables, **more) as events:
        return [event async for event in events]


def payloads(events: list[Event]) -> list[Any]:
    """The payloads of the `next` events."""
    return [json.loads(event.data) for event in events if event.event == "next"]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_subscription_is_a_stream_of_events(server: Running, method: str) -> None:
    """Each result is a `next` event; `complete` ends the stream."""
    events = await all_of(server, TICKS, {"count": 100}, method=method)
    assert payloads(events) == [{"data": {"ticks": number}} for number in range(100)]
    assert events[-1] == Event("complete", "")


async def test_lines_end_in_lf_and_nothing_buffers_them(server: Running) -> None:
    """The bytes are as every reader takes them, and the headers keep proxies from holding them back."""
    async with httpx2.AsyncClient() as http:
        response = await http.post(
            server.graphql,
            json={"query": TICKS, "variables": {"count": 1}},
            headers={"Accept": "text/event-stream"},
        )
    assert response.content == b'event: next\ndata: {"data":{"ticks":0}}\n\nevent: complete\ndata: \n\n'
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert "no-cache" in response.headers["cache-control"]
    assert response.headers["x-accel-buffering"] == "no"


async def test_queries_and_mutations_are_answered_by_one_event(server: Running, small: Small) -> None:
    """The same connection mode serves every operation; a mutation by GET is refused."""
    assert payloads(await all_of(server, "{ hello }")) == [{"data": {"hello": "world"}}]
    assert payloads(await all_of(server, 'mutation { write(text: "x") }')) == [{"data": {"write": "x"}}]
    (refused,) = payloads(await all_of(server, 'mutation { write(text: "y") }', method="GET"))
    assert refused["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"
    assert small.seen.written == ["x"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription ($count: Int!) { ticks(count: $count) }", "BAD_USER_INPUT"),
        ("subscription { refused }", "RUN_NOT_FOUND"),
        ("subscription { brokenAtOnce }", "INTERNAL"),
        ("subscription { brokenLater }", "INTERNAL"),
        ("subscription { brokenEvents }", "INTERNAL"),
    ],
)
async def test_errors_are_told_by_an_event_and_masked(
    server: Running, caplog: pytest.LogCaptureFixture, query: str, code: str
) -> None:
    """A reader of events sees no status: errors come as `next` with their code, and the stream completes."""
    events = await all_of(server, query)
    assert events[-1].event == "complete"
    failed = [payload for payload in payloads(events) if "errors" in payload]
    assert [payload["errors"][0]["extensions"]["code"] for payload in failed] == [code]
    assert HIDDEN not in str(events)


async def test_a_wrong_token_is_no_stream(server: Running) -> None:
    """It is refused as any request is."""
    with pytest.raises(GraphQLFailed) as info:
        await all_of(server, SILENCE, token="nonsense")
    assert info.value.codes == ["AGENT_REQUIRES_USER"]


async def test_idle_streams_carry_comments() -> None:
    """So that proxies keep the connection during a silent tool."""
    async with (
        running(small_app(ping_seconds=0.05).app) as server,
        event_stream(server.graphql, SILENCE) as events,
    ):
        while (await anext(events)).event != "next":
            pass
        assert [await anext(events) for _ in range(3)] == [Event(None, "")] * 3


@pytest.mark.parametrize("query", [SILENCE, "subscription { flood }"])
async def test_a_client_that_goes_leaves_nothing_behind(server: Running, small: Small, query: str) -> None:
    """Idle or in the middle of a flood: the resolver's `finally` runs, and no task remains."""
    before = len(asyncio.all_tasks())
    async with event_stream(server.graphql, query) as events:
        await anext(events)
        await until(lambda: small.seen.open == 1)
    await until(lambda: small.seen.open == 0)
    await until(lambda: len(asyncio.all_tasks()) <= before)
    assert len(small.endpoint.streams) == 0


async def test_a_stream_ends_with_the_token() -> None:
    """Without `complete`: the client comes again, and signs in."""
    async with running(small_app(short=True).app) as server:
        events = await all_of(server, SILENCE, token=token())
        assert "complete" not in [event.event for event in events]


async def test_a_shutdown_ends_streams_without_completing_them(server: Running, small: Small) -> None:
    """A client takes it for a lost connection and comes again, instead of taking the subscription for finished."""
    async with event_stream(server.graphql, SILENCE) as events:
        await anext(events)
        small.endpoint.streams.close()
        assert [event async for event in events] == []
    assert await all_of(server, SILENCE) in ([], [Event("next", '{"data":{"silence":"first"}}')])
    await until(lambda: small.seen.open == 0)
