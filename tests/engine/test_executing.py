"""One tool call, run: whatever a handler does becomes a result."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import threading
import time
from typing import Any

import pytest

from engine.context import Context, LlmReply
from engine.executing import Outcome
from engine.tool import tool
from engine.tool_error import ToolError
from models.enums import ToolCallState as State
from models.usage import Usage
from tests.support.tool_calls import call_context, run_tool

# Results


async def test_an_async_handler_gives_its_result() -> None:
    """It gets the context and its checked arguments."""

    @tool
    async def greet(ctx: Context, name: str) -> str:
        """Greet."""
        await asyncio.sleep(0)
        return f"{ctx.user_id} greets {name}"

    assert await run_tool(greet, arguments={"name": "bob"}) == Outcome(State.SUCCEEDED, "alice greets bob", False)


async def test_a_plain_function_runs_in_a_thread_of_its_own_and_sees_context_variables() -> None:
    """It may block; what the caller set for itself is visible in it."""
    tenant = contextvars.ContextVar("tenant", default="none")
    tenant.set("t1")

    @tool
    def where(ctx: Context) -> list[Any]:
        """Say where it runs."""
        return [threading.current_thread() is threading.main_thread(), tenant.get(), ctx.run_id]

    assert (await run_tool(where)).text == '[false,"t1","run_1"]'


async def test_a_plain_function_that_wraps_a_coroutine_function_is_awaited() -> None:
    """Decorators that are not async themselves are common; the coroutine runs on the loop."""

    async def inner(word: str) -> str:
        await asyncio.sleep(0)
        return word

    @functools.wraps(inner)
    def outer(word: str) -> Any:
        return inner(word)

    assert await run_tool(tool(outer), arguments={"word": "x"}) == Outcome(State.SUCCEEDED, "x", False)


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_long_result_is_cut_in_both_worlds(is_async: bool) -> None:
    """The cap is the tool's own."""

    @tool(max_result_chars=10)
    async def long() -> str:
        """Be long."""
        return "x" * 11

    @tool(max_result_chars=10)
    def long_too() -> str:
        """Be long."""
        return "x" * 11

    outcome = await run_tool(long if is_async else long_too)
    assert outcome.text == "x" * 10 + "\n… (11 characters in all) [truncated]"
    assert not outcome.is_error


@pytest.mark.parametrize("is_async", [True, False])
async def test_many_calls_run_at_once(is_async: bool) -> None:
    """Each waits for all the others, so none may wait for a place; hung ones starve nobody."""
    together = 40
    barrier = threading.Barrier(together)
    arrived = 0
    everybody = asyncio.Event()

    @tool
    def meet() -> None:
        """Meet."""
        barrier.wait()

    @tool
    async def meet_async() -> None:
        """Meet."""
        nonlocal arrived
        arrived += 1
        if arrived == together:
            everybody.set()
        await everybody.wait()

    outcomes = await asyncio.gather(*(run_tool(meet_async if is_async else meet) for _ in range(together)))
    assert {outcome.state for outcome in outcomes} == {State.SUCCEEDED}


# Failures


class Unwritable(ToolError):
    def __str__(self) -> str:
        raise ZeroDivisionError


class Leaving(ToolError):
    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("No order A-9.\x00 Try A-1042."), "No order A-9.\ufffd Try A-1042."),
        (ToolError(), "tool failed"),
        (Unwritable(), "tool failed"),
        (Leaving(), "tool failed"),
        (ToolError("x" * 300), "x" * 200 + "\n… (300 characters in all) [truncated]"),
        (ValueError("password is hunter2"), "tool failed (ValueError)"),
        (SystemExit(1), "tool failed (SystemExit)"),
        (KeyboardInterrupt(), "tool failed (KeyboardInterrupt)"),
        (asyncio.CancelledError(), "tool failed (CancelledError)"),
        (TimeoutError(), "tool failed (TimeoutError)"),
        (StopIteration(1), None),
        (StopAsyncIteration(), None),
        (GeneratorExit(), "tool failed (GeneratorExit)"),
        (BaseExceptionGroup("many", [KeyboardInterrupt()]), "tool failed (BaseExceptionGroup)"),
        (RecursionError(), "tool failed (RecursionError)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
async def test_whatever_a_handler_raises_is_a_failed_call(
    error: BaseException, text: str | None, is_async: bool
) -> None:
    """ToolError speaks to the model; of anything else it reads the class alone, and the engine lives on."""

    @tool(max_result_chars=200)
    async def fail() -> None:
        """Fail."""
        raise error

    @tool(max_result_chars=200)
    def fail_too() -> None:
        """Fail."""
        raise error

    outcome = await run_tool(fail if is_async else fail_too)
    assert (outcome.state, outcome.is_error) == (State.FAILED, True)
    assert outcome.text == text if text else outcome.text.startswith("tool failed (")
    assert "hunter2" not in outcome.text


async def test_a_failure_is_logged_whole(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the text and the traceback that the model does not see, with the ids of the call."""

    @tool
    def fail() -> None:
        """Fail."""
        raise ValueError("the whole story")

    with caplog.at_level(logging.ERROR, logger="steersman.tool"):
        await run_tool(fail)
    assert "the whole story" in caplog.text
    assert "Traceback" in caplog.text
    assert caplog.records[0].__dict__["tool_call_id"] == "call_1"


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_result_that_can_not_be_written_is_a_failed_call(is_async: bool) -> None:
    """The model reads that the tool is at fault; nothing leaves execute."""

    @tool
    async def odd() -> object:
        """Be odd."""
        return object()

    @tool
    def odd_too() -> object:
        """Be odd."""
        return object()

    outcome = await run_tool(odd if is_async else odd_too)
    assert outcome == Outcome(
        State.FAILED, "tool failed: its result holds a object, which can't be given as JSON", True
    )


# What the context does in a call


async def test_progress_and_sub_calls_work_from_a_plain_function() -> None:
    """A thread reports and asks a model without knowing of the loop."""
    said: list[tuple[str, float | None]] = []

    async def answer(messages: list[dict[str, Any]], **_: Any) -> LlmReply:
        return LlmReply(text=f"about {messages[0]['content']}", usage=Usage(), model="m")

    @tool
    def summarise(ctx: Context, text: str) -> str:
        """Summarise."""
        ctx.progress("asking", 0.5)
        return ctx.llm_sync(text).text

    ctx = call_context(report=lambda message, fraction: said.append((message, fraction)), llm=answer)
    outcome = await run_tool(summarise, ctx, arguments={"text": "boats"})
    assert outcome.text == "about boats"
    assert said == [("asking", 0.5)]


async def test_the_loop_goes_on_while_a_plain_function_blocks() -> None:
    """Blocking code in a thread does not hold up other calls."""
    ticks = 0

    @tool
    def block() -> str:
        """Block."""
        time.sleep(0.05)
        return "done"

    task = asyncio.create_task(run_tool(block))
    while not task.done():
        ticks += 1
        await asyncio.sleep(0.001)
    assert (await task).text == "done"
    assert ticks > 1
