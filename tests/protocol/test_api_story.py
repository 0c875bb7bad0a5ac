"""The story of a run as a client lives it: started, watched, steered, stopped, gone on with, forked and retried."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support import documents
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.world import helper, kinds, world


async def test_a_run_is_started_and_watched_to_its_end(tmp_path: Path) -> None:
    """startRun answers at once; tokens come through `stream`, whole messages through `messages`."""
    async with world(tmp_path) as w:
        w.play(Script().text("Hel", "lo, ", "Alice."))
        alice = w.client("alice")
        run = await alice.start("Hi there")
        assert (run["status"], run["title"], run["userId"], run["agent"]) == ("RUNNING", "Hi there", "alice", "helper")
        tokens = await alice.watch_stream(run["streamId"])
        messages = await alice.watch(documents.WATCH_MESSAGES, runId=run["id"])
        await tokens.end()
        assert tokens.text == "Hello, Alice."
        assert kinds(tokens.items)[-2:] == ["StepFinished", "RunResult"]
        await messages.until(lambda feed: len(feed.items) == 2)
        assert [(m["seq"], m["role"], m["text"]) for m in messages.items] == [
            (1, "USER", "Hi there"),
            (2, "ASSISTANT", "Hello, Alice."),
        ]
        end = await alice.run(run["id"])
        assert (end["status"], end["finish"], end["steps"]) == ("COMPLETED", "STOP", 1)


async def test_input_sent_while_a_tool_runs_waits_visibly_and_is_folded_in_behind_its_result(tmp_path: Path) -> None:
    """It stands in pendingInput, is announced by InputQueued and InputApplied, and reaches the model."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().tool("work", {"place": "gate"}), Script().text("Both done."))
        alice = w.client("alice")
        run = await alice.start("Work")
        stream = await alice.watch_stream(run["streamId"])
        await gate.begun.wait()
        sent = await alice.steer(run["id"], "check the tests too")
        assert (sent["queued"], sent["run"]["status"]) == (True, "RUNNING")
        (pending,) = (await alice.run(run["id"]))["pendingInput"]
        assert (pending["id"], pending["text"], pending["mode"]) == (sent["inputId"], "check the tests too", "QUEUE")
        await stream.sees("InputQueued")
        assert [(e["inputId"], e["queued"]) for e in stream.of("InputQueued")] == [(sent["inputId"], 1)]
        gate.open.set()
        await stream.end()
        assert [(e["inputIds"], e["messageSeq"]) for e in stream.of("InputApplied")] == [([sent["inputId"]], 3)]
        end = await alice.run(run["id"])
        assert end["pendingInput"] == []
        assert [block["__typename"] for block in end["messages"]["nodes"][2]["blocks"]] == [
            "ToolResultBlock",
            "TextBlock",
        ]
        told = w.model.requests[1].messages[-1]["content"]
        assert [block["type"] for block in told] == ["tool_result", "text"]
        assert told[1]["text"] == "check the tests too"


async def test_an_input_that_waits_can_be_withdrawn(tmp_path: Path) -> None:
    """Withdrawn, it leaves pendingInput and never reaches the model; once it is applied it can't be."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().tool("work"), Script().text("Done."))
        alice = w.client("alice")
        run = await alice.start("Work")
        await gate.begun.wait()
        kept = await alice.steer(run["id"], "keep this")
        taken = await alice.steer(run["id"], "forget this")
        assert [item["text"] for item in taken["run"]["pendingInput"]] == ["keep this", "forget this"]
        first = await alice.done(documents.WITHDRAW, runId=run["id"], inputId=taken["inputId"])
        again = await alice.done(documents.WITHDRAW, runId=run["id"], inputId=taken["inputId"])
        assert (first["withdrawn"], again["withdrawn"]) == (True, False)
        assert [item["id"] for item in first["run"]["pendingInput"]] == [kept["inputId"]]
        gate.open.set()
        end = await alice.settled(run["id"])
        late = await alice.done(documents.WITHDRAW, runId=run["id"], inputId=kept["inputId"])
        assert late["withdrawn"] is False
        assert end["messages"]["nodes"][2]["text"] == "keep this"
        assert "forget this" not in str(w.model.requests[1].body)


async def test_startrun_on_a_run_at_work_queues_the_input(tmp_path: Path) -> None:
    """startRun with a runId does what steerRun does, and replaces title and metadata where given."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().tool("work"), Script().text("Done."))
        alice = w.client("alice")
        run = await alice.start("Work")
        await gate.begun.wait()
        sent = await alice.done(
            documents.START, agent="helper", input="more", runId=run["id"], title="Renamed", metadata={"a": 1}
        )
        assert (sent["queued"], sent["run"]["title"], sent["run"]["metadata"]) == (True, "Renamed", {"a": 1})
        assert [item["id"] for item in sent["run"]["pendingInput"]] == [sent["inputId"]]
        gate.open.set()
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"


