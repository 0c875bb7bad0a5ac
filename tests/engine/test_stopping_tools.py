"""A tool call that takes too long, or is stopped: told, given a grace, then left behind."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from engine.cancelled import Cancelled
from engine.context import Context
from engine.executing import Outcome
from engine.tool import tool
from engine.tool_error import ToolError
from models.enums import ToolCallState as State
from tests.support.tool_calls import call_context, run_tool, until

FOREVER = 3_600.0


# Time


async def test_an_async_handler_that_takes_too_long_is_cancelled_after_its_grace() -> None:
    """ctx.cancelled is set by then, and asyncio's cancellation comes behind it."""
    asked_first: list[bool] = []

    @tool(timeout=0.01)
    async def slow(ctx: Context) -> None:
        """Be slow."""
        try:
            await asyncio.sleep(FOREVER)
        except asyncio.CancelledError:
            asked_first.append(ctx.cancelled.is_set())
            raise

    outcome = await run_tool(slow, grace=0.01)
    assert outcome == Outcome(State.TIMED_OUT, "timed out after 0.01 s; a part of its work may be done", True)
    assert asked_first == [True]


async def test_a_thread_that_takes_too_long_is_given_up_and_its_result_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It can't be stopped, but it is told, and what it gives and says later reaches nobody."""
    go_on, done = threading.Event(), threading.Event()
    said: list[str] = []

    @tool(timeout=0.01)
    def hang(ctx: Context) -> str:
        """Hang."""
        assert ctx.cancelled.wait_sync(FOREVER)
        go_on.wait()
        ctx.progress("still here")
        done.set()
        return "too late"

    with caplog.at_level(logging.DEBUG, logger="steersman.tool"):
        outcome = await run_tool(hang, call_context(report=lambda message, fraction: said.append(message)), grace=0.01)
        assert outcome.state is State.TIMED_OUT
        go_on.set()
        await until(lambda: done.is_set() and "dropped" in caplog.text)
    assert said == []


async def test_what_a_handler_gives_within_its_grace_is_kept() -> None:
    """A handler that heeds ctx.cancelled may still return what it has."""

    @tool(timeout=0.01)
    async def partial(ctx: Context) -> str:
        """Give a part."""
        await ctx.cancelled.wait()
        return "half of it"

    @tool(timeout=0.01)
    def partial_too(ctx: Context) -> str:
        """Give a part."""
        ctx.cancelled.wait_sync()
        return "half of it"

    for made in (partial, partial_too):
        assert await run_tool(made, grace=FOREVER) == Outcome(State.SUCCEEDED, "half of it", False)


async def test_a_handler_that_ends_by_an_error_when_asked_to_stop_keeps_its_state() -> None:
    """The model reads that the time was over, and the words of a ToolError behind it."""

    @tool(timeout=0.01)
    async def tell(ctx: Context) -> str:
        """Tell."""
        await ctx.cancelled.wait()
        raise ToolError("Ask for fewer rows.")

    @tool(timeout=0.01)
    async def give_up(ctx: Context) -> str:
        """Give up."""
        await ctx.cancelled.wait()
        raise asyncio.CancelledError

    told = await run_tool(tell, grace=FOREVER)
    assert told.state is State.TIMED_OUT
    assert told.text.endswith("a part of its work may be done. Ask for fewer rows.")
    assert (await run_tool(give_up, grace=FOREVER)).state is State.TIMED_OUT


async def test_a_timeout_of_0_is_none() -> None:
    """The call ends when it ends."""

    @tool(timeout=0)
    async def slow() -> str:
        """Be slow."""
        await asyncio.sleep(0.02)
        return "done"

    assert (await run_tool(slow)).text == "done"


