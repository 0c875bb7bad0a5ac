"""The loop of one run in this process: perform the step that `decide` names, store what came of it, and ask again."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from engine.agent import Agent
from engine.answering import Listener, answered
from engine.calling import run_calls
from engine.control import Control, Stopped, StopReason
from engine.decide import CANCELLED, AppendResults, CallModel, Finish, RunCalls, decide
from engine.patience import Patience
from engine.providers.provider import ModelRequest, Provider, ProviderFailure
from engine.providers.retrying import delay
from engine.publisher import Publisher
from engine.settlements import crashed, defect, provider_failed, timed_out
from engine.streams.bell import Bell
from engine.streams.memory import MemoryStreams
from engine.transcript import replay
from models.call import ToolCall, calls_of_step
from models.clock import Clock
from models.database import Database
from models.enums import Role, RunStatus
from models.events import InputApplied
from models.ids import Ids
from models.message import Message, messages_after
from models.run import Run
from models.uninterrupted import uninterrupted
from models.usage import Usage
from models.verbs.claiming import Taken, hand_back, reserve
from models.verbs.errors import LeaseLost
from models.verbs.row import Done, Holder
from models.verbs.settling import End, settle
from models.verbs.stepping import Answered, StepStart, announce, append_answer, append_results, begin_step

T = TypeVar("T")
log = logging.getLogger("steersman.run")


@dataclass(frozen=True, slots=True)
class Workshop:
    """What every loop of a process works with. `worker` is the process's own name on the leases it holds."""

    database: Database
    streams: MemoryStreams
    bell: Bell
    provider: Provider
    clock: Clock
    ids: Ids
    worker: str
    lease_ms: int
    deps: Any = None
    allowed_models: frozenset[str] | None = None
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep

    @property
    def holder(self) -> Holder:
        """This process, as one who takes a lease."""
        return Holder(self.worker, self.lease_ms)


