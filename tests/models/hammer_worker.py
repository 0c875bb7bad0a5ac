"""A worker of the hammer: it takes runs, works on them as a loop does, and loses some of them on the way."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from models.call import ToolCall
from models.enums import ErrorCode, FinishReason, Role, RunStatus, ToolCallState
from models.events import Failure
from models.message import Message
from models.run import Run
from models.usage import Usage
from models.verbs.calling import finish_call, start_call
from models.verbs.claiming import hand_back, reserve
from models.verbs.errors import LeaseLost
from models.verbs.row import Done, Numbers
from models.verbs.settling import End, settle
from models.verbs.stepping import Answered, StepStart, announce, append_answer, append_results, begin_step
from tests.support.desk import Desk, calls_answer, text_answer

if TYPE_CHECKING:
    from tests.models.invariants import Record

CANCELLED = End(RunStatus.CANCELLED, FinishReason.ABORTED)
BROKEN = End(RunStatus.FAILED, FinishReason.ERROR, Failure(ErrorCode.PROVIDER_ERROR, "It broke."))


@dataclass(slots=True)
class Grip:
    """A run as one who holds its fence knows it."""

    run: Run
    numbers: Numbers
    last: Message | None = None
    calls: list[ToolCall] = field(default_factory=list)
    cancel: bool = False


class Worker:
    """Holds fences, one grip a run; a grip whose fence has moved is dropped when a verb says so."""

    def __init__(self, desk: Desk, record: Record, name: str, dice: random.Random) -> None:
        self.desk = desk
        self.record = record
        self.name = name
        self.dice = dice
        self.grips: dict[str, Grip] = {}

    def hold(self, done: Done) -> None:
        """Begin with a generation that a client's verb has begun for this worker, where it did."""
        if done.run.worker != self.name or done.numbers is None:
            return
        self.record.owns(self.name, done.run)
        self.grips[done.run.id] = Grip(done.run, done.numbers)

    async def take_over(self, limit: int) -> None:
        """Take runs that nobody works on."""
        for taken in await self.desk.take(self.name, limit=limit, holding=list(self.grips)):
            self.record.owns(self.name, taken.run)
            self.grips[taken.run.id] = Grip(taken.run, taken.numbers, cancel=taken.run.cancel_requested)

    async def beat(self) -> None:
        """Renew all leases; let go of what is lost."""
        held = {run_id: grip.run.fence for run_id, grip in self.grips.items()}
        beats = await self.desk.beat(*held.items())
        for run_id in held:
            if run_id not in beats:
                del self.grips[run_id]
            elif beats[run_id].cancel:
                self.grips[run_id].cancel = True

    async def work(self) -> None:
        """One verb on one of the runs that are held, or thought to be."""
        if not self.grips:
            return
        grip = self.dice.choice(list(self.grips.values()))
        aside = self.dice.random()
        if aside < 0.03:
            await self._give_back(grip)
        elif aside < 0.08:
            await self.verb(grip, announce)
        elif aside < 0.10:
            await self._reserve(grip)
        elif aside < 0.12:
            await self._settle(grip, BROKEN)
        else:
            await self.step(grip)

    async def finish(self, grip: Grip, reason: FinishReason) -> None:
        """Bring a run to its end as fast as it goes; a grip that is lost is dropped."""
        while grip.run.id in self.grips:
            try:
                await self.step(grip, hurry=End(RunStatus.COMPLETED, reason))
            except LeaseLost:
                return

    async def step(self, grip: Grip, hurry: End | None = None) -> None:
        """What a loop would do next."""
        if grip.last is None:
            await self._read(grip)
        last = grip.last
        assert last is not None
        if grip.cancel or grip.run.cancel_requested:
            await self._settle(grip, CANCELLED, cut=self._shown(grip) if self.dice.random() < 0.5 else None)
        elif last.role is Role.USER or (last.stop_reason is None and not grip.calls and not grip.run.pending):
            await (self._settle(grip, BROKEN) if hurry else self._ask(grip))
        elif open_calls := [call for call in grip.calls if call.is_open]:
            await self._call(grip, self.dice.choice(open_calls))
        elif grip.calls or last.stop_reason is None:
            begins = self.dice.random() < 0.5
            start = StepStart(grip.run.steps + 1, 1, "model-a") if begins else None
            await self.verb(grip, append_results, seq=grip.run.seq + 1, start=start, ids=self.desk.ids)
        else:
            await self._settle(grip, hurry or End(RunStatus.COMPLETED, FinishReason.STOP))

    # ------------------------------------------------------------------ the model

    async def _ask(self, grip: Grip) -> None:
        run = grip.run
        begun = run.step == run.steps + 1
        if not begun or run.step_fence != run.fence:
            await self._begin(grip, run.attempt + 1 if begun else 1)
            return
        choice = self.dice.random()
        if choice < 0.1:
            await self._begin(grip, run.attempt + 1)
        elif choice < 0.35:
            cut = self._shown(grip) if self.dice.random() < 0.7 else None
            start = StepStart(run.steps + 2, 1, "model-a") if cut else None
            if cut is None:
                start = StepStart(run.steps + 1, run.attempt + 1, "model-a", "interrupted")
            await self.verb(grip, append_results, seq=run.seq + 1, cut=cut, start=start, ids=self.desk.ids)
        else:
            await self.verb(grip, append_answer, seq=run.seq + 1, answer=self._answer(grip), ids=self.desk.ids)

    async def _begin(self, grip: Grip, attempt: int) -> None:
        start = StepStart(grip.run.steps + 1, attempt, "model-a", "again")
        await self.verb(grip, begin_step, start=start, ids=self.desk.ids)

    def _answer(self, grip: Grip, **values: Any) -> Answered:
        values = {"attempt": grip.run.attempt, "usage": Usage(self.dice.randint(1, 99)), **values}
        step = grip.run.steps + 1
        if self.dice.random() < 0.5:
            return calls_answer(step, self.dice.randint(1, 3), **values)
        return text_answer(step, **values)

    def _shown(self, grip: Grip) -> Answered | None:
        """A cut answer, where a step is under way here."""
        run = grip.run
        if run.step != run.steps + 1 or run.step_fence != run.fence:
            return None
        return self._answer(grip, stop_reason=None)

    # ------------------------------------------------------------------ the tools

    async def _call(self, grip: Grip, call: ToolCall) -> None:
        if call.state is ToolCallState.RUNNING and call.fence != grip.run.fence:
            if self.dice.random() < 0.5:
                await self._finish_call(grip, call, ToolCallState.INTERRUPTED)
            else:
                await self._start_call(grip, call, call.attempt + 1)
        elif call.state is ToolCallState.READY and self.dice.random() < 0.8:
            await self._start_call(grip, call, call.attempt)
        else:
            succeeded = call.state is ToolCallState.RUNNING
            await self._finish_call(grip, call, ToolCallState.SUCCEEDED if succeeded else ToolCallState.FAILED)

    async def _start_call(self, grip: Grip, call: ToolCall, attempt: int) -> None:
        await self.verb(grip, start_call, call_id=call.id, attempt=attempt)
        self.record.starts[call.id, attempt] += 1

    async def _finish_call(self, grip: Grip, call: ToolCall, state: ToolCallState) -> None:
        is_error = state is not ToolCallState.SUCCEEDED
        await self.verb(grip, finish_call, call_id=call.id, state=state, result="r", is_error=is_error)

    # ------------------------------------------------------------------ verbs

    async def verb(self, grip: Grip, function: Callable[..., Done], **arguments: Any) -> Done:
        """Call a verb, now and then twice, and learn what it did; a grip that is lost is dropped."""
        given = {
            "run_id": grip.run.id,
            "fence": grip.run.fence,
            "numbers": grip.numbers,
            "at": self.desk.clock(),
            **arguments,
        }
        try:
            done = await self.desk.database.write(function, **given)
            self.record.committed(done)
            if self.dice.random() < 0.15:  # its acknowledgement was lost, and it is called again
                again = await self.desk.database.write(function, **given)
                self.record.repeated(done, again)
                done = again
        except LeaseLost:
            self.record.counts["fence refused"] += 1
            self.grips.pop(grip.run.id, None)
            raise
        self._learn(grip, done)
        self.record.counts[function.__name__] += 1
        return done

    def _learn(self, grip: Grip, done: Done) -> None:
        grip.run = done.run
        if done.numbers is not None:
            grip.numbers = done.numbers
        if done.messages:
            grip.last = done.messages[-1]
        if any(message.role is Role.ASSISTANT for message in done.messages):
            grip.calls = list(done.calls)
        elif done.calls:
            changed = {call.id: call for call in done.calls}
            grip.calls = [changed.get(call.id, call) for call in grip.calls]

    async def _settle(self, grip: Grip, end: End, cut: Answered | None = None) -> None:
        fence = grip.run.fence
        holder = self.desk.holder(self.name)
        turn = {"holder": holder, "next_stream": self.desk.ids("str")}
        done = await self.verb(grip, settle, end=end, seq=grip.run.seq + 1, **turn, ids=self.desk.ids, cut=cut)
        if done.run.status is not RunStatus.RUNNING:
            self.grips.pop(grip.run.id, None)
        elif done.run.fence != fence:
            self.record.owns(self.name, done.run)
            grip.calls, grip.cancel = [], False

    async def _give_back(self, grip: Grip) -> None:
        self.grips.pop(grip.run.id, None)
        done = await self.desk.database.write(hand_back, run_id=grip.run.id, fence=grip.run.fence, at=self.desk.clock())
        self.record.committed(done)

    async def _reserve(self, grip: Grip) -> None:
        try:
            grip.numbers = await self.desk.database.write(
                reserve, run_id=grip.run.id, fence=grip.run.fence, numbers=grip.numbers
            )
        except LeaseLost:
            self.grips.pop(grip.run.id, None)
            raise

    async def _read(self, grip: Grip) -> None:
        """The transcript's end, as a loop reads it when it begins."""
        messages = await self.desk.messages(grip.run.id)
        kept = [message for message in messages if message.seq <= grip.run.seq]
        grip.last = kept[-1]
        if grip.last.role is Role.ASSISTANT:
            grip.calls = await self.desk.calls(grip.run.id, grip.last.step)
