"""The whole application on a real server: what joins the parts holds."""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from websockets.exceptions import ConnectionClosed

from engine.engine import Engine, open_engine
from engine.loading import Agents
from engine.providers.prices import load_prices
from engine.providers.provider import Provider
from models.database import open_database
from models.migrate import migrate
from steersman.app import create_app, drain
from steersman.auth import mint
from steersman.process import engine_config
from steersman.settings import Settings
from tests.support.clients import GraphQLFailed, JsonClient, connected, event_stream
from tests.support.commands import GUARD
from tests.support.server import Running, running
from tests.support.services import OwnRedis

SECRET = "a secret of the tests, long enough for HS256"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class NoProvider:
    """No test here has a model answer."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("no model is asked in these tests")


def opener(settings: Settings) -> Callable[[], AbstractAsyncContextManager[Engine]]:
    """How the application opens its engine: without agents and without a model."""
    provider: Provider = NoProvider()
    return lambda: open_engine(engine_config(settings), agents=Agents({}), provider=provider, prices=load_prices())


@pytest.fixture
async def settings(tmp_path: Path) -> Settings:
    """Settings with a migrated SQLite file."""
    url = f"sqlite:///{tmp_path / 'test.db'}"
    async with open_database(url) as database:
        await database.write(migrate)
    return Settings(database_url=url, jwt_secret=SECRET, drain_seconds=1)


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """Pages as Vite builds them."""
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>the console, built</title>")
    (folder / "graphiql.html").write_text("<!doctype html><title>GraphiQL, built</title>")
    (folder / "assets" / "index-abc123.js").write_text("console.log(1)")
    return folder


@asynccontextmanager
async def served(settings: Settings, **options: Any) -> AsyncIterator[tuple[Running, FastAPI]]:
    """The application on a real server."""
    app = create_app(settings, opener(settings), **options)
    async with running(app, drain=lambda: drain(app)) as server:
        yield server, app


async def get(url: str, **headers: str) -> httpx2.Response:
    """A GET request."""
    async with httpx2.AsyncClient() as http:
        return await http.get(url, headers=headers)


async def test_the_schema_answers_over_every_transport(settings: Settings) -> None:
    """POST, WebSocket and events reach the same resolvers, with the same user."""
    token = mint(settings, "alice", ["ops"])
    query = "{ viewer { id roles } }"
    expected = {"viewer": {"id": "alice", "roles": ["ops"]}}
    async with served(settings) as (server, _):
        async with JsonClient(server.graphql, token) as client:
            assert await client.execute(query) == expected
            assert await client.execute("{ runs { totalCount } }") == {"runs": {"totalCount": 0}}
        async with connected(server.socket, token) as socket:
            assert await socket.execute(query) == expected
        async with event_stream(server.graphql, query, token=token) as events:
            assert '"alice"' in (await anext(events)).data


async def test_without_a_user_only_viewer_and_the_schema_answer(settings: Settings) -> None:
    """Everything else fails with AGENT_REQUIRES_USER, subscriptions too."""
    async with served(settings) as (server, _):
        async with JsonClient(server.graphql) as client:
            answer = await client.execute("{ viewer { id } __typename __schema { queryType { name } } }")
            assert answer["viewer"] is None
            with pytest.raises(GraphQLFailed) as info:
                await client.execute("{ runs { totalCount } }")
            assert info.value.codes == ["AGENT_REQUIRES_USER"]
        async with connected(server.socket) as socket:
            with pytest.raises(GraphQLFailed) as info:
                async for _ in await socket.subscribe('subscription { run(id: "x") { id } }'):
                    pass
            assert info.value.codes == ["AGENT_REQUIRES_USER"]


async def test_watching_a_run_that_is_missing_fails_with_its_code(settings: Settings) -> None:
    """RUN_NOT_FOUND, over the socket."""
    async with served(settings) as (server, _), connected(server.socket, mint(settings, "alice")) as socket:
        with pytest.raises(GraphQLFailed) as info:
            async for _ in await socket.subscribe('subscription { runStream(runId: "run_x") { seq } }'):
                pass
        assert info.value.codes == ["RUN_NOT_FOUND"]


async def test_the_development_user_is_signed_in_on_this_machine_alone(settings: Settings) -> None:
    """`steersman dev` needs no token; a rebound name is nobody; another host is refused at the start."""
    async with served(settings, dev_user="dev") as (server, _):
        body = {"query": "{ viewer { id } }"}
        async with httpx2.AsyncClient() as http:
            assert (await http.post(server.graphql, json=body)).json() == {"data": {"viewer": {"id": "dev"}}}
            rebound = await http.post(server.graphql, json=body, headers={"Host": "evil.example"})
            assert rebound.json() == {"data": {"viewer": None}}
    with pytest.raises(ValueError, match="STEERSMAN_HOST"):
        create_app(Settings(host="0.0.0.0"), opener(settings), dev_user="dev")  # noqa: S104 - the case in point


async def test_liveness_depends_on_nothing_and_readiness_on_the_database(settings: Settings, tmp_path: Path) -> None:
    """/healthz answers whatever happens; /readyz is 503 with a reason while the database can't serve."""
    async with served(settings) as (server, _):
        assert (await get(f"{server.url}/healthz")).json() == {"status": "ok"}
        assert (await get(f"{server.url}/readyz")).json() == {"status": "ready"}
        async with open_database(settings.database_url) as database:
            await database.write(lambda c: c.exec_driver_sql("delete from alembic_version"))
        unready = await get(f"{server.url}/readyz")
        assert unready.status_code == 503
        assert "steersman migrate" in unready.json()["problem"]
        assert (await get(f"{server.url}/healthz")).status_code == 200


