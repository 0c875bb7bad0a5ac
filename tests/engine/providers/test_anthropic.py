"""The real SDK against a real server: what comes through, what goes out, and what breaks."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from engine.providers import real_calls
from engine.providers.anthropic import AnthropicProvider, parameters_of
from engine.providers.provider import Delta, KnowsContexts, ModelRequest, ProviderFailure
from models.usage import Usage
from tests.support.asking import ASK, KEY, TOOL, ask
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer

# What comes through


async def test_an_answer_of_text_thinking_and_calls_comes_whole(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """Deltas as they are written, then the blocks, the reason, the usage with its cost, the model and the request."""
    server.play(
        Script(cache_read_input_tokens=1_000, cache_creation_input_tokens=100)
        .thinking("Hm", "m.").text("Hel", "lo").tool("search", {"q": "x"}).stop("tool_use", output_tokens=50)
    )  # fmt: skip
    deltas, answer = await ask(provider)
    assert deltas == [
        Delta("reasoning", 0, "Hm"), Delta("reasoning", 0, "m."), Delta("text", 1, "Hel"), Delta("text", 1, "lo"),
    ]  # fmt: skip
    thinking, text, call = answer.blocks
    assert thinking == {"type": "thinking", "thinking": "Hmm.", "signature": thinking["signature"]}
    assert thinking["signature"].startswith("sig_")
    assert text == {"type": "text", "text": "Hello"}
    assert call == {"type": "tool_use", "id": call["id"], "name": "search", "input": {"q": "x"}}
    assert answer.stop_reason == "tool_use"
    assert answer.usage == Usage(10, 50, 1_000, 100, Decimal("0.00087"))
    assert (answer.model, answer.request_id) == ("claude-sonnet-5-5", server.requests[0].request_id)
    assert server.refused == []


async def test_deltas_come_while_the_server_still_speaks(server: MessagesServer, provider: AnthropicProvider) -> None:
    """A delta is handed on before the next one is written."""
    released = asyncio.Event()
    server.play(Script().half_text("first ").hold(released).event(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "second"}}
    ).stop())  # fmt: skip
    seen: list[str] = []
    async with provider.stream(ASK) as response:
        async for delta in response:
            seen.append(delta.text)
            released.set()
    assert seen == ["first ", "second"]


async def test_characters_split_between_two_reads_are_whole(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """The body comes byte by byte: an emoji is four reads."""
    server.play(Script().text("é \U0001f600", " 漢字").in_chunks(1))
    deltas, answer = await ask(provider)
    assert "".join(delta.text for delta in deltas) == "é \U0001f600 漢字" == answer.blocks[0]["text"]


async def test_nul_and_halves_of_characters_are_mended(server: MessagesServer, provider: AnthropicProvider) -> None:
    """A pair split between two deltas is its character; what stands alone is U+FFFD."""
    server.play(Script().text("W\x00s\x00 \ud83d", "\ude00 \ud83d"))
    deltas, answer = await ask(provider)
    assert "".join(delta.text for delta in deltas) == "W\ufffds\ufffd \U0001f600 \ufffd" == answer.blocks[0]["text"]


async def test_unknown_blocks_deltas_and_events_survive(server: MessagesServer, provider: AnthropicProvider) -> None:
    """Through the SDK's types too, which know nothing of them."""
    block = {"type": "hologram", "text": None, "shape": {"faces": [1, 2.5]}, "when": "2026-01-01T00:00:00Z"}
    server.play(
        Script().event({"type": "comet", "tail": [1]})
        .block(block, {"type": "hologram_delta", "shape": {"depth": 1}}).text("x")
    )  # fmt: skip
    _, answer = await ask(provider)
    assert answer.blocks[0] == {**block, "shape": {"faces": [1, 2.5], "depth": 1}}


async def test_odd_events_are_no_failure(server: MessagesServer, provider: AnthropicProvider) -> None:
    """Whatever a server writes where something else belongs, the rest is read."""
    script = Script().text("a")
    for odd in (
        {"type": "content_block_start", "index": "x", "content_block": "hello"},
        {"type": "content_block_delta", "index": 9, "delta": None},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 5}},
        {"type": None},
        {"type": "message_start", "message": 5},
        {"type": "content_block_stop"},
    ):
        script.event(odd)
    server.play(script)
    deltas, answer = await ask(provider)
    assert [delta.text for delta in deltas] == ["a"]
    assert answer.blocks[0] == {"type": "text", "text": "a"}


