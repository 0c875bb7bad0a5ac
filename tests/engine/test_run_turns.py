"""A run's turns: started, answered, gone on with; keys, retries and forks."""

from __future__ import annotations

import asyncio

import pytest

from engine.errors import (
    AgentInputQueueFull,
    AgentInputRequired,
    AgentMismatch,
    AgentNotFound,
    Forbidden,
    KeyReused,
    ModelNotAllowed,
    Refused,
    RunNotFound,
)
from engine.tool import tool
from engine.user import User
from models.enums import ErrorCode, FinishReason, Role, RunStatus
from models.events import RunResult, StepFinished
from models.model_call import usage_of_runs
from models.verbs.row import HEADROOM
from tests.support.messages_script import Script
from tests.support.messages_server import Request
from tests.support.stage import ALICE, Stage, helper

BOB = User("bob")


async def test_a_run_is_answered(stage: Stage) -> None:
    """A started run asks the model, stores its answer, and is COMPLETED with STOP."""
    node = await stage.open()
    stage.play(Script().text("Hel", "lo."))
    run = await node.settled(await node.start("Hi"))
    assert (run.status, run.finish, run.error, run.steps) == (RunStatus.COMPLETED, FinishReason.STOP, None, 1)
    assert [(message.role, message.content) for message in await stage.messages(run.id)] == [
        (Role.USER, "Hi"),
        (Role.ASSISTANT, [{"type": "text", "text": "Hello."}]),
    ]
    assert stage.screen(run.id).text == "Hello."


async def test_the_run_is_there_before_its_caller_gets_an_answer(stage: Stage) -> None:
    """What startRun answers is stored already: RUNNING, with its input, its title and its stream."""
    node = await stage.open()
    release = asyncio.Event()
    stage.play(Script().hold(release).text("Hello."))
    accepted = await node.runs.start(ALICE, agent="helper", input="What is\nup?")
    run = await stage.run(accepted.run.id)
    assert (run.status, run.title, run.seq, accepted.queued) == (RunStatus.RUNNING, "What is up?", 1, False)
    assert run.stream_id is not None
    release.set()
    await node.settled(run.id)


async def test_a_conversation_goes_on_by_its_run_id(stage: Stage) -> None:
    """startRun with a runId begins the next turn: a new stream, the same transcript, steps that count on."""
    node = await stage.open()
    stage.play(Script().text("One."), Script().text("Two."))
    run_id = await node.start("First")
    first = await node.settled(run_id)
    accepted = await node.runs.start(ALICE, agent="helper", input="Second", run_id=run_id, title="Renamed")
    second = await node.settled(run_id)
    assert not accepted.queued
    assert (second.generation, second.steps, second.seq, second.title) == (2, 2, 4, "Renamed")
    assert second.stream_id != first.stream_id
    texts = [block["text"] for message in stage.server.requests[1].messages for block in message["content"]]
    assert texts == ["First", "One.", "Second"]
    results = stage.screen(run_id).of(RunResult)
    assert [(result.steps, result.text) for result in results] == [(1, "One."), (1, "Two.")]


async def test_a_run_that_generates_queues_what_start_run_says_to_it(stage: Stage) -> None:
    """startRun with the runId of a RUNNING run is a steer: queued, and folded in."""
    node = await stage.open()
    release = asyncio.Event()
    stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start("First")
    await stage.screen(run_id).shows("One.")
    accepted = await node.runs.start(ALICE, agent="helper", input="Second", run_id=run_id)
    assert accepted.queued
    assert accepted.input_id is not None
    release.set()
    run = await node.settled(run_id)
    assert (run.generation, run.seq) == (1, 4)


async def test_a_run_belongs_to_one_agent(stage: Stage) -> None:
    """startRun with a runId and another agent is AGENT_MISMATCH."""
    node = await stage.open(agents={"helper": helper(), "other": helper()})
    stage.play(Script().text("One."))
    run = await node.settled(await node.start("First"))
    with pytest.raises(AgentMismatch):
        await node.runs.start(ALICE, agent="other", input="Second", run_id=run.id)


async def test_another_users_run_looks_like_a_missing_one(stage: Stage) -> None:
    """Continuing, steering, cancelling, withdrawing, retrying and forking as B gives RUN_NOT_FOUND on every path."""
    node = await stage.open()
    stage.play(Script().text("One."))
    run_id = (await node.settled(await node.start("First"))).id
    runs = node.runs
    for missing in (run_id, "run_00000000000000000000000000", "nonsense"):
        for refused in (
            runs.start(BOB, agent="helper", input="x", run_id=missing),
            runs.steer(BOB, run_id=missing, input="x"),
            runs.withdraw(BOB, run_id=missing, input_id="inp_1"),
            runs.cancel(BOB, run_id=missing),
            runs.retry(BOB, run_id=missing),
            runs.fork(BOB, run_id=missing, seq=1),
        ):
            with pytest.raises(RunNotFound):
                await refused
    assert (await stage.run(run_id)).status is RunStatus.COMPLETED


