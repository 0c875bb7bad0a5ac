"""Nothing is lost when the server stops and starts again: runs, transcripts, streams and what was under way."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support import documents
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.page import Page
from tests.support.world import helper, kinds, world


def shown(*events: dict[str, object]) -> Page:
    """A page that shows these events."""
    page = Page()
    for event in events:
        page.show(event)
    return page


async def test_after_a_restart_everything_is_still_there(tmp_path: Path) -> None:
    """Every field of a finished and of a cancelled run reads as it did before."""
    gate = Gate()
    gate.open.set()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(
            Script().thinking("Hm.").text("Look: ").tool("work"),
            Script().text("Done."),
            Script().half_text("I was").hold(asyncio.Event()),
        )
        alice = w.client("alice")
        await alice.settled((await alice.start("Work", metadata={"tag": "x"}))["id"])
        run = await alice.start("Talk")
        await (await alice.watch_stream(run["streamId"])).shows("I was")
        await alice.cancel(run["id"])
        await alice.settled(run["id"])
        listed = documents.document("{ runs { nodes { ...Whole } totalCount } }")
        before = await alice.ask(listed)
        await w.restart()
        assert await alice.ask(listed) == before
        assert [run["status"] for run in before["runs"]["nodes"]] == ["CANCELLED", "COMPLETED"]


async def test_a_stream_replays_from_any_number_to_its_result(tmp_path: Path) -> None:
    """Whatever a client has seen, live or never, the rest brings it to the same page, with RunResult last."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(
            Script()
            .thinking("Let ", "me see. \U0001f914")
            .text("First ", "\U0001f469\u200d\U0001f680", ", ")
            .tool("work"),
            Script().text("then ", "done \U0001f389."),
        )
        alice = w.client("alice")
        run = await alice.start("Work")
        live = await alice.watch_stream(run["streamId"])
        await gate.begun.wait()
        await alice.steer(run["id"], "and that")
        gate.open.set()
        await live.end()
        await w.restart()
        lasting = [e for e in live.items if e["__typename"] not in ("TextDelta", "ReasoningDelta", "ToolCallProgress")]
        for count in range(len(live.items) + 1):
            seen = live.items[:count]
            after = seen[-1]["seq"] if seen else 0
            rest = await alice.stream(run["streamId"], after)
            page = shown(*seen, *rest)
            assert page.problems == []
            assert (page.text, page.reasoning) == (live.page.text, live.page.reasoning)
            assert [e for e in rest if e in lasting] == [e for e in lasting if e["seq"] > after]
            assert kinds(rest)[-1:] == (["RunResult"] if count < len(live.items) else [])
        assert await alice.stream(run["streamId"], 1_000_000) == []


async def test_a_response_under_way_begins_again_after_a_restart(tmp_path: Path) -> None:
    """The run stays RUNNING, its watchers read StepRestarted on the same stream, and it comes to its end."""
    async with world(tmp_path) as w:
        w.play(Script().half_text("Half an ans").hold(asyncio.Event()), Script().text("A whole answer."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        before = await alice.watch_stream(run["streamId"])
        await before.shows("Half an ans")
        await w.restart()
        after = await alice.watch_stream(run["streamId"], before.items[-1]["seq"])
        await after.end()
        page = shown(*before.items, *after.items)
        assert (page.text, page.problems) == ("A whole answer.", [])
        (restarted,) = after.of("StepRestarted")
        assert (restarted["step"], restarted["attempt"]) == (1, 2)
        end = await alice.run(run["id"])
        assert (end["status"], end["streamId"]) == ("COMPLETED", run["streamId"])
        assert [call["attempt"] for call in end["modelCalls"]["nodes"]] == [1, 2]


async def test_a_finished_tool_call_is_not_run_again_after_a_restart(tmp_path: Path) -> None:
    """What was done stays done, and what was interrupted says so to the model."""
    quick, slow = Gate(), Gate()
    quick.open.set()
    async with world(tmp_path, quick=helper(tools=[quick.tool]), slow=helper(tools=[slow.tool])) as w:
        w.play(Script().tool("work"), Script().half_text("Now").hold(asyncio.Event()), Script().text("Finished."))
        alice = w.client("alice")
        run = await alice.start("Work", agent="quick")
        await (await alice.watch_stream(run["streamId"])).shows("Now")
        await w.restart()
        end = await alice.settled(run["id"])
        assert (end["status"], quick.calls) == ("COMPLETED", ["door"])
        assert [call["state"] for call in end["toolCalls"]["nodes"]] == ["SUCCEEDED"]
        w.play(Script().tool("work"), Script().text("It was cut."))
        other = await alice.start("Work", agent="slow")
        await slow.begun.wait()
        await w.restart()
        end = await alice.settled(other["id"])
        assert (end["status"], slow.calls) == ("COMPLETED", ["door"])
        (call,) = end["toolCalls"]["nodes"]
        assert (call["state"], call["isError"]) == ("INTERRUPTED", True)


async def test_queued_input_survives_a_restart(tmp_path: Path) -> None:
    """It still waits visibly, and is answered when the run goes on."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().tool("work"), Script().text("All answered."))
        alice = w.client("alice")
        run = await alice.start("Work")
        await gate.begun.wait()
        sent = await alice.steer(run["id"], "do not forget")
        await w.restart()
        feed = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"])
        await feed.sees("RunResult")
        assert [event["inputIds"] for event in feed.of("InputApplied")] == [[sent["inputId"]]]
        assert "do not forget" in str(w.model.requests[1].messages[-1])


async def test_a_key_is_remembered_over_a_restart(tmp_path: Path) -> None:
    """The same key gives the same run; nothing is begun twice."""
    async with world(tmp_path) as w:
        w.play(Script().text("Once."))
        alice = w.client("alice")
        run = await alice.start("Hi", key="once")
        await alice.settled(run["id"])
        await w.restart()
        assert (await alice.start("Hi", key="once"))["id"] == run["id"]
        assert await w.run_ids() == [run["id"]]
