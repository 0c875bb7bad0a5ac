"""Tool calls within a run: several at once, bad ones, odd results; every call has its one result."""

from __future__ import annotations

import asyncio
from typing import Any

from engine.context import Context
from engine.tool import tool
from engine.tool_error import ToolError
from models.enums import RunStatus, ToolCallState
from models.events import StepFinished, ToolCallFinished, ToolCallProgress, ToolCallStarted
from tests.support.messages_script import Script
from tests.support.messages_server import Request
from tests.support.stage import ALICE, Stage


def results_of(request: Request) -> list[dict[str, Any]]:
    """The tool results of a request's last message."""
    return [block for block in request.messages[-1]["content"] if block["type"] == "tool_result"]


async def test_five_calls_of_a_step_are_one_user_turn(stage: Stage) -> None:
    """Five parallel calls give one user message with five results, in the order of the calls."""

    @tool
    async def double(number: int) -> int:
        """Double it.

        Args:
            number: what to double.
        """
        await asyncio.sleep(0.002 * (5 - number))
        return number * 2

    node = await stage.open(tools=[double])
    script = Script()
    for number in range(5):
        script.tool("double", {"number": number})
    stage.play(script, Script().text("Done."))
    run = await node.settled(await node.start())
    assert [message["role"] for message in stage.server.requests[1].messages] == ["user", "assistant", "user"]
    assert [block["content"] for block in results_of(stage.server.requests[1])] == ["0", "2", "4", "6", "8"]
    assert run.seq == 4


async def test_at_most_four_calls_run_at_once(stage: Stage) -> None:
    """Of ten calls four run at a time, where the agent does not say otherwise."""
    now, most = 0, 0
    full = asyncio.Event()

    @tool
    async def count() -> str:
        """Count."""
        nonlocal now, most
        now += 1
        most = max(most, now)
        if now == 4:
            full.set()
        await full.wait()
        now -= 1
        return "counted"

    node = await stage.open(tools=[count])
    script = Script()
    for _ in range(10):
        script.tool("count")
    stage.play(script, Script().text("Done."))
    await node.settled(await node.start())
    assert most == 4


async def test_a_steps_events_come_in_order(stage: Stage) -> None:
    """Its deltas, StepFinished, then each call from ToolCallStarted to ToolCallFinished, then the next step."""

    @tool
    async def work(ctx: Context) -> str:
        """Work."""
        ctx.progress("half", 0.5)
        return "worked"

    node = await stage.open(tools=[work])
    stage.play(Script().text("On it").tool("work"), Script().text("Done."))
    run_id = await node.start()
    await node.settled(run_id)
    screen = stage.screen(run_id)
    await screen.until(lambda screen: screen.ended(screen.events[-1].stream_id))
    assert [(type(event).__name__, event.step) for event in screen.events] == [
        ("TextDelta", 1),
        ("StepFinished", 1),
        ("ToolCallStarted", 1),
        ("ToolCallProgress", 1),
        ("ToolCallFinished", 1),
        ("TextDelta", 2),
        ("StepFinished", 2),
        ("RunResult", 2),
    ]
    (progress,) = screen.of(ToolCallProgress)
    (started,), (finished,) = screen.of(ToolCallStarted), screen.of(ToolCallFinished)
    assert (progress.message, progress.fraction) == ("half", 0.5)
    assert progress.tool_call_id == started.tool_call_id == finished.tool_call_id
    assert (finished.result, finished.is_error, finished.name, finished.input) == ("worked", False, "work", {})


async def test_the_step_is_stored_before_its_calls_begin(stage: Stage) -> None:
    """A tool that looks finds its own call RUNNING, and the answer that made it in the transcript."""
    seen: list[tuple[int, ToolCallState]] = []

    @tool
    async def look(ctx: Context) -> str:
        """Look."""
        story = await stage.story(ctx.run_id)
        seen.append((len(story.messages), story.calls[0].state))
        return "seen"

    node = await stage.open(tools=[look])
    stage.play(Script().tool("look"), Script().text("Done."))
    await node.settled(await node.start())
    assert seen == [(2, ToolCallState.RUNNING)]