async def test_what_cannot_start_is_refused(stage: Stage) -> None:
    """An unknown agent, a role that lacks, a model that is not allowed, an empty input: nothing is stored."""
    agents = {"helper": helper(), "vip": helper(auth="vip"), "big": helper(model="claude-opus-5-5")}
    node = await stage.open(agents=agents, allowed_models=frozenset({"claude-sonnet-5-5"}))
    for agent, text, refusal in (
        ("nobody", "x", AgentNotFound),
        ("vip", "x", Forbidden),
        ("big", "x", ModelNotAllowed),
        ("helper", " \n", AgentInputRequired),
    ):
        with pytest.raises(refusal):
            await node.runs.start(ALICE, agent=agent, input=text)
    assert stage.server.requests == []


async def test_an_error_is_gone_after_the_next_success(stage: Stage) -> None:
    """A FAILED run keeps its error until a turn begins; a success after it has none."""
    node = await stage.open()
    stage.play(Script.status(400, "invalid_request_error", "odd"), Script().text("Better."))
    failed = await node.settled(await node.start("Hi"))
    assert failed.error is not None
    await node.steer(failed.id, "Again")
    run = await node.settled(failed.id)
    assert (run.status, run.finish, run.error) == (RunStatus.COMPLETED, FinishReason.STOP, None)


# ---------------------------------------------------------------- keys


async def test_the_same_key_gives_the_same_run(stage: Stage) -> None:
    """startRun twice at once under one key starts one run; the second is given the first's answer."""
    node = await stage.open()
    stage.play(Script().text("One."))
    start = [node.runs.start(ALICE, agent="helper", input="Hi", key="k") for _ in range(3)]
    runs = {accepted.run.id for accepted in await asyncio.gather(*start)}
    assert len(runs) == 1
    run = await node.settled(runs.pop())
    again = await node.runs.start(ALICE, agent="helper", input="Hi", key="k")
    assert (again.run.id, again.run.status) == (run.id, RunStatus.COMPLETED)
    assert len(stage.server.requests) == 1


async def test_a_key_does_not_mind_the_order_of_metadata(stage: Stage) -> None:
    """A client that writes the same object anew may write its fields in another order: it is the same input."""
    node = await stage.open()
    stage.play(Script().text("One."))
    one = {"tags": {"team": "a", "urgent": True}, "n": 2**70}
    other = {"n": 2**70, "tags": {"urgent": True, "team": "a"}}
    first, second = [
        (await node.runs.start(ALICE, agent="helper", input="Hi", key="k", metadata=metadata)).run.id
        for metadata in (one, other)
    ]
    assert first == second
    await node.settled(first)


async def test_a_key_is_not_used_again_with_another_input(stage: Stage) -> None:
    """The same key with another input is KEY_REUSED; another user, and another operation, have keys of their own."""
    node = await stage.open()
    stage.server.answer(lambda request: Script().text("Fine."))
    first = await node.start("Hi", key="k")
    await node.settled(first)
    with pytest.raises(KeyReused):
        await node.runs.start(ALICE, agent="helper", input="Ho", key="k")
    theirs = await node.runs.start(BOB, agent="helper", input="Ho", key="k")
    assert theirs.run.id != first
    await node.settled(theirs.run.id)
    assert not (await node.runs.steer(ALICE, run_id=first, input="Ho", key="k")).queued
    await node.settled(first)


async def test_a_steer_under_one_key_is_said_once(stage: Stage) -> None:
    """steerRun twice under one key queues one input and gives the same receipt."""
    node = await stage.open()
    release = asyncio.Event()
    stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    one, two = [await node.runs.steer(ALICE, run_id=run_id, input="More", key="k") for _ in range(2)]
    assert (one.input_id, two.queued) == (two.input_id, True)
    release.set()
    run = await node.settled(run_id)
    assert run.seq == 4


async def test_a_failure_is_not_kept_under_a_key(stage: Stage) -> None:
    """A refused operation may be tried again under its key."""
    node = await stage.open()
    release = asyncio.Event()
    stage.play(Script().text("One.").hold(release), Script().text("Two."), Script().text("Three."))
    run_id = await node.start()
    with pytest.raises(AgentInputQueueFull):
        await node.runs.steer(ALICE, run_id=run_id, input="x" * 40_000, key="k")
    release.set()
    await node.settled(run_id)
    await node.runs.steer(ALICE, run_id=run_id, input="x" * 40_000, key="k")
    await node.settled(run_id)


# ---------------------------------------------------------------- figures, odd text, many at once


