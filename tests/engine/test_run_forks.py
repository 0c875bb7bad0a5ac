"""retryRun and forkRun."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from engine.errors import (
    AgentInputRequired,
    InvalidInput,
    RunBusy,
)
from engine.tool import tool
from models.enums import Role, RunStatus, ToolCallState
from models.model_call import usage_of_runs
from tests.support.messages_script import Script
from tests.support.stage import ALICE, Stage


async def test_retry_goes_on_without_new_input(stage: Stage) -> None:
    """retryRun of a FAILED run asks the model again with the same transcript, in a new stream."""
    node = await stage.open()
    stage.play(Script.status(401, "authentication_error"), Script().text("Now."))
    failed = await node.settled(await node.start("Hi"))
    assert (await node.runs.retry(ALICE, run_id=failed.id)).status is RunStatus.RUNNING
    run = await node.settled(failed.id)
    assert (run.status, run.generation, run.seq) == (RunStatus.COMPLETED, 2, 2)
    first, second = stage.server.requests
    assert first.messages == second.messages


async def test_retry_does_not_replay_a_trailing_answer_that_was_cut(stage: Stage) -> None:
    """After a cancel in the middle of an answer, retryRun asks as if that answer had never begun."""
    node = await stage.open()
    stage.play(Script().half_text("Half").hold(asyncio.Event()), Script().text("Whole."))
    run_id = await node.start("Hi")
    await stage.screen(run_id).shows("Half")
    await node.cancel(run_id)
    await node.settled(run_id)
    await node.runs.retry(ALICE, run_id=run_id)
    run = await node.settled(run_id)
    assert run.status is RunStatus.COMPLETED
    assert [message["role"] for message in stage.server.requests[1].messages] == ["user"]
    assert [message.role for message in await stage.messages(run_id)] == [Role.USER, Role.ASSISTANT, Role.ASSISTANT]


async def test_retry_needs_something_to_go_on_from(stage: Stage) -> None:
    """retryRun is AGENT_INPUT_REQUIRED where the last answer is whole, RUN_BUSY where the run is generating."""
    node = await stage.open()
    release = asyncio.Event()
    stage.play(Script().text("Whole.").hold(release))
    run_id = await node.start("Hi")
    with pytest.raises(RunBusy):
        await node.runs.retry(ALICE, run_id=run_id)
    release.set()
    await node.settled(run_id)
    with pytest.raises(AgentInputRequired):
        await node.runs.retry(ALICE, run_id=run_id)
    await node.cancel(run_id)
    with pytest.raises(AgentInputRequired):
        await node.runs.retry(ALICE, run_id=run_id)


async def test_a_fork_is_a_new_run_with_a_copy_of_the_transcript(stage: Stage) -> None:
    """forkRun without input is IDLE, keeps the messages up to seq, and counts no usage of its own."""
    node = await stage.open()
    stage.play(Script().text("One."), Script().text("Two."))
    run_id = await node.start("First")
    await node.settled(run_id)
    await node.steer(run_id, "Second")
    await node.settled(run_id)
    fork = await node.runs.fork(ALICE, run_id=run_id, seq=2)
    original = await stage.messages(run_id)
    assert (fork.status, fork.finish, fork.forked_from, fork.stream_id) == (RunStatus.IDLE, None, original[1].id, None)
    assert [message.content for message in await stage.messages(fork.id)] == [m.content for m in original[:2]]
    usage = await stage.database.read(usage_of_runs, [run_id, fork.id])
    assert usage[fork.id].input_tokens == 0
    assert usage[fork.id].cost == Decimal(0)
    assert usage[run_id].input_tokens == 20


async def test_a_fork_with_input_begins_at_once_and_leaves_the_original_alone(stage: Stage) -> None:
    """forkRun with an input runs a turn on the copy; the original's rows stay what they were."""
    node = await stage.open()
    stage.play(Script().text("One."), Script().text("Other."))
    run_id = await node.start("First")
    before = await node.settled(run_id)
    fork = await node.settled((await node.runs.fork(ALICE, run_id=run_id, seq=2, input="Else")).id)
    assert (fork.status, fork.seq, fork.generation) == (RunStatus.COMPLETED, 4, 1)
    assert await stage.run(run_id) == before
    assert [message["role"] for message in stage.server.requests[1].messages] == ["user", "assistant", "user"]


async def test_a_fork_parts_no_call_from_its_result_and_runs_none(stage: Stage) -> None:
    """A fork between a call and its result moves back before the call; a copied call has a new id and never runs."""
    ran: list[str] = []

    @tool
    async def note() -> str:
        """Note it."""
        ran.append("note")
        return "noted"

    node = await stage.open(tools=[note])
    stage.play(Script().tool("note"), Script().text("Done."), Script().text("Other."))
    run_id = await node.start("First")
    await node.settled(run_id)
    assert (await node.runs.fork(ALICE, run_id=run_id, seq=2)).seq == 1
    fork = await node.settled((await node.runs.fork(ALICE, run_id=run_id, seq=3, input="Else")).id)
    (copied,) = (await stage.story(fork.id)).calls
    (original,) = (await stage.story(run_id)).calls
    assert copied.id != original.id
    assert (copied.state, copied.result, copied.run_id) == (ToolCallState.SUCCEEDED, "noted", fork.id)
    assert ran == ["note"]
    for seq in (0, 5):
        with pytest.raises(InvalidInput):
            await node.runs.fork(ALICE, run_id=run_id, seq=seq)


async def test_an_idle_fork_is_gone_on_with(stage: Stage) -> None:
    """An input to an IDLE fork begins its first turn; retryRun has nothing to go on with."""
    node = await stage.open()
    stage.play(Script().text("One."), Script().text("Two."))
    run = await node.settled(await node.start("First"))
    fork = await node.runs.fork(ALICE, run_id=run.id, seq=2)
    with pytest.raises(AgentInputRequired):
        await node.runs.retry(ALICE, run_id=fork.id)
    await node.steer(fork.id, "Go on")
    assert (await node.settled(fork.id)).status is RunStatus.COMPLETED
