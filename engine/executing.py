"""One checked tool call, run to its end. Knows no database: what came of it is handed back."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from engine.cancelled import Cancelled
from engine.context import Context
from engine.result_text import BadResult, cut, result_text
from engine.stopwatch import Stopwatch
from engine.threads import run_in_thread
from engine.tool import Tool
from engine.tool_error import ToolError
from engine.words import words_of
from models.enums import ToolCallState

GRACE_SECONDS = 2.0
SHORTEST_LOOK = 0.05
"""Seconds between two looks at a watch that may stand still."""
NOT_BEGUN = "not run: it was cancelled before it began"
PARTLY_DONE = "a part of its work may be done"
CANCELLED = f"cancelled while it ran; {PARTLY_DONE}"
FAILED = "tool failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: SUCCEEDED, FAILED, TIMED_OUT or CANCELLED, and the text that the model reads."""

    state: ToolCallState
    text: str
    is_error: bool


async def execute(
    tool: Tool[..., Any],
    arguments: dict[str, Any],
    context: Context[Any],
    *,
    stop: Cancelled,
    grace: float = GRACE_SECONDS,
    watch: Stopwatch | None = None,
) -> Outcome:
    """Run one call with arguments that `tool.check` gave, until it ends, its time is over, or `stop` is set.

    `watch` is what its time is read from.

    `context.cancelled` is set at once when the call should stop. What the handler gives within `grace` seconds from
    then is its result all the same. Then an async handler is cancelled, and given up where it outlives as many seconds
    again; a thread is given up at once, and what it gives later is dropped.

    Raises nothing of the tool's. Where the calling task itself is cancelled, the handler is cancelled and awaited (for
    `grace` seconds at most), then CancelledError goes on.
    """
    if stop.is_set():
        context.cancelled.set()
        context.close()
        return Outcome(ToolCallState.CANCELLED, NOT_BEGUN, is_error=True)
    handler = asyncio.create_task(_handle(tool, arguments, context), name=f"tool {tool.name}")
    handler.add_done_callback(_retrieve)
    stopped = asyncio.create_task(stop.wait())
    try:
        await _ended_within(tool.timeout, {handler, stopped}, watch or Stopwatch())
        if handler.done():
            return _outcome(tool, handler, context)
        late = ToolCallState.CANCELLED if stopped.done() else ToolCallState.TIMED_OUT
        context.cancelled.set()
        await asyncio.wait({handler}, timeout=grace)
        return _late_outcome(tool, handler, late, context)
    finally:
        stopped.cancel()
        await _end(handler, context, grace)


async def _ended_within(seconds: float, tasks: set[asyncio.Task[Any]], watch: Stopwatch) -> None:
    """Wait until one of these has ended, or the watch has run for so many seconds, 0 for no such bound."""
    while not any(task.done() for task in tasks):
        left = seconds - watch.seconds if seconds else None
        if left is not None and left <= 0:
            return
        pause = None if left is None else max(left, SHORTEST_LOOK)  # it may stand still all the while
        await asyncio.wait(tasks, timeout=pause, return_when=asyncio.FIRST_COMPLETED)


async def _end(handler: asyncio.Task[str], context: Context[Any], grace: float) -> None:
    """Leave nothing behind: a handler that still runs is cancelled and awaited for a while."""
    try:
        if not handler.done():
            context.cancelled.set()
            handler.cancel()
            await asyncio.wait({handler}, timeout=grace)
        if not handler.done():
            context.log.warning("%s goes on although it was cancelled; it is given up", handler.get_name())
    finally:
        context.close()


async def _handle(tool: Tool[..., Any], arguments: dict[str, Any], context: Context[Any]) -> str:
    """The handler's result as text."""
    given = dict(arguments)
    if tool.parameters.context is not None:
        given[tool.parameters.context] = context
    try:
        return await _call(tool, given)
    except (KeyboardInterrupt, SystemExit) as error:  # out of a task, these two would end the server
        raise _LeftByExit(type(error).__name__) from error


async def _call(tool: Tool[..., Any], given: dict[str, Any]) -> str:
    """Call the function and write its result as text; for a plain function both happen in its thread."""
    if tool.is_async:
        return result_text(await tool.function(**given), tool.max_result_chars)

    def work() -> str | Awaitable[Any]:
        value = tool.function(**given)
        # A plain function may wrap a coroutine function: what it gives is awaited on the loop, where it belongs.
        return value if inspect.isawaitable(value) else result_text(value, tool.max_result_chars)

    value = await run_in_thread(work, name=f"tool {tool.name}")
    return value if isinstance(value, str) else result_text(await value, tool.max_result_chars)


class _LeftByExit(Exception):
    """A tool tried to end the process."""


def _outcome(tool: Tool[..., Any], handler: asyncio.Task[str], context: Context[Any]) -> Outcome:
    """What came of a handler that ended by itself."""
    error = _raised_by(handler)
    if error is None:
        return Outcome(ToolCallState.SUCCEEDED, handler.result(), is_error=False)
    if isinstance(error, ToolError):
        text = cut(words_of(error, FAILED), tool.max_result_chars) or FAILED
    elif isinstance(error, BadResult):
        text = f"{FAILED}: {error}"
    else:
        text = f"{FAILED} ({_name(error)})"
    _log_failure(tool, error, context)
    return Outcome(ToolCallState.FAILED, text, is_error=True)


def _late_outcome(
    tool: Tool[..., Any], handler: asyncio.Task[str], state: ToolCallState, context: Context[Any]
) -> Outcome:
    """What came of a handler that was asked to stop: its result, where it still gave one."""
    text = CANCELLED if state is ToolCallState.CANCELLED else f"timed out after {tool.timeout:g} s; {PARTLY_DONE}"
    if handler.done():
        error = _raised_by(handler)
        if error is None:
            return Outcome(ToolCallState.SUCCEEDED, handler.result(), is_error=False)
        if isinstance(error, ToolError):
            text = f"{text}. {cut(words_of(error, FAILED), tool.max_result_chars)}"
        _log_failure(tool, error, context)
    return Outcome(state, text, is_error=True)


def _raised_by(handler: asyncio.Task[str]) -> BaseException | None:
    return asyncio.CancelledError() if handler.cancelled() else handler.exception()


def _log_failure(tool: Tool[..., Any], error: BaseException, context: Context[Any]) -> None:
    if not isinstance(error, ToolError | asyncio.CancelledError):
        context.log.error("tool %s failed", tool.name, exc_info=error)


def _name(error: BaseException) -> str:
    return str(error) if isinstance(error, _LeftByExit) else type(error).__name__


def _retrieve(handler: asyncio.Task[str]) -> None:
    """Take the exception of a handler that was given up, so that asyncio does not complain of it."""
    if not handler.cancelled():
        handler.exception()
