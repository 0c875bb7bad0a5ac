"""The server as a house: full, without a worker, stopping while clients watch, and with many runs at once."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed

from tests.support import documents
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.world import helper, kinds, world


async def test_many_runs_at_once_all_come_to_their_end(tmp_path: Path) -> None:
    """Forty runs with tools, started and watched at once on one SQLite file: none fails, none is locked out."""
    gate = Gate()
    gate.open.set()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.model.answer(
            lambda request: Script().text("a", "b").tool("work") if len(request.messages) == 1 else Script().text("c")
        )
        alice = w.client("alice")

        async def live(number: int) -> str:
            run = await alice.start(f"Run {number}")
            feed = await alice.watch_stream(run["streamId"])
            await feed.end()
            assert feed.page.problems == []
            assert feed.items[-1]["status"] == "COMPLETED"
            return feed.text

        assert await asyncio.gather(*(live(number) for number in range(40))) == ["abc"] * 40
        assert (await alice.ask("{ runs(filter: {status: [COMPLETED]}) { totalCount } }"))["runs"]["totalCount"] == 40


async def test_a_full_server_lets_runs_wait_their_turn(tmp_path: Path) -> None:
    """Beyond MAX_RUNS a run is RUNNING without startedAt; it takes input meanwhile, and begins when there is room."""
    held = asyncio.Event()
    async with world(tmp_path, settings={"max_runs": 1}) as w:
        w.play(Script().hold(held).text("One."), Script().text("Two."), Script().text("Three."))
        alice = w.client("alice")
        first, second = await alice.start("First"), await alice.start("Second")
        assert first["startedAt"] is not None
        assert (second["status"], second["startedAt"]) == ("RUNNING", None)
        assert (await alice.steer(second["id"], "more"))["queued"] is True
        third = await alice.start("Third")
        cancelled = await alice.cancel(third["id"])
        assert (cancelled["status"], cancelled["finish"]) == ("CANCELLED", "ABORTED")
        held.set()
        end = await alice.settled(second["id"])
        assert (end["status"], end["pendingInput"]) == ("COMPLETED", [])
        assert end["startedAt"] is not None
        assert len(w.model.requests) == 3
        assert (await alice.settled(first["id"]))["status"] == "COMPLETED"


async def test_without_a_worker_runs_are_kept_for_one(tmp_path: Path) -> None:
    """With WORKER off a run waits, can be steered, withdrawn from and cancelled; a worker then takes the rest."""
    async with world(tmp_path, settings={"worker": False}) as w:
        w.play(Script().text("First."), Script().text("And this."))
        alice = w.client("alice")
        run, other = await alice.start("Hi"), await alice.start("Not this one")
        stream = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"])
        kept, taken = await alice.steer(run["id"], "and this"), await alice.steer(run["id"], "not this")
        assert (await alice.done(documents.WITHDRAW, runId=run["id"], inputId=taken["inputId"]))["withdrawn"] is True
        await alice.steer(other["id"], "never mind")
        assert (await alice.cancel(other["id"]))["status"] == "CANCELLED"
        events = await alice.stream(other["streamId"])
        assert kinds(events) == ["InputQueued", "InputApplied", "RunResult"]
        said = [message["text"] for message in (await alice.run(other["id"]))["messages"]["nodes"]]
        assert said == ["Not this one", "never mind"]
        assert stream.items == []
        w.settings = dataclasses.replace(w.settings, worker=True)
        await w.restart()
        end = await alice.settled(run["id"])
        assert end["status"] == "COMPLETED"
        events = await alice.stream(run["streamId"])
        assert [e["inputIds"] for e in events if e["__typename"] == "InputApplied"] == [[kept["inputId"]]]


async def test_a_server_that_stops_lets_its_clients_go_and_hands_its_runs_back(tmp_path: Path) -> None:
    """Watchers are told to come again, never that a run has ended; afterwards it goes on where it was."""
    async with world(tmp_path) as w:
        w.play(Script().half_text("Half").hold(asyncio.Event()), Script().text("Whole."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        events = await alice.watch_events(documents.WATCH_STREAM, streamId=run["streamId"])
        await events.shows("Half")
        watched = await alice.watch_stream(run["streamId"])
        await watched.shows("Half")
        await w.stop(leave=False)
        with pytest.raises(ConnectionClosed):
            await watched.end()
        for feed in (events, watched):
            assert not feed.completed
            assert feed.of("RunResult") == []
        await alice.disconnect()
        await w.start()
        end = await alice.settled(run["id"])
        assert (end["status"], end["messages"]["nodes"][-1]["text"]) == ("COMPLETED", "Whole.")


async def test_a_run_of_no_generation_yet_can_be_watched(tmp_path: Path) -> None:
    """runStream on an IDLE fork waits, and gives its first generation from the first event on."""
    async with world(tmp_path) as w:
        w.play(Script().text("One."), Script().text("Two."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        fork = (await alice.done(documents.FORK, runId=run["id"], seq=2))["run"]
        feed = await alice.watch(documents.WATCH_RUN_STREAM, runId=fork["id"])
        await alice.start("On", runId=fork["id"])
        await feed.sees("RunResult")
        assert (feed.text, feed.page.problems) == ("Two.", [])
        assert await (await alice.watch_stream(fork["id"])).failed() == ["RUN_NOT_FOUND"]


async def test_who_comes_back_to_an_old_generation_reads_all_later_ones_too(tmp_path: Path) -> None:
    """runStream from a number of the first of four generations goes through the rest of it and all that follow."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text(f"Answer {len(request.messages) // 2 + 1}. "))
        alice = w.client("alice")
        run = await alice.start("1")
        first = await alice.watch_stream(run["streamId"])
        await first.end()
        for number in (2, 3, 4):
            await alice.settled(run["id"])
            await alice.start(str(number), runId=run["id"])
        await alice.settled(run["id"])
        for count in range(len(first.items) + 1):
            after = first.items[count - 1]["seq"] if count else 0
            feed = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"], streamId=run["streamId"], after=after)
            await feed.until(lambda feed: feed.items and feed.items[-1].get("text") == "Answer 4. ")
            expected = 4 if count < len(first.items) else 3
            await feed.sees("RunResult", expected)
            assert [e["text"] for e in feed.of("RunResult")] == [f"Answer {n}. " for n in range(5 - expected, 5)]
            await feed.leave()


async def test_an_interrupt_stops_a_tool_and_the_run_goes_on(tmp_path: Path) -> None:
    """The tool hears of it at once, the call has a result, and the input stands behind it; it can't be withdrawn."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().tool("work"), Script().text("Instead."))
        alice = w.client("alice")
        run = await alice.start("Work")
        await gate.begun.wait()
        sent = await alice.steer(run["id"], "Do that instead", mode="INTERRUPT")
        taken = await alice.done(documents.WITHDRAW, runId=run["id"], inputId=sent["inputId"])
        assert taken["withdrawn"] is False
        await gate.stopped.wait()
        end = await alice.settled(run["id"])
        assert (end["status"], end["messages"]["nodes"][-1]["text"]) == ("COMPLETED", "Instead.")
        assert [b["type"] for b in w.model.requests[1].messages[-1]["content"]] == ["tool_result", "text"]


async def test_the_probes_answer_beside_it_all(tmp_path: Path) -> None:
    """/healthz and /readyz say that the server lives and may be sent requests."""
    async with world(tmp_path) as w, httpx2.AsyncClient() as http:
        for probe in ("healthz", "readyz"):
            assert (await http.get(f"{w.server.url}/{probe}")).status_code == 200