@pytest.mark.service
async def test_while_redis_alone_is_away_the_server_is_ready_and_says_that_it_is_degraded(
    settings: Settings, tmp_path: Path
) -> None:
    """200 with the problem, for everything but live tokens works; by itself it is ready again. A 503 goes before it."""
    async with OwnRedis(tmp_path) as redis:
        shared = dataclasses.replace(settings, redis_url=redis.url)
        async with served(shared) as (server, app):
            assert await readiness(server, "ready") == (200, {"status": "ready"})
            await redis.kill()
            code, told = await readiness(server, "degraded")
            assert (code, sorted(told)) == (200, ["problem", "status"])
            assert told["problem"].startswith("Redis can't be reached")
            assert str(redis.port) not in told["problem"], "no address is told"
            await redis.start()
            assert await readiness(server, "ready") == (200, {"status": "ready"})
            await redis.kill()
            await readiness(server, "degraded")
            await app.state.house.drain()
            assert (await readiness(server, "unavailable"))[1]["problem"] == "This server is stopping."


async def readiness(server: Running, status: str) -> tuple[int, dict[str, str]]:
    """What /readyz answers, once it has this status."""
    async with asyncio.timeout(GUARD):
        while (answer := await get(f"{server.url}/readyz")).json()["status"] != status:
            await asyncio.sleep(0.05)
    return answer.status_code, answer.json()


async def test_while_draining_only_readiness_changes(settings: Settings) -> None:
    """Probes send new clients elsewhere, and those that are here are served until the end."""
    async with served(settings) as (server, app):
        await app.state.house.drain()
        unready = await get(f"{server.url}/readyz")
        assert (unready.status_code, unready.json()["problem"]) == (503, "This server is stopping.")
        assert (await get(f"{server.url}/healthz")).status_code == 200
        async with JsonClient(server.graphql, mint(settings, "alice")) as client:
            assert await client.execute("{ viewer { id } }") == {"viewer": {"id": "alice"}}