async def test_a_call_cut_by_max_tokens_is_broken(server: MessagesServer, provider: AnthropicProvider) -> None:
    """`{"a":"x` with max_tokens is never an input of {}."""
    server.play(Script().text("Well,").half_tool("search", '{"a":"x').stop("max_tokens"))
    _, answer = await ask(provider)
    assert answer.broken == {1: '{"a":"x'}
    assert answer.stop_reason == "max_tokens"


async def test_broken_json_of_a_call_is_told_as_it_came(server: MessagesServer, provider: AnthropicProvider) -> None:
    """Also where the model says that it is done."""
    server.play(Script().tool("search", '{"a": "x', pieces=4))
    _, answer = await ask(provider)
    assert answer.broken == {0: '{"a": "x'}


async def test_the_price_is_that_of_the_model_that_answered(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """A dated name of a known family has its price; an unknown one has none."""
    server.play(
        Script(model="claude-haiku-4-5-20251001", input_tokens=1_000_000).text("x"), Script(model="x").text("x")
    )
    assert (await ask(provider))[1].usage.cost == Decimal("1.000005")
    assert (await ask(provider))[1].usage.cost is None


# What goes out


async def test_every_kind_of_block_can_be_sent_back_as_it_came(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """Thinking with its signature, calls and results: the server takes its own words back, byte for byte."""
    server.play(
        Script().thinking("Hm \x7f", "…").redacted().text("Let me see.").tool("search", {"q": "é"}), Script().text("ok")
    )
    _, first = await ask(provider, replace(ASK, tools=[TOOL]))
    result = {"type": "tool_result", "tool_use_id": first.blocks[3]["id"], "content": "found"}
    messages = [*ASK.messages, {"role": "assistant", "content": first.blocks}, {"role": "user", "content": [result]}]
    await ask(provider, replace(ASK, tools=[TOOL], messages=messages))
    assert server.refused == []
    assert server.requests[1].messages[1]["content"] == first.blocks


def without_marks(value: Any) -> Any:
    """A request without the cache's breakpoints."""
    if isinstance(value, dict):
        return {name: without_marks(item) for name, item in value.items() if name != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


def marked(messages: list[dict[str, Any]]) -> list[int]:
    """Which messages end with a breakpoint."""
    return [place for place, message in enumerate(messages) if "cache_control" in message["content"][-1]]


def step(number: int) -> ModelRequest:
    """The request of a step of a conversation, each longer than the one before."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]
    for one in range(number):
        call = {"type": "tool_use", "id": f"t{one}", "name": "search", "input": {"b": 1, "a": 2}}
        results = [{"type": "tool_result", "tool_use_id": f"t{one}", "content": "r"}]
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": results}]
    return replace(ASK, tools=[{**TOOL, "name": "other"}, TOOL], messages=messages)


async def test_each_step_reads_the_prefix_that_the_step_before_wrote(
    server: MessagesServer, provider: AnthropicProvider
) -> None:
    """System, tools and earlier messages are the same bytes, and the place where the last call ended is marked."""
    server.answer(lambda _: Script().text("x"))
    for number in range(4):
        await ask(provider, step(number))
    bodies = [request.body for request in server.requests]
    for before, after in pairwise(bodies):
        for name in ("system", "tools"):
            assert json.dumps(before[name]) == json.dumps(after[name])
        earlier = json.dumps(without_marks(before["messages"]))
        assert json.dumps(without_marks(after["messages"])).startswith(earlier[:-1])
        assert marked(before["messages"])[-1] in marked(after["messages"])
    assert server.refused == []


def test_breakpoints_stand_on_the_system_prompt_the_last_tool_and_two_turns_of_the_user() -> None:
    """Four, which is what the API allows."""
    parameters = parameters_of(step(3))
    assert "cache_control" in parameters["system"][-1]
    assert ["cache_control" in tool for tool in parameters["tools"]] == [False, True]
    assert marked(parameters["messages"]) == [4, 6]


def test_a_request_is_made_without_changing_what_it_is_made_of() -> None:
    """The transcript belongs to the caller."""
    request = step(1)
    before = json.dumps([request.messages, request.tools])
    parameters_of(request)
    assert json.dumps([request.messages, request.tools]) == before


@pytest.mark.parametrize("system", [None, "", " \n"], ids=repr)
async def test_an_empty_system_prompt_is_left_out(
    server: MessagesServer, provider: AnthropicProvider, system: str | None
) -> None:
    """The API refuses an empty text; without tools there is no list of them either."""
    server.play(Script().text("x"))
    await ask(provider, replace(ASK, system=system))
    assert server.refused == []
    assert {"system", "tools", "thinking"}.isdisjoint(server.requests[0].body)


def test_reasoning_is_asked_for_only_where_it_is_wanted_and_known_to_be_taken() -> None:
    """A model that does not take adaptive thinking would refuse the request."""
    asked = {"type": "adaptive", "display": "summarized"}
    for model in ("claude-opus-5-5", "claude-sonnet-4-6", "claude-fable-5-1-20261001", "claude-opus-5"):
        assert parameters_of(replace(ASK, model=model, reasoning=True))["thinking"] == asked
    for model in ("claude-opus-5", "claude-sonnet-5-5", "claude-fable-5-1"):
        assert "thinking" not in parameters_of(replace(ASK, model=model))
    for model in (
        "claude-opus-4-5",
        "claude-haiku-4-5",
        "claude-sonnet-4-5-20250929",
        "llama",
        "claude-opus-4-20250514",
    ):
        assert "thinking" not in parameters_of(replace(ASK, model=model, reasoning=True))


def test_how_the_model_chooses_is_asked_for_where_it_is_given() -> None:
    """A temperature goes past the SDK, which has no argument for it any more; "auto" is what the API does by itself."""
    plain = parameters_of(ASK)
    assert not {"tool_choice", "extra_body"} & plain.keys()
    tools = [{"name": "add", "description": "Adds.", "input_schema": {"type": "object"}}]
    asked = parameters_of(replace(ASK, tools=tools, tool_choice="any", temperature=0.5))
    assert (asked["tool_choice"], asked["extra_body"]) == ({"type": "any"}, {"temperature": 0.5})
    assert "tool_choice" not in parameters_of(replace(ASK, tool_choice="any"))


def test_a_model_that_must_call_a_tool_is_not_asked_to_think() -> None:
    """The API takes one or the other."""
    tools = [{"name": "add", "description": "Adds.", "input_schema": {"type": "object"}}]
    asked = replace(ASK, model="claude-opus-5-5", tools=tools, tool_choice="any", reasoning=True)
    assert "thinking" not in parameters_of(asked)


async def test_another_server_is_asked_with_a_temperature(server: MessagesServer, provider: AnthropicProvider) -> None:
    """It arrives in the request's body; a server that does not take it says so."""
    assert provider.refusal_of("temperature") is None
    with pytest.raises(ProviderFailure, match="temperature: extra inputs"):
        async with provider.stream(replace(ASK, temperature=0.5)):
            pass
    server.refused.clear()


def test_a_model_that_thinks_unasked_is_always_asked_to_show_it() -> None:
    """The newest Opus says in its thinking what it says between tool calls: without a summary that would be lost."""
    assert parameters_of(replace(ASK, model="claude-opus-5-5"))["thinking"]["display"] == "summarized"


async def test_a_models_context_is_what_the_api_tells(server: MessagesServer, provider: AnthropicProvider) -> None:
    """None where it does not know the model, where it can't be reached, and where real models are refused."""
    server.contexts = {"claude-sonnet-5-5": 1_000_000}
    assert isinstance(provider, KnowsContexts)
    assert await provider.context_of("claude-sonnet-5-5") == 1_000_000
    assert await provider.context_of("model-x") is None
    with real_calls.refused():
        assert await provider.context_of("claude-sonnet-5-5") is None
    async with AnthropicProvider(api_key=KEY, base_url="http://127.0.0.1:9") as nowhere:
        assert await nowhere.context_of("claude-sonnet-5-5") is None


async def test_the_servers_address_may_come_from_the_environment(
    server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ANTHROPIC_BASE_URL reaches a local server, past a proxy that the environment names."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server.play(Script().text("x"))
    async with AnthropicProvider(api_key=KEY) as provider:
        assert (await ask(provider))[1].blocks == [{"type": "text", "text": "x"}]
