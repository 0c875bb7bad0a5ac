"""The demo model, which answers where there is no key."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from engine.loading import load_agents
from engine.providers.demo import INTRODUCTION, DemoModel, demo_turn
from engine.providers.provider import ModelRequest
from engine.providers.scripted import Call, Turn
from tests.support.messages_rules import problems

SEARCH = {
    "name": "search_docs",
    "description": "Search.",
    "input_schema": {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 5}},
        "required": ["query"],
    },
}
READ = {
    "name": "read_page",
    "description": "Read.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
EXAMPLES = Path(__file__).parents[3] / "agents"


def request(*messages: dict[str, Any], tools: list[dict[str, Any]] | None = None) -> ModelRequest:
    """A request with these messages."""
    return ModelRequest(model="any", messages=list(messages), tools=tools or [])


def user(*content: Any) -> dict[str, Any]:
    """A user's turn; texts stand for blocks of text."""
    return {"role": "user", "content": [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]}


def called(identifier: str, name: str) -> dict[str, Any]:
    """An answer with a call."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": identifier, "name": name, "input": {}}]}


def result(identifier: str, content: str, *, is_error: bool = False) -> dict[str, Any]:
    """A result."""
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, "is_error": is_error}


def words(turn: Turn) -> str:
    """What the turn says."""
    return "".join(part for part in turn.parts if isinstance(part, str))


def call_of(turn: Turn) -> Call | None:
    """What the turn calls."""
    return next((part for part in turn.parts if isinstance(part, Call)), None)


def test_its_first_words_say_what_it_is() -> None:
    """Nobody takes it for a real model; later turns of the run say it in brief."""
    assert words(demo_turn(request(user("Hello")))).startswith(INTRODUCTION)
    assert "no real model" in INTRODUCTION
    assert "ANTHROPIC_API_KEY" in INTRODUCTION
    later = demo_turn(request(user("Hello"), {"role": "assistant", "content": "Hi"}, user("Well?")))
    assert "demo model" in words(later)[:60]


def test_it_calls_a_tool_with_the_users_words() -> None:
    """The first one, where none is named; with what is required."""
    turn = demo_turn(request(user("What do pelicans eat?"), tools=[SEARCH, READ]))
    assert call_of(turn) == Call("search_docs", {"query": "What do pelicans eat?"})


def test_it_reads_what_it_has_found() -> None:
    """A page that a result names, with the tool that takes a path."""
    found = user(result("t1", '[{"path": "birds/pelican.md"}]'))
    turn = demo_turn(request(user("Pelicans?"), called("t1", "search_docs"), found, tools=[SEARCH, READ]))
    assert call_of(turn) == Call("read_page", {"path": "birds/pelican.md"})


def test_its_answer_is_made_of_the_results() -> None:
    """Failures are told as failures."""
    messages = [user("Pelicans?"), called("t1", "search_docs"), user(result("t1", "They eat fish."))]
    turn = demo_turn(request(*messages, tools=[SEARCH]))
    assert call_of(turn) is None
    assert "Pelicans?" in words(turn)
    assert "search_docs says: They eat fish." in words(turn)
    messages[2] = user(result("t1", "no index", is_error=True))
    assert "search_docs failed: no index" in words(demo_turn(request(*messages, tools=[SEARCH])))


def test_what_is_said_while_a_tool_works_is_taken_up() -> None:
    """Input that arrived behind the results is answered by name; a tool that it names is called."""
    steered = user(result("t1", "Nothing."), "read whales.md instead")
    turn = demo_turn(request(user("Pelicans?"), called("t1", "search_docs"), steered, tools=[SEARCH, READ]))
    assert words(turn).startswith("You also asked: “read whales.md instead”.")
    assert call_of(turn) == Call("read_page", {"path": "whales.md"})


def test_without_tools_it_has_something_to_say() -> None:
    """Enough to see it stream."""
    turn = demo_turn(request(user("Hello there")))
    assert "Hello there" in words(turn)
    assert len(words(turn)) > 200


def test_an_agent_with_an_output_type_gets_an_answer_that_fits() -> None:
    """After its tools; without a word around it."""
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "sources": {"type": "array", "items": {"type": "string"}}},
        "required": ["text", "sources"],
    }
    asked = dataclasses.replace(request(user("Pelicans?"), tools=[SEARCH]), output=schema)
    assert call_of(demo_turn(asked)) == Call("search_docs", {"query": "Pelicans?"})
    later = [user("Pelicans?"), called("t1", "search_docs"), user(result("t1", "They eat fish."))]
    answer = words(demo_turn(dataclasses.replace(asked, messages=later)))
    assert json.loads(answer) == {"text": "Pelicans?", "sources": []}


@pytest.mark.parametrize(
    "messages", [[], [user({"type": "image", "source": {}})], [user(result("t9", "late"))]], ids=str
)
def test_it_has_an_answer_to_any_conversation(messages: list[dict[str, Any]]) -> None:
    """Also to one without words, or with a result of a call that it does not know."""
    assert words(demo_turn(request(*messages)))


async def test_it_speaks_word_by_word_with_pauses() -> None:
    """The pauses are slept through what is given for it."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with DemoModel(delay=0.02, sleep=sleep).stream(request(user("Hello"))) as response:
        deltas = [delta async for delta in response]
    assert len(deltas) > 20
    assert slept == [0.02] * len(deltas)
    assert response.answer.stop_reason == "end_turn"
    assert response.answer.usage.cost == 0


@pytest.mark.parametrize("name", ["researcher", "calculator", "slowpoke"])
@pytest.mark.parametrize(
    "asked", ["How do leases work?", "What is 6 * 7?", "Convert 5 km to mile", "Count to 3, please."]
)
async def test_it_plays_a_turn_of_each_example_agent(name: str, asked: str) -> None:
    """Its calls fit the tools' own check, the conversation is one that the API takes, and it comes to an end."""
    agent = load_agents(EXAMPLES).get(name)
    assert agent is not None
    tools = [tool.definition() for tool in agent.toolbox.values()]
    model, messages = DemoModel(delay=0), [user(asked)]
    while messages[-1]["role"] == "user":
        assert problems(messages) == []
        assert len(messages) < 12
        async with model.stream(request(*messages, tools=tools)) as response:
            assert [delta async for delta in response]
        messages.append({"role": "assistant", "content": response.answer.blocks})
        calls = [block for block in response.answer.blocks if block["type"] == "tool_use"]
        assert response.answer.stop_reason == ("tool_use" if calls else "end_turn")
        for call in calls:
            agent.toolbox[call["name"]].check(call["input"])
        if calls:
            messages.append(user(*(result(call["id"], "It is in leases-and-fencing.md.") for call in calls)))
    assert len(messages) >= 4
