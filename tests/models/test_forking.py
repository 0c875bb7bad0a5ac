"""fork: a new run with a copy of a transcript, whose calls are never run again."""

from __future__ import annotations

import asyncio

import pytest

from models.call import find_calls
from models.enums import RunStatus, ToolCallState
from models.page import Window
from models.run import RunQuery, count_runs
from models.verbs.errors import NoSuchMessage, RunMissing
from tests.support.desk import Desk, Hands, a_key, calls_answer


async def conversation(desk: Desk) -> Hands:
    """A finished run: input, two calls, their results, an answer."""
    hands = await desk.open("Hi", title="Sums", metadata={"a": 1}, context={"t": 1})
    await hands.run_calls(await hands.call_tools(2))
    await hands.results()
    await hands.say("Done.")
    await hands.settle()
    return hands


async def test_a_fork_has_the_messages_up_to_seq_under_new_ids(desk: Desk) -> None:
    """Content, roles, steps and stop reasons are the source's; the source is as it was."""
    source = await conversation(desk)
    kept = await desk.messages(source.id)
    row = await desk.run(source.id)
    copy = await desk.fork(source.id, 4)
    copied = await desk.messages(copy.id)
    assert [(m.seq, m.role, m.content, m.step, m.stop_reason, m.model) for m in copied] == [
        (m.seq, m.role, m.content, m.step, m.stop_reason, m.model) for m in kept
    ]
    assert not {m.id for m in copied} & {m.id for m in kept}
    assert await desk.messages(source.id) == kept
    assert await desk.run(source.id) == row


async def test_a_fork_without_input_is_idle(desk: Desk) -> None:
    """It has no stream, no worker and no lease, and no one takes it; an input begins its first turn."""
    source = await conversation(desk)
    run = (await desk.fork(source.id, 4)).run
    assert (run.status, run.stream_id, run.worker, run.fence, run.generation) == (RunStatus.IDLE, None, None, 0, 0)
    assert (run.seq, run.steps, run.title, run.metadata) == (4, 2, "Sums", {"a": 1})
    assert run.forked_from == (await desk.messages(source.id))[3].id
    assert await desk.take() == []
    hands = await desk.sent(run.id, "go on")
    assert (hands.run.generation, hands.run.seq) == (1, 5)
    await hands.say()
    await hands.settle()


async def test_a_fork_with_input_begins_a_turn(desk: Desk) -> None:
    """The input is the message behind the copied ones; steps and numbers count on."""
    source = await conversation(desk)
    hands = await desk.fork(source.id, 4, "And now?")
    assert (hands.run.status, hands.run.seq, hands.run.turn_steps) == (RunStatus.RUNNING, 5, 0)
    await hands.say("Now this.")
    await hands.settle()
    assert (await desk.contents(hands.id))[-2:] == ["And now?", [{"type": "text", "text": "Now this."}]]
    result = (await desk.events(hands.id))[-1]
    assert (result.steps, result.text) == (1, "Now this.")  # type: ignore[attr-defined]


async def test_a_fork_never_parts_a_call_from_its_result(desk: Desk) -> None:
    """Where the message is an answer with calls, the copy ends before it."""
    source = await conversation(desk)
    copy = await desk.fork(source.id, 2)
    assert copy.run.seq == 1
    assert await desk.contents(copy.id) == ["Hi"]
    assert (await desk.fork(source.id, 2, "And now?")).run.seq == 2


async def test_a_forks_calls_are_rows_of_its_own_that_are_never_run(desk: Desk) -> None:
    """They keep their step, index and result, under new ids, and none is open."""
    source = await conversation(desk)
    copy = await desk.fork(source.id, 3)
    theirs = (await desk.database.read(find_calls, source.id, Window())).rows
    ours = (await desk.database.read(find_calls, copy.id, Window())).rows
    assert [(c.step, c.index, c.result, c.state) for c in ours] == [
        (c.step, c.index, c.result, c.state) for c in theirs
    ]
    assert {c.run_id for c in ours} == {copy.id}
    assert not {c.id for c in ours} & {c.id for c in theirs}


async def test_a_fork_of_a_run_at_work_leaves_it_at_work(desk: Desk) -> None:
    """Its open calls belong to an answer that the copy leaves out."""
    hands = await desk.open()
    calls = await hands.call_tools(1)
    await hands.start(calls[0])
    copy = await desk.fork(hands.id, 2)
    assert copy.run.seq == 1
    assert (await desk.calls(copy.id, 1)) == []
    await hands.finish(calls[0])
    await hands.results()
    assert (await desk.calls(hands.id, 1))[0].state is ToolCallState.SUCCEEDED


@pytest.mark.parametrize("seq", [0, -1, 5, 10**9])
async def test_a_fork_from_a_message_that_is_not_there_is_refused(desk: Desk, seq: int) -> None:
    """Nothing is written, and no key is kept."""
    source = await conversation(desk)
    before = await desk.everything()
    with pytest.raises(NoSuchMessage):
        await desk.fork(source.id, seq, key=a_key(operation="forkRun"))
    with pytest.raises(RunMissing):
        await desk.fork("run_none", 1)
    assert await desk.everything() == before


async def test_forks_at_once_under_one_key_are_one_run(desk: Desk) -> None:
    """The same key gives the same copy."""
    source = await conversation(desk)
    key = a_key(operation="forkRun")
    copies = await asyncio.gather(*(desk.fork(source.id, 3, key=key) for _ in range(5)))
    assert len({copy.id for copy in copies}) == 1
    assert await desk.database.read(count_runs, RunQuery()) == 2


async def test_a_fork_of_a_fork_is_whole(desk: Desk) -> None:
    """What was copied can be copied again and gone on with."""
    source = await conversation(desk)
    second = await desk.fork((await desk.fork(source.id, 4, "more")).id, 5, "and more")
    await second.begin()
    done = await second.answer(calls_answer(second.run.steps + 1))
    assert done.run.seq == 7
    assert len(await desk.messages(second.id)) == 7
