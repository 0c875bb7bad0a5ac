"""The testing kit: what a test says to its agents, what it sees of them, and the clock that it moves."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from engine.errors import RunNotFound
from engine.providers.provider import FailureKind, ProviderFailure
from models.clock import ManualClock
from models.enums import FinishReason, RunStatus, ToolCallState
from models.events import RunResult
from steersman import Agent, tool
from steersman.testing import Call, Hold, ScriptedModel, open_client

DAY = 24 * 3600


@tool(approval=True, expires=DAY)
async def pay(amount: int) -> str:
    """Pay.

    Args:
        amount: how much.
    """
    return f"paid {amount}"


@tool(client=True, timeout=DAY)
def locate() -> str:
    """Where the user is."""
    raise AssertionError("a client answers it")


AGENTS = {"helper": Agent(system="Help.", model="m", tools=[pay, locate])}


async def test_an_approval_expires_when_the_clock_is_moved() -> None:
    """Not a second sooner; the run then goes on by itself, and its times are the clock's."""
    clock = ManualClock(1_800_000_000_000)
    async with open_client(AGENTS, ScriptedModel(Call("pay", {"amount": 5}), "Too late."), clock=clock) as client:
        waiting = await client.run("helper", "Pay")
        (call,) = waiting.pending
        assert call.expires_at == clock() + DAY * 1000
        await client.advance(DAY - 1)
        assert (await client.ended(waiting.run_id)).status is RunStatus.WAITING
        await client.advance(1)
        result = await client.ended(waiting.run_id)
    assert (result.status, result.text) == (RunStatus.COMPLETED, "Too late.")
    (call,) = result.tool_calls
    assert (call.state, call.decided_by, call.finished_at) == (ToolCallState.TIMED_OUT, None, clock())
    assert {message.created_at for message in result.messages} == {clock() - DAY * 1000, clock()}


async def test_so_does_the_wait_for_a_client() -> None:
    """Its timeout is the tool's own."""
    model = ScriptedModel(Call("locate"), "Nobody there.")
    async with open_client(AGENTS, model, clock=ManualClock()) as client:
        waiting = await client.run("helper", "Where am I?")
        assert waiting.finish is FinishReason.CLIENT_TOOL
        await client.advance(DAY)
        result = await client.ended(waiting.run_id)
    assert [call.state for call in result.tool_calls] == [ToolCallState.TIMED_OUT]
    assert "nobody answered" in str(model.requests[1].messages)


async def test_a_decision_in_time_counts_whatever_the_clock_says_later() -> None:
    """Moving it on changes nothing of what was decided."""
    model = ScriptedModel(Call("pay", {"amount": 5}), "Paid.")
    async with open_client(AGENTS, model, clock=ManualClock()) as client:
        waiting = await client.run("helper", "Pay")
        await client.advance(DAY / 2)
        paid = await client.decide(waiting.run_id, approve=[waiting.pending[0].id])
        await client.advance(DAY)
        again = await client.ended(waiting.run_id)
    assert [call.result for call in paid.tool_calls] == ["paid 5"]
    assert (again.status, again.text) == (RunStatus.COMPLETED, "Paid.")


async def test_without_a_clock_there_is_none_to_move() -> None:
    """Said in words; the machine's own is used."""
    async with open_client(AGENTS, ScriptedModel()) as client:
        with pytest.raises(RuntimeError, match=r"clock=ManualClock\(\)"):
            await client.advance(1)


async def test_a_client_answers_its_own_tools() -> None:
    """The result is that of the turn that goes on."""
    async with open_client(AGENTS, ScriptedModel(Call("locate"), "In Bern.")) as client:
        waiting = await client.run("helper", "Where am I?")
        result = await client.complete(waiting.run_id, waiting.pending[0].id, {"city": "Bern"})
    assert (result.status, result.text) == (RunStatus.COMPLETED, "In Bern.")
    assert [call.result for call in result.tool_calls] == ['{"city":"Bern"}']


async def test_a_run_that_failed_is_retried() -> None:
    """From its last completed step."""
    failure = ProviderFailure(FailureKind.ERROR, "detail", shown="It fell over.", retryable=False)
    async with open_client(AGENTS, ScriptedModel(failure, "Here.")) as client:
        failed = await client.run("helper", "Hello")
        result = await client.retry(failed.run_id)
        with pytest.raises(RunNotFound):
            await client.ended("run_nowhere")
    assert (failed.status, result.status, result.text) == (RunStatus.FAILED, RunStatus.COMPLETED, "Here.")


async def test_the_subscriptions_of_the_api_are_there() -> None:
    """Events, messages, the row and what waits, each from where it is and then live."""
    said = asyncio.Event()
    model = ScriptedModel(["One. ", Hold(said)], Call("pay", {"amount": 5}))
    async with open_client(AGENTS, model) as client:
        accepted = await client.start("helper", "Begin")
        run_id = accepted.run.id
        async with (
            aclosing(client.events(run_id)) as events,
            aclosing(client.messages(run_id)) as messages,
            aclosing(client.watch(run_id)) as rows,
            aclosing(client.approvals()) as approvals,
        ):
            assert (await anext(rows)).status is RunStatus.RUNNING
            assert (await anext(messages)).content == "Begin"
            said.set()
            assert (await anext(messages)).content == [{"type": "text", "text": "One. "}]
            async for event in events:
                if isinstance(event, RunResult):
                    break
            await client.start("helper", "Pay", run_id=run_id)
            call = await anext(approvals)
            assert (call.run_id, call.name, call.state) == (run_id, "pay", ToolCallState.WAITING)
            async for row in rows:
                if row.status is RunStatus.WAITING:
                    break
        assert (await client.cancel(run_id)).status is RunStatus.CANCELLED
