"""Agents called like functions, and tests of agents without a network."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import steersman
from engine.errors import AgentMismatch, AgentNotFound, AttachmentRefused, Forbidden, RunNotFound
from engine.loading import LoadError
from engine.providers.anthropic import AnthropicProvider
from engine.providers.provider import FailureKind, ProviderFailure
from models.database import open_database
from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import RunResult, StreamEvent, TextDelta, ToolCallFinished, ToolCallStarted
from models.run import Run, get_run
from models.stream import read_stream
from steersman import Agent, Budget, Context, Result, tool
from steersman.process import engine_config, revision_in
from steersman.provider import NoProvider
from steersman.settings import Settings, read_settings
from steersman.testing import Call, Client, Hold, ScriptedModel, no_real_models, open_client
from tests.support.databases import new_postgres
from tests.support.left_behind import leave_a_run
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer
from tests.support.pictures import pdf, picture

AGENT_FILE = """
import steersman
from steersman import Agent, Budget, Context, Result, tool

@tool
async def find_order(ctx: Context, order: str) -> str:
    '''Find an order.

    Args:
        order: its number.
    '''
    return f"{order} of {ctx.user_id} for {ctx.context.get('shop')}"

agent = Agent(system="Help.", model="claude-sonnet-5-5", tools=[find_order])
"""


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    """A folder with one agent."""
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "support.py").write_text(AGENT_FILE)
    return folder


@pytest.fixture
def settings(agents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings of a program of its own; the path of its database."""
    database = tmp_path / "own.db"
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STEERSMAN_AGENTS", str(agents))
    monkeypatch.setenv("STEERSMAN_DATABASE_URL", f"sqlite:///{database}")
    return database


async def test_a_result_has_all_that_came_of_a_turn(agents: Path) -> None:
    """Text, finish, steps, usage, calls, messages, model and the run's id; nothing pends and nothing failed."""
    model = ScriptedModel([Call("find_order", {"order": "A-1"})], "It left.", "You are welcome.")
    async with open_client(agents, model, user="alice") as client:
        result = await client.run("support", "Where is A-1?", context={"shop": "north"})
        again = await client.run("support", "Thanks", run_id=result.run_id)
    assert (result.text, result.status, result.finish) == ("It left.", RunStatus.COMPLETED, FinishReason.STOP)
    assert (result.steps, result.model) == (2, "claude-sonnet-5-5")
    assert (result.output, result.pending, result.error) == (None, [], None)
    assert [(call.name, call.result) for call in result.tool_calls] == [("find_order", "A-1 of alice for north")]
    assert [message.role for message in result.messages] == ["USER", "ASSISTANT", "USER", "ASSISTANT"]
    assert result.usage.output_tokens > 0
    assert (again.run_id, again.steps, again.tool_calls, len(again.messages)) == (result.run_id, 1, [], 6)


class Found(BaseModel):
    """What an agent answers."""

    order: str
    day: dt.date
    late: bool = False


FOUND = '{"order": "A-1", "day": "2026-11-02"}'


async def test_a_checked_answer_is_an_instance_of_its_model() -> None:
    """With what JSON does not have, such as dates; the run's row has it as JSON, and its text is the answer's own."""
    agent = Agent(system="Help.", model="m", output=Found)
    model = ScriptedModel("It left.", f"Here: {FOUND}", "It left.", *["Never."] * 3)
    async with open_client({"support": agent}, model) as client:
        result = await client.run("support", "Where is A-1?")
        row = await _row(client, result.run_id)
        failed = await client.run("support", "And A-2?", run_id=result.run_id)
    assert result.output == Found(order="A-1", day=dt.date(2026, 11, 2))
    assert (result.text, result.steps) == (f"Here: {FOUND}", 2)
    assert row.output == {"order": "A-1", "day": "2026-11-02", "late": False}
    assert (failed.status, failed.finish, failed.output) == (RunStatus.FAILED, FinishReason.ERROR, None)
    assert failed.error is not None
    assert failed.error.code is ErrorCode.OUTPUT_INVALID


def test_a_result_has_the_promised_fields() -> None:
    """Neither more nor fewer."""
    promised = "text output finish status steps usage tool_calls messages model run_id pending error"
    assert sorted(field.name for field in dataclasses.fields(Result)) == sorted(promised.split())


