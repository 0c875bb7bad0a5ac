"""The worker: the loops that live in this process, their heartbeat, and the taking of runs that nobody works on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine
from typing import Any

from engine.control import StopReason
from engine.loading import Agents
from engine.runner import Runner, Workshop
from engine.settlements import agent_gone, model_forbidden
from models.uninterrupted import uninterrupted
from models.verbs.claiming import Beat, Taken, beat, take_over
from models.verbs.errors import LeaseLost
from models.verbs.row import Done, Holder
from models.verbs.settling import End, settle

log = logging.getLogger("steersman.worker")
CLAIM_BATCH = 50


class Worker:
    """Runs the loops of this process. `poll_seconds` is how often it looks for cancels, and for runs to take."""

    def __init__(
        self, shop: Workshop, agents: Agents, *, poll_seconds: float, max_runs: int, drain_seconds: float
    ) -> None:
        self._shop = shop
        self._agents = agents
        self._poll_seconds = min(poll_seconds, shop.lease_ms / 3000)
        self._max_runs = max_runs
        self._drain_seconds = drain_seconds
        self._runners: dict[str, Runner] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._asides: set[asyncio.Task[None]] = set()
        self._look = asyncio.Event()
        self._beating: asyncio.Task[None] | None = None
        self.draining = False

    def __len__(self) -> int:
        """How many loops live here."""
        return len(self._runners)

    @property
    def holder(self) -> Holder:
        """Who takes the lease of a run that is opened now: this process, or nobody where it is full or stopping."""
        full = len(self._runners) >= self._max_runs
        return Holder() if full or self.draining else self._shop.holder

    # ------------------------------------------------------------------ its life

    async def start(self) -> None:
        """Take what nobody works on, and go on doing so."""
        await self._take()
        self._beating = asyncio.create_task(self._go_on(), name="worker")

    async def close(self) -> None:
        """Stop claiming, let steps finish for a while, and hand the rest back; cancelled, hand back at once."""
        self.draining = True
        for runner in self._runners.values():
            runner.draining = True
        self._look.set()
        beating = asyncio.create_task(self._beat_only())
        try:
            await self._claiming_ended()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=self._drain_seconds)
        finally:
            await uninterrupted(self._hand_back_all(beating))

    async def _claiming_ended(self) -> None:
        if self._beating is not None:
            await asyncio.wait((self._beating,))

    async def _hand_back_all(self, beating: asyncio.Task[None]) -> None:
        await self._claiming_ended()
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)
        beating.cancel()
        await asyncio.gather(beating, *self._asides, return_exceptions=True)

    async def _go_on(self) -> None:
        while not self.draining:  # never cancelled: what it has taken must be worked on, or handed back
            await self._rest()
            try:
                await self._beat()
                await self._take()
            except Exception:  # the database is away: leases may run out, and are taken again
                log.exception("the worker could not reach the database; it tries again")

    async def _beat_only(self) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds)
            try:
                await self._beat()
            except Exception:
                log.exception("the worker could not renew its leases; it tries again")

    async def _rest(self) -> None:
        try:
            await asyncio.wait_for(self._look.wait(), self._poll_seconds)
        except TimeoutError:
            return
        self._look.clear()

    # ------------------------------------------------------------------ runs

    def begin(self, done: Done) -> None:
        """Work on a run that was opened, or whose turn was begun, with its lease held by this process."""
        if done.numbers is None or done.run.worker != self._shop.worker:
            self._look.set()
            return
        self._start(Taken(done.run, done.numbers, "claim"))

    def _start(self, taken: Taken) -> None:
        run = taken.run
        agent = self._agents.get(run.agent)
        allowed = self._shop.allowed_models
        if agent is None:
            self._aside(self._refuse(taken, agent_gone(run.agent)))
            return
        if allowed is not None and agent.models[0] not in allowed:
            self._aside(self._refuse(taken, model_forbidden(agent.models[0])))
            return
        runner = Runner(self._shop, agent, taken)
        runner.draining = self.draining
        before = self._runners.get(run.id)
        if before is not None:
            before.control.stop(StopReason.LOST)
        self._runners[run.id] = runner
        task = asyncio.create_task(runner.work(), name=f"run {run.id}")
        self._tasks.add(task)
        task.add_done_callback(lambda ended: self._ended(ended, run.id, runner))

    def _ended(self, task: asyncio.Task[None], run_id: str, runner: Runner) -> None:
        self._tasks.discard(task)
        if self._runners.get(run_id) is runner:
            del self._runners[run_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a run's loop ended by an error", exc_info=error, extra={"run_id": run_id})
        self._look.set()

    async def _refuse(self, taken: Taken, end: End) -> None:
        """Settle a run that this process can't work on."""
        try:
            done = await self._shop.database.write(
                settle,
                run_id=taken.run.id,
                fence=taken.run.fence,
                end=end,
                numbers=taken.numbers,
                holder=Holder(),
                ids=self._shop.ids,
                at=self._shop.clock(),
            )
        except LeaseLost:
            return
        self._shop.streams.publish(done.events)
        self._shop.bell.ring(done.run.id, done.run.user_id)

    async def _take(self) -> None:
        """Take runs without a live lease, as many as there is room for."""
        room = min(self._max_runs - len(self._runners), CLAIM_BATCH)
        if room <= 0 or self.draining:
            return
        taken = await self._shop.database.write(
            take_over,
            worker=self._shop.worker,
            lease_ms=self._shop.lease_ms,
            limit=room,
            holding=list(self._runners),
            without=self._agents.broken,
            at=self._shop.clock(),
        )
        for one in taken:
            log.info("took a run", extra={"run_id": one.run.id, "why": one.why, "fence": one.run.fence})
            self._start(one)
            self._shop.bell.ring(one.run.id, one.run.user_id)

    # ------------------------------------------------------------------ signals

    async def _beat(self) -> None:
        """Renew the leases held here, and tell each loop what it must know."""
        runners = dict(self._runners)
        held = [(run_id, runner.run.fence) for run_id, runner in runners.items()]
        beats = await self._shop.database.write(beat, held=held, lease_ms=self._shop.lease_ms)
        for run_id, fence in held:
            runner = runners[run_id]
            if runner.run.fence != fence or self._runners.get(run_id) is not runner:
                continue  # it has gone on, or ended, meanwhile
            self._tell(runner, beats.get(run_id))

    def _tell(self, runner: Runner, told: Beat | None) -> None:
        if told is None:
            runner.control.stop(StopReason.LOST)
            return
        if told.cancel:
            runner.control.stop(StopReason.CANCEL)
        runner.control.interrupt(told.interrupting)
        if told.unannounced:
            self._aside(runner.announce())
        if runner.publisher.is_low:
            self._aside(runner.reserve())

    def cancelled(self, run_id: str, fence: int) -> None:
        """A cancel of that generation was committed."""
        if (runner := self._with(run_id, fence)) is not None:
            runner.control.stop(StopReason.CANCEL)

    def sent(self, run_id: str, fence: int, interrupting: Collection[str]) -> None:
        """An input was queued for that generation."""
        if (runner := self._with(run_id, fence)) is not None:
            runner.control.interrupt(interrupting)
            self._aside(runner.announce())

    def _with(self, run_id: str, fence: int) -> Runner | None:
        runner = self._runners.get(run_id)
        return runner if runner is not None and runner.run.fence == fence else None

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside the loops; what goes wrong with it is in the log, and the next beat tries again."""
        task = asyncio.create_task(work)
        self._asides.add(task)
        task.add_done_callback(self._done_aside)

    def _done_aside(self, task: asyncio.Task[None]) -> None:
        self._asides.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("work beside a run's loop failed", exc_info=error)
