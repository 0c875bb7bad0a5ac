"""How runs and requests fail: in words for their owner, with stable codes, and with nothing of the cause."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from engine.loading import Agents
from models.database import open_database
from tests.support import documents
from tests.support.clients import GraphQLFailed
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.world import World, helper, kinds, world

SECRET_WORDS = "sk-ant-api03-secret at http://10.0.0.7:9000/internal"

PROVIDERS = {
    "overloaded": ([Script.status(529, "overloaded_error", SECRET_WORDS)] * 5, "PROVIDER_OVERLOADED", 5),
    "overloaded within the answer": (
        [Script().text("lost").fail("overloaded_error", SECRET_WORDS) for _ in range(5)],
        "PROVIDER_OVERLOADED",
        5,
    ),
    "failing": ([Script.status(500, "api_error", SECRET_WORDS)] * 5, "PROVIDER_ERROR", 5),
    "cut": ([Script().half_text("lost").cut() for _ in range(5)], "PROVIDER_ERROR", 5),
    "an end without its mark": ([Script().text("lost").end() for _ in range(5)], "PROVIDER_ERROR", 5),
    "too slow": ([Script.status(504, "timeout_error", SECRET_WORDS)] * 5, "PROVIDER_TIMEOUT", 5),
    "a wrong key": ([Script.status(401, "authentication_error", SECRET_WORDS)], "PROVIDER_ERROR", 1),
    "an unknown model": ([Script.status(404, "not_found_error", SECRET_WORDS)], "PROVIDER_ERROR", 1),
}


@pytest.mark.parametrize("how", PROVIDERS)
async def test_a_provider_that_fails_ends_the_run_in_plain_words(tmp_path: Path, how: str) -> None:
    """The run says which kind of failure it was, on its row and in RunResult; what was shown is withdrawn."""
    scripts, code, asked = PROVIDERS[how]
    async with world(tmp_path) as w:
        w.play(*scripts)
        alice = w.client("alice")
        run = await alice.start("Hi")
        feed = await alice.watch_stream(run["streamId"])
        await feed.end()
        end = await alice.run(run["id"])
        assert (end["status"], end["finish"], end["error"]["code"]) == ("FAILED", "ERROR", code)
        result = feed.items[-1]
        assert (result["status"], result["finish"], result["error"]) == ("FAILED", "ERROR", end["error"])
        assert (feed.text, result["text"]) == ("", "")
        assert len(w.model.requests) == asked
        told = f"{end}{feed.items}"
        assert not any(word in told for word in ("sk-ant", "10.0.0.7", "127.0.0.1", "Error(", "Traceback"))


async def test_the_next_model_takes_a_step_and_watchers_are_told(tmp_path: Path) -> None:
    """ModelFellBack says from, to and why, live and replayed; the message and RunResult name who answered."""
    first, second = "claude-sonnet-5-5", "claude-opus-5-5"
    async with world(tmp_path, helper=helper(model=[first, second])) as w:
        w.play(Script.status(404, "not_found_error", SECRET_WORDS), Script().text("Whole."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        feed = await alice.watch_stream(run["streamId"])
        await feed.end()
        (change,) = feed.of("ModelFellBack")
        told = {name: change[name] for name in ("from", "to", "reason", "step", "attempt")}
        why = "The model's provider does not know this model."
        assert told == {"from": first, "to": second, "reason": why, "step": 1, "attempt": 2}
        assert feed.items[-1]["model"] == second
        whole = await alice.run(run["id"])
        assert [message["model"] for message in whole["messages"]["nodes"]] == [None, second]
        again = await alice.watch_stream(run["streamId"])
        await again.end()
        assert again.of("ModelFellBack") == [change]


async def test_a_failure_within_the_answer_is_tried_again_unseen(tmp_path: Path) -> None:
    """StepRestarted withdraws what was shown; the answer that follows is whole and counted once."""
    async with world(tmp_path) as w:
        w.play(Script.status(429, "rate_limit_error"), Script().text("lost").fail(), Script().text("Whole."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        feed = await alice.watch_stream(run["streamId"])
        await feed.end()
        assert feed.text == "Whole."
        assert [event["attempt"] for event in feed.of("StepRestarted")] == [2, 3]
        end = await alice.run(run["id"])
        assert (end["status"], end["error"], end["steps"]) == ("COMPLETED", None, 1)
        assert [call["stopReason"] for call in end["modelCalls"]["nodes"]] == [None, None, "end_turn"]


ENDS: dict[str, tuple[dict[str, Any], list[Script], tuple[str, str, str | None]]] = {
    "max_tokens cut the answer": (
        {},
        [Script().text("And so").stop("max_tokens")],
        ("COMPLETED", "LENGTH", None),
    ),
    "the model's maker refuses": ({}, [Script().text("No").stop("refusal")], ("COMPLETED", "CONTENT_FILTER", None)),
    "there are too many steps": (
        {"max_steps": 2},
        [Script().tool("work"), Script().tool("work")],
        ("FAILED", "MAX_STEPS", "AGENT_MAX_STEPS"),
    ),
}


@pytest.mark.parametrize("why", ENDS)
async def test_every_end_has_its_status_and_finish(tmp_path: Path, why: str) -> None:
    """LENGTH and CONTENT_FILTER complete a run, MAX_STEPS fails it; the next input goes on in any case."""
    settings, scripts, expected = ENDS[why]
    gate = Gate()
    gate.open.set()
    async with world(tmp_path, helper=helper(tools=[gate.tool], **settings)) as w:
        w.play(*scripts, Script().text("On."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        assert (run["status"], run["finish"], (run["error"] or {}).get("code")) == expected
        again = await alice.start("Go on", runId=run["id"])
        assert (again["finish"], again["error"]) == (None, None)
        end = await alice.settled(run["id"])
        assert (end["status"], end["messages"]["nodes"][-1]["text"]) == ("COMPLETED", "On.")


async def test_a_turn_without_progress_times_out_and_keeps_what_was_shown(tmp_path: Path) -> None:
    """RUN_TIMEOUT; the text that the client saw is in the transcript, and the provider is let go."""
    async with world(tmp_path, helper=helper(timeout=2.0)) as w:
        w.play(Script().half_text("Shown").hold(asyncio.Event()))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        assert (run["status"], run["finish"], run["error"]["code"]) == ("FAILED", "ERROR", "RUN_TIMEOUT")
        assert run["messages"]["nodes"][-1]["text"] == "Shown"
        await (await w.model.arrived(1)).cut_off()


async def test_a_run_whose_agent_is_gone_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart without the agent's file the run is FAILED, readable as ever, and takes no new input."""
    monkeypatch.setattr("engine.worker.STRANGERS_MS", 0)  # how long others are left it
    async with world(tmp_path) as w:
        w.play(Script().half_text("Half").hold(asyncio.Event()))
        alice = w.client("alice")
        run = await alice.start("Hi")
        await (await alice.watch_stream(run["streamId"])).shows("Half")
        w.agents = Agents({})
        await w.restart()
        end = await alice.settled(run["id"])
        assert (end["status"], end["error"]["code"]) == ("FAILED", "AGENT_NOT_FOUND")
        assert kinds(await alice.stream(run["streamId"]))[-1] == "RunResult"
        assert (await alice.refusal(documents.STEER, runId=run["id"], input="x"))[0] == "AGENT_NOT_FOUND"
        assert (await alice.refusal(documents.RETRY, runId=run["id"]))[0] == "AGENT_NOT_FOUND"