async def test_a_shutdown_ends_what_is_watched_and_the_engine(settings: Settings) -> None:
    """Sockets close so that clients come again, event streams end without `complete`, no task remains."""
    token = mint(settings, "alice")
    watch = "subscription { runs { kind } }"
    before = len(asyncio.all_tasks())
    async with served(settings) as (server, app):
        async with (
            connected(server.socket, token) as socket,
            event_stream(server.graphql, watch, token=token) as events,
        ):
            subscription = await socket.subscribe(watch)
            while len(app.state.endpoint.streams) == 0:
                await asyncio.sleep(0.01)
            await server.stop()
            with pytest.raises(ConnectionClosed) as info:
                async for _ in subscription:
                    pass
            assert info.value.rcvd is not None
            assert info.value.rcvd.code == 1012
            assert [event async for event in events] == []
        with pytest.raises(RuntimeError, match="not open"):
            _ = app.state.house.engine
    while len(asyncio.all_tasks()) > before:
        await asyncio.sleep(0.01)


async def test_every_answer_has_its_id_and_careful_headers(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """X-Request-ID is taken where it is fit to be logged, and made otherwise; the log line has no query."""
    with caplog.at_level(logging.INFO, "steersman.http"):
        async with served(settings) as (server, _):
            answer = await get(f"{server.graphql}?query={{viewer{{id}}}}", **{"X-Request-ID": "abc-123"})
            assert answer.headers["x-request-id"] == "abc-123"
            for unfit in ("a b", "x" * 200, ""):
                answer = await get(f"{server.url}/healthz", **{"X-Request-ID": unfit})
                assert answer.headers["x-request-id"].startswith("req_")
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["cache-control"] == "no-store"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "access-control-allow-origin" not in (await get(server.graphql, Origin="https://a.example")).headers
    assert "GET /graphql 200" in caplog.text
    assert "viewer" not in caplog.text


async def test_pages_of_allowed_origins_may_call_the_api(settings: Settings) -> None:
    """CORS is off until origins are named; then they alone are let in."""
    allowed = dataclasses.replace(settings, allowed_origins=("https://app.example",))
    async with served(allowed) as (server, _), httpx2.AsyncClient() as http:
        ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        yes = await http.options(server.graphql, headers={"Origin": "https://app.example", **ask})
        assert yes.headers["access-control-allow-origin"] == "https://app.example"
        no = await http.options(server.graphql, headers={"Origin": "https://evil.example", **ask})
        assert "access-control-allow-origin" not in no.headers


async def test_browsers_are_shown_the_built_pages(settings: Settings, dist: Path) -> None:
    """GraphiQL at /graphql, the console at every address below /console/ that is no file; hashed files are kept."""
    shown = {
        "/graphql": "GraphiQL",
        "/console/graphiql": "GraphiQL",
        "/console/": "console",
        "/console/index.html": "console",
        "/console/runs/run_1": "console",
        "/console/agents/agent_1/prompt": "console",
    }
    async with served(settings, dist=dist) as (server, _):
        for path, text in shown.items():
            page = await get(server.url + path, **BROWSER)
            assert text in page.text
            assert page.headers["content-type"] == "text/html; charset=utf-8"
            assert page.headers["cache-control"] == "no-cache"
        script = await get(f"{server.url}/console/assets/index-abc123.js")
        assert "immutable" in script.headers["cache-control"]
        missing = await get(f"{server.url}/console/assets/none.js")
        assert missing.status_code == 404
        assert "immutable" not in missing.headers.get("cache-control", "")
        for path in ("/console/none.js", "/console/assets/none", "/console/../../settings.py"):
            assert (await get(server.url + path)).status_code == 404
        for path in ("/", "/console"):
            assert (await get(server.url + path)).headers["location"] == "/console/"


async def test_the_pages_let_nothing_of_another_host_in(settings: Settings, dist: Path) -> None:
    """The console neither scripts nor styles that are not its own files; GraphiQL's editor styles itself."""
    async with served(settings, dist=dist) as (server, _):
        console = (await get(f"{server.url}/console/")).headers["content-security-policy"]
        graphiql = (await get(f"{server.url}/console/graphiql")).headers["content-security-policy"]
        same = (await get(server.graphql, **BROWSER)).headers["content-security-policy"]
    assert "unsafe" not in console
    assert "style-src 'self';" in console
    assert "connect-src 'self';" in console
    assert graphiql == same
    for policy in (console, graphiql):
        assert "default-src 'none'; script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http:" not in policy


async def test_pages_travel_compressed_to_who_takes_it(settings: Settings, dist: Path) -> None:
    """By the twins that the build laid beside them, each with a tag of its own; plain to all others."""
    script = dist / "assets" / "index-abc123.js"
    script.with_name(f"{script.name}.br").write_bytes(b"as brotli")
    script.with_name(f"{script.name}.gz").write_bytes(gzip.compress(script.read_bytes()))
    async with served(settings, dist=dist) as (server, _), httpx2.AsyncClient() as http:
        url = f"{server.url}/console/assets/index-abc123.js"
        ways = {"br, gzip": "br", "gzip;q=0.5": "gzip", "br;q=0, gzip": "gzip", "zstd": None, "": None}
        tags = set()
        for accepted, encoding in ways.items():
            async with http.stream("GET", url, headers={"Accept-Encoding": accepted}) as answer:
                content = b"".join([part async for part in answer.aiter_raw()])
            assert answer.headers.get("content-encoding") == encoding
            assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
            assert answer.headers["vary"] == "Accept-Encoding"
            assert "immutable" in answer.headers["cache-control"]
            if encoding == "gzip":
                assert gzip.decompress(content) == script.read_bytes()
            tags.add(answer.headers["etag"])
            again = await http.get(url, headers={"Accept-Encoding": accepted, "If-None-Match": answer.headers["etag"]})
            assert again.status_code == 304
    assert len(tags) == 3


async def test_the_console_asks_what_it_must_know_before_anybody_is_signed_in(settings: Settings, dist: Path) -> None:
    """Whether there is a development user, where to sign in, and which version it talks to."""
    async with served(settings, dist=dist) as (server, _):
        answer = await get(f"{server.url}/console/config.json")
    assert answer.json() == {"development": False, "oidc": None, "version": version("steersman")}
    assert answer.headers["cache-control"] == "no-cache"


async def test_the_console_is_told_where_people_sign_in_and_may_ask_there(settings: Settings, dist: Path) -> None:
    """The provider with what it is to be asked for; its origins, and no others, are in the pages' policies."""
    at = dataclasses.replace(
        settings,
        jwt_secret=None,
        jwks_url="https://login.example/keys",
        oidc_issuer="https://login.example/tenant",
        oidc_client_id="console",
        oidc_origins=("https://tokens.example",),
    )
    async with served(at, dist=dist) as (server, _):
        told = (await get(f"{server.url}/console/config.json")).json()["oidc"]
        policies = [
            (await get(server.url + path, **BROWSER)).headers["content-security-policy"]
            for path in ("/console/", "/console/graphiql", "/graphql")
        ]
    assert told == {
        "authority": "https://login.example/tenant",
        "clientId": "console",
        "scope": "openid profile offline_access",
        "audience": None,
        "token": "access",
    }
    for policy in policies:
        assert "connect-src 'self' https://login.example https://tokens.example;" in policy


async def test_without_built_pages_the_server_says_what_is_missing(settings: Settings, tmp_path: Path) -> None:
    """Node and `make setup`; the API works."""
    async with served(settings, dist=tmp_path / "none") as (server, _):
        for path in ("/graphql", "/console/"):
            page = await get(server.url + path, **BROWSER)
            assert page.status_code == 200
            assert "Node 20" in page.text
            assert "make setup" in page.text
        assert (await get(f"{server.graphql}?query={{__typename}}")).json() == {"data": {"__typename": "Query"}}


async def test_the_pages_can_be_turned_off(settings: Settings, dist: Path) -> None:
    """CONSOLE=off leaves the API alone."""
    async with served(dataclasses.replace(settings, console=False), dist=dist) as (server, _):
        assert (await get(f"{server.url}/console/")).status_code == 404
        assert (await get(server.graphql, **BROWSER)).status_code == 400
