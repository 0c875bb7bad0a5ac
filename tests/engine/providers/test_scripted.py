"""The scripted model, with which agents are tested."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from engine.providers.provider import Answer, Delta, FailureKind, ModelRequest, ProviderFailure
from engine.providers.scripted import Call, Hold, Say, ScriptedModel, Think, Turn

ASK = ModelRequest(model="any", messages=[{"role": "user", "content": "Hello"}])
OVERLOADED = ProviderFailure(FailureKind.OVERLOADED, "529", shown="overloaded", retryable=True)


async def ask(model: ScriptedModel, request: ModelRequest = ASK) -> tuple[list[Delta], Answer]:
    """The deltas and the answer."""
    async with model.stream(request) as response:
        return [delta async for delta in response], response.answer


async def test_turns_are_played_in_order() -> None:
    """A text, a call, several parts, and a function of the request all stand for a turn."""
    model = ScriptedModel(
        "Hello there.",
        Call("search", {"q": "x"}, id="toolu_1"),
        [Think("Hm."), "Let me see.", Call("search"), Call("read")],
        lambda request: f"You said {request.messages[-1]['content']}.",
        Turn((Say("and th"),), stop_reason="max_tokens"),
    )
    answers = [(await ask(model))[1] for _ in range(5)]
    assert answers[0].blocks == [{"type": "text", "text": "Hello there."}]
    assert answers[1].blocks == [{"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "x"}}]
    assert [block["type"] for block in answers[2].blocks] == ["thinking", "text", "tool_use", "tool_use"]
    assert answers[2].blocks[2]["id"] != answers[2].blocks[3]["id"]
    assert answers[3].blocks[0]["text"] == "You said Hello."
    assert [answer.stop_reason for answer in answers] == ["end_turn", "tool_use", "tool_use", "end_turn", "max_tokens"]


async def test_it_speaks_word_by_word_and_costs_nothing() -> None:
    """What it says is streamed as a real model's words are."""
    deltas, answer = await ask(ScriptedModel([Think("Hm, well."), "Two words"]))
    assert [(delta.kind, delta.text) for delta in deltas] == [
        ("reasoning", "Hm, "), ("reasoning", "well."), ("text", "Two "), ("text", "words"),
    ]  # fmt: skip
    assert answer.usage.output_tokens > 0
    assert answer.usage.cost == Decimal(0)


async def test_it_remembers_what_it_was_asked() -> None:
    """So that a test can look at the prompt."""
    model = ScriptedModel("a", "b")
    await ask(model)
    await ask(model, replace(ASK, system="Be kind."))
    assert [request.system for request in model.requests] == [None, "Be kind."]


async def test_a_failure_is_raised_where_it_stands() -> None:
    """After the words before it."""
    model = ScriptedModel(["Half an", OVERLOADED, " answer"])
    seen: list[str] = []

    async def listen() -> None:
        async with model.stream(ASK) as response:
            async for delta in response:
                seen.append(delta.text)  # noqa: PERF401 - one by one: what came before the failure counts

    with pytest.raises(ProviderFailure) as caught:
        await listen()
    assert caught.value is OVERLOADED
    assert "".join(seen) == "Half an"


async def test_a_request_beyond_the_script_is_a_failure_that_is_not_repeated() -> None:
    """A test that asks more often than it meant to fails at once."""
    with pytest.raises(ProviderFailure, match="the script has 0 turns") as caught:
        await ask(ScriptedModel())
    assert not caught.value.retryable


async def test_it_can_be_held_and_stopped_in_the_middle() -> None:
    """What was said until then is what is kept."""
    never = asyncio.Event()
    model = ScriptedModel(["Once upon ", Hold(never), "a time"])
    async with model.stream(ASK) as response:
        said = asyncio.Event()

        async def listen() -> None:
            async for _ in response:
                said.set()

        task = asyncio.create_task(listen())
        await said.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    kept = response.partial().blocks
    assert kept[0]["text"].startswith("Once")
    assert len(kept) == 1


async def test_broken_input_can_be_scripted() -> None:
    """To see what an agent makes of it."""
    _, answer = await ask(ScriptedModel(Call("search", '{"q": ')))
    assert answer.broken == {0: '{"q": '}