async def test_a_response_in_flight_is_stopped_and_what_was_shown_is_kept(tmp_path: Path) -> None:
    """cancelRun says cancelRequested, the run becomes CANCELLED, and the partial answer is a message."""
    async with world(tmp_path) as w:
        w.play(Script().half_text("It all ", "began ").hold(asyncio.Event()))
        alice = w.client("alice")
        run = await alice.start("Tell me")
        stream = await alice.watch_stream(run["streamId"])
        await stream.shows("It all began ")
        assert (await alice.cancel(run["id"]))["cancelRequested"] is True
        await stream.end()
        await (await w.model.arrived(1)).cut_off()
        result = stream.items[-1]
        assert (result["status"], result["finish"], result["cancelled"]) == ("CANCELLED", "ABORTED", True)
        assert result["text"] == "It all began "
        end = await alice.run(run["id"])
        assert (end["status"], end["finish"], end["cancelRequested"]) == ("CANCELLED", "ABORTED", False)
        last = end["messages"]["nodes"][-1]
        assert (last["role"], last["text"], last["stopReason"]) == ("ASSISTANT", "It all began ", None)
        assert result["usage"] == end["usage"] == last["usage"]
        assert (end["usage"]["inputTokens"], end["usage"]["outputTokens"]) == (10, 1)  # as far as it was reported


async def test_a_running_tool_hears_of_the_cancel_and_every_call_has_its_result(tmp_path: Path) -> None:
    """The tool is told at once, its result is kept, and the next turn on the run just works."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool], parallel_tools=1)) as w:
        w.play(Script().tool("work", {"place": "gate"}).tool("work", {"place": "roof"}), Script().text("As you wish."))
        alice = w.client("alice")
        run = await alice.start("Work")
        await gate.begun.wait()
        await alice.cancel(run["id"])
        await gate.stopped.wait()
        stopped = await alice.settled(run["id"])
        assert [call["state"] for call in stopped["toolCalls"]["nodes"]] == ["SUCCEEDED", "CANCELLED"]
        assert gate.calls == ["gate"]
        again = await alice.start("Never mind", runId=run["id"])
        assert (again["id"], again["status"], again["finish"]) == (run["id"], "RUNNING", None)
        assert again["streamId"] != run["streamId"]
        end = await alice.settled(run["id"])
        assert (end["status"], end["messages"]["nodes"][-1]["text"]) == ("COMPLETED", "As you wish.")


async def test_an_interrupt_cuts_the_response_and_is_answered_at_once(tmp_path: Path) -> None:
    """SteerMode INTERRUPT keeps what was shown, folds the input in, and the same stream goes on."""
    async with world(tmp_path) as w:
        w.play(Script().half_text("Once upon ").hold(asyncio.Event()), Script().text("Shorter: no."))
        alice = w.client("alice")
        run = await alice.start("A story")
        stream = await alice.watch_stream(run["streamId"])
        await stream.shows("Once upon ")
        sent = await alice.steer(run["id"], "Shorter!", mode="INTERRUPT")
        assert sent["queued"] is True
        await stream.end()
        await (await w.model.arrived(1)).cut_off()
        assert stream.text == "Once upon Shorter: no."
        end = await alice.run(run["id"])
        assert [m["text"] for m in end["messages"]["nodes"]] == ["A story", "Once upon ", "Shorter!", "Shorter: no."]


async def test_a_run_goes_on_with_its_whole_history(tmp_path: Path) -> None:
    """startRun with runId begins the next turn; the model sees everything, and `runStream` goes over into it."""
    async with world(tmp_path) as w:
        w.play(Script().text("I am well."), Script().text("Still well."))
        alice = w.client("alice")
        run = await alice.start("How are you?")
        feed = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"])
        await feed.sees("RunResult")
        await alice.start("And now?", runId=run["id"])
        await feed.sees("RunResult", 2)
        assert feed.text == "I am well.Still well."
        first, second = feed.of("RunResult")
        assert first["streamId"] == run["streamId"] != second["streamId"]
        assert (second["text"], second["steps"], second["step"]) == ("Still well.", 1, 2)
        roles = [message["role"] for message in w.model.requests[1].messages]
        assert roles == ["user", "assistant", "user"]
        end = await alice.run(run["id"])
        assert (end["steps"], end["messages"]["totalCount"], end["title"]) == (2, 4, "How are you?")


async def test_a_fork_has_a_copy_of_the_transcript_and_a_life_of_its_own(tmp_path: Path) -> None:
    """forkRun without input is IDLE, with input it runs; its tool calls are not run again, and the first run stays."""
    gate = Gate()
    gate.open.set()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().tool("work"), Script().text("Done."), Script().text("Elsewhere."), Script().text("Later."))
        alice = w.client("alice")
        first = await alice.settled((await alice.start("Work"))["id"])
        idle = (await alice.done(documents.FORK, runId=first["id"], seq=2))["run"]
        assert (idle["status"], idle["streamId"], idle["forkedFrom"]["seq"]) == ("IDLE", None, 1)
        forked = (await alice.done(documents.FORK, runId=first["id"], seq=3, input="Go on"))["run"]
        assert forked["forkedFrom"] == {"id": first["messages"]["nodes"][2]["id"], "runId": first["id"], "seq": 3}
        end = await alice.settled(forked["id"])
        assert [m["text"] for m in end["messages"]["nodes"]] == ["Work", "", "", "Go on", "Elsewhere."]
        (call,), (copied,) = first["toolCalls"]["nodes"], end["toolCalls"]["nodes"]
        assert (copied["state"], copied["result"]) == ("SUCCEEDED", call["result"])
        assert copied["id"] != call["id"]
        assert end["messages"]["nodes"][1]["blocks"][0]["toolCallId"] == copied["id"]
        assert gate.calls == ["door"]
        assert (await alice.run(first["id"]))["messages"]["totalCount"] == 4
        begun = await alice.start("Now", runId=idle["id"])
        assert (await alice.settled(begun["id"]))["messages"]["nodes"][-1]["text"] == "Later."


async def test_a_failed_run_is_retried_without_new_input(tmp_path: Path) -> None:
    """retryRun goes on from the last completed step; a success keeps nothing of the failure before it."""
    gate = Gate()
    gate.open.set()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().tool("work"), Script.status(401, "authentication_error"), Script().text("Now it works."))
        alice = w.client("alice")
        run = await alice.start("Work")
        failed = await alice.settled(run["id"])
        assert (failed["status"], failed["finish"], failed["error"]["code"]) == ("FAILED", "ERROR", "PROVIDER_ERROR")
        retried = (await alice.done(documents.RETRY, runId=run["id"]))["run"]
        assert (retried["status"], retried["error"]) == ("RUNNING", None)
        end = await alice.settled(run["id"])
        assert (end["status"], end["finish"], end["error"]) == ("COMPLETED", "STOP", None)
        assert [m["text"] for m in end["messages"]["nodes"]] == ["Work", "", "", "Now it works."]
        assert gate.calls == ["door"]


async def test_what_goes_on_by_itself_can_not_be_retried(tmp_path: Path) -> None:
    """A run at work is RUN_BUSY; one whose last answer is whole needs an input."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().text("Whole.").hold(held))
        alice = w.client("alice")
        run = await alice.start("Hi")
        assert await alice.refusal(documents.RETRY, runId=run["id"]) == ("RUN_BUSY", ["input", "runId"])
        held.set()
        await alice.settled(run["id"])
        assert await alice.refusal(documents.RETRY, runId=run["id"]) == ("AGENT_INPUT_REQUIRED", ["input", "runId"])


