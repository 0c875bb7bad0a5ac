"""What goes wrong in the server itself: the run says so, the log has it whole, and nothing is left open."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine.providers.provider import Answer, Delta, ModelRequest, Provider, Response
from engine.streams.bell import Bell
from engine.tool import tool
from models.database import Database
from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import RunResult
from models.uninterrupted import uninterrupted
from models.verbs.claiming import Taken, take_over
from models.verbs.row import Done
from models.verbs.settling import settle
from tests.support.messages_script import Hold, Script
from tests.support.stage import ALICE, Stage, quiet


class Breaking:
    """A provider with a defect: its answers break after the first delta, in no way that a provider may."""

    def __init__(self, real: Provider) -> None:
        self.real = real
        self.whole = False

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[Response]:
        async with self.real.stream(request) as response:
            yield response if self.whole else _Broken(response)


class _Broken:
    def __init__(self, response: Response) -> None:
        self.response = response

    async def __aiter__(self) -> AsyncIterator[Delta]:
        async for delta in self.response:
            yield delta
            raise RuntimeError("a defect with sk-ant-secret in it")

    @property
    def answer(self) -> Answer:
        return self.response.answer

    def partial(self) -> Answer:
        return self.response.partial()


async def test_a_defect_ends_the_run_in_words(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """FAILED with RUN_INTERRUPTED, what was shown withdrawn, the cause in the log alone; retrying goes on."""
    provider: Any = Breaking(stage.provider)
    node = await stage.open(provider=provider)
    stage.play(Script().text("Half", "Half"), Script().text("Whole."))
    run_id = await node.start()
    run = await node.settled(run_id)
    assert run.error is not None
    assert (run.status, run.finish, run.error.code) == (RunStatus.FAILED, FinishReason.ERROR, ErrorCode.RUN_INTERRUPTED)
    assert "sk-ant" not in run.error.message
    assert "sk-ant-secret" in caplog.text
    screen = stage.screen(run_id)
    await screen.sees(RunResult)
    assert (screen.text, screen.names) == ("", ["StepRestarted", "RunResult"])
    provider.whole = True
    await node.runs.retry(ALICE, run_id=run_id)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


class Meddling:
    """A database that does something between the commit of a verb and its acknowledgement."""

    def __init__(
        self, database: Database, verb: Callable[..., Any], meddle: Callable[[Any], Coroutine[Any, Any, None]]
    ) -> None:
        self.database = database
        self.verb = verb
        self.meddle = meddle
        self.read = database.read

    async def write(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await uninterrupted(self._write(fn, args, kwargs))

    async def _write(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        done = await self.database.write(fn, *args, **kwargs)
        if fn is self.verb:
            await self.meddle(done)
        return done


async def test_a_cancel_that_comes_as_the_next_turn_begins_stops_that_turn(stage: Stage) -> None:
    """A turn that follows a cancelled one at once is cancelled at once too, however early it is told."""
    began, release = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Work slowly."""
        began.set()
        await release.wait()
        return "done"

    told: list[int] = []

    class Hasty(Bell):
        """Tells of a cancel right after the loop has learnt of its new turn."""

        def ring(self, run_id: str, user_id: str, *, work: bool = False) -> None:
            super().ring(run_id, user_id, work=work)
            run = node.runner(run_id).run if len(node.worker) else None
            if run is not None and run.generation == 2 and not told:
                told.append(run.fence)
                asyncio.get_running_loop().call_soon(node.worker.cancelled, run_id, run.fence)

    async def cancel_again(done: Done) -> None:
        if done.run.generation == 2:
            await other.cancel(done.run.id)

    other = await stage.open()
    database: Any = Meddling(stage.database, settle, cancel_again)
    node = await stage.open(tools=[slow], database=database, bell=Hasty())
    stage.play(Script().tool("slow"), Script().hold(asyncio.Event()))
    run_id = await node.start()
    await began.wait()
    await node.cancel(run_id)
    await node.steer(run_id, "after")
    release.set()
    run = await node.settled(run_id)
    assert (run.status, run.generation) == (RunStatus.CANCELLED, 2)


async def test_a_run_that_is_taken_as_its_worker_closes_is_handed_back(stage: Stage) -> None:
    """A takeover that commits while the worker begins to close leaves no lease behind that nobody holds."""
    closing: list[asyncio.Task[None]] = []

    async def close(taken: list[Taken]) -> None:
        if taken:
            closing.append(asyncio.create_task(node.worker.close()))
            await quiet()

    database: Any = Meddling(stage.database, take_over, close)
    node = await stage.open(database=database)
    front = await stage.open(works=False, watch_seconds=0.02)
    run_id = await front.start()
    node.worker._look.set()
    while not closing:
        await asyncio.sleep(0)
    await closing[0]
    run = await stage.run(run_id)
    assert (run.status, run.lease_until, run.worker) == (RunStatus.RUNNING, 0, None)
    stage.play(Script().text("Here."))
    third = await stage.open(watch_seconds=0.02)
    assert (await third.settled(run_id)).status is RunStatus.COMPLETED


async def test_a_long_answer_never_runs_out_of_numbers(stage: Stage) -> None:
    """Where few event numbers are left in the middle of an answer, more are reserved before its text has to wait."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("Once", *(" on" for _ in range(60))).hold(release))
    script = stage.server._scripts[0]
    assert isinstance(script, Script)
    script.acts.insert(3, Hold(release))
    run_id = await node.start()
    await stage.screen(run_id).shows("Once")
    publisher = node.runner(run_id).publisher
    publisher.numbers = dataclasses.replace(publisher.numbers, ceiling=publisher.numbers.next + 10)
    release.set()
    await node.settled(run_id)
    screen = stage.screen(run_id)
    await screen.sees(RunResult)
    assert screen.text == "Once" + " on" * 60
    numbers = [event.seq for event in screen.events]
    assert numbers == sorted(numbers)
    assert screen.names == ["StepFinished", "RunResult"]
    assert type(screen.events[-2]).__name__ == "StepFinished"