# Stopping from outside


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_stopped_call_is_told_at_once_and_given_up_after_its_grace(is_async: bool) -> None:
    """Stopping reaches a coroutine and a thread alike; neither holds up the run for longer than the grace."""
    begun, told, let_go = threading.Event(), threading.Event(), threading.Event()

    @tool(timeout=0)
    async def work(ctx: Context) -> None:
        """Work."""
        begun.set()
        try:
            await asyncio.sleep(FOREVER)
        finally:
            if ctx.cancelled:
                told.set()

    @tool(timeout=0)
    def work_too(ctx: Context) -> None:
        """Work."""
        begun.set()
        ctx.cancelled.wait_sync()
        told.set()
        let_go.wait()

    stop = Cancelled()
    task = asyncio.create_task(run_tool(work if is_async else work_too, stop=stop, grace=0.05))
    await until(begun.is_set)
    stop.set()
    assert await task == Outcome(State.CANCELLED, "cancelled while it ran; a part of its work may be done", True)
    await until(told.is_set)
    let_go.set()


async def test_a_result_within_the_grace_of_a_stop_is_kept() -> None:
    """What was done is not thrown away."""

    @tool(timeout=0)
    async def finish(ctx: Context) -> str:
        """Finish."""
        await ctx.cancelled.wait()
        await asyncio.sleep(0.01)
        return "done all the same"

    stop = Cancelled()
    task = asyncio.create_task(run_tool(finish, stop=stop, grace=FOREVER))
    await asyncio.sleep(0)
    stop.set()
    assert await task == Outcome(State.SUCCEEDED, "done all the same", False)


async def test_a_call_that_was_stopped_before_it_began_does_not_run() -> None:
    """The model reads that nothing was done."""

    @tool
    async def never() -> None:
        """Never."""
        raise AssertionError

    stop = Cancelled()
    stop.set()
    ctx = call_context()
    outcome = await run_tool(never, ctx, stop=stop)
    assert outcome == Outcome(State.CANCELLED, "not run: it was cancelled before it began", True)
    assert ctx.cancelled.is_set()


async def test_a_handler_that_ignores_every_cancellation_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    """It holds up its run for two graces at most, and the log names it."""
    let_go = asyncio.Event()
    ended = asyncio.Event()

    @tool(timeout=0.01)
    async def stubborn() -> None:
        """Go on."""
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        ended.set()

    with caplog.at_level(logging.WARNING, logger="steersman.tool"):
        assert (await run_tool(stubborn, grace=0.01)).state is State.TIMED_OUT
    assert "tool stubborn goes on" in caplog.text
    let_go.set()
    await ended.wait()


async def test_a_cancelled_caller_takes_its_handler_with_it() -> None:
    """At shutdown the handler is cancelled and awaited, then the cancellation goes on."""
    begun, cleaned = asyncio.Event(), asyncio.Event()

    @tool
    async def work(ctx: Context) -> None:
        """Work."""
        begun.set()
        try:
            await asyncio.sleep(FOREVER)
        finally:
            assert ctx.cancelled.is_set()
            await asyncio.sleep(0)
            cleaned.set()

    before = asyncio.all_tasks()
    task = asyncio.create_task(run_tool(work, grace=FOREVER))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned.is_set()
    assert asyncio.all_tasks() == before


async def test_a_cancelled_caller_does_not_wait_for_a_hung_thread() -> None:
    """A thread is given up at once when the process shuts down."""
    begun, let_go = threading.Event(), threading.Event()

    @tool
    def hang() -> None:
        """Hang."""
        begun.set()
        let_go.wait()

    task = asyncio.create_task(run_tool(hang, grace=FOREVER))
    await until(begun.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    let_go.set()


@pytest.mark.parametrize("steps", range(8))
async def test_a_call_cancelled_at_any_await_leaves_nothing_behind(steps: int) -> None:
    """Wherever the caller is cancelled, no task of the call remains."""

    @tool(timeout=0.001)
    async def work(ctx: Context) -> None:
        """Work."""
        await ctx.cancelled.wait()
        await asyncio.sleep(FOREVER)

    before = asyncio.all_tasks()
    task = asyncio.create_task(run_tool(work, grace=0.002))
    for _ in range(steps):
        await asyncio.sleep(0.0005)
    task.cancel()
    await asyncio.wait({task})
    await until(lambda: asyncio.all_tasks() == before)
