"""Steering: what is said to a run while it generates."""

from __future__ import annotations

import asyncio

import pytest

from engine.errors import AgentInputQueueFull, AgentInputRequired
from engine.tool import tool
from models.enums import FinishReason, Role, RunStatus, SteerMode
from models.events import InputApplied, InputQueued, StepFinished
from models.message import Message
from tests.support.messages_script import Script
from tests.support.messages_server import Request
from tests.support.stage import ALICE, Stage
from tests.support.tool_calls import until


async def test_queued_input_follows_the_results_of_its_turn_one_block_each(stage: Stage) -> None:
    """What is said while tools run is in the same user message as the results, behind them, in the order it came."""
    began, release = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        began.set()
        await release.wait()
        return "worked"

    node = await stage.open(tools=[work])
    stage.play(Script().tool("work"), Script().text("Done."))
    run_id = await node.start()
    await began.wait()
    for text in ("one", "two", "three"):
        await node.steer(run_id, text)
    release.set()
    run = await node.settled(run_id)
    results, *inputs = (await stage.messages(run_id))[2].content
    assert results["content"] == "worked"
    assert inputs == [{"type": "text", "text": text} for text in ("one", "two", "three")]
    assert (run.seq, run.pending) == (4, ())


async def test_queued_input_is_a_turn_of_its_own_where_the_model_had_stopped(stage: Stage) -> None:
    """What is said while the model gives its last answer extends the turn: the model is asked once more."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    receipts = [await node.steer(run_id, text) for text in ("a", "b")]
    release.set()
    run = await node.settled(run_id)
    messages = await stage.messages(run_id)
    assert [message.role for message in messages] == [Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT]
    assert messages[2].content == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert (run.generation, run.status, run.finish) == (1, RunStatus.COMPLETED, FinishReason.STOP)
    (applied,) = stage.screen(run_id).of(InputApplied)
    assert applied.input_ids == [receipt.input_id for receipt in receipts]


async def test_each_queued_input_has_a_receipt_and_is_announced(stage: Stage) -> None:
    """A queued input is on the row under its id, told by InputQueued with how many wait, then by InputApplied."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    screen = stage.screen(run_id)
    first = await node.steer(run_id, "a")
    await screen.sees(InputQueued)
    second = await node.steer(run_id, "b")
    await screen.sees(InputQueued, 2)
    run = await stage.run(run_id)
    assert [(item.id, item.text, item.mode) for item in run.pending] == [
        (first.input_id, "a", SteerMode.QUEUE),
        (second.input_id, "b", SteerMode.QUEUE),
    ]
    release.set()
    await node.settled(run_id)
    assert [(event.input_id, event.queued) for event in screen.of(InputQueued)] == [
        (first.input_id, 1),
        (second.input_id, 2),
    ]
    (applied,) = screen.of(InputApplied)
    assert (applied.input_ids, applied.message_seq) == ([first.input_id, second.input_id], 3)
    assert screen.names[:4] == ["InputQueued", "InputQueued", "StepFinished", "InputApplied"]


async def test_the_queue_holds_32_messages(stage: Stage) -> None:
    """The 33rd waiting message is AGENT_INPUT_QUEUE_FULL; those before it are all applied."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    for number in range(32):
        await node.steer(run_id, f"{number}")
    with pytest.raises(AgentInputQueueFull):
        await node.steer(run_id, "one more")
    release.set()
    await node.settled(run_id)
    inputs = (await stage.messages(run_id))[2].content
    assert [block["text"] for block in inputs] == [f"{number}" for number in range(32)]


async def test_the_queue_holds_32_times_1024_characters(stage: Stage) -> None:
    """32,768 characters fit in all; one more is AGENT_INPUT_QUEUE_FULL."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    await node.steer(run_id, "x" * 32_767)
    with pytest.raises(AgentInputQueueFull):
        await node.steer(run_id, "yy")
    await node.steer(run_id, "y")
    release.set()
    await node.settled(run_id)


