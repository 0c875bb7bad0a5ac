"""The worker: the loops that live in this process, their heartbeat, and the taking of runs that nobody works on."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from typing import Any, TypeAlias

from engine.contact import Contact
from engine.control import StopReason
from engine.outages import pauses
from engine.runner import Runner
from engine.settlements import code_gone, model_forbidden
from engine.workshop import Workshop
from models.away import DatabaseAway
from models.uninterrupted import uninterrupted
from models.verbs.claiming import Beat, Taken, Wanted, beat, signals, take_over
from models.verbs.errors import LeaseLost
from models.verbs.row import Done, Holder
from models.verbs.settling import End, settle

log = logging.getLogger("steersman.worker")
Held: TypeAlias = Sequence[tuple[str, int]]
CLAIM_BATCH = 50
GATHER_SECONDS = 0.02
"""How long a worker that was woken waits before it looks again: what is opened meanwhile is taken together."""
YIELD_SECONDS = 0.001
"""How much later a worker takes what it was woken for, for each run that it has: one that has less comes first."""
MOST_YIELDED = 50
STRANGERS_MS = 60_000
"""How long a run of an agent that is not known here is left to those who know it."""
ASIDE_SECONDS = 1.0
"""How long, at the end, what is done beside the loops may still go on."""
LEAVE_SECONDS = 10.0


def yielded(runs: int) -> float:
    """Seconds for which a worker with so many runs lets others go first, where all were woken for the same run."""
    return YIELD_SECONDS * min(runs, MOST_YIELDED)


class Worker:
    """Runs the loops of this process.

    `poll_seconds` is how often it looks for cancels, and for runs to take; `takes=False` takes none that was not
    opened here. At the end, where a database that does not answer lets nobody go on for `leave_seconds`, those who
    wait for it are left behind.
    """

    def __init__(
        self,
        shop: Workshop,
        *,
        poll_seconds: float,
        max_runs: int,
        drain_seconds: float,
        takes: bool = True,
        leave_seconds: float = LEAVE_SECONDS,
    ) -> None:
        self._shop = shop
        self._poll_seconds = min(poll_seconds, shop.lease_ms / 3000)
        self._max_runs = max_runs
        self._drain_seconds = drain_seconds
        self._takes = takes
        self._leave_seconds = leave_seconds
        self._runners: dict[str, Runner] = {}
        self._resting: set[Runner] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._asides: set[asyncio.Task[None]] = set()
        self._look = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._rung: set[str] = set()
        self._hearing = False
        self._contact = Contact(shop.lease_ms / 1000, asyncio.get_running_loop().time)
        self.draining = False

    def __len__(self) -> int:
        """How many loops live here."""
        return len(self._runners)

    @property
    def holder(self) -> Holder:
        """Who takes the lease of a run that is opened now: this process, or nobody where it is full or stopping."""
        return Holder() if self._room <= 0 or self.draining else self._shop.holder

    @property
    def _room(self) -> int:
        """How many runs more may be worked on; those that only wait for their children do not count."""
        return self._max_runs - len(self._runners) + len(self._resting)

    # ------------------------------------------------------------------ its life

    async def start(self) -> None:
        """Take what nobody works on, and go on doing so. Raises DatabaseAway."""
        await self._take()
        self._beating = asyncio.create_task(self._keep_beating(), name="heartbeat")
        self._looking = asyncio.create_task(self._keep_looking(), name="worker")

    async def close(self) -> None:
        """Stop claiming, let steps finish for a while, and hand the rest back; cancelled, hand back at once."""
        self.draining = True
        for runner in self._runners.values():
            runner.drain()
        self._look.set()
        try:
            await self._looked()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=self._drain_seconds)
        finally:
            await uninterrupted(self._hand_back_all())

    async def _looked(self) -> None:
        """Wait for the end of claiming: what was taken must be worked on, or handed back."""
        if self._looking is not None:
            await self._all_ended({self._looking})

    async def _hand_back_all(self) -> None:
        await self._looked()
        for task in self._tasks:
            task.cancel()
        await self._all_ended(self._tasks)
        if self._asides:
            await asyncio.wait(self._asides, timeout=ASIDE_SECONDS)
        beside = {*self._asides, *({self._beating} if self._beating else ())}
        for task in beside:
            task.cancel()
        await self._all_ended(beside)

    async def _all_ended(self, tasks: set[asyncio.Task[None]]) -> None:
        """Wait until these have ended, or none of them does any more; what has ended may leave the set meanwhile."""
        while left := {task for task in tasks if not task.done()}:
            done, _ = await asyncio.wait(left, timeout=self._leave_seconds)
            if not done:
                log.error("the database does not answer; leases that could not be handed back will run out")
                return
        await asyncio.sleep(0)  # who asked to be told of the last one's end hears of it

    async def _keep_looking(self) -> None:
        while not self.draining:  # never cancelled
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._look.wait(), self._poll_seconds)
                await asyncio.sleep(yielded(len(self._runners)))
            self._look.clear()
            await self._contact.tried(self._take)
            if not self.draining:
                await asyncio.sleep(GATHER_SECONDS)

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds)
            tries = pauses(self._shop.random)
            while True:
                if await self._contact.tried(self._pulse):
                    break
                await asyncio.sleep(min(next(tries), self._poll_seconds))

    # ------------------------------------------------------------------ runs

    def begin(self, done: Done) -> None:
        """Work on a run that was opened, or whose turn was begun, with its lease held by this process."""
        if done.numbers is None or done.run.worker != self._shop.worker:
            self._look.set()
            return
        if (there := self._runners.get(done.run.id)) is not None and there.run.fence >= done.run.fence:
            return  # an earlier try has begun it
        self._start(Taken(done.run, done.numbers, "claim"))

    def _start(self, taken: Taken) -> None:
        run = taken.run
        agent = self._shop.roster.kinds.get(run.code)
        if agent is None:
            self._aside(self._refuse(taken, code_gone(run)))
            return
        if agent.fields is None and not self._shop.models_of(agent):
            self._aside(self._refuse(taken, model_forbidden(agent)))
            return
        runner = Runner(self._shop, agent, taken, self)
        if self.draining:
            runner.drain()
        before = self._runners.get(run.id)
        if before is not None:
            before.control.stop(StopReason.LOST)
        self._runners[run.id] = runner
        task = asyncio.create_task(runner.work(), name=f"run {run.id}")
        self._tasks.add(task)
        task.add_done_callback(lambda ended: self._ended(ended, run.id, runner))

    def _ended(self, task: asyncio.Task[None], run_id: str, runner: Runner) -> None:
        self._tasks.discard(task)
        self._resting.discard(runner)
        if self._runners.get(run_id) is runner:
            del self._runners[run_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a run's loop ended by an error", exc_info=error, extra={"run_id": run_id})
        self._look.set()

    async def _refuse(self, taken: Taken, end: End) -> None:
        """Settle a run that this process can't work on."""
        try:
            done = await self._shop.store(
                settle,
                run_id=taken.run.id,
                fence=taken.run.fence,
                seq=taken.run.seq + 1,
                end=end,
                numbers=taken.numbers,
                holder=Holder(),
                next_stream=self._shop.ids("str"),
                ids=self._shop.ids,
                at=self._shop.clock(),
            )
        except LeaseLost:
            return
        self._shop.streams.tell(done.events)
        self._shop.bell.changed(done.run)
        self.touched(done.others)

    async def _take(self) -> None:
        """Take runs without a live lease, as many as there is room for; those held here are renewed before that."""
        room = min(self._room, CLAIM_BATCH)
        if room <= 0 or self.draining or not self._takes:
            return
        if self._runners and self._contact.is_overdue:
            await self._beat()
        taken = await self._shop.database.write(
            take_over,
            worker=self._shop.worker,
            lease_ms=self._shop.lease_ms,
            limit=room,
            wanted=self._wanted(),
            at=self._shop.clock(),
        )
        for one in taken:
            log.info("took a run", extra={"run_id": one.run.id, "why": one.why, "fence": one.run.fence})
            self._start(one)
            self._shop.bell.changed(one.run)
        if len(taken) == CLAIM_BATCH:  # there may be more
            self._look.set()

    def _wanted(self) -> Wanted:
        return Wanted(
            holding=list(self._runners),
            without=self._shop.roster.broken,
            lapsed=not self._contact.is_fresh,
            known=list(self._shop.roster.kinds),
            patience_ms=STRANGERS_MS,
        )

    # ------------------------------------------------------------------ signals

    async def _pulse(self) -> None:
        """Tell each loop what it must know; the leases are renewed as often as they need it."""
        if not self._runners:
            self._contact.renewed()
        elif self._contact.is_due(self._poll_seconds):
            await self._beat()
        else:
            await self._ask(self._signals)

    async def _beat(self) -> None:
        """Renew the leases held here, and tell each loop what it must know."""
        await self._ask(self._renewed)
        self._contact.renewed()

    async def _renewed(self, held: Held) -> dict[str, Beat]:
        return await self._shop.database.write(beat, held=held, lease_ms=self._shop.lease_ms)

    async def _signals(self, held: Held) -> dict[str, Beat]:
        return await self._shop.database.read(signals, held=held)

    async def _ask(
        self, ask: Callable[[Held], Awaitable[dict[str, Beat]]], among: Collection[str] | None = None
    ) -> None:
        """Ask the rows of the loops here, or of those `among` these, and tell each what it must know."""
        runners = {run_id: one for run_id, one in self._runners.items() if among is None or run_id in among}
        held = [(run_id, runner.run.fence) for run_id, runner in runners.items()]
        told = await ask(held)
        for run_id, fence in held:
            runner = runners[run_id]
            if runner.run.fence != fence or self._runners.get(run_id) is not runner:
                continue  # it has gone on, or ended, meanwhile
            self._tell(runner, told.get(run_id))

    def _tell(self, runner: Runner, told: Beat | None) -> None:
        if told is None:
            if not runner.storing:  # else its verb finds that out, or has moved the fence itself
                runner.control.stop(StopReason.LOST)
            return
        if told.cancel:
            runner.control.stop(StopReason.CANCEL)
        runner.control.interrupt(told.interrupting)
        if told.unannounced:
            self._aside(runner.announce())
        if runner.publisher.is_low:
            self._aside(runner.reserve())

    def wake(self) -> None:
        """There may be work to take."""
        self._look.set()

    def heard(self, run_id: str) -> None:
        """Another process has changed this run: where its loop lives here, look at what it must know.

        However often this is called, one look at a time is under way, and one more follows it.
        """
        if run_id in self._runners:
            self._rung.add(run_id)
            if not self._hearing:
                self._hearing = True
                self._aside(self._hear())

    async def _hear(self) -> None:
        try:
            while self._rung:
                rung, self._rung = self._rung, set()
                await self._ask(self._signals, rung)
        except DatabaseAway:
            self._rung.clear()  # the next beat tells
        finally:
            self._hearing = False

    def touched(self, others: Sequence[Done]) -> None:
        """A verb has changed these runs on the way: those that it opened to be worked on here are begun."""
        for done in others:
            if done.numbers is not None:
                self.begin(done)
            else:
                self.heard(done.run.id)
            self._shop.bell.changed(done.run)

    def rests(self, runner: Runner, *, resting: bool) -> None:
        """A loop only waits for its children from now on, or does not any more; its place is for others meanwhile."""
        if not resting:
            self._resting.discard(runner)
        elif self._runners.get(runner.run.id) is runner:
            self._resting.add(runner)
            self._look.set()

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
