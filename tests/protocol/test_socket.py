"""graphql-transport-ws: the protocol's rules, over a real server and real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.clients import GraphQLFailed, TransportWsClient, bearer, connected, raw_socket
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


@pytest.fixture
async def client(server: Running) -> AsyncIterator[TransportWsClient]:
    """A client of nobody's on an acknowledged socket."""
    async with connected(server.socket) as it:
        yield it


async def until(condition: Any) -> None:
    """Wait until the condition holds."""
    while not condition():
        await asyncio.sleep(0.01)


async def closed(socket: ClientConnection) -> tuple[int, str]:
    """The code and reason with which the server closes, whatever it sends before."""
    try:
        while True:
            await socket.recv()
    except ConnectionClosed as end:
        return (end.rcvd.code, end.rcvd.reason) if end.rcvd is not None else (0, "cut off")


async def acknowledged(socket: ClientConnection) -> None:
    """Say connection_init, and wait for its answer."""
    await socket.send('{"type": "connection_init"}')
    assert json.loads(await socket.recv()) == {"type": "connection_ack"}


async def test_a_subscription_gives_its_events_and_completes(client: TransportWsClient) -> None:
    """Every event arrives once, in order, then `complete`."""
    got = [data["ticks"] async for data in await client.subscribe(TICKS, {"count": 1000})]
    assert got == list(range(1000))


async def test_queries_and_mutations_run_on_the_socket_too(client: TransportWsClient, small: Small) -> None:
    """One `next`, then `complete`; several operations at once."""
    answers = await asyncio.gather(
        client.execute("{ hello }"),
        client.execute("mutation ($t: String!) { write(text: $t) }", {"t": "x"}),
    )
    assert list(answers) == [{"hello": "world"}, {"write": "x"}]
    assert small.seen.written == ["x"]


@pytest.mark.parametrize("payload", ["absent", None, {}])
async def test_connection_init_needs_no_payload(server: Running, payload: Any) -> None:
    """It may be absent, null or empty."""
    async with raw_socket(server.socket) as socket:
        message = {"type": "connection_init"} | ({} if payload == "absent" else {"payload": payload})
        await socket.send(json.dumps(message))
        assert json.loads(await socket.recv()) == {"type": "connection_ack"}


async def test_the_payload_or_the_handshake_says_who_asks(server: Running) -> None:
    """`authorization` in connection_init, else the handshake's header; the payload goes first."""
    who = "{ whoami }"
    async with connected(server.socket, token("bob")) as client:
        assert await client.execute(who) == {"whoami": "bob"}
    async with connected(server.socket, headers=bearer(token("carol"))) as client:
        assert await client.execute(who) == {"whoami": "carol"}
    async with connected(server.socket, token("bob"), headers=bearer(token("carol"))) as client:
        assert await client.execute(who) == {"whoami": "bob"}
    async with connected(server.socket, payload={"Authorization": f"Bearer {token('dave')}"}) as client:
        assert await client.execute(who) == {"whoami": "dave"}
    async with connected(server.socket) as client:
        assert await client.execute(who) == {"whoami": None}


@pytest.mark.parametrize("authorization", ["Bearer nonsense", f"Bearer {token(seconds=-1)}", 7, "x" * 20_000])
async def test_a_wrong_token_closes_the_socket_with_4403(server: Running, authorization: Any) -> None:
    """A token that is wrong or has expired is refused before anything runs."""
    async with raw_socket(server.socket) as socket:
        await socket.send(json.dumps({"type": "connection_init", "payload": {"authorization": authorization}}))
        code, reason = await closed(socket)
        assert (code, reason[:9]) == (4403, "Forbidden")


async def test_the_socket_ends_with_the_token() -> None:
    """When the token's time is over, watching is over: 4403, and the client signs in again."""
    async with running(small_app(short=True).app) as server, connected(server.socket, token()) as client:
        subscription = await client.subscribe(SILENCE)
        with pytest.raises(ConnectionClosed) as info:
            async for _ in subscription:
                pass
        assert info.value.rcvd is not None
        assert info.value.rcvd.code == 4403


async def test_nothing_runs_before_the_acknowledgement(server: Running) -> None:
    """A subscribe without connection_init closes with 4401."""
    async with raw_socket(server.socket) as socket:
        await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": "{ hello }"}}))
        assert (await closed(socket))[0] == 4401


async def test_a_second_connection_init_closes_with_4429(server: Running) -> None:
    """One initialisation a socket."""
    async with raw_socket(server.socket) as socket:
        await acknowledged(socket)
        await socket.send('{"type": "connection_init"}')
        assert (await closed(socket))[0] == 4429