async def test_a_run_is_gone_on_with_by_its_id(agents: Path) -> None:
    """The model reads all that was said; steps, usage and calls are those of the turn, messages those of the run."""
    call = Call("find_order", {"order": "A-1"})
    async with open_client(agents, model := ScriptedModel(call, "It left.", call, "Still away.")) as client:
        first = await steersman.run("support", "Where is A-1?", as_user="alice")
        second = await steersman.run("support", "And now?", as_user="alice", run_id=first.run_id)
        row = await _row(client, first.run_id)
        with pytest.raises(RunNotFound):
            await steersman.run("support", "Mine?", as_user="bob", run_id=first.run_id)
        with pytest.raises(AgentMismatch):
            await steersman.run("other", "Mine?", as_user="alice", run_id=first.run_id)
    assert (second.run_id, second.text, second.steps, row.steps) == (first.run_id, "Still away.", 2, 4)
    assert second.messages[: len(first.messages)] == first.messages
    assert [len(result.tool_calls) for result in (first, second)] == [1, 1]
    assert first.tool_calls[0].id != second.tool_calls[0].id
    assert [message["role"] for message in model.requests[2].messages] == ["user", "assistant"] * 2 + ["user"]
    assert second.usage.output_tokens == sum(m.usage.output_tokens for m in second.messages[-4:] if m.usage is not None)


async def test_what_the_caller_gives_reaches_the_run_and_its_tools() -> None:
    """Title, metadata, roles and trusted values; the same key again is the same run, and nothing is asked twice."""
    seen: list[tuple[str, list[str], str]] = []

    @tool
    async def look(ctx: Context) -> str:
        """Look."""
        seen.append((ctx.user_id, sorted(ctx.roles), ctx.context["shop"]))
        return "seen"

    agent = Agent(system="Help.", model="m", tools=[look], auth="clerk")
    given: dict[str, Any] = {
        "as_user": "alice",
        "roles": ["clerk", "user"],
        "title": "A look",
        "metadata": {"ticket": 17},
        "context": {"shop": "north"},
        "key": "ticket-17",
    }
    async with open_client({"support": agent}, model := ScriptedModel(Call("look"), "Done.")) as client:
        first = await steersman.run("support", "Look", **given)
        again = await steersman.run("support", "Look", **given)
        row = await _row(client, first.run_id)
        with pytest.raises(Forbidden):
            await steersman.run("support", "Look", as_user="bob")
    assert seen == [("alice", ["clerk", "user"], "north")]
    assert (row.title, row.metadata, row.user_id) == ("A look", {"ticket": 17}, "alice")
    assert (again, len(model.requests)) == (first, 2)


async def test_a_turn_may_have_a_budget_of_its_own() -> None:
    """What it can't pay for is not asked; what was done is in the result, and why it ended."""
    agent = Agent(system="Help.", model="m")
    async with open_client({"support": agent}, ScriptedModel("Never asked.")) as client:
        result = await steersman.run("support", "Hello " * 100, as_user="alice", budget=Budget(tokens=200))
        assert (await _row(client, result.run_id)).finish is FinishReason.BUDGET
    assert (result.status, result.text, result.model, result.steps) == (RunStatus.FAILED, "", None, 0)
    assert result.error is not None
    assert result.error.code is ErrorCode.BUDGET_SPENT
    assert [message.content for message in result.messages] == ["Hello " * 100]


async def test_a_result_that_waits_says_for_what_and_decide_goes_on() -> None:
    """The call is in `pending`; afterwards the result is of what has followed the decision."""

    @tool(approval=True)
    async def pay(amount: int) -> str:
        """Pay.

        Args:
            amount: how much.
        """
        return f"paid {amount}"

    agent = Agent(system="Help.", model="m", tools=[pay], output=Found)
    seen: list[StreamEvent] = []
    async with open_client({"support": agent}, ScriptedModel(["Let me.", Call("pay", {"amount": 5})], FOUND)):
        waits = await steersman.run("support", "Pay", as_user="alice")
        (call,) = waits.pending
        done = await steersman.decide(waits.run_id, as_user="alice", approve=[call.id], on_event=seen.append)
    assert (waits.status, waits.finish, waits.error) == (RunStatus.WAITING, FinishReason.APPROVAL, None)
    assert (waits.text, waits.output, waits.steps, waits.model) == ("Let me.", None, 1, "m")
    assert (call.name, call.input, call.result) == ("pay", {"amount": 5}, None)
    assert (done.run_id, done.status, done.pending, done.steps) == (waits.run_id, RunStatus.COMPLETED, [], 1)
    assert [(one.id, one.result) for one in done.tool_calls] == [(call.id, "paid 5")]
    assert done.output == Found(order="A-1", day=dt.date(2026, 11, 2))
    assert isinstance(seen[-1], RunResult)
    assert len(done.messages) == 4


