"""Running the tool calls of one step: several at once, each journalled before it starts and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from engine.calls import Delegation, Execution, Waiting, changed_note, prepare
from engine.cancelled import Cancelled
from engine.children import SubAgents, hand_over
from engine.context import Context
from engine.executing import Outcome, execute
from engine.stopwatch import Stopwatch
from engine.subcalls import SubCalls
from models.call import ToolCall
from models.content import INTERRUPTED, NOT_RUN, REMOTE_AWAY
from models.enums import ToolCallState
from models.remote import get_remotes
from models.verbs.calling import finish_call, start_call
from models.verbs.waiting import AskedRemote, Wait

if TYPE_CHECKING:
    from engine.runner import Runner

T = TypeVar("T")


async def run_calls(runner: Runner, calls: Sequence[ToolCall]) -> list[Wait]:
    """Run the calls, as many at once as the agent allows, until all have ended or the loop's control stops them.

    Those that must wait are given back; nothing has been done with them, or only the run that they stand for was begun.
    """
    stop = Cancelled()
    room = asyncio.Semaphore(runner.agent.parallel_tools)
    with runner.control.watched_by(stop), runner.patience.at_work():
        waits = await _together([_run_call(runner, call, room, stop) for call in calls])
    return [wait for wait in waits if wait is not None]


async def _run_call(runner: Runner, call: ToolCall, room: asyncio.Semaphore, stop: Cancelled) -> Wait | None:
    async with room:
        plan = prepare(runner.agent, call, runner.transcript[-1].stop_reason)
        if isinstance(plan, Outcome):
            outcome = plan
        elif stop.is_set() and not (isinstance(plan, Delegation) and call.child_run_id is not None):
            outcome = _stopped(call)
        elif isinstance(plan, Waiting):
            came = await _begin_to_wait(runner, call, plan)
            if isinstance(came, Wait):
                return came
            outcome = came
        elif isinstance(plan, Delegation):
            answer = await hand_over(runner, call, plan, stop)
            if not isinstance(answer, Outcome):
                return answer
            outcome = answer
        else:
            await runner.verb(start_call, call_id=call.id, attempt=plan.attempt)
            outcome = await _execute(runner, call, plan, stop)
        await runner.verb(
            finish_call,
            call_id=call.id,
            state=outcome.state,
            result=changed_note(runner.transcript[-1], call) + outcome.text,
            is_error=outcome.is_error,
        )
    return None


async def _begin_to_wait(runner: Runner, call: ToolCall, plan: Waiting) -> Wait | Outcome:
    """What the call waits for; what the model reads where nobody is there to answer."""
    now = runner.shop.clock()
    expires_at = None if plan.seconds is None else now + round(plan.seconds * 1000)
    if plan.offered is None:
        return Wait(call.id, plan.approvers, expires_at)
    whose = plan.offered
    remote = (await runner.shop.read(get_remotes, [whose.remote_id])).get(whose.remote_id)
    if remote is None or remote.connected_until <= now:
        return Outcome(ToolCallState.FAILED, REMOTE_AWAY.format(whose.remote), is_error=True)
    return Wait(call.id, None, expires_at, asked=AskedRemote(whose.remote_id, whose.remote, whose.tool))


def _stopped(call: ToolCall) -> Outcome:
    """What becomes of a call for which nothing is done any more; an earlier owner of the run may have begun it."""
    if call.state is ToolCallState.RUNNING:
        return Outcome(ToolCallState.INTERRUPTED, INTERRUPTED, is_error=True)
    return Outcome(ToolCallState.CANCELLED, NOT_RUN, is_error=True)


async def _execute(runner: Runner, call: ToolCall, plan: Execution, stop: Cancelled) -> Outcome:
    """Run a call's tool; with its end ends what it has asked of other agents."""
    watch, cancelled = Stopwatch(), Cancelled()
    with runner.executing(call.id), closing(SubAgents(runner, call.id, watch, cancelled)) as agents:
        context = _context(runner, call, plan.attempt, cancelled, agents)
        return await execute(plan.tool, plan.arguments, context, stop=stop, watch=watch)


def _context(runner: Runner, call: ToolCall, attempt: int, cancelled: Cancelled, agents: SubAgents) -> Context[Any]:
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
        config=runner.agent.config,
        cancelled=cancelled,
        report=report,
        llm=SubCalls(runner, call.id),
        agents=agents,
    )


async def _together(work: list[Coroutine[Any, Any, T]]) -> list[T]:
    """Await all; where one raises, the others are cancelled and awaited before it goes on."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