async def test_an_empty_steer_is_refused(stage: Stage) -> None:
    """Nothing, or white space, is AGENT_INPUT_REQUIRED and changes nothing."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One.").hold(release))
    run_id = await node.start()
    for text in ("", " \n\t"):
        with pytest.raises(AgentInputRequired):
            await node.steer(run_id, text)
    release.set()
    assert (await node.settled(run_id)).seq == 2


async def test_a_queued_input_can_be_withdrawn_while_it_waits(stage: Stage) -> None:
    """withdrawInput takes it back once; what is folded in already, or unknown, stays."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    kept, taken = await node.steer(run_id, "kept"), await node.steer(run_id, "taken")
    assert taken.input_id is not None
    assert kept.input_id is not None
    run, withdrawn = await node.runs.withdraw(ALICE, run_id=run_id, input_id=taken.input_id)
    assert ([item.id for item in run.pending], withdrawn) == ([kept.input_id], True)
    assert not (await node.runs.withdraw(ALICE, run_id=run_id, input_id=taken.input_id))[1]
    release.set()
    await node.settled(run_id)
    assert not (await node.runs.withdraw(ALICE, run_id=run_id, input_id=kept.input_id))[1]
    assert (await stage.messages(run_id))[2].content == [{"type": "text", "text": "kept"}]


async def test_a_withdrawn_last_input_leaves_the_run_to_its_end(stage: Stage) -> None:
    """Where all that was queued is taken back, the model's answer is the end."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One.").hold(release))
    run_id = await node.start()
    taken = await node.steer(run_id, "taken")
    await node.runs.withdraw(ALICE, run_id=run_id, input_id=str(taken.input_id))
    release.set()
    assert (await node.settled(run_id)).seq == 2


async def test_no_input_at_the_last_token_is_lost(stage: Stage) -> None:
    """A thousand inputs, sent in bursts at the moment the model stops, are in the transcripts: each once."""
    node = await stage.open(max_steps=100_000)
    said: dict[str, list[str]] = {}
    ended: dict[str, asyncio.Event] = {}

    def answer(request: Request) -> Script:
        ended[request.messages[0]["content"][0]["text"]] = request.ended
        return Script().text(".")

    async def talk(number: int) -> None:
        name = f"run {number}"
        said[name] = [name]
        run_id = await node.start(name)
        for burst in range(10):
            await until(lambda: name in ended)
            await ended.pop(name).wait()
            inputs = [f"{burst} {part}" for part in range(10)]
            said[name] += inputs
            await asyncio.gather(*(node.steer(run_id, text) for text in inputs))
        await node.settled(run_id)
        assert sorted(inputs_of(await stage.messages(run_id))) == sorted(said[name])

    stage.server.answer(answer)
    await asyncio.gather(*(talk(number) for number in range(10)))
    assert sum(len(inputs) for inputs in said.values()) == 1_010


def inputs_of(messages: list[Message]) -> list[str]:
    """The texts of all user turns."""
    users = [message.content for message in messages if message.role is Role.USER]
    blocks = [[{"text": content}] if isinstance(content, str) else content for content in users]
    return [block["text"] for content in blocks for block in content]


async def test_steering_turns_count_for_max_steps(stage: Stage) -> None:
    """Inputs extend a turn up to its agent's max_steps: then it FAILS, and the input is kept, told and unanswered."""
    node = await stage.open(max_steps=2)
    releases = [asyncio.Event(), asyncio.Event()]
    stage.play(Script().text("One.").hold(releases[0]), Script().text("Two.").hold(releases[1]), Script().text("New."))
    run_id = await node.start()
    for number, release in enumerate(releases):
        await stage.server.arrived(number + 1)
        await node.steer(run_id, f"more {number}")
        release.set()
    run = await node.settled(run_id)
    assert (run.status, run.finish, run.steps) == (RunStatus.FAILED, FinishReason.MAX_STEPS, 2)
    assert (await stage.messages(run_id))[-1].content == [{"type": "text", "text": "more 1"}]
    assert len(stage.screen(run_id).of(InputApplied)) == 2
    await node.runs.retry(ALICE, run_id=run_id)  # a turn of its own, with steps of its own
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


async def test_a_steer_between_two_steps_is_part_of_the_second(stage: Stage) -> None:
    """An input that is queued while an answer with calls streams is folded in behind their results."""
    release = asyncio.Event()

    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    node = await stage.open(tools=[look])
    stage.play(Script().text("Let me").hold(release).tool("look"), Script().text("Done."))
    run_id = await node.start()
    await stage.screen(run_id).shows("Let me")
    await node.steer(run_id, "and then?")
    release.set()
    await node.settled(run_id)
    assert [block["type"] for block in stage.server.requests[1].messages[-1]["content"]] == ["tool_result", "text"]
    finished = stage.screen(run_id).of(StepFinished)
    assert [(event.step, event.stop_reason) for event in finished] == [(1, "tool_use"), (2, "end_turn")]