async def test_events_are_handed_on_as_they_come(agents: Path) -> None:
    """To a function, or to a coroutine function; the last one is RunResult."""
    model = ScriptedModel([Call("find_order", {"order": "A-1"})], "It left.", "Once more.")
    seen: list[StreamEvent] = []

    async def later(event: StreamEvent) -> None:
        await asyncio.sleep(0)
        seen.append(event)

    async with open_client(agents, model) as client:
        first = await client.run("support", "Where?", on_event=seen.append)
        assert isinstance(seen[-1], RunResult)
        assert [event.is_error for event in seen if isinstance(event, ToolCallFinished)] == [False]
        seen.clear()
        await client.run("support", "Again", run_id=first.run_id, on_event=later)
    assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == "Once more."


async def test_on_event_gets_every_event_in_order(agents: Path) -> None:
    """Its text makes up the answers, and what lasts is what the rows have, up to RunResult."""
    seen: list[StreamEvent] = []
    model = ScriptedModel(["Let me see.", Call("find_order", {"order": "A-1"})], "It left.")
    async with open_client(agents, model) as client:
        result = await client.run("support", "Where?", on_event=seen.append)
        stored = await client.engine.database.read(read_stream, seen[-1].stream_id, 0)
    numbers = [event.seq for event in seen]
    assert numbers == sorted(set(numbers))
    assert [event for event in seen if event.lasting] == list(stored.lasting)
    assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == "Let me see.It left."
    assert [event.name for event in seen if isinstance(event, ToolCallStarted)] == ["find_order"]
    assert isinstance(seen[-1], RunResult)
    assert (seen[-1].run_id, seen[-1].text) == (result.run_id, result.text)


async def test_an_error_of_on_event_is_the_callers_and_the_run_goes_on(agents: Path) -> None:
    """Who watches may fail; what is durable does not fail with them."""
    said = asyncio.Event()

    def fails(event: StreamEvent) -> None:
        raise ZeroDivisionError

    async with open_client(agents, ScriptedModel(["One. ", Hold(said), "Two."])) as client:
        accepted = await client.start("support", "Begin")
        with pytest.raises(ZeroDivisionError):
            await client.result(accepted, fails)
        said.set()
        result = await client.result(accepted)
    assert (result.status, result.text) == (RunStatus.COMPLETED, "One. Two.")


async def test_a_slow_on_event_holds_up_no_run(agents: Path) -> None:
    """While it ponders the first event the run comes to its end; then it gets the rest, text in larger pieces."""
    seen: list[StreamEvent] = []
    words = "word " * 50

    async with open_client(agents, ScriptedModel(words)) as client:
        accepted = await client.start("support", "Begin")

        async def ponders(event: StreamEvent) -> None:
            while not seen and (await _row(client, accepted.run.id)).status is RunStatus.RUNNING:
                await asyncio.sleep(0.001)
            seen.append(event)

        await client.result(accepted, ponders)
    text = [event for event in seen if isinstance(event, TextDelta)]
    assert "".join(event.text for event in text) == words
    assert len(text) < 50
    assert isinstance(seen[-1], RunResult)


async def test_an_input_that_is_queued_gets_the_result_of_the_turn_it_joined(agents: Path) -> None:
    """Who speaks to a run that works waits for the answer that has heard it."""
    said = asyncio.Event()
    model = ScriptedModel(["One. ", Hold(said)], "Two.")
    async with open_client(agents, model) as client:
        first = await client.start("support", "Begin")
        second = await client.start("support", "And more", run_id=first.run.id)
        assert second.queued
        waiting = asyncio.create_task(client.result(second))
        said.set()
        result = await waiting
    assert (result.text, result.pending) == ("Two.", [])


