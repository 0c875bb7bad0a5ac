"""`steersman.call_tool`: server code runs a tool of a built-in type, checked as a model's call is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

import steersman
from engine.bad_arguments import BadArguments
from engine.bad_config import BadConfig
from steersman import ToolError
from steersman.process import engine_config
from steersman.settings import read_settings
from steersman.testing import ScriptedModel, open_client
from tests.support.web_server import WebServer, answer, web_server


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    """A server at 127.0.0.1."""
    async with web_server({"/": answer("inside")}) as web:
        yield web


async def fetch(web: WebServer) -> str:
    """What a tool reads that may ask this server by name."""
    config = {"allow": [f"127.0.0.1:{web.port}"], "http": True}
    return str(await steersman.call_tool("fetch", {"url": f"http://127.0.0.1:{web.port}/"}, config=config))


async def test_a_tool_gives_what_it_gives() -> None:
    """A value of Python, not a text for a model."""
    assert await steersman.call_tool("calculator", {"expression": "2 ** 10"}) == "1024"
    assert set(await steersman.call_tool("clock", {"zone": "Europe/Vienna"})) == {"time", "weekday", "zone"}
    documents = [{"key": "k", "title": "Tea", "text": "Green or black."}]
    found = await steersman.call_tool("knowledge", {"query": "tea"}, documents=documents)
    assert found == {"passages": [{"key": "k", "title": "Tea", "excerpt": "Green or black."}]}


async def test_what_does_not_fit_is_an_error_in_words() -> None:
    """The type, its configuration and the arguments are checked before anything runs; the tool speaks by ToolError."""
    with pytest.raises(ValueError, match="no tool type 'calc'; there are: calculator, clock"):
        await steersman.call_tool("calc", {})
    with pytest.raises(BadConfig, match="no time zone"):
        await steersman.call_tool("clock", {}, config={"zone": "Nowhere"})
    with pytest.raises(BadArguments, match="expression: is missing"):
        await steersman.call_tool("calculator", {})
    with pytest.raises(ToolError, match="divides by zero"):
        await steersman.call_tool("calculator", {"expression": "1/0"})
    with pytest.raises(ValueError, match="a document has a key, a text and perhaps a title; this one has title"):
        await steersman.call_tool("knowledge", {"query": "x"}, documents=[{"title": "x"}])
    with pytest.raises(ValueError, match="needs a run around it"):
        await steersman.call_tool("agent", {"task": "x"}, config={"agent": "desk"})


async def test_the_event_loop_goes_on_meanwhile() -> None:
    """What takes time works in a thread."""
    call = asyncio.create_task(steersman.call_tool("calculator", {"expression": "3 ** 6000 % 7"}))
    await asyncio.sleep(0)
    assert not call.done()
    assert await call == "1"


async def test_private_addresses_are_fetched_only_where_the_deployment_says_so(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the settings, where no engine is open; a caller's allow-list is not enough."""
    for value in (None, "off"):
        if value is not None:
            monkeypatch.setenv("STEERSMAN_FETCH_PRIVATE", value)
        with pytest.raises(ToolError, match="not on the public internet"):
            await fetch(web)
    assert web.connections == 0
    monkeypatch.setenv("STEERSMAN_FETCH_PRIVATE", "on")
    assert (await fetch(web)).endswith("inside")


async def test_an_open_engine_says_what_may_be_fetched(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was opened by the settings; what is in the environment by now does not count."""
    monkeypatch.setenv("STEERSMAN_FETCH_PRIVATE", "on")
    async with open_client({}, ScriptedModel()):
        with pytest.raises(ToolError, match="not on the public internet"):
            await fetch(web)
    assert web.connections == 0


def test_the_setting_reaches_the_engine() -> None:
    """Off unless it is set."""
    assert engine_config(read_settings({})).fetch_private is False
    assert engine_config(read_settings({"STEERSMAN_FETCH_PRIVATE": "on"})).fetch_private is True
