"""The context of a tool call, from coroutines and from threads."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from engine.context import Context, LlmReply
from engine.tool_error import ToolError
from models.usage import Usage


def build(**changes: Any) -> Context[Any]:
    """One with these changes to what it needs at least."""
    return Context(**{"user_id": "alice", "run_id": "run_1", "agent": "helper", "tool_call_id": "call_1", **changes})


async def echo(
    messages: list[dict[str, Any]], *, system: str | None, model: str | None, max_tokens: int | None
) -> LlmReply:
    """A model that tells what it was asked."""
    return LlmReply(text=f"{messages} {system} {max_tokens}", usage=Usage(output_tokens=3), model=model or "default")


def test_it_says_whose_call_it_is() -> None:
    """All that identifies the call is there, and the key of a first attempt is the call's own id."""
    ctx = build(roles=["admin"], context={"tenant": "t1"}, deps=7)
    assert (ctx.user_id, ctx.run_id, ctx.agent, ctx.tool_call_id) == ("alice", "run_1", "helper", "call_1")
    assert (ctx.roles, ctx.attempt, ctx.idempotency_key) == (frozenset({"admin"}), 1, "call_1")
    assert (dict(ctx.context), ctx.deps) == ({"tenant": "t1"}, 7)
    assert "call_1" in repr(ctx)


def test_trusted_values_can_not_be_changed_by_a_tool() -> None:
    """Neither in the context, nor through a nested value for the next call."""
    trusted = {"tenant": {"id": "t1"}}
    ctx = build(context=trusted)
    with pytest.raises(TypeError):
        ctx.context["tenant"] = "t2"  # type: ignore[index]  # what is tested
    ctx.context["tenant"]["id"] = "t2"
    assert trusted == {"tenant": {"id": "t1"}}


async def test_progress_is_bounded_clean_and_in_range() -> None:
    """Whatever a tool says of itself can be shown."""
    said: list[tuple[str, float | None]] = []
    ctx = build(report=lambda message, fraction: said.append((message, fraction)))
    ctx.progress("half", 0.5)
    ctx.progress("x" * 5_000, 7)
    ctx.progress("a\x00", -1)
    ctx.progress("?", float("nan"))
    assert [fraction for _, fraction in said] == [0.5, 1.0, 0.0, None]
    assert len(said[1][0]) == 1_000
    assert said[2][0] == "a\ufffd"


class Unspeakable:
    """Something that can't be written as text."""

    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("fraction", [10**400, "half", object(), float("inf"), None])
async def test_progress_never_fails(fraction: Any) -> None:
    """What a tool says amiss of its progress costs it no more than the saying."""
    said: list[tuple[str, float | None]] = []
    ctx = build(report=lambda message, fraction: said.append((message, fraction)))
    ctx.progress("on", fraction)
    ctx.progress(Unspeakable())  # type: ignore[arg-type]  # what is tested
    assert said == [("on", None), ("Unspeakable", None)]


async def test_progress_from_a_thread_is_told_on_the_loop_in_order() -> None:
    """A thread never blocks, and what it says arrives where the engine lives."""
    said: list[str] = []
    loop = asyncio.get_running_loop()

    def report(message: str, fraction: float | None) -> None:
        assert asyncio.get_running_loop() is loop
        said.append(message)

    ctx = build(report=report)

    def work() -> None:
        for number in range(10):
            ctx.progress(str(number))

    await asyncio.to_thread(work)
    await asyncio.sleep(0)
    assert said == [str(number) for number in range(10)]


async def test_a_chatty_thread_does_not_pile_up_memory() -> None:
    """While the loop is busy, only the newest of what a thread says is kept."""
    said: list[str] = []
    ctx = build(report=lambda message, fraction: said.append(message))

    def work() -> None:
        for number in range(10_000):
            ctx.progress(str(number))

    thread = asyncio.get_running_loop().run_in_executor(None, work)
    while not thread.done():
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert said[-1] == "9999"
    assert len(ctx._waiting) == 0


async def test_after_its_end_a_call_says_and_asks_nothing_more() -> None:
    """A thread that was given up is not heard."""
    said: list[str] = []
    ctx = build(report=lambda message, fraction: said.append(message), llm=echo)
    ctx.close()
    ctx.progress("late")
    await asyncio.to_thread(ctx.progress, "later")
    await asyncio.sleep(0)
    assert said == []
    with pytest.raises(ToolError, match="has ended"):
        await ctx.llm("hello")


async def test_a_sub_call_takes_a_text_or_messages() -> None:
    """A text becomes one user turn; what is not given is left to the engine."""
    ctx = build(llm=echo)
    reply = await ctx.llm("hi", system="short", max_tokens=9)
    assert reply.text == "[{'role': 'user', 'content': 'hi'}] short 9"
    assert (reply.model, reply.usage.output_tokens) == ("default", 3)
    assert (await ctx.llm([{"role": "user", "content": "hi"}], model="m")).model == "m"


async def test_a_plain_function_asks_from_its_thread() -> None:
    """llm_sync is the same call for code that can't await; on a loop it would hang, and says so."""
    ctx = build(llm=echo)
    reply = await asyncio.to_thread(ctx.llm_sync, "hi")
    assert reply.model == "default"
    with pytest.raises(RuntimeError, match=r"await ctx\.llm"):
        ctx.llm_sync("hi")


async def test_a_thread_that_waits_for_a_model_is_freed_when_its_call_ends() -> None:
    """Nobody waits for an answer that nobody will read."""
    asked = asyncio.Event()

    async def never(*args: Any, **kwargs: Any) -> LlmReply:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    ctx = build(llm=never)
    waiting = asyncio.create_task(asyncio.to_thread(ctx.llm_sync, "hi"))
    await asked.wait()
    ctx.close()
    with pytest.raises(ToolError, match="has ended"):
        await waiting


async def test_without_a_model_a_context_says_so() -> None:
    """A unit test that forgot to give one reads what to do."""
    with pytest.raises(RuntimeError, match="llm="):
        await build().llm("hi")


def test_log_records_carry_the_ids_of_the_call(caplog: pytest.LogCaptureFixture) -> None:
    """Beside what the tool adds itself, which can't forge them."""
    with caplog.at_level(logging.INFO, logger="steersman.tool"):
        build().log.info("done", extra={"rows": 3, "run_id": "forged"})
    record = caplog.records[0].__dict__
    assert (record["run_id"], record["tool_call_id"], record["rows"]) == ("run_1", "call_1", 3)


def test_a_context_can_be_built_and_used_without_a_loop() -> None:
    """Unit tests of plain tools need no asyncio."""
    said: list[str] = []
    ctx = build(report=lambda message, fraction: said.append(message))
    ctx.progress("now")
    assert said == ["now"]
