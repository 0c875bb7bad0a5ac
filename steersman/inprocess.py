"""Agents called like functions: the same durable runs that the API shows, from code in this process."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from engine.budget import Budget
from engine.engine import Engine
from engine.errors import Refused
from engine.loading import load_agents
from engine.output import BadOutput
from engine.run_overrides import RunOverrides
from engine.runs import Accepted
from engine.user import User
from engine.verdicts import Decision
from models.call import ToolCall, calls_of_steps
from models.child import pending_calls
from models.enums import FinishReason, RunStatus
from models.events import Failure, InputApplied, RunResult, StreamEvent
from models.message import Message, messages_after
from models.overrides import RunTool
from models.run import Run, get_run
from models.stream import get_stream
from models.uninterrupted import uninterrupted
from models.usage import Usage
from steersman.attaching import read_all
from steersman.process import Opened, bring_up_to_date, current, opened, without_drain
from steersman.provider import choose_provider
from steersman.settings import read_settings
from steersman.turns import Turn

T = TypeVar("T")
OnEvent = Callable[[StreamEvent], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a turn.

    - `text`: the last answer; `output`: the checked one, an instance of the model that the agent names as its `output`.
    - `status`, `finish`, `error`: how it ended; `error` is None unless it failed.
    - `steps`, `usage`, `tool_calls`: of this turn, or of what has followed the last decision.
    - `messages`: the whole transcript of the run.
    - `model`: which one wrote the last answer; `run_id`: the run, to go on with.
    - `pending`: the calls that wait for a decision or for a client, where `status` is WAITING: the run's own, and those
      of the runs below it, each with the `run_id` to decide it under.
    """

    run_id: str
    status: RunStatus
    finish: FinishReason
    text: str
    output: Any
    model: str | None
    steps: int
    usage: Usage
    tool_calls: list[ToolCall]
    messages: list[Message]
    pending: list[ToolCall]
    error: Failure | None


async def run(
    agent: str,
    input: str,  # noqa: A002 - the contract's name
    *,
    as_user: str,
    roles: Iterable[str] = (),
    run_id: str | None = None,
    title: str | None = None,
    metadata: dict[str, Any] | None = None,
    key: str | None = None,
    context: dict[str, Any] | None = None,
    budget: Budget | None = None,
    overrides: RunOverrides | None = None,
    on_event: OnEvent | None = None,
    attachments: Sequence[Path | str | bytes] = (),
) -> Result:
    """Run an agent to the end of its turn, and give what came of it.

    `run_id` goes on with a run. `attachments` are images and PDFs, as paths or as their bytes. `context` holds trusted
    values for the agent's tools. `budget` goes before the agent's own, and `overrides` are what a run that begins has
    in its agent's place. `on_event` is handed each event (models/events.py) as it comes, and may be a coroutine
    function. It uses the application's engine where one is open in this process, else it opens one by the settings for
    as long as it takes; on PostgreSQL that one takes nobody else's runs.

    The run is durable: who cancels this call stops waiting, not the run, which goes on here, at the next start, or on
    PostgreSQL in any process that serves or works.
    Raises engine.errors.Refused for what can't be run; a run that fails is a Result with status FAILED.
    """
    user = User(as_user, frozenset(roles))

    attached = await read_all(attachments)

    async def work(engine: Engine) -> Result:
        accepted = await engine.runs.start(
            user,
            agent=agent,
            input=input,
            run_id=run_id,
            title=title,
            metadata=metadata,
            key=key,
            context=context,
            attachments=attached,
            budget=budget,
            overrides=overrides,
        )
        return await follow(engine, accepted, on_event)

    known = current()
    if known is None or _is_shared(known):
        async with _own_engine() as engine:
            return await work(engine)
    return await _on(known.loop, work(known.engine))