async def test_an_input_after_a_cancel_gets_the_result_of_its_own_turn(agents: Path) -> None:
    """The stopped turn's end is not its end."""
    model = ScriptedModel(["One. ", Hold(asyncio.Event())], "Two.")
    async with open_client(agents, model) as client:
        first = await client.start("support", "Begin")
        await _first_text(client, first.run.id)
        stopped = await client.cancel(first.run.id)
        later = await client.start("support", "Another thing", run_id=first.run.id)
        result = await client.result(later)
    assert stopped.id == result.run_id
    assert (result.text, result.status) == ("Two.", RunStatus.COMPLETED)


async def test_a_withdrawn_input_waits_for_nothing_more(agents: Path) -> None:
    """Its turn's end is the end of the one it waited in."""
    said = asyncio.Event()
    model = ScriptedModel(["One.", Hold(said)])
    async with open_client(agents, model) as client:
        first = await client.start("support", "Begin")
        second = await client.steer(first.run.id, "And more")
        waiting = asyncio.create_task(client.result(second))
        assert second.input_id is not None
        _, withdrawn = await client.engine.runs.withdraw(client.user, run_id=first.run.id, input_id=second.input_id)
        said.set()
        result = await waiting
    assert withdrawn
    assert result.text == "One."


async def test_a_cancelled_run_is_a_result(agents: Path) -> None:
    """Its text is what was shown."""
    model = ScriptedModel(["One. ", Hold(asyncio.Event())])
    async with open_client(agents, model) as client:
        accepted = await client.start("support", "Begin")
        await _first_text(client, accepted.run.id)
        await client.cancel(accepted.run.id)
        result = await client.result(accepted)
    assert (result.status, result.finish, result.text) == (RunStatus.CANCELLED, FinishReason.ABORTED, "One. ")


async def test_code_of_the_server_starts_runs_in_the_same_engine() -> None:
    """A tool starts one without waiting, and another as a function; plain functions do so from their threads."""
    started: list[str] = []

    @tool
    async def delegate(ctx: Context) -> str:
        """Start two runs."""
        row = await steersman.start_run("child", input="Go", as_user=ctx.user_id, context={"by": "parent"})
        result = await steersman.run("child", "Go too", as_user=ctx.user_id)
        started.extend([row.id, result.run_id])
        return result.text

    @tool
    def delegate_in_thread(ctx: Context) -> str:
        """Start one from a thread."""
        assert threading.current_thread() is not threading.main_thread()
        return asyncio.run(steersman.run("child", "Go", as_user=ctx.user_id)).text

    parent = Agent(system="Delegate.", model="m", tools=[delegate, delegate_in_thread], parallel_tools=1)
    child = Agent(system="Work.", model="m")

    def answer(request: object) -> object:
        return "done"

    model = ScriptedModel([Call("delegate"), Call("delegate_in_thread")], *["done"] * 4)
    async with open_client({"parent": parent, "child": child}, model, user="alice") as client:
        result = await client.run("parent", "Begin")
    assert [call.result for call in result.tool_calls] == ["done", "done"]
    assert len(set(started)) == 2


async def test_start_run_needs_a_server_around_it() -> None:
    """Elsewhere nothing would ever run it."""
    with pytest.raises(RuntimeError, match=r"awaits steersman\.run"):
        await steersman.start_run("support", "Go", as_user="svc")


