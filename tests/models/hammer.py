"""Many tasks hammer all verbs on few runs, at random, with workers that stall past their leases.

`python -m tests.models.hammer --operations 100000 --seed 7` runs it longer, on a SQLite file or, with --postgres, on a
database of its own on the server that STEERSMAN_TEST_POSTGRES_URL names; it then prints what was done.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from models.enums import FinishReason, SteerMode
from models.key import Key
from models.run import RunQuery, matching_run_ids
from models.verbs.errors import Busy, LeaseLost, NoSuchMessage, NothingToAnswer, QueueFull
from models.verbs.forking import fork
from models.verbs.opening import NewRun, open_run
from models.verbs.row import Done
from models.verbs.sending import retry, send, withdraw
from models.verbs.settling import request_cancel
from tests.models.hammer_worker import Worker
from tests.models.invariants import Record, check
from tests.support.databases import LeaseClock, controlled, new_postgres, new_sqlite
from tests.support.desk import LEASE_MS, Desk, dice_of

KEYS = 12


class Hammer:
    """What the tasks share: the runs, the record of what was accepted, and how many operations are left."""

    def __init__(self, desk: Desk, *, seed: int, tasks: int, runs: int, operations: int) -> None:
        self.desk = desk
        self.seed = seed
        self.tasks = tasks
        self.wanted = runs
        self.left = operations
        self.runs: list[str] = []
        self.record = Record()
        self.counts: Counter[str] = Counter()
        self._texts = 0

    async def run(self) -> None:
        """Hammer, bring every run to its end, and check that all invariants hold."""
        for number in range(self.wanted):
            await self.open(Worker(self.desk, self.record, "opener", dice_of(number)), None)
        await asyncio.gather(*(self._task(number) for number in range(self.tasks)))
        await self._drain()
        await check(self.desk, self.record)

    async def _task(self, number: int) -> None:
        dice = dice_of(self.seed * 1_000 + number)
        worker = Worker(self.desk, self.record, f"worker-{number}", dice)
        operations: list[tuple[int, str, Callable[[Worker, random.Random], Coroutine[Any, Any, None]]]] = [
            (20, "send", self._send),
            (12, "take over", self._take_over),
            (2, "cancel", self._cancel),
            (3, "withdraw", self._withdraw),
            (3, "retry", self._retry),
            (2, "let time pass", self._let_time_pass),
            (2, "beat", self._beat),
            (2, "open", self._open),
            (1, "fork", self._fork),
            (1, "crash", self._crash),
        ]
        weights = [weight for weight, _, _ in operations]
        while self.left > 0:
            if not worker.grips and dice.random() < 0.9:
                await asyncio.sleep(0.01)  # leave most of the operations to those that hold a run
                continue
            self.left -= 1
            _, name, operation = dice.choices(operations, weights)[0]
            if worker.grips and dice.random() < 0.9:
                name, operation = "work", self._work
            try:
                await operation(worker, dice)
                self.counts[name] += 1
            except (LeaseLost, QueueFull, Busy, NothingToAnswer, NoSuchMessage) as refused:
                self.counts[type(refused).__name__] += 1

    # ------------------------------------------------------------------ clients

    def _text(self) -> str:
        self._texts += 1
        return f"<input {self._texts}>"

    async def _both(self, verb: Callable[..., tuple[Done, Any]], **arguments: Any) -> tuple[Done, Any]:
        arguments = {"ids": self.desk.ids, "at": self.desk.clock(), **arguments}
        done, answer = await self.desk.database.write(verb, **arguments)
        self.record.committed(done)
        return done, answer

    async def open(self, worker: Worker, key: Key | None) -> str:
        """Open a run, held by that worker or by nobody."""
        text = key.key if key else self._text()
        new = NewRun("alice", "helper", text)
        holder = self.desk.holder(worker.name if worker.dice.random() < 0.7 else None)
        done, answer = await self._both(open_run, new=new, key=key, holder=holder)
        if done.numbers is not None:
            self.runs.append(done.run.id)
            self.record.accept(done.run.id, text)
            worker.hold(done)
        return str(answer["run_id"])

    async def _open(self, worker: Worker, dice: random.Random) -> None:
        name = f"<key {dice.randrange(KEYS)}>"
        run_id = await self.open(worker, Key("alice", "startRun", name, name))
        self.record.keyed[name].add(run_id)

    async def _send(self, worker: Worker, dice: random.Random) -> None:
        text = self._text()
        mode = SteerMode.INTERRUPT if dice.random() < 0.2 else SteerMode.QUEUE
        key = Key("alice", "steerRun", text, text) if dice.random() < 0.3 else None
        arguments: dict[str, Any] = {
            "run_id": dice.choice(self.runs),
            "text": text,
            "mode": mode,
            "key": key,
            "changes": {},
        }
        done, answer = await self._both(send, holder=self.desk.holder(worker.name), **arguments)
        self.record.accept(done.run.id, text, answer["input_id"])
        if done.numbers is not None:
            worker.hold(done)
        if key is not None:
            again, same = await self._both(send, holder=self.desk.holder(worker.name), **arguments)
            assert same == answer
            assert again.numbers is None

    async def _withdraw(self, worker: Worker, dice: random.Random) -> None:
        waiting = list(self.record.inputs)
        if not waiting:
            return
        input_id = dice.choice(waiting[-50:])
        run_id, _ = self.record.inputs[input_id]
        done, withdrawn = await self.desk.database.write(
            withdraw, run_id=run_id, input_id=input_id, at=self.desk.clock()
        )
        self.record.committed(done)
        if withdrawn:
            self.record.withdraw(input_id)

    async def _cancel(self, worker: Worker, dice: random.Random) -> None:
        await self._both(request_cancel, run_id=dice.choice(self.runs), reason=None)

    async def _retry(self, worker: Worker, dice: random.Random) -> None:
        done, _ = await self._both(retry, run_id=dice.choice(self.runs), key=None, holder=self.desk.holder(worker.name))
        worker.hold(done)

    async def _fork(self, worker: Worker, dice: random.Random) -> None:
        source = await self.desk.run(dice.choice(self.runs))
        done, _ = await self._both(
            fork,
            run_id=source.id,
            seq=dice.randint(1, source.seq),
            text=None,
            key=None,
            holder=self.desk.holder(worker.name),
        )
        self.record.forked.add(done.run.id)

    # ------------------------------------------------------------------ workers

    async def _work(self, worker: Worker, dice: random.Random) -> None:
        await worker.work()

    async def _take_over(self, worker: Worker, dice: random.Random) -> None:
        await worker.take_over(dice.randint(1, 3))

    async def _beat(self, worker: Worker, dice: random.Random) -> None:
        await worker.beat()

    async def _crash(self, worker: Worker, dice: random.Random) -> None:
        worker.grips.clear()

    async def _let_time_pass(self, worker: Worker, dice: random.Random) -> None:
        self.desk.clock.advance(dice.random())
        await self.desk.leases.advance(dice.random() * 0.7 * LEASE_MS / 1000)

    async def _drain(self) -> None:
        """No run is stranded: one worker that takes what is left settles every run."""
        worker = Worker(self.desk, self.record, "last", dice_of(self.seed))
        for _ in range(50):
            await self.desk.lapse()
            await worker.take_over(1_000)
            while worker.grips:
                grip = next(iter(worker.grips.values()))
                await worker.finish(grip, FinishReason.STOP)
            running = await self.desk.database.read(matching_run_ids, RunQuery())
            rows = [await self.desk.run(run_id) for run_id in running]
            if all(row.status != "RUNNING" for row in rows):
                return
        raise AssertionError("runs are left that nobody could settle")


async def _main(url: str, arguments: argparse.Namespace) -> None:
    async with controlled(url, pool_size=10) as (database, clock):
        hammer = _hammer(Desk(database, clock), clock, arguments)
        began = time.perf_counter()
        await hammer.run()
        took = time.perf_counter() - began
    sys.stdout.write(f"all invariants hold after {arguments.operations} operations in {took:.1f} s\n")
    for name, count in [*hammer.counts.most_common(), *hammer.record.counts.most_common()]:
        sys.stdout.write(f"  {name}: {count}\n")


def _hammer(desk: Desk, clock: LeaseClock, arguments: argparse.Namespace) -> Hammer:
    return Hammer(
        desk, seed=arguments.seed, tasks=arguments.tasks, runs=arguments.runs, operations=arguments.operations
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of a SQLite file")
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.postgres:
        with new_postgres() as address:
            asyncio.run(_main(address, given))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_main(new_sqlite(Path(folder)), given))