async def test_a_bad_call_never_ends_a_run(stage: Stage) -> None:
    """An unknown tool, arguments that do not fit, a ToolError, an exception, a time-out: the model reads each."""

    @tool
    async def strict(number: int) -> str:
        """Take a number.

        Args:
            number: a number.
        """
        return "fine"

    @tool
    async def refuse() -> str:
        """Refuse."""
        raise ToolError("Ask for less.")

    @tool
    async def crash() -> str:
        """Crash."""
        raise ValueError("secret")

    @tool(timeout=0.02)
    async def hang(ctx: Context) -> str:
        """Hang."""
        await ctx.cancelled.wait()
        raise ToolError("half done")

    node = await stage.open(tools=[strict, refuse, crash, hang])
    script = Script().tool("nowhere").tool("strict", {"number": "x"}).tool("strict", {}).tool("refuse")
    stage.play(script.tool("crash").tool("hang"), Script().text("I see."))
    run = await node.settled(await node.start())
    assert run.status is RunStatus.COMPLETED
    results = results_of(stage.server.requests[1])
    assert all(block["is_error"] for block in results)
    texts = [block["content"] for block in results]
    assert "no tool 'nowhere'" in texts[0]
    assert "number" in texts[1]
    assert "number" in texts[2]
    assert texts[3:5] == ["Ask for less.", "tool failed (ValueError)"]
    assert texts[5].startswith("timed out after 0.02 s")
    states = [call.state for call in sorted((await stage.story(run.id)).calls, key=lambda call: call.index)]
    assert states == [ToolCallState.FAILED] * 5 + [ToolCallState.TIMED_OUT]


async def test_broken_json_is_an_error_result_and_nothing_runs(stage: Stage) -> None:
    """A call whose arguments are no JSON object is not run with {}: the model reads why and is asked again."""
    ran: list[Any] = []

    @tool
    async def work(a: str = "") -> str:
        """Work.

        Args:
            a: anything.
        """
        ran.append(a)
        return "worked"

    node = await stage.open(tools=[work])
    script = Script().tool("work", '{"a":"x').tool("work", "[1]").tool("work", {"a": "y"})
    stage.play(script.stop("tool_use"), Script().text("I see."))
    run = await node.settled(await node.start())
    first, second, third = results_of(stage.server.requests[1])
    assert "not a JSON object" in first["content"]
    assert "not a JSON object" in second["content"]
    assert (third["content"], ran, run.status) == ("worked", ["y"], RunStatus.COMPLETED)
    calls = sorted((await stage.story(run.id)).calls, key=lambda call: call.index)
    assert calls[0].input == '{"a":"x'


async def test_a_call_cut_by_max_tokens_is_not_run(stage: Stage) -> None:
    """The model reads that its call was cut off, and is asked again; a whole call before it is run."""
    ran: list[str] = []

    @tool
    async def work(a: str) -> str:
        """Work.

        Args:
            a: anything.
        """
        ran.append(a)
        return "worked"

    node = await stage.open(tools=[work])
    cut = Script().tool("work", {"a": "whole"}).half_tool("work", '{"a":"x').stop("max_tokens")
    stage.play(cut, Script().text("Shorter."))
    run = await node.settled(await node.start())
    whole, half = results_of(stage.server.requests[1])
    assert (whole["content"], ran) == ("worked", ["whole"])
    assert "cut off" in half["content"]
    assert run.status is RunStatus.COMPLETED


async def test_a_huge_result_is_capped_where_it_is_written(stage: Stage) -> None:
    """2 MB become 65,536 characters that end with how long it was and [truncated]; 0 means no cap."""

    @tool
    async def huge() -> str:
        """Say much."""
        return "x" * 2_000_000

    @tool(max_result_chars=0)
    async def uncapped() -> str:
        """Say all."""
        return "y" * 100_000

    node = await stage.open(tools=[huge, uncapped])
    stage.play(Script().tool("huge").tool("uncapped"), Script().text("Much."))
    await node.settled(await node.start())
    capped, whole = results_of(stage.server.requests[1])
    assert len(capped["content"]) < 65_536 + 100
    assert capped["content"].endswith("[truncated]")
    assert "2,000,000" in capped["content"] or "2000000" in capped["content"]
    assert len(whole["content"]) == 100_000


