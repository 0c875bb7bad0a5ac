"""The image and compose.yaml, rehearsed: their own steps and commands, as plain processes, seen through the proxy."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from steersman.edge import MAX_BODY, REQUEST_ID
from tests.deploy.account import account, program
from tests.deploy.container import PATIENCE, Container, healthy
from tests.deploy.image import Image, Tell
from tests.deploy.rehearsal import Rehearsal, probe
from tests.deploy.watching import Watcher, by_events, by_socket
from tests.support import documents
from tests.support.clients import TLS, JsonClient, bearer

pytestmark = pytest.mark.service
Json = dict[str, Any]
LAST = "word59 "


@pytest.fixture(scope="module")
def token(stage: Rehearsal) -> str:
    """Of the one user of these tests."""
    return stage.token("ann")


# ---------------------------------------------------------------- the image


def test_the_image_has_the_command_the_pages_and_the_agents(image: Image) -> None:
    """All that a container needs is in its one folder."""
    assert image.run("steersman", "version").stdout.startswith("steersman ")
    assert (image.path("/srv/steersman/agents") / "calculator.py").is_file()
    found = image.run("python", "-c", "from steersman.pages import DIST, are_built; print(DIST, are_built())").stdout
    assert found.startswith(str(image.root))
    assert found.endswith(" True\n")


def test_the_image_has_the_data_files_of_its_packages(image: Image) -> None:
    """Tables, prices and the printed schema are read from them at a start."""
    for file in ("schema/schema.graphql", "engine/providers/prices.json", "models/migrations/env.py"):
        assert len(list(image.path("/srv/steersman/venv").glob(f"lib/*/site-packages/{file}"))) == 1, file


def test_nothing_that_builds_or_tests_is_in_the_image(image: Image) -> None:
    """No installer, no wheel builder, no sources of the pages, no tests."""
    names = {path.name for path in image.path("/srv/steersman/venv").glob("lib/*/site-packages/*")}
    assert names & {"pip", "setuptools", "wheel", "pytest", "mypy", "tests", "bench"} == set()
    assert {path.name for path in image.path("/srv").iterdir()} == {"steersman"}
    assert {path.name for path in image.path("/srv/steersman").iterdir()} == {"agents", "data", "healthy.py", "venv"}


def test_the_image_says_what_it_needs(image: Image) -> None:
    """Started as it is, it names the settings that are missing, and does not serve."""
    ran = image.run(*image.command())
    assert ran.returncode == 2
    assert "STEERSMAN_JWT_SECRET" in ran.stderr


# ---------------------------------------------------------------- health


async def test_everything_is_ready(stage: Rehearsal) -> None:
    """Each process by the image's own check, and readiness, soon after it is healthy, also through the proxy."""
    for container in stage.ours():
        assert container.is_healthy(), container.said()
        await answers_with(f"http://{container.address}/readyz", 200)
        assert probe(f"http://{container.address}/readyz") == (200, {"status": "ready"})
    assert probe(f"{stage.health}/healthz")[0] == 200
    assert probe(f"{stage.url}/readyz") == (200, {"status": "ready"})
    assert probe(f"{stage.url}/healthz") == (200, {"status": "ok"})