async def test_cancelling_what_does_not_generate_settles_it_at_once(tmp_path: Path) -> None:
    """A COMPLETED run becomes CANCELLED, keeps its finish and transcript, and takes the next input as ever."""
    async with world(tmp_path) as w:
        w.play(Script().text("One."), Script().text("Two."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        cancelled = await alice.cancel(run["id"])
        assert (cancelled["status"], cancelled["finish"], cancelled["cancelRequested"]) == ("CANCELLED", "STOP", False)
        assert [event["__typename"] for event in await alice.stream(run["streamId"])].count("RunResult") == 1
        await alice.start("Again", runId=run["id"])
        assert [m["text"] for m in (await alice.settled(run["id"]))["messages"]["nodes"]] == [
            "Hi",
            "One.",
            "Again",
            "Two.",
        ]


async def test_input_before_a_cancel_is_kept_and_input_after_it_begins_the_next_turn(tmp_path: Path) -> None:
    """What was queued before is appended unanswered; what is sent after starts the run again by itself."""
    async with world(tmp_path) as w:
        w.play(Script().half_text("Well").hold(asyncio.Event()), Script().text("Anew."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        feed = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"])
        await feed.shows("Well")
        before = await alice.steer(run["id"], "before")
        await alice.cancel(run["id"])
        after = await alice.steer(run["id"], "after")
        await feed.sees("RunResult", 2)
        end = await alice.run(run["id"])
        assert [m["text"] for m in end["messages"]["nodes"]][:3] == ["Hi", "Well", "before"]
        assert end["messages"]["nodes"][-1]["text"] == "Anew."
        assert before["inputId"] in feed.of("InputApplied")[0]["inputIds"]
        assert after["run"]["id"] == run["id"]