async def test_a_program_of_its_own_runs_agents_by_the_settings(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fresh database is migrated, several calls at once share one engine, and a later one finds the same runs."""
    async with MessagesServer() as server:
        server.answer(lambda request: Script().text(f"answer {len(request.messages)}"))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        one, two = await asyncio.gather(*(steersman.run("support", f"Ask {n}", as_user="alice") for n in "12"))
        again = await steersman.run("support", "More", as_user="alice", run_id=one.run_id)
    assert await revision_in(read_settings(os.environ)) is not None
    assert [one.text, two.text, again.text] == ["answer 1", "answer 1", "answer 3"]
    assert one.run_id != two.run_id


@pytest.mark.service
async def test_on_postgresql_a_program_takes_nobody_elses_runs(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs what it starts; a run that is free to take waits for those who serve or work there."""
    async with MessagesServer() as server:
        server.play(Script().text("Hello."))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        with new_postgres() as url:
            monkeypatch.setenv("STEERSMAN_DATABASE_URL", url)
            async with open_database(url) as database:
                left = await leave_a_run(database, "support")
                result = await steersman.run("support", "Hi", as_user="alice")
                after = await database.read(get_run, left.id)
    assert (result.text, result.run_id == left.id) == ("Hello.", False)
    assert after == left


def test_what_is_left_in_a_file_is_taken_by_whoever_opens_it() -> None:
    """Nobody else could go on with it; on PostgreSQL others can."""
    file, server = Settings(), Settings(database_url="postgresql://h/d")
    assert [engine_config(one, takes=False).takes for one in (file, server)] == [True, False]
    assert [engine_config(one).takes for one in (file, server)] == [True, True]


async def test_images_and_pdfs_go_with_a_call(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths and bytes are attachments; what can't be read is refused by its place, and nothing begins."""
    file = settings.parent / "cat.png"
    file.write_bytes(picture())
    async with MessagesServer() as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
        provider.play(Script().text("Seen."))
        result = await steersman.run("support", "Look", as_user="ann", attachments=[file, str(file), pdf()])
        with pytest.raises(AttachmentRefused) as caught:
            await steersman.run("support", "Look", as_user="ann", attachments=[file, settings.parent / "none.png"])
    assert result.status is RunStatus.COMPLETED
    content = provider.requests[0].messages[0]["content"]
    assert [block["type"] for block in content] == ["image", "image", "document", "text"]
    assert caught.value.field == ("attachments", "1")
    assert len(provider.requests) == 1


async def test_without_a_model_to_ask_it_says_so(settings: Path) -> None:
    """A program of its own never gets the demo model's words for real ones."""
    with pytest.raises(NoProvider, match="ANTHROPIC_API_KEY"):
        await steersman.run("support", "Ask", as_user="alice")


async def test_what_is_refused_is_raised(agents: Path) -> None:
    """As engine.errors has it."""
    async with open_client(agents, ScriptedModel()) as client:
        with pytest.raises(AgentNotFound):
            await client.run("nobody", "Hello")
        with pytest.raises(AgentNotFound):
            await steersman.run("nobody", "Hello", as_user="alice")


async def test_a_file_that_does_not_load_fails_the_test(agents: Path) -> None:
    """With the line that is at fault."""
    (agents / "broken.py").write_text("agent = \n")
    with pytest.raises(LoadError, match=r"broken\.py, line 1"):
        async with open_client(agents, ScriptedModel()):
            pass


async def test_real_models_can_be_refused() -> None:
    """Within the context no request leaves, not even to this machine."""
    async with MessagesServer() as server, AnthropicProvider(api_key="test", base_url=server.url) as provider:
        agent = Agent(system="Help.", model="claude-sonnet-5-5")
        with no_real_models():
            async with open_client({"support": agent}, provider) as client:
                result = await client.run("support", "Hello")
        assert server.requests == []
        server.play(Script().text("Now."))
        async with open_client({"support": agent}, provider) as client:
            assert (await client.run("support", "Hello")).text == "Now."
    assert result.status is RunStatus.FAILED
    assert result.error is not None
    assert result.error.message == "Calls of real models are refused here."


async def test_a_failing_model_is_a_result() -> None:
    """A run that fails raises nothing."""
    failure = ProviderFailure(FailureKind.ERROR, "detail", shown="The model fell over.", retryable=False)
    agent = Agent(system="Help.", model="m")
    async with open_client({"support": agent}, ScriptedModel(failure)) as client:
        result = await client.run("support", "Hello")
    assert (result.status, result.finish) == (RunStatus.FAILED, FinishReason.ERROR)
    assert result.error is not None
    assert "fell over" in result.error.message


async def _row(client: Client, run_id: str) -> Run:
    run = await client.engine.database.read(get_run, run_id)
    assert run is not None
    return run


async def _first_text(client: Client, run_id: str) -> None:
    events = client.events(run_id)
    async for event in events:
        if isinstance(event, TextDelta):
            break
    await events.aclose()
