"""The operations of docs/api.md are real: all fit the schema, and its story is played against the application.

The blocks marked `graphql run` are sent in their order. Their variables are what earlier answers gave. A `json` block
behind one is what it answers, but for what stands behind "…".
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx2
import pytest
from graphql import OperationDefinitionNode, OperationType, build_schema, parse, validate

from engine.engine import open_engine
from engine.inputs import MAX_INPUT, MAX_KEY, MAX_METADATA, MAX_REASON, MAX_TITLE
from engine.loading import load_agents
from engine.providers.demo import DemoModel
from engine.providers.prices import load_prices
from models.enums import FinishReason, ToolCallState
from models.page import MAX_SIZE
from models.verbs.delivering import MAX_WEBHOOKS
from models.verbs.scheduling import MAX_SCHEDULES
from models.verbs.sending import QUEUE_CHARACTERS, QUEUE_MESSAGES
from steersman.app import create_app, drain
from steersman.auth import mint
from steersman.graphql.limits import Limits
from steersman.process import engine_config
from steersman.settings import Settings
from tests.support.client import Client, Feed
from tests.support.curl import commands
from tests.support.databases import new_sqlite
from tests.support.markdown import Block
from tests.support.project import ROOT
from tests.support.server import running
from tests.support.written import all_blocks, blocks_of

PAGE = "api.md"
TEXT = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
SCHEMA = build_schema((ROOT / "schema" / "schema.graphql").read_text(encoding="utf-8"))


@asynccontextmanager
async def application(folder: Path) -> AsyncIterator[Client]:
    """The application with the example agents and the demo model; a client of the user ann."""
    settings = Settings(
        database_url=new_sqlite(folder), jwt_secret="long enough for HS256, and secret", drain_seconds=0
    )
    config = dataclasses.replace(engine_config(settings), synchronous="OFF")
    agents, prices = load_agents(ROOT / "agents"), load_prices()
    async with open_engine(config, agents=agents, provider=DemoModel(delay=0.1), prices=prices) as engine:
        app = create_app(settings, lambda: nullcontext(engine))
        async with running(app, drain=lambda: drain(app)) as server:
            client = Client(lambda: server, mint(settings, "ann"))
            try:
                yield client
            finally:
                await client.close()


class Story:
    """The page's operations as a reader plays them: what was answered is known to the next."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.known: dict[str, Any] = {}
        self.feeds: dict[str, Feed] = {}

    async def play(self, block: Block) -> dict[str, Any] | None:
        """Send one; what it answers, or None for a subscription, which is followed from now on."""
        (operation,) = parse(block.text).definitions
        assert isinstance(operation, OperationDefinitionNode)
        assert operation.name is not None
        name = operation.name.value
        wanted = re.findall(r"\$(\w+): \w+!", block.text)
        variables = {variable: self.known[variable] for variable in wanted}
        if operation.operation is OperationType.SUBSCRIPTION:
            self.feeds[name] = await self.client.watch(block.text, **variables)
            if name == "Watch":
                await self.feeds[name].sees("TextDelta")
            if name == "Approvals":
                await self.feeds[name].until(lambda feed: feed.items)
                self.known["toolCallId"] = self.feeds[name].items[0]["id"]
            return None
        answer = await self.client.ask(block.text, **variables)
        self._learn(answer)
        if name == "Stop":
            await self.feeds["Watch"].end()
        return answer

    def _learn(self, answer: dict[str, Any]) -> None:
        (payload,) = answer.values()
        run = payload.get("run") if isinstance(payload, dict) else None
        given = {"runId": (run or {}).get("id"), "streamId": (run or {}).get("streamId")}
        agent = payload.get("agent") if isinstance(payload, dict) else None
        thread = payload.get("thread") if isinstance(payload, dict) else None
        given["threadId"] = (thread or {}).get("id")
        given["agentId"] = agent.get("id") if isinstance(agent, dict) else None
        schedule = payload.get("schedule") if isinstance(payload, dict) else None
        given["scheduleId"] = (schedule or {}).get("id")
        remote = payload.get("remote") if isinstance(payload, dict) else None
        given["remoteId"] = remote.get("id") if isinstance(remote, dict) else None
        given["inputId"] = payload.get("inputId") if isinstance(payload, dict) else None
        self.known |= {name: value for name, value in given.items() if value is not None}