async def test_plain_functions_run_in_threads_and_results_are_json(stage: Stage) -> None:
    """A synchronous tool does not hold the loop; what is no string is JSON."""

    @tool
    def plain() -> dict[str, Any]:
        """Give a dict."""
        return {"a": [1, None, True]}

    node = await stage.open(tools=[plain])
    stage.play(Script().tool("plain"), Script().text("Done."))
    await node.settled(await node.start())
    (result,) = results_of(stage.server.requests[1])
    assert result["content"].replace(" ", "") == '{"a":[1,null,true]}'


async def test_what_a_tool_knows_of_its_call(stage: Stage) -> None:
    """The context has the run's owner, roles, trusted values and deps, and a key that is the call's own."""
    seen: list[Context[Any]] = []

    @tool
    async def look(ctx: Context[Any]) -> str:
        """Look."""
        seen.append(ctx)
        return "seen"

    node = await stage.open(tools=[look], deps={"pool": 1})
    stage.play(Script().tool("look"), Script().text("Done."))
    accepted = await node.runs.start(ALICE, agent="helper", input="Hi", context={"tenant": "acme"})
    run = await node.settled(accepted.run.id)
    (ctx,) = seen
    (call,) = (await stage.story(run.id)).calls
    assert (ctx.user_id, ctx.roles, ctx.agent, ctx.run_id) == ("alice", frozenset({"user"}), "helper", run.id)
    assert (ctx.context["tenant"], ctx.deps, ctx.attempt) == ("acme", {"pool": 1}, 1)
    assert ctx.tool_call_id == ctx.idempotency_key == call.id


async def test_a_tool_that_ends_by_exit_does_not_end_the_server(stage: Stage) -> None:
    """SystemExit and KeyboardInterrupt in a tool are its failure."""

    @tool
    async def leave() -> str:
        """Leave."""
        raise SystemExit(3)

    node = await stage.open(tools=[leave])
    stage.play(Script().tool("leave"), Script().text("Still here."))
    assert (await node.settled(await node.start())).status is RunStatus.COMPLETED


async def test_calls_beside_another_stop_reason_are_run(stage: Stage) -> None:
    """Some servers say end_turn beside calls: they are run, none dangles."""

    @tool
    async def work() -> str:
        """Work."""
        return "worked"

    node = await stage.open(tools=[work])
    stage.play(
        Script().tool("work").stop("end_turn"), Script().tool("work").stop("stop_sequence"), Script().text("Done.")
    )
    run = await node.settled(await node.start())
    assert (run.status, run.steps) == (RunStatus.COMPLETED, 3)
    finished = stage.screen(run.id).of(StepFinished)
    assert [event.stop_reason for event in finished] == ["end_turn", "stop_sequence", "end_turn"]


async def test_calls_that_are_not_run_have_their_result_before_a_queued_input(stage: Stage) -> None:
    """A refusal with calls runs none; an input that waits goes on with the run, behind the results of those calls."""
    release = asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        raise AssertionError("it must not run")

    node = await stage.open(tools=[work])
    stage.play(Script().text("No").tool("work").hold(release).stop("refusal"), Script().text("Fine."))
    run_id = await node.start()
    await stage.screen(run_id).shows("No")
    await node.steer(run_id, "Something else")
    release.set()
    run = await node.settled(run_id)
    result, text = (await stage.messages(run_id))[2].content
    assert "not run" in result["content"]
    assert (text["text"], run.status) == ("Something else", RunStatus.COMPLETED)
    (call,) = (await stage.story(run_id)).calls
    assert call.state is ToolCallState.CANCELLED


async def test_results_that_nobody_waits_for_ride_with_the_next_input(stage: Stage) -> None:
    """Calls of an answer that ends the run are closed; their results are in the same user message as the next input."""

    @tool
    async def work() -> str:
        """Work."""
        raise AssertionError("it must not run")

    node = await stage.open(tools=[work])
    stage.play(Script().tool("work").stop("odd_reason"), Script().text("Fine."))
    run_id = await node.start()
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    await node.steer(run_id, "hi")
    await node.settled(run_id)
    assert [block["type"] for block in (await stage.messages(run_id))[2].content] == ["tool_result", "text"]