async def start_run(
    agent: str,
    input: str,  # noqa: A002 - the contract's name
    *,
    as_user: str,
    roles: Iterable[str] = (),
    run_id: str | None = None,
    title: str | None = None,
    metadata: dict[str, Any] | None = None,
    key: str | None = None,
    context: dict[str, Any] | None = None,
    attachments: Sequence[Path | str | bytes] = (),
    budget: Budget | None = None,
    overrides: RunOverrides | None = None,
) -> Run:
    """Start a run from code inside the server, and give its row without waiting for its end; see `run`.

    Raises RuntimeError where no engine is open in this process, and engine.errors.Refused.
    """
    known = current()
    if known is None:
        raise RuntimeError("start_run is for code inside a running server; a program of its own awaits steersman.run")
    started = known.engine.runs.start(
        User(as_user, frozenset(roles)),
        agent=agent,
        input=input,
        run_id=run_id,
        title=title,
        metadata=metadata,
        key=key,
        context=context,
        attachments=await read_all(attachments),
        budget=budget,
        overrides=overrides,
    )
    return (await _on(known.loop, started)).run


async def add_run_tools(run_id: str, tools: Sequence[RunTool], *, as_user: str, roles: Iterable[str] = ()) -> Run:
    """Give one of a user's runs further tools, from code inside the server; one at work has them from its next request.

    Raises RuntimeError where no engine is open in this process, and engine.errors.Refused.
    """
    known = current()
    if known is None:
        raise RuntimeError("add_run_tools is for code inside a running server; a program of its own asks the API")
    added = known.engine.runs.add_tools(User(as_user, frozenset(roles)), run_id=run_id, tools=tools)
    return await _on(known.loop, added)


async def decide(
    run_id: str,
    *,
    as_user: str,
    roles: Iterable[str] = (),
    approve: Iterable[str] = (),
    deny: Mapping[str, str | None] | None = None,
    key: str | None = None,
    on_event: OnEvent | None = None,
) -> Result:
    """Decide calls that a WAITING run waits for, and give what came of it once its turn has ended, or waits again.

    `approve` are calls' ids, as `Result.pending` has them; `deny` gives each a reason, which the model reads. Where
    others still wait, nothing runs yet, and the result is WAITING. Raises RuntimeError where no engine is open in this
    process, and engine.errors.Refused.
    """
    known = current()
    if known is None:
        raise RuntimeError("decide is for code inside a running server; a program of its own asks the API")
    user = User(as_user, frozenset(roles))
    decisions = [Decision(call_id, approve=True) for call_id in approve]
    decisions += [Decision(call_id, approve=False, reason=reason) for call_id, reason in (deny or {}).items()]

    async def work(engine: Engine) -> Result:
        decided, _ = await engine.runs.decide(user, run_id=run_id, decisions=decisions, key=key)
        return await follow(engine, Accepted(decided, queued=False, input_id=None), on_event)

    return await _on(known.loop, work(known.engine))


async def follow(engine: Engine, accepted: Accepted, on_event: OnEvent | None = None) -> Result:
    """Wait for the end of the turn that an accepted input began or waits for."""
    async with aclosing(events_of_turn(engine, accepted)) as events:
        result: RunResult | None = None
        async for event in events:
            if isinstance(event, RunResult):
                result = event
            if on_event is not None and inspect.isawaitable(told := on_event(event)):
                await told
    if result is None:
        raise RuntimeError(f"the stream of {accepted.run.id} ended without a result")
    return await _result(engine, result)


async def events_of_turn(engine: Engine, accepted: Accepted) -> AsyncGenerator[StreamEvent]:
    """The events from the generation that took the input, up to the RunResult of the turn that it belongs to."""
    run_id, turn = accepted.run.id, Turn(accepted.input_id if accepted.queued else None)
    async with aclosing(engine.watching.run_stream(run_id, accepted.run.stream_id)) as events:
        async for event in events:
            if isinstance(event, InputApplied):
                turn.applied(event.input_ids)
            yield event
            if isinstance(event, RunResult) and (turn.ends_with_its_stream or await _is_over(engine, run_id, turn)):
                return


async def _is_over(engine: Engine, run_id: str, turn: Turn) -> bool:
    now = await engine.database.read(get_run, run_id)
    running = now is not None and now.status in (RunStatus.RUNNING, RunStatus.WAITING)
    return turn.is_over(running=running, pending=[item.id for item in now.pending] if now else [])


