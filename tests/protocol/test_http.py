"""GraphQL over HTTP: what the specification asks of a server, over a real one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import pytest
from starlette.responses import HTMLResponse

from steersman.graphql import Limits
from tests.support.clients import bearer
from tests.support.server import Running, running
from tests.support.small_schema import HIDDEN, Small, small_app, token

TYPED = "application/graphql-response+json"
JSON = "application/json"
BOTH = pytest.mark.parametrize("media_type", [TYPED, JSON])


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
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client without an Accept header of its own."""
    async with httpx2.AsyncClient(timeout=60) as client:
        del client.headers["accept"]
        yield client


async def post(
    http: httpx2.AsyncClient, server: Running, body: Any, accept: str | None = None, **headers: str
) -> httpx2.Response:
    """Post a JSON body."""
    accepted = {} if accept is None else {"Accept": accept}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await http.post(server.graphql, content=content, headers={"Content-Type": JSON, **accepted, **headers})


def codes(response: httpx2.Response) -> list[str]:
    """The codes of an answer's errors."""
    return [error["extensions"]["code"] for error in response.json()["errors"]]


@pytest.mark.parametrize(
    ("accept", "answered"),
    [
        (TYPED, TYPED),
        (JSON, JSON),
        ("*/*", JSON),
        (None, JSON),
        ("application/*", JSON),
        (f"{TYPED}, {JSON};q=0.9", TYPED),
        (f"{JSON}, {TYPED};q=0.9", JSON),
        # urql names event streams in every request
        (f"{TYPED}, application/graphql+json, {JSON}, text/event-stream, multipart/mixed", TYPED),
        (f"text/event-stream, {JSON};q=0.1", JSON),
    ],
)
async def test_the_answer_has_the_media_type_that_the_client_accepts(
    http: httpx2.AsyncClient, server: Running, accept: str | None, answered: str
) -> None:
    """A query is answered as JSON, of the type that Accept asks for, in UTF-8."""
    response = await post(http, server, {"query": "{ hello }"}, accept)
    assert response.status_code == 200
    assert response.headers["content-type"] == f"{answered}; charset=utf-8"
    assert response.json() == {"data": {"hello": "world"}}


async def test_nothing_acceptable_is_406(http: httpx2.AsyncClient, server: Running) -> None:
    """A client that takes none of our media types is told which there are."""
    response = await post(http, server, {"query": "{ hello }"}, "image/png, text/event-stream;q=0")
    assert response.status_code == 406
    assert TYPED in response.json()["errors"][0]["message"]


@BOTH
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": "{"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "{ nothing }"}, "GRAPHQL_VALIDATION_FAILED"),
        ({"query": "query ($text: String!) { echo(text: $text) }"}, "BAD_USER_INPUT"),
        ({"query": "query ($text: String!) { echo(text: $text) }", "variables": {"text": 5}}, "BAD_USER_INPUT"),
        ({"query": "query A { hello } query B { hello }"}, "BAD_USER_INPUT"),
        ({"query": "query A { hello }", "operationName": "B"}, "BAD_USER_INPUT"),
        ({"query": "fragment F on Query { hello }"}, "BAD_USER_INPUT"),
    ],
)
async def test_a_request_that_cannot_be_executed_has_a_code_and_no_data(
    http: httpx2.AsyncClient, server: Running, media_type: str, body: Mapping[str, Any], code: str
) -> None:
    """Parse, validation and coercion errors are 400 for the typed media type and 200 for plain JSON, without data."""
    response = await post(http, server, body, media_type)
    assert response.status_code == (400 if media_type == TYPED else 200)
    assert "data" not in response.json()
    assert codes(response) == [code]


async def test_one_of_several_operations_runs_by_its_name(http: httpx2.AsyncClient, server: Running) -> None:
    """operationName chooses."""
    body = {"query": "query A { hello } query B { whoami }", "operationName": "B"}
    assert (await post(http, server, body)).json() == {"data": {"whoami": None}}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{ "not JSON',
        b"[]",
        b'"text"',
        b'{"qeury": "{ hello }"}',
        b'{"query": ""}',
        b'{"query": 0}',
        b'{"query": ["array"]}',
        b'{"query": "{ hello }", "variables": "text"}',
        b'{"query": "{ hello }", "variables": ["array"]}',
        b'{"query": "{ hello }", "variables": {"a": NaN}}',
        b'{"query": "{ hello }", "operationName": false}',
        b'{"query": "{ hello }", "extensions": 0}',
        b'[{"query": "{ hello }"}]',
        b'{"query": "{ hello }", "variables": {"a": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}",
        b'{"query": "\xff"}',
        b'{"query": "{ hello }", "variables": {"a": ' + b"9" * 5_000 + b"}}",
    ],
)
async def test_what_is_no_graphql_request_is_400_in_words(
    http: httpx2.AsyncClient, server: Running, body: bytes
) -> None:
    """A broken body, wrong types and batches are refused with a code and a sentence."""
    response = await post(http, server, body)
    assert response.status_code == 400
    assert codes(response) == ["BAD_USER_INPUT"]


