"""ctx.llm: a tool's own question to a model, counted on the run."""

from __future__ import annotations

import asyncio

from engine.context import Context
from engine.tool import tool
from models.enums import RunStatus
from models.events import RunResult
from models.model_call import usage_of_runs
from tests.support.messages_script import Script
from tests.support.stage import Stage


async def test_a_tools_question_is_answered_and_counted_on_the_run(stage: Stage) -> None:
    """The sub-call is a model call of the run, with its tool call, and part of the run's and the stream's usage."""

    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        reply = await ctx.llm("What is 2 + 2?", system="Be short.", max_tokens=50)
        return f"{reply.text} ({reply.stop_reason})"

    node = await stage.open(tools=[ask])
    stage.play(
        Script(input_tokens=10).tool("ask"), Script(input_tokens=7).text("4"), Script(input_tokens=20).text("Four.")
    )
    run = await node.settled(await node.start())
    calls = await stage.model_calls(run.id)
    (tool_call,) = (await stage.story(run.id)).calls
    assert tool_call.result == "4 (end_turn)"
    assert [call.tool_call_id for call in calls] == [None, tool_call.id, None]
    assert [call.usage.input_tokens for call in calls] == [10, 7, 20]
    usage = (await stage.database.read(usage_of_runs, [run.id]))[run.id]
    assert usage.input_tokens == 37
    assert stage.screen(run.id).of(RunResult)[0].usage == usage
    body = stage.server.requests[1].body
    assert (body["max_tokens"], body["system"][0]["text"], body.get("tools")) == (50, "Be short.", None)


async def test_a_sub_call_is_retried_like_a_step(stage: Stage) -> None:
    """A provider that fails is asked again; the run's own step is not begun again for it."""

    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        return (await ctx.llm("2 + 2?")).text

    node = await stage.open(tools=[ask])
    stage.play(Script().tool("ask"), Script.status(529, "overloaded_error"), Script().text("4"), Script().text("Four."))
    run = await node.settled(await node.start())
    assert (run.status, run.steps) == (RunStatus.COMPLETED, 2)
    assert len(await stage.model_calls(run.id)) == 4
    assert len(stage.pauses.asked) == 1


async def test_a_sub_call_that_fails_for_good_is_the_tools_failure(stage: Stage) -> None:
    """The tool may catch it; where it does not, the model reads what kind of failure it was, nothing raw."""

    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        return (await ctx.llm("2 + 2?")).text

    node = await stage.open(tools=[ask])
    stage.play(Script().tool("ask"), Script.status(400, "invalid_request_error", "sk-ant"), Script().text("No."))
    run = await node.settled(await node.start())
    (call,) = (await stage.story(run.id)).calls
    assert run.status is RunStatus.COMPLETED
    assert call.is_error
    assert call.result == "The model's provider refused the request."


async def test_a_sub_call_may_only_ask_allowed_models(stage: Stage) -> None:
    """A model that is not allowed is refused before anything is sent."""

    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        return (await ctx.llm("2 + 2?", model="claude-opus-5-5")).text

    node = await stage.open(tools=[ask], allowed_models=frozenset({"claude-sonnet-5-5"}))
    stage.play(Script().tool("ask"), Script().text("No."))
    run = await node.settled(await node.start())
    (call,) = (await stage.story(run.id)).calls
    assert "not among the allowed" in call.result
    assert len(stage.server.requests) == 2


async def test_a_cancelled_tools_sub_call_is_cut_and_what_it_reported_counted(stage: Stage) -> None:
    """Cancel closes the connection of a tool's question too; the tokens reported until then are the run's."""

    @tool
    async def ask(ctx: Context) -> str:
        """Ask, and give up when told to."""
        question = asyncio.ensure_future(ctx.llm("A story, please"))
        stop = asyncio.ensure_future(ctx.cancelled.wait())
        await asyncio.wait({question, stop}, return_when=asyncio.FIRST_COMPLETED)
        question.cancel()
        await asyncio.wait({question})
        return "given up"

    node = await stage.open(tools=[ask])
    stage.play(Script(input_tokens=10).tool("ask"), Script(input_tokens=7).half_text("Once").hold(asyncio.Event()))
    run_id = await node.start()
    request = await stage.server.arrived(2)
    while request.events < 3:
        await asyncio.sleep(0)
    for _ in range(300):
        await asyncio.sleep(0)
    await node.cancel(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED
    await request.cut_off()
    usage = (await stage.database.read(usage_of_runs, [run_id]))[run_id]
    assert usage.input_tokens == 17


async def test_odd_text_in_a_question_is_cleaned(stage: Stage) -> None:
    """Lone surrogates and NUL in a tool's question do not break it."""

    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        return (await ctx.llm("W\0s\ud800?", system="\ud800")).text

    node = await stage.open(tools=[ask])
    stage.play(Script().tool("ask"), Script().text("4"), Script().text("Four."))
    run = await node.settled(await node.start())
    (call,) = (await stage.story(run.id)).calls
    assert call.result == "4"