def test_the_proxy_takes_its_file_without_a_warning(stage: Rehearsal) -> None:
    """Its own test, with warnings as errors."""
    command = [program("haproxy", "haproxy"), "-c", "-dW", "-f", str(stage.folder / "haproxy.cfg")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "WARNING" not in stage.one("proxy").said()


def test_nothing_runs_as_root(stage: Rehearsal) -> None:
    """Every process of ours is the image's user."""
    for container in stage.ours():
        assert container.process is not None
        assert Path(f"/proc/{container.process.pid}").stat().st_uid == account().uid != 0


# ---------------------------------------------------------------- what passes through


@pytest.mark.parametrize("watch", [by_socket, by_events])
async def test_a_run_is_watched_while_it_talks(stage: Rehearsal, token: str, watch: Any) -> None:
    """Word by word, not all at its end; what was shown is what was said."""
    async with JsonClient(f"{stage.url}/graphql", token) as client:
        run = await started(client)
        watcher: Watcher = watch(stage.url, token, run["streamId"])
        await watcher.shows("word0 ")
        assert LAST not in watcher.page.text
        assert (await whole(client, run))["status"] == "RUNNING"
        assert await watcher.end() == text_of(await whole(client, run))
        assert (await whole(client, run))["status"] == "COMPLETED"


async def test_a_run_is_steered(stage: Rehearsal, token: str) -> None:
    """What is said to a run while it works is in its transcript, and is answered."""
    async with JsonClient(f"{stage.url}/graphql", token) as client:
        run = await started(client)
        watcher = by_socket(stage.url, token, run["streamId"])
        await watcher.shows("word0 ")
        await done(client, documents.STEER, runId=run["id"], input="and then?")
        await watcher.end()
        told = await whole(client, run)
        assert "and then?" in [message["text"] for message in told["messages"]["nodes"] if message["role"] == "USER"]
        assert {"InputQueued", "InputApplied"} <= set(watcher.kinds)


async def test_a_run_is_cancelled(stage: Rehearsal, token: str) -> None:
    """It stops in the middle of its words, on whichever worker it is."""
    async with JsonClient(f"{stage.url}/graphql", token) as client:
        run = await started(client)
        watcher = by_events(stage.url, token, run["streamId"])
        await watcher.shows("word0 ")
        await done(client, documents.CANCEL, runId=run["id"])
        shown = await watcher.end()
        told = await whole(client, run)
        assert told["status"] == "CANCELLED"
        assert shown == text_of(told)
        assert shown.count(LAST) < 3


async def test_a_request_keeps_its_id_or_is_given_one(stage: Rehearsal) -> None:
    """So that what a client reports is found in the proxy's log and in the server's."""
    async with httpx2.AsyncClient(verify=TLS) as http:
        named = await http.get(f"{stage.url}/healthz", headers={REQUEST_ID: "mine-1"})
        unnamed = [(await http.get(f"{stage.url}/healthz")).headers[REQUEST_ID] for _ in range(2)]
    assert named.headers[REQUEST_ID] == "mine-1"
    assert len({*unnamed, "mine-1", ""}) == 4
    for name in ("mine-1", *unnamed):
        await said(stage.one("proxy"), name)


async def test_the_server_s_limit_of_a_body_is_the_one_that_counts(stage: Rehearsal, token: str) -> None:
    """The proxy takes what the server takes, and hands on what the server says of more."""
    query = '{"query": "{ viewer { id } }"}'
    sent = {"Content-Type": "application/json", **bearer(token)}
    async with httpx2.AsyncClient(verify=TLS, timeout=60) as http:
        most = await http.post(f"{stage.url}/graphql", content=query.ljust(MAX_BODY), headers=sent)
        more = await http.post(f"{stage.url}/graphql", content=query.ljust(MAX_BODY + 1), headers=sent)
    assert most.json() == {"data": {"viewer": {"id": "ann"}}}
    assert more.status_code == 413


async def test_a_browser_is_shown_graphiql(stage: Rehearsal) -> None:
    """The page that the image's first stage built, with what it loads."""
    async with httpx2.AsyncClient(verify=TLS) as http:
        page = await http.get(f"{stage.url}/graphql", headers={"Accept": "text/html"})
        script = page.text.partition('src="')[2].partition('"')[0]
        assert (await http.get(f"{stage.url}{script}")).status_code == 200
    assert script.startswith("/console/assets/")


# ---------------------------------------------------------------- one goes, and comes again


@pytest.mark.parametrize("name", ["server-1", "server-2"])
async def test_a_server_is_restarted_and_no_request_fails(stage: Rehearsal, token: str, name: str, tell: Tell) -> None:
    """Requests go to the other one; who watches is cut, comes again through the proxy, and misses nothing."""
    server, proxy = stage.one(name), stage.one("proxy")
    back = f"Server servers/{name} is UP"
    seen = proxy.said().count(back)
    answers: Counter[str] = Counter()
    async with JsonClient(f"{stage.url}/graphql", token) as client, asking(stage, token, answers):
        runs, watchers = await watched(stage, client, token)
        took = await asyncio.to_thread(server.stop)
        server.start()
        await healthy(server)
        shown = [await watcher.end() for watcher in watchers]
        told = [await whole(client, run) for run in runs]
        await said(proxy, back, seen + 1)
    tell(f"{name} stopped in {took:.1f} s; {[watcher.cuts for watcher in watchers]} connections cut; {dict(answers)}")
    assert set(answers) == {"200"}
    assert sum(watcher.cuts for watcher in watchers) >= 1
    assert shown == [text_of(run) for run in told]
    assert [run["status"] for run in told] == ["COMPLETED"] * len(runs)


async def test_a_worker_that_is_stopped_hands_its_runs_over(stage: Rehearsal, token: str, tell: Tell) -> None:
    """Whichever has them: the others go on with them at once, and nobody calls them cancelled."""
    async with JsonClient(f"{stage.url}/graphql", token) as client:
        runs, watchers = await watched(stage, client, token)
        for worker in stage.of("worker"):
            took = await asyncio.to_thread(worker.stop)
            tell(f"{worker.name} drained in {took:.1f} s")
            worker.start()
            await healthy(worker)
        shown = [await watcher.end() for watcher in watchers]
        told = [await whole(client, run) for run in runs]
    assert [run["status"] for run in told] == ["COMPLETED"] * len(runs)
    assert shown == [text_of(run) for run in told]


async def test_without_a_server_the_proxy_says_so(stage: Rehearsal) -> None:
    """Its health fails, and clients get 503; both are well again with the first server."""
    for name in ("server-1", "server-2"):
        await asyncio.to_thread(stage.one(name).stop)
    await answers_with(f"{stage.health}/healthz", 503)
    await answers_with(f"{stage.url}/readyz", 503)
    for name in ("server-1", "server-2"):
        stage.one(name).start()
    await answers_with(f"{stage.url}/readyz", 200)
    await answers_with(f"{stage.health}/healthz", 200)


# ---------------------------------------------------------------- what a client does


async def started(client: JsonClient) -> Json:
    """A run that has begun."""
    run: Json = (await done(client, documents.START, agent="calculator", input="Tell me of words"))["run"]
    return run


async def watched(stage: Rehearsal, client: JsonClient, token: str) -> tuple[list[Json], list[Watcher]]:
    """Six runs that talk, watched in both ways; so there are some on each server and on each worker."""
    runs = [await started(client) for _ in range(6)]
    watchers = [
        watch(stage.url, token, run["streamId"])
        for run, watch in zip(runs, itertools.cycle([by_socket, by_events]), strict=False)
    ]
    for watcher in watchers:
        await watcher.shows("word0 ")
    return runs, watchers


async def done(client: JsonClient, document: str, **given: Any) -> Json:
    """What came of a mutation that must not be refused."""
    (payload,) = (await client.execute(document, {"input": given})).values()
    assert payload["errors"] == []
    return dict(payload)


async def whole(client: JsonClient, run: Json) -> Json:
    """The run with its messages."""
    found: Json = (await client.execute(documents.RUN, {"id": run["id"]}))["run"]
    return found


def text_of(run: Json) -> str:
    """All that its agent has said."""
    return "".join(message["text"] for message in run["messages"]["nodes"] if message["role"] == "ASSISTANT")


@asynccontextmanager
async def asking(stage: Rehearsal, token: str, answers: Counter[str]) -> AsyncIterator[None]:
    """Four clients ask again and again meanwhile, by POST; each answer's status or failure is counted."""
    over = asyncio.Event()

    async def ask() -> None:
        headers = {"Content-Type": "application/json", **bearer(token)}
        async with httpx2.AsyncClient(verify=TLS, timeout=30) as http:
            while not over.is_set():
                try:
                    answer = await http.post(
                        f"{stage.url}/graphql", content='{"query":"{viewer{id}}"}', headers=headers
                    )
                    answers[str(answer.status_code)] += 1
                except httpx2.HTTPError as error:
                    answers[repr(error)] += 1
                await asyncio.sleep(0.01)

    asked = [asyncio.create_task(ask()) for _ in range(4)]
    try:
        yield
    finally:
        over.set()
        await asyncio.gather(*asked)


async def said(container: Container, words: str, times: int = 1) -> None:
    """Wait until it has said this so often."""
    async with asyncio.timeout(PATIENCE):
        while container.said().count(words) < times:
            await asyncio.sleep(0.05)


async def answers_with(url: str, status: int) -> None:
    """Wait until an address answers with this status."""
    async with asyncio.timeout(PATIENCE):
        while (await asyncio.to_thread(probe, url))[0] != status:
            await asyncio.sleep(0.1)