async def test_null_parameters_count_as_absent(http: httpx2.AsyncClient, server: Running) -> None:
    """variables, operationName and extensions may be null."""
    body = {"query": "{ hello }", "variables": None, "operationName": None, "extensions": None}
    assert (await post(http, server, body)).json() == {"data": {"hello": "world"}}


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", None]
)
async def test_a_body_that_a_form_could_send_is_refused(
    http: httpx2.AsyncClient, server: Running, content_type: str | None
) -> None:
    """Only JSON in UTF-8 is taken, so that no page of another site can post without asking first."""
    headers = {} if content_type is None else {"Content-Type": content_type}
    response = await http.post(server.graphql, content=b'{"query": "{ hello }"}', headers=headers)
    assert response.status_code == 415
    assert codes(response) == ["BAD_USER_INPUT"]


async def test_a_huge_body_is_refused_and_the_server_goes_on(http: httpx2.AsyncClient, server: Running) -> None:
    """A body over the limit is 413; the next request is answered."""
    response = await post(http, server, b'{"query": "' + b"x" * (9 * 1024 * 1024))
    assert response.status_code == 413
    assert (await post(http, server, {"query": "{ hello }"})).status_code == 200


async def test_queries_may_come_by_get(http: httpx2.AsyncClient, server: Running) -> None:
    """GET takes query and variables from the address."""
    params = {"query": "query ($t: String!) { echo(text: $t) }", "variables": json.dumps({"t": "é"})}
    response = await http.get(server.graphql, params=params)
    assert response.json() == {"data": {"echo": "é"}}


async def test_a_mutation_by_get_is_refused_and_not_run(
    http: httpx2.AsyncClient, server: Running, small: Small
) -> None:
    """GET never changes anything."""
    response = await http.get(server.graphql, params={"query": 'mutation { write(text: "x") }'})
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert small.seen.written == []


async def test_other_methods_are_405(http: httpx2.AsyncClient, server: Running) -> None:
    """PUT and its like are refused with what is allowed."""
    response = await http.put(server.graphql, json={"query": "{ hello }"})
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, POST"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_subscription_without_a_stream_is_told_how_to_subscribe(
    http: httpx2.AsyncClient, server: Running, method: str
) -> None:
    """It is refused in words that name both transports."""
    query = {"query": "subscription { ticks(count: 1) }"}
    response = await (http.get(server.graphql, params=query) if method == "GET" else post(http, server, query))
    assert response.status_code == 400
    message = response.json()["errors"][0]["message"]
    assert "graphql-transport-ws" in message
    assert "text/event-stream" in message


@BOTH
async def test_a_defect_shows_nothing_but_an_id(
    http: httpx2.AsyncClient, server: Running, caplog: pytest.LogCaptureFixture, media_type: str
) -> None:
    """An unexpected exception is INTERNAL with requestId, beside the other fields' data; the log has the cause."""
    for query in ("{ hello broken }", "{ hello brokenValue }", "mutation { broken }"):
        response = await post(http, server, {"query": query}, media_type)
        assert response.status_code == 200
        assert HIDDEN not in response.text
        (error,) = response.json()["errors"]
        assert error["extensions"].keys() == {"code", "requestId"}
        assert error["extensions"]["code"] == "INTERNAL"
        assert error["path"]
    assert HIDDEN in caplog.text


async def test_expected_errors_keep_their_code_and_words(http: httpx2.AsyncClient, server: Running) -> None:
    """Errors raised with a code, and refusals of the engine, pass as they are."""
    response = await post(http, server, {"query": "{ hello refused missing }"})
    assert response.json()["data"] == {"hello": "world", "refused": None, "missing": None}
    told = [(error["extensions"]["code"], error["message"]) for error in response.json()["errors"]]
    assert told == [("FORBIDDEN", "refused with FORBIDDEN"), ("RUN_NOT_FOUND", "There is no such run.")]