class Runner:
    """One run, from claim to settle. `run` is the newest row that this loop knows."""

    def __init__(self, shop: Workshop, agent: Agent, taken: Taken) -> None:
        self.shop = shop
        self.agent = agent
        self.run: Run = taken.run
        self.control = Control()
        self.publisher = Publisher(shop.streams, taken.numbers, shop.clock)
        self.patience = Patience(agent.timeout, lambda: self.control.stop(StopReason.TIMEOUT))
        self.transcript: list[Message] = []
        self.calls: list[ToolCall] = []
        self.draining = False
        self._why = taken.why
        self._ended = False

    # ------------------------------------------------------------------ the loop

    async def work(self) -> None:
        """Run until the run settles, another owns it, or this process stops. Never raises but CancelledError."""
        try:
            await self._begin()
            while not self._ended:
                await self._perform()
        except LeaseLost as lost:
            log.warning("the run has another owner; this loop stops", extra=self._ids | {"reason": str(lost)})
        except asyncio.CancelledError:
            await uninterrupted(self._hand_back())
            raise
        except Exception:
            log.exception("the run's loop failed", extra=self._ids)
            await self._fail()
        finally:
            self.patience.close()
            if not self._ended:
                self._forsake()

    async def _perform(self) -> None:
        """One step."""
        step = self._stopping() or decide(self.run, self.transcript, self.calls, self.agent.max_steps)
        match step:
            case Finish(end):
                await self._settle(end)
            case AppendResults():
                await self._append_results(start=self._next_start(self.run))
            case RunCalls(calls):
                await run_calls(self, calls)
            case CallModel() if self.draining:
                await self._hand_back()
            case CallModel():
                await self._call_model()

    def _stopping(self) -> Finish | None:
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
        if self._why != "claim":  # before anything is published, and an input may be announced as soon as this waits
            self.shop.streams.reset(self.publisher.numbers.stream_id, self.publisher.numbers.next - 1)
        self.transcript = await self.shop.database.read(messages_after, run.id, 0)
        if self.transcript and self.transcript[-1].role is Role.ASSISTANT:
            self.calls = await self.shop.database.read(calls_of_step, run.id, self.transcript[-1].step)
        self._begin_turn()
        if (end := crashed(self.agent, run, self._why)) is not None and not run.cancel_requested:
            await self._settle(end)
        elif any(not item.announced for item in run.pending):
            await self.announce()
        self.control.interrupt(self.run.interrupting)

    def _begin_turn(self) -> None:
        started = self.run.started_at or self.shop.clock()  # what it waited for a worker is not the turn's own time
        self.patience.begin_turn((self.shop.clock() - started) / 1000)

    # ------------------------------------------------------------------ the model

    async def _call_model(self) -> None:
        """Ask the model until it answers, is stopped, or has failed as often as it may."""
        start = self._begun_here() or await self._begin_step(self._first_start())
        for tries in itertools.count(1):
            listener = Listener(self, start)
            try:
                answer = await self.until_stopped(listener.listen(self._request()))
            except Stopped:
                await self._cut(listener)
                return
            except ProviderFailure as failure:
                again = await self._after_failure(failure, tries, start, listener)
                if again is None:
                    return
                start = again
            else:
                await self._append_answer(answered(answer, start))
                return

    async def _after_failure(
        self, failure: ProviderFailure, tries: int, start: StepStart, listener: Listener
    ) -> StepStart | None:
        """Wait, and begin the step again; None where it was the last try, or the loop was stopped meanwhile."""
        log.warning("the model's provider failed", exc_info=failure, extra=self._ids | {"attempt": start.attempt})
        pause = delay(tries, failure, self.shop.random)
        if pause is None:
            await self._settle(provider_failed(failure), reported=failure.usage, withdrawn=failure.shown)
            return None
        try:
            await self.until_stopped(self.shop.sleep(pause))
        except Stopped:
            await self._cut(listener)
            return None
        return await self._begin_step(self._again(failure.shown, failure.usage))

    def _request(self) -> ModelRequest:
        model = self.agent.models[0]
        return ModelRequest(
            model=model,
            messages=replay(self.transcript, model),
            system=self.agent.system,
            tools=[tool.definition() for tool in self.agent.toolbox.values()],
            max_tokens=self.agent.max_tokens,
        )

    async def _cut(self, listener: Listener) -> None:
        """The response was stopped: keep what was shown and reported of it, and do what it was stopped for."""
        shown, reported = listener.shown(), listener.reported()
        if (ending := self._stopping()) is not None:
            await self._settle(ending.end, cut=shown, reported=reported)
        elif shown is None:
            await self._append_results(start=self._again("interrupted by a new input", reported))
        else:
            stepped = replace(self.run, steps=self.run.steps + 1, turn_steps=self.run.turn_steps + 1)
            await self._append_results(cut=shown, start=self._next_start(stepped))

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

        Raises LeaseLost.
        """
        return await uninterrupted(self._verb(function, arguments))

    async def _verb(self, function: Callable[..., Done], arguments: dict[str, Any]) -> Done:
        async with self.publisher.hold():
            done = await self.shop.database.write(
                function,
                run_id=self.run.id,
                fence=self.run.fence,
                numbers=self.publisher.numbers,
                at=self.shop.clock(),
                **arguments,
            )
            self._learn(done)
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
            self.control.renew()
            self._begin_turn()
        self.patience.touch()
        self.shop.bell.ring(self.run.id, self.run.user_id)

    async def _begin_step(self, start: StepStart) -> StepStart:
        await self.verb(begin_step, start=start, ids=self.shop.ids)
        return start

    async def _append_answer(self, answer: Answered) -> None:
        await self.verb(append_answer, seq=self.run.seq + 1, answer=answer, ids=self.shop.ids)

    async def _append_results(self, *, start: StepStart | None, cut: Answered | None = None) -> None:
        await self.verb(append_results, seq=self.run.seq + 1, cut=cut, start=start, ids=self.shop.ids)

    async def _settle(self, end: End, **more: Any) -> None:
        done = await self.verb(settle, end=end, holder=self.shop.holder, ids=self.shop.ids, **more)
        self._ended = done.run.status is not RunStatus.RUNNING

    async def announce(self) -> None:
        """Tell watchers of the inputs that wait."""
        try:
            await self.verb(announce)
        except LeaseLost:
            log.debug("the run settled before its queue was announced", extra=self._ids)

    async def reserve(self) -> None:
        """Reserve further event numbers."""
        try:
            async with self.publisher.hold():
                self.publisher.numbers = await self.shop.database.write(
                    reserve, run_id=self.run.id, fence=self.run.fence, numbers=self.publisher.numbers
                )
        except LeaseLost:
            log.debug("the run settled before numbers were reserved", extra=self._ids)

    async def _hand_back(self) -> None:
        """Give the run up for another to take at once."""
        self._ended = True
        try:
            await self.shop.database.write(hand_back, run_id=self.run.id, fence=self.run.fence, at=self.shop.clock())
        except LeaseLost:
            return
        except Exception:  # the lease will run out
            log.exception("the run could not be handed back", extra=self._ids)
        finally:
            self._forsake()
        self.shop.bell.ring(self.run.id, self.run.user_id)

    def _forsake(self) -> None:
        """Nothing of this loop's can be published any more; a newer owner in this process is left alone."""
        numbers = self.publisher.numbers
        self.shop.streams.forsake(numbers.stream_id, numbers.next - 1)

    async def _fail(self) -> None:
        """A defect ended the loop: the run says so, where the database still takes it."""
        try:
            end = defect()
            await self._settle(end, withdrawn=end.error.message if end.error else "")
        except LeaseLost:
            log.warning("the run has another owner", extra=self._ids)
        except Exception:  # the lease runs out, and whoever takes the run over tries again
            log.exception("the run could not be settled", extra=self._ids)

    # ------------------------------------------------------------------ steps

    def _begun_here(self) -> StepStart | None:
        """The step that an earlier verb of this loop has begun already."""
        run = self.run
        if run.step == run.steps + 1 and run.step_fence == run.fence:
            return StepStart(run.step, run.attempt, self.agent.models[0])
        return None

    def _first_start(self) -> StepStart:
        """The step's beginning: anew where an earlier owner had begun it."""
        if self.run.step == self.run.steps + 1:
            return self._again("another worker took the run over")
        return StepStart(self.run.steps + 1, 1, self.agent.models[0])

    def _again(self, reason: str, reported: Usage | None = None) -> StepStart:
        """The next attempt at the step that was begun; `reported` is what the one before it has used."""
        return StepStart(self.run.steps + 1, self.run.attempt + 1, self.agent.models[0], reason, reported)

    def _next_start(self, run: Run) -> StepStart | None:
        """The step that follows the results, where the turn may have one more and this process goes on."""
        if self.draining or run.turn_steps >= self.agent.max_steps:
            return None
        return StepStart(run.steps + 1, 1, self.agent.models[0])

    @property
    def _ids(self) -> dict[str, Any]:
        return {"run_id": self.run.id, "user_id": self.run.user_id, "agent": self.run.agent, "fence": self.run.fence}