@pytest.mark.parametrize("block", blocks_of(PAGE, "graphql"), ids=lambda block: f"line {block.line}")
def test_every_operation_of_the_page_fits_the_schema(block: Block) -> None:
    """As it stands."""
    assert validate(SCHEMA, parse(block.text)) == []


async def test_the_story_of_the_page_is_what_happens(tmp_path: Path) -> None:
    """Each operation does what it says, and each answer that is shown is the one that comes."""
    async with asyncio.timeout(120), application(tmp_path) as client:
        story = Story(client)
        answer: dict[str, Any] | None = None
        shown = 0
        for block in all_blocks(PAGE):
            if block.info == "graphql run":
                answer = await story.play(block)
                for payload in (answer or {}).values():
                    refused = payload.get("errors") if isinstance(payload, dict) else None
                    assert not refused or "Wrong" in block.text, payload
            elif block.info == "json":
                shown += 1
                assert differences(json.loads(block.text), answer) == [], block.line
        assert shown > 5
        feeds = story.feeds
        events = [event["__typename"] for event in feeds["Watch"].items]
        assert (events[-1], "TextDelta" in events) == ("RunResult", True)
        assert feeds["Watch"].items[-1]["cancelled"] is True
        assert feeds["Messages"].items[0]["text"] == "Count slowly to 30"
        for name, feed in feeds.items():
            await feed.until(lambda feed: feed.items)
            assert feed.codes is None, name


async def test_the_commands_of_the_page_get_their_answers(tmp_path: Path) -> None:
    """Each curl command as it stands, but for the address, the token and the stream's id."""
    async with application(tmp_path) as client, httpx2.AsyncClient(timeout=60) as http:
        run = await client.start("6 * 7", agent="calculator")
        (block,) = [block for block in blocks_of(PAGE, "sh") if block.info == "sh curl"]
        text = block.text.replace("http://127.0.0.1:8000", client.server().url).replace("str_…", run["streamId"])
        bodies = []
        for request in commands(text, {"TOKEN": client.token or ""}):
            response = await http.request(
                request.method, request.url, headers=request.headers, params=request.parameters, content=request.body
            )
            assert response.status_code == 200, response.text
            bodies.append(response.text)
        listed, viewer, events = bodies
        assert [found["id"] for found in json.loads(listed)["data"]["runs"]["nodes"]] == [run["id"]]
        assert json.loads(viewer) == {"data": {"viewer": {"id": "ann"}}}
        assert '"RunResult"' in events
        assert events.endswith("event: complete\ndata: \n\n")


def test_every_state_and_every_finish_is_explained() -> None:
    """Each has a row in a table, and nothing else has."""
    rows = set(re.findall(r"^\| `([A-Z_]+)` \|", TEXT, re.MULTILINE))
    states = {state.value for state in ToolCallState}
    reasons = {reason.value for reason in FinishReason}
    assert rows == states | reasons


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    """Each number stands in the table."""
    table = TEXT.partition("## Limits")[2]
    limits = Limits()
    numbers = [MAX_INPUT, QUEUE_MESSAGES, QUEUE_CHARACTERS, MAX_TITLE, MAX_REASON, MAX_KEY, MAX_SIZE]
    numbers += [MAX_SCHEDULES, MAX_WEBHOOKS, MAX_METADATA // 1024, limits.depth, limits.fields, limits.tokens]
    assert [number for number in numbers if f"{number:,}" not in table] == []


def differences(shown: Any, real: Any, place: str = "") -> list[str]:
    """Where a shown answer differs from a real one; a text that ends in "…" stands for all that begin so."""
    if isinstance(shown, dict) and isinstance(real, dict) and shown.keys() == real.keys():
        return [found for name in shown for found in differences(shown[name], real[name], f"{place}.{name}")]
    if isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real):
        pairs = enumerate(zip(shown, real, strict=True))
        return [found for index, (one, other) in pairs for found in differences(one, other, f"{place}[{index}]")]
    if isinstance(shown, str) and shown.endswith("…") and isinstance(real, str) and real.startswith(shown[:-1]):
        return []
    return [] if shown == real else [f"{place}: {shown!r} is shown, and {real!r} comes"]