async def test_usage_counts_each_model_call_once(stage: Stage) -> None:
    """The provider's last figures count, not each report of them; the run's sum is that of its calls."""

    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    node = await stage.open(tools=[look])
    first = (
        Script(input_tokens=100, cache_read_input_tokens=7, output_tokens=1)
        .tool("look")
        .stop("tool_use", output_tokens=20)
    )
    second = Script(input_tokens=130).text("Seen.").stop("end_turn", input_tokens=131, output_tokens=30)
    stage.play(first, second)
    run = await node.settled(await node.start())
    usage = (await stage.database.read(usage_of_runs, [run.id]))[run.id]
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (231, 50, 7)
    assert usage.cost is not None
    assert usage.cost > 0
    screen = stage.screen(run.id)
    assert sum(event.usage.output_tokens for event in screen.of(StepFinished)) == 50
    assert screen.of(RunResult)[0].usage == usage
    assert [call.stop_reason for call in await stage.model_calls(run.id)] == ["tool_use", "end_turn"]


async def test_what_a_database_cannot_hold_is_replaced_on_every_path_in(stage: Stage) -> None:
    """NUL and lone surrogates in input, title, metadata, steers, deltas, arguments and results become U+FFFD."""
    seen: list[str] = []

    @tool
    async def echo(text: str) -> dict[str, str]:
        """Echo it.

        Args:
            text: anything.
        """
        seen.append(text)
        return {"W\0s\ud800": "W\0s\udfff"}

    @tool
    async def fail() -> str:
        """Fail."""
        raise ValueError("W\0s\ud800")

    odd = "W\0s\ud800"
    node = await stage.open(tools=[echo, fail])
    release = asyncio.Event()
    script = Script().text(odd, "\0").tool("echo", {"text": odd}).tool("fail").hold(release)
    stage.play(script, Script().text(f"End{odd}"))
    run_id = await node.start(odd, title=odd, metadata={odd: odd})
    await node.steer(run_id, f"more {odd}")
    release.set()
    run = await node.settled(run_id)
    clean = "W\ufffds\ufffd"
    assert (run.title, run.metadata) == (clean, {clean: clean})
    assert seen == [clean]
    messages = await stage.messages(run_id)
    assert messages[0].content == clean
    assert messages[2].content[0]["content"] == f'{{"{clean}":"{clean}"}}'
    assert messages[2].content[2]["text"] == f"more {clean}"
    assert stage.screen(run_id).text == f"{clean}\ufffdEnd{clean}"


async def test_an_emoji_split_between_two_reads_arrives_whole(stage: Stage) -> None:
    """Characters that the network cuts are whole in the text, and offsets count UTF-16 units."""
    node = await stage.open()
    stage.play(Script().text("a😀", "b👩‍👩‍👧", "é").in_chunks(7))
    run = await node.settled(await node.start("😀"))
    assert stage.screen(run.id).text == "a😀b👩‍👩‍👧é"


async def test_twenty_runs_at_once_lock_nobody_out(stage: Stage) -> None:
    """Twenty runs with tools at the same time all complete, on one SQLite file."""

    @tool
    async def add(a: int, b: int) -> int:
        """Add.

        Args:
            a: one.
            b: another.
        """
        return a + b

    def answer(request: Request) -> Script:
        if len(request.messages) == 1:
            return Script().text("Hm").tool("add", {"a": 1, "b": 2}).tool("add", {"a": 3, "b": 4})
        return Script().text("7.")

    node = await stage.open(tools=[add])
    stage.server.answer(answer)
    runs = await asyncio.gather(*(node.start(f"Run {number}") for number in range(20)))
    settled = await asyncio.gather(*(node.settled(run_id) for run_id in runs))
    assert {run.status for run in settled} == {RunStatus.COMPLETED}
    assert all(stage.screen(run.id).text == "Hm7." for run in settled)


async def test_every_refusal_names_a_stable_code() -> None:
    """Each refusal's code is one of the contract's, and its docstring is its message."""
    kinds = Refused.__subclasses__()
    assert kinds
    assert all(kind.code in ErrorCode and kind().message for kind in kinds)


async def test_a_blank_title_counts_as_none(stage: Stage) -> None:
    """A new run's title is then made from its input, and a continued run keeps the one it has."""
    node = await stage.open()
    stage.play(Script().text("One."), Script().text("Two."))
    run_id = await node.start("What is up?", title=" ")
    await node.settled(run_id)
    await node.runs.start(ALICE, agent="helper", input="Second", run_id=run_id, title="")
    assert (await node.settled(run_id)).title == "What is up?"


async def test_a_generation_may_tell_more_than_was_reserved_at_its_beginning(stage: Stage) -> None:
    """The heartbeat reserves further numbers; not a word is lost, and all of them rise."""
    words = HEADROOM + 500
    node = await stage.open()
    stage.play(Script().text(*(["word "] * words)))
    run_id = await node.start()
    while (await stage.run(run_id)).status is RunStatus.RUNNING:
        await node.beat()
        await asyncio.sleep(0.01)
    await node.settled(run_id)
    screen = stage.screen(run_id)
    assert screen.text == "word " * words
    assert screen.events[-1].seq > HEADROOM