# ---------------------------------------------------------------- defects


@asynccontextmanager
async def table_missing(w: World, name: str) -> AsyncIterator[None]:
    """The database without one of its tables, as after an accident of its administrator's."""
    async with open_database(w.settings.database_url) as other:
        await other.write(rename, name, "hidden")
        try:
            yield
        finally:
            await other.write(rename, "hidden", name)


def rename(c: Connection, old: str, new: str) -> None:
    """Rename a table, and nothing else: SQLite would have the others refer to the new name."""
    if c.dialect.name == "sqlite":
        c.execute(text("PRAGMA legacy_alter_table = ON"))
    c.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))


async def test_a_defect_shows_its_id_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """INTERNAL with the request's id, beside the data of other fields; the log has the cause under that id."""
    async with world(tmp_path) as w:
        w.play(Script().text("Yes."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        query = "query ($id: ID!) { viewer { id } run(id: $id) { id messages { totalCount } } }"
        async with table_missing(w, "agent_messages"):
            response = await alice.post({"query": query, "variables": {"id": run["id"]}}, **{"X-Request-ID": "req-1"})
            answer = response.json()
            assert response.status_code == 200
            assert answer["data"] == {"viewer": {"id": "alice"}, "run": None}
            (error,) = answer["errors"]
            assert error["extensions"] == {"code": "INTERNAL", "requestId": "req-1"}
            assert error["path"] == ["run", "messages", "totalCount"] or error["path"] == ["run", "messages"]
            assert "agent_messages" not in response.text
            assert not re.search("sqlite|postgres", response.text.lower())
        assert re.search("no such table: agent_messages|relation .agent_messages. does not exist", caplog.text)
        assert (await alice.ask(query, id=run["id"]))["run"]["messages"]["totalCount"] == 2


async def test_a_mutation_that_fails_by_a_defect_has_done_nothing(tmp_path: Path) -> None:
    """INTERNAL; no half of a run is stored, and the same key works afterwards."""
    async with world(tmp_path) as w:
        w.play(Script().text("Yes."))
        alice = w.client("alice")
        given = {"agent": "helper", "input": "Hi", "key": "k"}
        async with table_missing(w, "agent_messages"):
            assert await alice.codes(documents.START, input=given) == ["INTERNAL"]
        assert await w.run_ids() == []
        run = await alice.start("Hi", key="k")
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"


async def test_a_subscription_that_fails_by_a_defect_ends_alone(tmp_path: Path) -> None:
    """INTERNAL with an id on that operation; the socket and its other operations go on."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().half_text("Half").hold(held))
        alice = w.client("alice")
        run = await alice.start("Hi")
        other = await alice.watch_stream(run["streamId"])
        await other.shows("Half")
        async with table_missing(w, "agent_messages"):
            socket = await alice.socket()
            with pytest.raises(GraphQLFailed) as failed:
                async for _ in await socket.subscribe(documents.WATCH_MESSAGES, {"runId": run["id"]}):
                    pass
            (error,) = failed.value.errors
            assert error["extensions"].keys() == {"code", "requestId"}
            assert "agent_messages" not in str(error)
        held.set()
        await other.end()


async def test_a_run_that_meets_a_defect_fails_in_words_and_can_be_retried(tmp_path: Path) -> None:
    """RUN_INTERRUPTED, without the cause, and what was shown and never stored is withdrawn; retryRun then goes on."""
    held = asyncio.Event()
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().text("Half").hold(held).tool("work"), Script().text("Whole."))
        alice = w.client("alice")
        run = await alice.start("Hi")
        feed = await alice.watch_stream(run["streamId"])
        await feed.shows("Half")
        async with table_missing(w, "tool_calls"):
            held.set()
            await feed.end()
        end = await alice.run(run["id"])
        assert (end["status"], end["finish"], end["error"]["code"]) == ("FAILED", "ERROR", "RUN_INTERRUPTED")
        assert "tool_calls" not in f"{end}{feed.items}"
        assert [message["text"] for message in end["messages"]["nodes"]] == ["Hi"]
        assert feed.text == ""
        await alice.done(documents.RETRY, runId=run["id"])
        end = await alice.settled(run["id"])
        assert (end["status"], end["messages"]["nodes"][-1]["text"]) == ("COMPLETED", "Whole.")
        assert gate.calls == []