async def _result(engine: Engine, result: RunResult) -> Result:
    run_id = result.run_id
    stream = await engine.database.read(get_stream, result.stream_id)
    before = stream.steps_before if stream else 0
    steps = [(run_id, step) for step in range(before, before + result.steps + 1)]
    calls = await engine.database.read(calls_of_steps, steps)
    since = stream.created_at if stream else 0
    messages = await engine.database.read(messages_after, run_id, 0)
    waiting = await engine.database.read(pending_calls, [run_id])
    return Result(
        run_id=run_id,
        status=result.status,
        finish=result.finish,
        text=result.text,
        output=await _output(engine, result),
        model=result.model,
        steps=result.steps,
        usage=result.usage,
        # Those that waited belong to the step before this generation's first one.
        tool_calls=[
            call
            for of_step in calls.values()
            for call in of_step
            if call.step > before or (call.finished_at is not None and call.finished_at >= since)
        ],
        messages=messages,
        pending=waiting[run_id],
        error=result.error,
    )


async def _output(engine: Engine, result: RunResult) -> Any:
    """The checked answer as its model's instance, read anew from the text; as JSON where its type is another by now."""
    run = await engine.database.read(get_run, result.run_id)
    if result.output is None or run is None:
        return result.output
    try:
        agent = await engine.shop.roster.of_run(run, engine.database.read)
    except Refused:
        return result.output
    if agent.output_type is None:
        return result.output
    try:
        return agent.output_type.read(result.text)
    except BadOutput:
        return result.output


async def _on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Await work on the loop of the engine, which is another one where a plain-function tool runs a loop of its own."""
    if loop is asyncio.get_running_loop():
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


# ---------------------------------------------------------------- an engine for calls without an application


class _Shared:
    """One engine for all calls of a loop that are under way at once: a SQLite file lets no second one in.

    A task of its own opens and closes it, so that what the agents' deps.py enters is left by the same task.
    """

    def __init__(self) -> None:
        self.users = 0
        self.engine: Engine | None = None
        self._close = asyncio.Event()
        self._changing = asyncio.Lock()
        self._keeper: asyncio.Task[None] | None = None

    async def join(self) -> Engine:
        """The engine, opened for the first who joins. Raises what opening it raises."""
        async with self._changing:
            if self.engine is None:
                ready: asyncio.Future[Engine] = asyncio.get_running_loop().create_future()
                self._keeper = asyncio.create_task(self._keep(ready))
                self._keeper.add_done_callback(lambda ended: _hand_on(ended, ready))
                self.engine = await ready
            self.users += 1
            return self.engine

    async def leave(self) -> None:
        """Close it where nobody uses it any more."""
        async with self._changing:
            self.users -= 1
            if self.users == 0 and self._keeper is not None:
                keeper, self.engine, self._keeper = self._keeper, None, None
                self._close.set()
                await keeper

    async def _keep(self, ready: asyncio.Future[Engine]) -> None:
        self._close.clear()
        async with _by_settings() as engine:
            ready.set_result(engine)
            await self._close.wait()


def _hand_on(ended: asyncio.Task[None], ready: asyncio.Future[Engine]) -> None:
    """What kept the engine from opening is for who waits for it."""
    if not ready.done() and (error := None if ended.cancelled() else ended.exception()) is not None:
        ready.set_exception(error)


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()


def _is_shared(known: Opened) -> bool:
    shared = _shared.get(asyncio.get_running_loop())
    return shared is not None and shared.engine is known.engine


@asynccontextmanager
async def _own_engine() -> AsyncIterator[Engine]:
    """The engine that the settings ask for, shared by all who use it at once, and closed by the last of them."""
    shared = _shared.setdefault(asyncio.get_running_loop(), _Shared())
    engine = await shared.join()
    try:
        yield engine
    finally:
        await uninterrupted(shared.leave())


@asynccontextmanager
async def _by_settings() -> AsyncIterator[Engine]:
    settings = without_drain(replace(read_settings(os.environ), worker=True))
    choice, agents = choose_provider(os.environ), load_agents(settings.agents)
    await bring_up_to_date(settings, only_fresh=True)
    async with opened(settings, choice, agents, takes=False) as engine:
        yield engine