async def test_a_token_says_who_asks(http: httpx2.AsyncClient, server: Running) -> None:
    """The token's subject is the user and its roles are the user's; without a token it is nobody."""
    query = {"query": "{ whoami roles }"}
    signed_in = await post(http, server, query, **bearer(token("bob", "admin", "ops")))
    assert signed_in.json()["data"] == {"whoami": "bob", "roles": ["admin", "ops"]}
    assert (await post(http, server, query)).json()["data"] == {"whoami": None, "roles": []}


@pytest.mark.parametrize("authorization", ["Bearer nonsense", "Bearer", "Basic YTpi", f"Bearer {token(seconds=-1)}"])
@pytest.mark.parametrize("accept", [JSON, TYPED, "text/event-stream"])
async def test_a_wrong_token_is_401_in_json(
    http: httpx2.AsyncClient, server: Running, authorization: str, accept: str
) -> None:
    """A token that is wrong or has expired is refused, never taken for nobody."""
    response = await post(http, server, {"query": "{ whoami }"}, accept, Authorization=authorization)
    assert response.status_code == 401
    assert codes(response) == ["AGENT_REQUIRES_USER"]
    assert response.headers["www-authenticate"].startswith("Bearer")


async def test_text_that_databases_cannot_hold_is_replaced(http: httpx2.AsyncClient, server: Running) -> None:
    """NUL and lone surrogates in variables become U+FFFD; an emoji stays whole."""
    body = b'{"query": "query ($t: String!) { echo(text: $t) }", "variables": {"t": "W\\u0000s\\ud800 \\ud83d\\ude00"}}'
    assert (await post(http, server, body)).json()["data"] == {"echo": "W\ufffds\ufffd 😀"}


async def test_documents_over_the_limits_are_too_complex(http: httpx2.AsyncClient) -> None:
    """Too many characters, tokens, levels or fields are TOO_COMPLEX, also where fragments multiply them."""
    bomb = "fragment F0 on Nested { name }" + "".join(
        f" fragment F{i} on Nested {{ a: deeper {{ ...F{i - 1} }} b: deeper {{ ...F{i - 1} }} }}" for i in range(1, 15)
    )
    documents = [
        "{ hello" + " " * 100_000 + "}",
        "{" + " hello" * 2_000 + " }",
        "{ nested" + " { deeper" * 30 + " { name }" + " }" * 31,
        "{ nested" + " { deeper" * 600 + " { name }" + " }" * 601,
        "{ nested { ...F14 } } " + bomb,
        "{ nested { ...A } } fragment A on Nested { ...B } fragment B on Nested { ...A }" + " #" * 50_000,
    ]
    limits = Limits(characters=100_000, tokens=1_500)
    async with running(small_app(limits=limits).app) as server:
        for document in documents:
            response = await post(http, server, {"query": document}, TYPED)
            assert response.status_code == 400
            assert codes(response) == ["TOO_COMPLEX"], document[:80]


async def test_a_fragment_that_spreads_itself_is_a_validation_error(http: httpx2.AsyncClient, server: Running) -> None:
    """Cycles end the measuring, and validation refuses them."""
    document = "{ nested { ...A } } fragment A on Nested { deeper { ...B } } fragment B on Nested { deeper { ...A } }"
    assert set(codes(await post(http, server, {"query": document}))) == {"GRAPHQL_VALIDATION_FAILED"}


async def test_a_request_that_is_cut_off_is_no_error_of_the_server(
    http: httpx2.AsyncClient, server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients go away all the time: the log of errors, which somebody is woken by, does not fill up with it."""
    address = httpx2.URL(server.url)
    for _ in range(5):
        _, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(
            b"POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert (await post(http, server, {"query": "{ hello }"})).status_code == 200
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_introspection_can_be_turned_off(http: httpx2.AsyncClient) -> None:
    """Then questions about the schema are refused in words, and __typename still answers."""
    async with running(small_app(introspection=False).app) as server:
        response = await post(http, server, {"query": "{ __schema { types { name } } }"})
        assert set(codes(response)) == {"GRAPHQL_VALIDATION_FAILED"}
        assert "introspection has been disabled" in response.json()["errors"][0]["message"]
        assert (await post(http, server, {"query": "{ __typename }"})).json() == {"data": {"__typename": "Query"}}


async def test_a_browser_is_shown_the_page(http: httpx2.AsyncClient) -> None:
    """GET by a browser gives the page that the endpoint was given; a query by GET is answered all the same."""
    browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    async with running(small_app(page=lambda: HTMLResponse("the page")).app) as server:
        assert (await http.get(server.graphql, headers=browser)).text == "the page"
        answered = await http.get(server.graphql, headers=browser, params={"query": "{ hello }"})
        assert answered.json() == {"data": {"hello": "world"}}
        assert (await http.get(server.graphql)).status_code == 400