async def test_a_client_that_never_says_who_it_is_is_closed_with_4408() -> None:
    """A socket without connection_init does not stay open."""
    async with running(small_app(init_seconds=0.05).app) as server, raw_socket(server.socket) as socket:
        assert (await closed(socket))[0] == 4408


@pytest.mark.parametrize(
    "frame",
    [
        "{ not JSON",
        "[]",
        "null",
        '"text"',
        "7",
        "{}",
        '{"type": "unknown"}',
        '{"type": ["subscribe"]}',
        '{"type": "subscribe"}',
        '{"type": "subscribe", "id": "1"}',
        '{"type": "subscribe", "id": 1, "payload": {"query": "{ hello }"}}',
        '{"type": "subscribe", "id": "", "payload": {"query": "{ hello }"}}',
        '{"type": "subscribe", "id": "1", "payload": []}',
        '{"type": "subscribe", "id": "1", "payload": {"query": 7}}',
        '{"type": "subscribe", "id": "1", "payload": {"query": "{ hello }", "variables": []}}',
        '{"type": "complete"}',
        '{"type": "connection_init", "payload": []}',
        b"\x00\x01",
        "[" * 20_000 + "]" * 20_000,
    ],
)
async def test_an_invalid_message_closes_with_4400(server: Running, frame: str | bytes) -> None:
    """What the protocol does not know ends the socket as the protocol says, with a reason."""
    async with raw_socket(server.socket) as socket:
        await acknowledged(socket)
        await socket.send(frame)
        code, reason = await closed(socket)
        assert code == 4400
        assert reason


async def test_a_used_id_closes_with_4409_however_long_it_is(server: Running) -> None:
    """Two operations can't share an id; the reason fits a close frame."""
    async with raw_socket(server.socket) as socket:
        await acknowledged(socket)
        message = json.dumps({"id": "ü" * 200, "type": "subscribe", "payload": {"query": SILENCE}})
        await socket.send(message)
        await socket.send(message)
        assert (await closed(socket))[0] == 4409


async def test_an_id_is_free_again_when_its_operation_has_ended(client: TransportWsClient) -> None:
    """After `complete` the id may be used anew."""
    for _ in range(3):
        assert [d async for d in await client.subscribe(TICKS, {"count": 1}, operation_id="same")] == [{"ticks": 0}]


async def test_another_subprotocol_is_not_acceptable(server: Running) -> None:
    """The legacy protocol, and none, are closed with 4406."""
    async with raw_socket(server.socket, subprotocol="graphql-ws") as socket:
        assert (await closed(socket))[0] == 4406


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("", "BAD_USER_INPUT"),
        ("subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription ($count: Int!) { ticks(count: $count) }", "BAD_USER_INPUT"),
        ("query A { hello } query B { hello }", "BAD_USER_INPUT"),
        ("fragment F on Query { hello }", "BAD_USER_INPUT"),
        ("{ nested" + " { deeper" * 30 + " { name }" + " }" * 31, "TOO_COMPLEX"),
        ("{" + " hello" * 5_000 + " }", "TOO_COMPLEX"),
        ("subscription { refused }", "RUN_NOT_FOUND"),
        ("subscription { brokenAtOnce }", "INTERNAL"),
    ],
)
async def test_what_is_wrong_with_one_operation_ends_that_one_alone(
    client: TransportWsClient, query: str, code: str
) -> None:
    """It gets an `error` message with a code; a sibling on the same socket goes on."""
    sibling = await client.subscribe(SILENCE)
    events = aiter(sibling)
    assert await anext(events) == {"silence": "first"}
    with pytest.raises(GraphQLFailed) as info:
        async for _ in await client.subscribe(query):
            pass
    assert info.value.codes == [code]
    assert await client.execute("{ hello }") == {"hello": "world"}
    assert not sibling.ended


async def test_a_defect_shows_nothing_but_an_id_wherever_it_happens(
    client: TransportWsClient, caplog: pytest.LogCaptureFixture
) -> None:
    """In queries, in setting a subscription up, in its source and in its events; the log has the cause with the id."""
    for query in ("{ broken }", "subscription { brokenAtOnce }", "subscription { brokenLater }"):
        with pytest.raises(GraphQLFailed) as info:
            async for _ in await client.subscribe(query):
                pass
        assert info.value.codes == ["INTERNAL"]
        assert HIDDEN not in str(info.value)
        named = info.value.errors[0]["extensions"]["requestId"]
        assert any(getattr(record, "request_id", None) == named for record in caplog.records)
    payloads = [p async for p in (await client.subscribe("subscription { brokenEvents }")).payloads()]
    assert [payload["data"] for payload in payloads if "errors" not in payload] == [
        {"brokenEvents": 0},
        {"brokenEvents": 2},
    ]
    assert HIDDEN not in json.dumps(payloads)
    assert HIDDEN in caplog.text


