"""Agents called like functions, and tests of agents without a network."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

import steersman
from engine.errors import AgentNotFound
from engine.loading import LoadError
from engine.providers.anthropic import AnthropicProvider
from engine.providers.provider import FailureKind, ProviderFailure
from models.enums import FinishReason, RunStatus
from models.events import RunResult, StreamEvent, TextDelta, ToolCallFinished
from steersman import Agent, Context, tool
from steersman.process import revision_in
from steersman.provider import NoProvider
from steersman.settings import read_settings
from steersman.testing import Call, Client, Hold, ScriptedModel, no_real_models, open_client
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer

AGENT_FILE = """
import steersman
from steersman import Agent, Context, tool

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
    assert (result.output, result.pending, result.error) == (None, (), None)
    assert [(call.name, call.result) for call in result.tool_calls] == [("find_order", "A-1 of alice for north")]
    assert [message.role for message in result.messages] == ["USER", "ASSISTANT", "USER", "ASSISTANT"]
    assert result.usage.output_tokens > 0
    assert (again.run_id, again.steps, again.tool_calls, len(again.messages)) == (result.run_id, 1, [], 6)


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
    assert (result.text, result.pending) == ("Two.", ())


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


async def _first_text(client: Client, run_id: str) -> None:
    events = client.events(run_id)
    async for event in events:
        if isinstance(event, TextDelta):
            break
    await events.aclose()
