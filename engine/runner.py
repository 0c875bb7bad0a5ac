"""The loop of one run in this process: perform the step that `decide` names, store what came of it, and ask again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

from engine.agent import Agent
from engine.asking import call_model
from engine.calling import run_calls
from engine.circles import preview, stuck, warning
from engine.compacting import view
from engine.control import Control, Stopped, StopReason
from engine.decide import CANCELLED, AppendResults, CallModel, Correct, Finish, RunCalls, Step, decide
from engine.errors import Refused
from engine.outages import repeated
from engine.patience import Patience
from engine.publisher import Publisher
from engine.settlements import crashed, defect, failed, going_in_circles, model_forbidden, timed_out, unaffordable
from engine.starts import model_of_turn, next_start
from engine.tool import Tool
from engine.workshop import Workshop
from models.away import DatabaseAway
from models.call import ToolCall, calls_of_step
from models.compaction import Compacted, newest_compaction
from models.enums import Role, RunStatus
from models.events import InputApplied
from models.message import Message, messages_after
from models.run import Run
from models.uninterrupted import uninterrupted
from models.verbs.claiming import Taken, hand_back, reserve
from models.verbs.errors import LeaseLost, Unaffordable
from models.verbs.row import Done, Holder
from models.verbs.settling import End, settle
from models.verbs.stepping import Answered, StepStart, announce, append_answer, append_results, begin_step
from models.verbs.waiting import Wait, suspend

T = TypeVar("T")
log = logging.getLogger("steersman.run")


class Host(Protocol):
    """Where a loop lives."""

    @property
    def holder(self) -> Holder:
        """Who takes the lease of a run that is opened now."""
        ...

    def touched(self, others: Sequence[Done]) -> None:
        """A verb of the loop has changed other runs on the way."""
        ...

    def rests(self, runner: Runner, *, resting: bool) -> None:
        """The loop only waits for its children from now on, or does not any more."""
        ...


class Runner:
    """One run, from claim to settle. `run` is the newest row that this loop knows."""

    def __init__(self, shop: Workshop, agent: Agent, taken: Taken, host: Host) -> None:
        self.shop = shop
        self.host = host
        self.agent = agent
        self.run: Run = taken.run
        self.models = shop.models_of(agent) or agent.models  # none is asked before `_equip` has looked
        self.model = self.models[0]
        """The one that the turn is on."""
        self.compaction: Compacted | None = None
        self.crowded = False
        """Whether making room has failed in this turn, and is not tried again."""
        self.control = Control()
        self.publisher = Publisher(shop.streams, taken.numbers, shop.clock)
        self.patience = self._patience(agent)
        self.transcript: list[Message] = []
        self.calls: list[ToolCall] = []
        self.drained = asyncio.Event()
        self.storing = 0  # verbs under way: whether they have moved the fence is not known yet
        self._tools: dict[str, int] = {}  # those at work, by their calls: for how many children each of them waits
        self._awaiting = 0  # children that the loop itself waits for
        self._why = taken.why
        self._ended = False
        self._overrides = taken.run.overrides  # those that the agent was made with
        self._outdated = False  # a turn has begun since the agent was looked at

    # ------------------------------------------------------------------ the loop

    async def work(self) -> None:
        """Run until the run settles, another owns it, or this process stops. Never raises but CancelledError."""
        try:
            await self._begin()
            while not self._ended:
                await self._perform()
        except LeaseLost as lost:
            log.warning("the run has another owner; this loop stops", extra=self.ids | {"reason": str(lost)})
        except asyncio.CancelledError:
            await uninterrupted(self._hand_back(self.shop.database.write))
            raise
        except Exception:
            log.exception("the run's loop failed", extra=self.ids)
            await self._fail()
        finally:
            self.patience.close()
            if not self._ended:
                self._forsake()

    async def _perform(self) -> None:
        """One step."""
        if self._outdated and (end := await self._equip()) is not None:
            await self.settle(end)
            return
        if self.run.overrides != self._overrides:
            self.agent = self.shop.roster.rearmed(self.agent, self._overrides, self.run, self.shop.read)
            self._overrides = self.run.overrides
        step = self.stopping() or self._decide()
        match step:
            case Finish(end):
                await self.settle(end)
            case AppendResults():
                await self.append_results(start=next_start(self, self.run))
            case Correct(told):
                await self.append_results(start=next_start(self, self.run), correction=told)
            case RunCalls(calls):
                await self._run_calls(calls)
            case CallModel() if (how := stuck(self.agent.brakes, self.transcript, self.run.turn_steps)) is not None:
                await self.settle(going_in_circles(how))
            case CallModel() if self.draining:
                await self._hand_back(self.shop.store)
            case CallModel():
                await call_model(self)

    def _decide(self) -> Step:
        return decide(self.run, self.transcript, self.calls, self.agent.max_steps, self.agent.output_type)

    async def _run_calls(self, calls: Sequence[ToolCall]) -> None:
        waits = await run_calls(self, calls)
        left = {call.id for call in self.calls if call.is_open}
        if not left or self.stopping() is not None:
            return
        if left <= {wait.call_id for wait in waits}:
            await self._suspend(waits)
        elif self.draining:  # a child is at work, here or elsewhere
            await self._hand_back(self.shop.store)

    @property
    def draining(self) -> bool:
        """Whether this process is stopping: then no further step is begun here."""
        return self.drained.is_set()

    def drain(self) -> None:
        """This process is stopping."""
        self.drained.set()

    @contextmanager
    def executing(self, call_id: str) -> Iterator[None]:
        """The tool of this call is at work within this context."""
        self._tools[call_id] = 0
        self._tell_rest()
        try:
            yield
        finally:
            del self._tools[call_id]
            self._tell_rest()

    @contextmanager
    def awaiting(self, tool_call_id: str | None = None) -> Iterator[None]:
        """A child is waited for within this context: by the loop itself, or by the tool of this call."""
        self._count_child(tool_call_id, 1)
        try:
            yield
        finally:
            self._count_child(tool_call_id, -1)

    def _count_child(self, tool_call_id: str | None, by: int) -> None:
        if tool_call_id is None:
            self._awaiting += by
        elif tool_call_id in self._tools:  # else the tool has ended, and left this behind
            self._tools[tool_call_id] += by
        self._tell_rest()

    def _tell_rest(self) -> None:
        """The loop rests while it waits for children, and each of its tools at work for at least one."""
        waits = self._awaiting > 0 or bool(self._tools)
        self.host.rests(self, resting=waits and all(self._tools.values()))

    def stopping(self) -> Finish | None:
        """The end that a signal asks for. Raises LeaseLost where another owns the run."""
        match self.control.reason:
            case StopReason.LOST:
                raise LeaseLost(self.run.id)
            case StopReason.CANCEL:
                return Finish(CANCELLED)
            case StopReason.TIMEOUT:
                return Finish(timed_out(self.agent))
        return None

    async def _begin(self) -> None:
        """Read the transcript; a run that can't be gone on with is settled."""
        run = self.run
        # Before anything is published: an input may be announced as soon as this waits.
        self.shop.streams.begin(self.publisher.numbers.stream_id, self.publisher.numbers.next - 1)
        self.transcript = await self.shop.read(messages_after, run.id, 0)
        if self.transcript and self.transcript[-1].role is Role.ASSISTANT:
            self.calls = await self.shop.read(calls_of_step, run.id, self.transcript[-1].step)
        unfit = await self._equip()
        self.model = await model_of_turn(self)
        if run.seq > 1:
            self.compaction = await self.shop.read(newest_compaction, run.id)
        self._begin_turn()
        end = unfit or crashed(self.agent, run, self._why)
        if end is not None and not run.cancel_requested:
            await self.settle(end)
        elif any(not item.announced for item in run.pending):
            await self.announce()
        self.control.interrupt(self.run.interrupting)

    async def _equip(self) -> End | None:
        """Take the agent as it is now, for a generation that begins; the end of a run whose agent can't be had."""
        self._outdated, self._overrides = False, self.run.overrides
        try:
            agent = await self.shop.roster.of_run(self.run, self.shop.read)
        except Refused as refused:
            return failed(refused.code, refused.message)
        own = self.run.overrides
        if agent.remotes and own is not None and (own.remotes or own.lent):
            agent = agent.equipped(await self._remote_tools(agent))
        models = self.shop.models_of(agent)
        if not models:
            return model_forbidden(agent)
        if agent.timeout != self.agent.timeout:
            self.patience.close()
            self.patience = self._patience(agent)
            self._begin_turn()
        if models != self.models:
            self.models, self.model = models, models[0]
        self.agent = agent
        return None

    async def _remote_tools(self, agent: Agent) -> list[Tool[..., Any]]:
        """The tools of the run's remotes; connecting to one may take a while, and ends where the run is to stop."""
        find = partial(self.shop.remotes.of_run, self.run, agent.toolbox.keys(), self.shop.read, self.shop.clock())
        try:
            return await self.until_stopped(find())
        except Stopped:
            return await find() if self.control.reason is StopReason.INTERRUPT else []

    def _patience(self, agent: Agent) -> Patience:
        return Patience(agent.timeout, lambda: self.control.stop(StopReason.TIMEOUT))

    def _begin_turn(self) -> None:
        now = self.shop.clock()
        started = self.run.started_at or now  # what it waited, for a worker or a person, is not the turn's own time
        self.patience.begin_turn((self.run.turn_spent_ms + now - started) / 1000)

    @property
    def shown(self) -> list[Message]:
        """The messages that requests are built from: the transcript, or what is left of it."""
        return view(self.transcript, self.compaction, self.agent.compaction.trim)

    # ------------------------------------------------------------------ stopping

    async def until_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """The end of some work; raises Stopped where the control says so first. The work has ended either way."""
        task = asyncio.create_task(work)
        stop = asyncio.create_task(self.control.wait())
        try:
            if self.control.reason is None:
                await asyncio.wait((task, stop), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            stop.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait((task,))
        raise Stopped

    # ------------------------------------------------------------------ the verbs

    async def verb(self, function: Callable[..., Done], **arguments: Any) -> Done:
        """Call one verb that writes events, and learn what it did, also where the loop is cancelled meanwhile.

        While the database is away it is repeated as it was, numbers included: those it would use may be in the rows
        already. What passes by waits behind it, and no idle time is counted. Raises LeaseLost.
        """
        gone = asyncio.Event()
        return await uninterrupted(self._verb(function, arguments, gone), gone.set)

    async def _verb(self, function: Callable[..., Done], arguments: dict[str, Any], gone: asyncio.Event) -> Done:
        async with self.publisher.hold():
            self.storing += 1
            try:
                given = {"run_id": self.run.id, "fence": self.run.fence, "numbers": self.publisher.numbers}
                write = partial(self.shop.database.write, function, **given, at=self.shop.clock(), **arguments)
                with self.patience.at_work():
                    done = await repeated(write, self.shop.random, self.shop.sleep, gone)
                self._learn(done)
            finally:
                self.storing -= 1
        return done

    def _learn(self, done: Done) -> None:
        """Take in what a verb did, all of it at once: whoever signals sees the loop before it or after it."""
        begun = done.run.status is RunStatus.RUNNING and done.run.fence != self.run.fence
        self.publisher.committed(done)
        self.run = done.run
        self.transcript += done.messages
        if any(message.role is Role.ASSISTANT for message in done.messages):
            self.calls = list(done.calls)
        elif done.calls:
            changed = {call.id: call for call in done.calls}
            self.calls = [changed.get(call.id, call) for call in self.calls]
        for event in done.events:
            if isinstance(event, InputApplied):
                self.control.folded(event.input_ids)
        if begun:
            self.calls = []
            self.model = self.models[0]
            self.crowded = False
            of_data = self.run.agent_id is not None or self.run.overrides is not None
            self._outdated = of_data or self.agent.fields is not None
            self.control.renew()
            self._begin_turn()
        self.patience.touch()
        self.shop.bell.changed(self.run)
        self.host.touched(done.others)

    async def begin_step(self, start: StepStart) -> StepStart | None:
        """The step, begun; None where it can't be paid for: then the run has settled."""
        try:
            await self.verb(begin_step, start=start, ids=self.shop.ids)
        except Unaffordable as refusal:
            await self.settle(unaffordable(refusal), reported=start.reported, withdrawn=start.reason or None)
            return None
        self.model = start.model
        return start

    async def append_answer(self, answer: Answered) -> None:
        """Store a whole answer."""
        await self.verb(append_answer, seq=self.run.seq + 1, answer=answer, ids=self.shop.ids)

    async def append_results(
        self, *, start: StepStart | None, cut: Answered | None = None, correction: str | None = None
    ) -> None:
        """Append results and input; where the step that is to follow can't be paid for, the run settles with them."""
        told = None if cut is not None else preview(self.run, self.transcript, self.calls)
        note = warning(self.agent.brakes, told, self.run.turn_steps) if told and not self.run.pending else None
        if told and not self.run.pending and stuck(self.agent.brakes, told, self.run.turn_steps) is not None:
            start = None
        what = {"cut": cut, "note": note, "correction": correction, "ids": self.shop.ids}
        try:
            await self.verb(append_results, seq=self.run.seq + 1, start=start, **what)
        except Unaffordable as refusal:
            if start is not None and start.attempt > 1:  # nothing but input, which settle appends unanswered
                await self.settle(unaffordable(refusal), reported=start.reported, withdrawn=start.reason)
                return
            await self.verb(append_results, seq=self.run.seq + 1, start=None, **what)
            await self.settle(unaffordable(refusal))

    async def settle(self, end: End, **more: Any) -> None:
        """End the generation; where the run goes on all the same, the loop does too."""
        turn = {"seq": self.run.seq + 1, "holder": self.shop.holder, "next_stream": self.shop.ids("str")}
        done = await self.verb(settle, end=end, ids=self.shop.ids, **turn, **more)
        self._ended = done.run.status is not RunStatus.RUNNING

    async def _suspend(self, waits: Sequence[Wait]) -> None:
        """End the generation because calls wait; where the run goes on all the same, the loop looks again."""
        turn = {"seq": self.run.seq + 1, "holder": self.shop.holder, "next_stream": self.shop.ids("str")}
        done = await self.verb(suspend, waits=waits, ids=self.shop.ids, **turn)
        self._ended = done.run.status is not RunStatus.RUNNING
        for remote_id in {wait.asked.remote_id for wait in waits if wait.asked is not None}:
            self.shop.bell.ring(remote_id, "")  # it may be lent by somebody who does not hear of this user's runs
        self.control.interrupt(done.run.interrupting)

    async def announce(self) -> None:
        """Tell watchers of the inputs that wait."""
        try:
            await self.verb(announce)
        except LeaseLost:
            log.debug("the run settled before its queue was announced", extra=self.ids)

    async def reserve(self) -> None:
        """Reserve further event numbers."""
        try:
            async with self.publisher.hold():
                self.publisher.numbers = await self.shop.database.write(
                    reserve, run_id=self.run.id, fence=self.run.fence, numbers=self.publisher.numbers
                )
        except LeaseLost:
            log.debug("the run settled before numbers were reserved", extra=self.ids)
        except DatabaseAway:
            log.debug("no numbers could be reserved; the next beat tries again", extra=self.ids)

    async def _hand_back(self, write: Callable[..., Awaitable[Done]]) -> None:
        """Give the run up for another to take at once."""
        self._ended = True
        try:
            done = await write(hand_back, run_id=self.run.id, fence=self.run.fence, at=self.shop.clock())
        except LeaseLost:
            return
        except DatabaseAway as away:
            log.warning("the run could not be handed back, its lease will run out: %s", away, extra=self.ids)
            return
        except Exception:
            log.exception("the run could not be handed back, its lease will run out", extra=self.ids)
            return
        finally:
            self._forsake()
        self.shop.bell.changed(done.run)

    def _forsake(self) -> None:
        """Nothing of this loop's can be published any more; a newer owner in this process is left alone."""
        numbers = self.publisher.numbers
        self.shop.streams.forsake(numbers.stream_id, numbers.next - 1)

    async def _fail(self) -> None:
        """A defect ended the loop: the run says so, where the database still takes it."""
        try:
            end = defect()
            await self.settle(end, withdrawn=end.error.message if end.error else "")
        except LeaseLost:
            log.warning("the run has another owner", extra=self.ids)
        except Exception:  # the lease runs out, and whoever takes the run over tries again
            log.exception("the run could not be settled", extra=self.ids)

    # ------------------------------------------------------------------ what is told of it

    @property
    def ids(self) -> dict[str, Any]:
        """What a line of the log says of the run."""
        return {"run_id": self.run.id, "user_id": self.run.user_id, "agent": self.run.agent, "fence": self.run.fence}