async def test_completing_an_operation_ends_it_on_the_server(client: TransportWsClient, small: Small) -> None:
    """The resolver's `finally` runs, and the siblings go on."""
    first, second = await client.subscribe(SILENCE), await client.subscribe(SILENCE)
    await until(lambda: small.seen.open == 2)
    await first.stop()
    await until(lambda: small.seen.open == 1)
    assert not second.ended


@pytest.mark.parametrize("query", [SILENCE, "subscription { flood }"])
async def test_a_client_that_goes_leaves_nothing_behind(server: Running, small: Small, query: str) -> None:
    """Cut off without a word, idle or in the middle of a flood: no resolver, and no task of the socket, remains."""
    before = len(asyncio.all_tasks())
    async with connected(server.socket) as client:
        await client.subscribe(query)
        await until(lambda: small.seen.open == 1)
        client.socket.transport.abort()
    await until(lambda: small.seen.open == 0)
    await until(lambda: len(asyncio.all_tasks()) <= before)


async def test_a_client_that_reads_nothing_holds_no_memory(server: Running, small: Small) -> None:
    """The server stops producing where a client takes nothing, and the other clients are served."""
    async with raw_socket(server.socket) as socket:
        await acknowledged(socket)
        socket.transport.pause_reading()
        await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": "subscription { flood }"}}))
        await until(lambda: small.seen.open == 1)
        async with connected(server.socket) as other:
            assert await other.execute("{ hello }") == {"hello": "world"}
        socket.transport.abort()
    await until(lambda: small.seen.open == 0)


async def test_the_server_answers_pings_and_pings_itself() -> None:
    """Idle sockets carry pings both ways, so that proxies keep them open."""
    async with running(small_app(ping_seconds=0.1).app) as server, connected(server.socket) as client:
        subscription = await client.subscribe(SILENCE)
        await until(lambda: client.pings >= 5)
        assert not subscription.ended
        async with raw_socket(server.socket) as socket:
            await socket.send('{"type": "ping", "payload": {"a": 1}}')
            assert json.loads(await socket.recv()) == {"type": "pong"}


async def test_a_client_that_has_died_is_noticed() -> None:
    """One that answers no ping is closed, and its operations end."""
    small = small_app(ping_seconds=0.1)
    async with running(small.app) as server, raw_socket(server.socket) as socket:
        await acknowledged(socket)
        await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": SILENCE}}))
        assert (await closed(socket))[0] == 1001
        await until(lambda: small.seen.open == 0)


async def test_a_socket_has_at_most_100_operations(client: TransportWsClient) -> None:
    """One more is RATE_LIMITED, and the others go on."""
    for _ in range(100):
        await client.subscribe(SILENCE)
    with pytest.raises(GraphQLFailed) as info:
        await client.execute("{ hello }")
    assert info.value.codes == ["RATE_LIMITED"]


async def test_a_shutdown_closes_sockets_so_that_clients_come_again(
    server: Running, small: Small, caplog: pytest.LogCaptureFixture
) -> None:
    """Sockets are closed with 1012 (service restart), and nothing of them remains."""
    async with connected(server.socket) as client:
        subscription = await client.subscribe(SILENCE)
        await until(lambda: small.seen.open == 1)
        await server.stop()
        assert "timeout graceful shutdown exceeded" not in caplog.text
        with pytest.raises(ConnectionClosed) as info:
            async for _ in subscription:
                pass
        assert info.value.rcvd is not None
        assert info.value.rcvd.code == 1012
    assert small.seen.open == 0


async def test_a_page_of_another_site_never_acts_as_the_development_user() -> None:
    """Cross-site WebSocket hijacking: with a development user, a handshake from another origin is refused."""
    async with running(small_app(dev_user="dev").app) as server:
        async with connected(server.socket) as client:
            assert await client.execute("{ whoami }") == {"whoami": "dev"}
        async with connected(server.socket, headers={"Origin": server.url}) as client:
            assert await client.execute("{ whoami }") == {"whoami": "dev"}
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
            with pytest.raises(InvalidStatus) as info:
                async with raw_socket(server.socket, headers={"Origin": origin}):
                    pass
            assert info.value.response.status_code == 403
        async with connected(server.socket, token("bob")) as client:
            assert await client.execute("{ whoami }") == {"whoami": "bob"}
