"""Running the tool calls of one step: several at once, each journalled before it starts and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from engine.calls import prepare
from engine.cancelled import Cancelled
from engine.context import Context
from engine.executing import Outcome, execute
from engine.subcalls import SubCalls
from models.call import ToolCall
from models.content import NOT_RUN
from models.enums import ToolCallState
from models.verbs.calling import finish_call, start_call

if TYPE_CHECKING:
    from engine.runner import Runner


async def run_calls(runner: Runner, calls: Sequence[ToolCall]) -> None:
    """Run the calls, as many at once as the agent allows, until all have ended or the loop's control stops them."""
    stop = Cancelled()
    room = asyncio.Semaphore(runner.agent.parallel_tools)
    with runner.control.watched_by(stop), runner.patience.at_work():
        await _together([_run_call(runner, call, room, stop) for call in calls])


async def _run_call(runner: Runner, call: ToolCall, room: asyncio.Semaphore, stop: Cancelled) -> None:
    async with room:
        plan = prepare(runner.agent, call, runner.transcript[-1].stop_reason)
        if isinstance(plan, Outcome):
            outcome = plan
        elif stop.is_set():
            outcome = Outcome(ToolCallState.CANCELLED, NOT_RUN, is_error=True)
        else:
            await runner.verb(start_call, call_id=call.id, attempt=plan.attempt)
            outcome = await execute(plan.tool, plan.arguments, _context(runner, call, plan.attempt), stop=stop)
        await runner.verb(
            finish_call, call_id=call.id, state=outcome.state, result=outcome.text, is_error=outcome.is_error
        )


def _context(runner: Runner, call: ToolCall, attempt: int) -> Context[Any]:
    def report(message: str, fraction: float | None) -> None:
        runner.publisher.progress(call.step, runner.run.attempt, call.id, message, fraction)
        runner.patience.touch()

    return Context(
        user_id=runner.run.user_id,
        roles=runner.run.roles,
        run_id=runner.run.id,
        agent=runner.run.agent,
        tool_call_id=call.id,
        attempt=attempt,
        context=runner.run.context,
        deps=runner.shop.deps,
        report=report,
        llm=SubCalls(runner, call.id),
    )


async def _together(work: list[Coroutine[Any, Any, None]]) -> None:
    """Await all; where one raises, the others are cancelled and awaited before it goes on."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
