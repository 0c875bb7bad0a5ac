"""Runs that a run hands tasks to: begun once for each call, awaited without a place among the worker's runs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from engine.above import above
from engine.budget import merged
from engine.calls import Delegation
from engine.context import AgentReply
from engine.errors import Refused
from engine.executing import Outcome
from engine.first_of import first_of
from engine.inputs import checked_input
from engine.permitted import permitted
from engine.result_text import result_text
from engine.stopwatch import Stopwatch
from engine.tool_error import ToolError
from engine.transcript import title_of
from engine.user import User
from models.call import ToolCall
from models.child import as_begun, child_key
from models.enums import RunStatus, ToolCallState
from models.model_call import usage_of_runs
from models.run import Run
from models.stream import result_of
from models.verbs.delegating import end_child, open_child
from models.verbs.errors import NoMoreChildren
from models.verbs.opening import NewRun
from models.verbs.row import Holder
from models.verbs.waiting import Wait

if TYPE_CHECKING:
    from engine.runner import Runner

STOPPED = "the agent {} was stopped, with the run that had asked it"


class Stop(Protocol):
    """Something that says that waiting is over."""

    def is_set(self) -> bool:
        """Whether it has."""
        ...

    def wait(self) -> Coroutine[Any, Any, Any]:
        """Wait until it has."""
        ...


async def child_of(runner: Runner, call_id: str, key: str, agent: str, task: str) -> Run | None:
    """The run that this call hands a task to, begun where that is not done yet; None where the run is to stop.

    `key` names it among all that the call may begin (see models/child.py). It is its parent's user's run, with the
    same roles and trusted context, and draws from the same purses. Raises ToolError, in words for the model.
    """
    shop, run = runner.shop, runner.run
    try:
        chosen = await shop.roster.named(User(run.user_id, frozenset(run.roles)), agent, shop.read)
        permitted(chosen.agent, agent, run.roles, shop.models_of, shop.refusal_of)
        said = checked_input(task)
    except Refused as refused:
        raise ToolError(f"not run: {refused}") from refused
    new = NewRun(
        run.user_id,
        chosen.word,
        said,
        title_of(said),
        context=run.context,
        roles=run.roles,
        budget=merged(None, chosen.agent.budget),
        purses=run.purses,
        agent_id=chosen.agent_id,
        kind=chosen.kind,
    )
    try:
        done = await runner.verb(open_child, call_id=call_id, key=key, new=new, holder=runner.host.holder, ids=shop.ids)
    except NoMoreChildren as refusal:
        raise ToolError(f"not run: {refusal}") from refusal
    return done.others[0].run if done.others else None


async def rested(runner: Runner, child_id: str, *stops: Stop) -> Run | None:
    """The child as soon as its task is over, or it waits; None where one of `stops` is set before that."""
    with runner.shop.bell.listen(run_id=child_id) as listener:
        while True:
            child = await runner.shop.read(as_begun, child_id)
            if child is None or child.status is not RunStatus.RUNNING:
                return child
            if any(stop.is_set() for stop in stops):
                return None
            await first_of(listener.wait(), *(stop.wait() for stop in stops))


async def reply_of(runner: Runner, child: Run) -> AgentReply:
    """What came of a child."""
    result = await runner.shop.read(result_of, str(child.stream_id))
    usage = (await runner.shop.read(usage_of_runs, [child.id]))[child.id]
    return AgentReply(
        run_id=child.id,
        status=str(child.status),
        finish=None if child.finish is None else str(child.finish),
        text="" if result is None else result.text,
        output=child.output,
        usage=usage,
        error=None if child.error is None else child.error.message,
    )


async def hand_over(runner: Runner, call: ToolCall, plan: Delegation, stop: Stop) -> Outcome | Wait | None:
    """Let another agent answer a call: what came of it, or that it waits; None where this process stops meanwhile."""
    child_id = call.child_run_id
    if child_id is None:
        try:
            begun = await child_of(runner, call.id, call.id, plan.agent, plan.task)
        except ToolError as refusal:
            return Outcome(ToolCallState.FAILED, str(refusal), is_error=True)
        child_id = None if begun is None else begun.id
    with runner.awaiting():
        child = None if child_id is None else await rested(runner, child_id, stop, runner.drained)
    if stop.is_set() and (child is None or child.status is RunStatus.WAITING):
        return Outcome(ToolCallState.CANCELLED, STOPPED.format(plan.agent), is_error=True)
    if child is None:
        return None
    if child.status is RunStatus.WAITING:
        async for done in above(runner.shop, child, Holder()):  # other calls may be at work, for long
            runner.host.touched([done])
        return Wait(call.id, None, child=child.id)
    return _outcome(plan, await reply_of(runner, child))


def _outcome(plan: Delegation, reply: AgentReply) -> Outcome:
    """What the model reads of a child that is over."""
    said = result_text(reply.text if reply.output is None else reply.output, plan.max_result_chars)
    if reply.status == RunStatus.COMPLETED:
        return Outcome(ToolCallState.SUCCEEDED, said, is_error=False)
    how = f"the agent {plan.agent} was cancelled" if reply.error is None else f"the agent {plan.agent}: {reply.error}"
    text = f"{how}\nIts last words: {said}" if said else how
    state = ToolCallState.CANCELLED if reply.status == RunStatus.CANCELLED else ToolCallState.FAILED
    return Outcome(state, text, is_error=True)


class SubAgents:
    """Runs other agents for one tool call, whose time stands still meanwhile."""

    def __init__(self, runner: Runner, call_id: str, watch: Stopwatch, stop: Stop) -> None:
        self._runner = runner
        self._call_id = call_id
        self._watch = watch
        self._stop = stop
        self._begun: Counter[tuple[str, str]] = Counter()
        self._ended = asyncio.Event()

    async def __call__(self, name: str, task: str) -> AgentReply:
        """What came of a run of this agent, or that it waits. Raises ToolError where none can be begun."""
        count = self._begun[name, task]
        self._begun[name, task] += 1
        runner, key = self._runner, child_key(self._call_id, name, task, count)
        with self._watch.held(), runner.awaiting(self._call_id):
            child = await child_of(runner, self._call_id, key, name, task)
            child = None if child is None else await rested(runner, child.id, self._stop, self._ended)
        stopped = self._stop.is_set() and child is not None and child.status is RunStatus.CANCELLED  # with this call
        if child is None or stopped or self._ended.is_set():
            raise ToolError(STOPPED.format(name))
        await runner.verb(end_child, call_id=self._call_id, child_id=child.id)
        return await reply_of(runner, child)

    def close(self) -> None:
        """The call has ended: what it has left waiting for another agent does so no more, and tells nothing of it."""
        self._ended.set()
