"""Promises of docs/promises.md that stand between the subjects of the other files, seen through the API."""

from __future__ import annotations

import asyncio
from pathlib import Path

from graphql import build_schema

from engine.context import Context
from steersman import tool
from tests.support import documents
from tests.support.messages_script import Script
from tests.support.project import ROOT
from tests.support.world import helper, kinds, world


def test_clients_have_verbs_and_no_way_to_write_rows() -> None:
    """No mutation sets a status, a message or an owner: verbs are all that there is."""
    schema = build_schema((ROOT / "schema" / "schema.graphql").read_text(encoding="utf-8"))
    assert schema.mutation_type is not None
    verbs = {"startRun", "steerRun", "withdrawInput", "cancelRun", "retryRun", "forkRun", "addRunTools", "promptAgent"}
    verbs |= {"decideToolCalls", "completeToolCall"}
    verbs |= {"createChat", "updateChatMembers", "createThread", "setThreadResource", "postMessage"}
    verbs |= {"registerRemote", "deleteRemote", "answerRemoteCall"}
    verbs |= {"createAgent", "updateAgent", "deleteAgent", "setResource", "deleteResource"}
    verbs |= {"createSchedule", "deleteSchedule", "createWebhook", "deleteWebhook"}
    assert set(schema.mutation_type.fields) == verbs


async def test_the_stream_is_named_before_the_first_token(tmp_path: Path) -> None:
    """startRun's answer has run and stream, so that a client can watch from the very beginning."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().hold(held).text("Now."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        assert run["status"] == "RUNNING"
        stream = await alice.watch_stream(run["streamId"])
        held.set()
        await stream.end()
        assert kinds(stream.items) == ["TextDelta", "StepFinished", "RunResult"]
        assert stream.items[-1]["runId"] == run["id"]


async def test_a_tool_is_seen_at_work_and_done_before_its_results_are_a_message(tmp_path: Path) -> None:
    """ToolCallStarted and ToolCallFinished come one by one, while another call of the step goes on."""
    held = asyncio.Event()

    @tool
    async def wait(ctx: Context, place: str) -> str:
        """Wait.

        Args:
            place: where.
        """
        if place == "long":
            await held.wait()
        return f"waited at {place}"

    async with world(tmp_path, helper=helper(tools=[wait])) as w:
        w.play(Script().tool("wait", {"place": "short"}).tool("wait", {"place": "long"}), Script().text("Done."))
        alice = w.client("alice")
        run = await alice.start("Wait")
        stream = await alice.watch_stream(run["streamId"])
        await stream.sees("ToolCallFinished")
        (finished,) = stream.of("ToolCallFinished")
        told = {name: finished[name] for name in ("name", "input", "result", "isError")}
        assert told == {"name": "wait", "input": {"place": "short"}, "result": "waited at short", "isError": False}
        assert len(stream.of("ToolCallStarted")) == 2
        assert (await alice.run(run["id"]))["messages"]["totalCount"] == 2
        held.set()
        await stream.end()


async def test_max_steps_bounds_a_turn_and_steps_count_them_all(tmp_path: Path) -> None:
    """Three turns of one step each pass with max_steps 1, and the run's `steps` is three."""
    async with world(tmp_path, helper=helper(max_steps=1)) as w:
        w.play(*(Script().text(f"Answer {turn}.") for turn in (1, 2, 3)))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("One"))["id"])
        for text in ("Two", "Three"):
            await alice.start(text, runId=run["id"])
            run = await alice.settled(run["id"])
        assert (run["status"], run["steps"]) == ("COMPLETED", 3)


async def test_an_agents_model_and_max_tokens_are_what_the_provider_is_asked_for(tmp_path: Path) -> None:
    """With its system prompt and its tools as JSON schema."""

    @tool
    def add(first: int, second: int = 1) -> int:
        """Add two numbers.

        Args:
            first: one.
            second: the other.
        """
        return first + second

    async with world(tmp_path, helper=helper(max_tokens=321, system="You add.", tools=[add])) as w:
        w.play(Script().text("Fine."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        body = w.model.requests[0].body
        assert (body["model"], body["max_tokens"]) == (run["messages"]["nodes"][-1]["model"], 321)
        assert "You add." in str(body["system"])
        schema = body["tools"][0]["input_schema"]
        assert schema["required"] == ["first"]
        assert {name: value["type"] for name, value in schema["properties"].items()} == {
            "first": "integer",
            "second": "integer",
        }


async def test_tags_are_kept_shown_and_filtered_by(tmp_path: Path) -> None:
    """metadata stands in for columns of an application's own."""
    async with world(tmp_path) as w:
        w.play(Script().text("One."), Script().text("Two."))
        alice = w.client("alice")
        tagged = await alice.settled((await alice.start("Hi", metadata={"ticket": 17, "team": "blue"}))["id"])
        await alice.settled((await alice.start("Ho", metadata={"ticket": 18}))["id"])
        assert tagged["metadata"] == {"ticket": 17, "team": "blue"}
        query = "query ($metadata: JSON) { runs(filter: { metadata: $metadata }) { nodes { id } } }"
        found = (await alice.ask(query, metadata={"ticket": 17}))["runs"]["nodes"]
        assert found == [{"id": tagged["id"]}]


async def test_a_failure_reaches_whoever_watches_the_run(tmp_path: Path) -> None:
    """The `run` subscription tells it with its error, like every other change; a new turn goes on from there."""
    async with world(tmp_path) as w:
        w.play(Script.status(401, "authentication_error"), Script().text("Back."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        feed = await alice.watch_run(run["id"])
        await feed.until(lambda feed: feed.items and feed.items[-1]["status"] == "FAILED")
        assert feed.items[-1]["error"]["code"] == "PROVIDER_ERROR"
        await alice.done(documents.START, agent="helper", input="And now?", runId=run["id"])
        await feed.until(lambda feed: feed.items[-1]["status"] == "COMPLETED")
        assert feed.items[-1]["error"] is None
