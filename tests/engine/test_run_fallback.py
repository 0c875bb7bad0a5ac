"""An agent with several models: which failures let the next one take the step, and for how long it stays."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.budget import Budget
from engine.context import Context
from engine.errors import ModelNotAllowed, PriceUnknown
from engine.tool import tool
from engine.verdicts import Decision
from models.enums import ErrorCode, FinishReason, Role, RunStatus
from models.events import ModelFellBack, RunResult, StepRestarted
from models.message import Message
from tests.support.messages_rules import blocks_of
from tests.support.messages_script import Script
from tests.support.messages_server import Request
from tests.support.stage import ALICE, LEASE_SECONDS, Node, Stage, helper

FIRST, SECOND, THIRD = "claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"
LIST = [FIRST, SECOND]
UNKNOWN = Script.status(404, "not_found_error", "model: claude-sonnet-5-5")


def overloaded() -> Script:
    """The provider is overloaded."""
    return Script.status(529, "overloaded_error")


def asked(stage: Stage) -> list[str]:
    """The models that were asked, in order."""
    return [request.body["model"] for request in stage.server.requests]


def answered_by(messages: list[Message]) -> list[str | None]:
    """The models that answered, in order."""
    return [message.model for message in messages if message.role is Role.ASSISTANT]


def changes(stage: Stage, run_id: str) -> list[tuple[str, str, int, int]]:
    """From which model to which it went, at which step and attempt."""
    return [(event.from_, event.to, event.step, event.attempt) for event in stage.screen(run_id).of(ModelFellBack)]


@tool
async def note(ctx: Context) -> str:
    """Note it."""
    return "noted"


async def test_an_overloaded_model_is_asked_twice_and_then_the_next_takes_the_step(stage: Stage) -> None:
    """The event says from, to and why, behind StepRestarted; the answer's model is on its message and in RunResult."""
    node = await stage.open(model=LIST)
    stage.play(overloaded(), Script().text("Half").fail(), Script().text("Whole."))
    run = await node.settled(await node.start())
    assert (run.status, asked(stage), len(stage.pauses.asked)) == (RunStatus.COMPLETED, [FIRST, FIRST, SECOND], 1)
    screen = stage.screen(run.id)
    assert screen.names == ["StepRestarted", "StepRestarted", "ModelFellBack", "StepFinished", "RunResult"]
    (event,) = screen.of(ModelFellBack)
    assert (event.from_, event.to, event.reason) == (FIRST, SECOND, "The model's provider is overloaded.")
    assert (event.step, event.attempt) == (1, 3)
    assert screen.text == "Whole."
    assert answered_by(await stage.messages(run.id)) == [SECOND]
    assert screen.of(RunResult)[0].model == SECOND
    assert [(call.model, call.attempt) for call in await stage.model_calls(run.id)] == [
        (FIRST, 1),
        (FIRST, 2),
        (SECOND, 3),
    ]


@pytest.mark.parametrize("status", [404, 410])
async def test_a_model_that_is_retired_is_asked_once(stage: Stage, status: int) -> None:
    """The provider does not know it, so the next one takes the step at once."""
    node = await stage.open(model=LIST)
    stage.play(Script.status(status, "not_found_error", "model: gone"), Script().text("Here."))
    run = await node.settled(await node.start())
    assert (run.status, asked(stage), stage.pauses.asked) == (RunStatus.COMPLETED, LIST, [])
    assert stage.screen(run.id).of(ModelFellBack)[0].reason == "The model's provider does not know this model."


@pytest.mark.parametrize(
    "script",
    [
        Script.status(500),
        Script.status(504, "timeout_error"),
        Script.status(429, "rate_limit_error"),
        Script().text("x").cut(),
        Script().text("x").end(),
        Script.status(529, "overloaded_error", x_should_retry="false"),
    ],
)
async def test_failures_that_may_pass_elsewhere_fall_back(stage: Stage, script: Script) -> None:
    """5xx, timeouts, limits, broken answers: after the attempts that a model with a successor gets."""
    node = await stage.open(model=LIST)
    stage.server.answer(lambda request: script if request.body["model"] == FIRST else Script().text("Here."))
    run = await node.settled(await node.start())
    assert (run.status, asked(stage)[-1]) == (RunStatus.COMPLETED, SECOND)
    assert [change[:2] for change in changes(stage, run.id)] == [(FIRST, SECOND)]


@pytest.mark.parametrize("status", [400, 401, 402, 403, 413])
async def test_a_refusal_that_another_model_would_meet_too_ends_the_run(stage: Stage, status: int) -> None:
    """The request, the key or the account is at fault: no other model is asked."""
    node = await stage.open(model=LIST)
    stage.play(Script.status(status, "some_error"))
    run = await node.settled(await node.start())
    assert run.error is not None
    assert (run.error.code, asked(stage)) == (ErrorCode.PROVIDER_ERROR, [FIRST])
    assert changes(stage, run.id) == []


async def test_where_all_models_fail_a_step_was_asked_five_times(stage: Stage) -> None:
    """Two attempts for the first, three for the last; the last one's failure is the run's."""
    node = await stage.open(model=LIST)
    stage.server.answer(
        lambda request: Script.status(500) if request.body["model"] == FIRST else Script.status(504, "timeout_error")
    )
    run = await node.settled(await node.start())
    assert run.error is not None
    assert (run.status, run.error.code) == (RunStatus.FAILED, ErrorCode.PROVIDER_TIMEOUT)
    assert asked(stage) == [FIRST] * 2 + [SECOND] * 3


async def test_the_turn_stays_with_the_model_that_took_over_and_the_next_tries_the_first_again(stage: Stage) -> None:
    """Steps of one turn are asked of one model as long as it works: nobody waits for the one that failed twice."""
    node = await stage.open(model=LIST, tools=[note])
    stage.play(UNKNOWN, Script().tool("note"), Script().text("Done."), Script().text("Back."))
    run_id = await node.start()
    await node.settled(run_id)
    assert asked(stage) == [FIRST, SECOND, SECOND]
    await node.steer(run_id, "And now?")
    await node.settled(run_id)
    assert asked(stage)[3:] == [FIRST]
    assert answered_by(await stage.messages(run_id)) == [SECOND, SECOND, FIRST]


async def test_a_second_model_that_fails_later_gives_way_to_the_third(stage: Stage) -> None:
    """The list is gone through in its order, over the steps of a turn, and never back."""
    node = await stage.open(model=[*LIST, THIRD], tools=[note])
    gone = {FIRST}

    def answer(request: Request) -> Script:
        model = request.body["model"]
        if model in gone:
            return UNKNOWN
        if len(request.messages) == 1:
            gone.update(LIST)
            return Script().tool("note")
        return Script().text("Done.")

    stage.server.answer(answer)
    run = await node.settled(await node.start())
    assert run.status is RunStatus.COMPLETED
    assert asked(stage) == [FIRST, SECOND, SECOND, THIRD]
    assert changes(stage, run.id) == [(FIRST, SECOND, 1, 2), (SECOND, THIRD, 2, 2)]


async def test_thinking_is_stripped_on_the_change(stage: Stage) -> None:
    """What the first model has thought is not sent to the second, and what was said and called is."""
    node = await stage.open(model=LIST, tools=[note])
    stage.play(
        Script().thinking("Hm.").text("Let me see.").tool("note"), UNKNOWN, Script().thinking("Ah.").text("Done.")
    )
    run = await node.settled(await node.start())
    assert run.status is RunStatus.COMPLETED
    kinds = [[block["type"] for block in blocks_of(request.messages[1])] for request in stage.server.requests[1:]]
    assert kinds == [["thinking", "text", "tool_use"], ["text", "tool_use"]]
    stored = (await stage.messages(run.id))[1].content
    assert [block["type"] for block in stored] == ["thinking", "text", "tool_use"]


async def taken_over(stage: Stage, **options: Any) -> Node:
    """Another worker, to whom the runs of all others have fallen; they have not heard of it."""
    await stage.leases.advance(LEASE_SECONDS + 1)
    return await stage.open(watch_seconds=0.02, **options)


async def test_a_takeover_goes_on_with_the_model_that_had_taken_the_step(stage: Stage) -> None:
    """The begun step's row says which it was: the new owner does not try the first again, and tells no change."""
    node = await stage.open(model=LIST, watch_seconds=0.02)
    stage.play(UNKNOWN, Script().half_text("Half").hold(asyncio.Event()), Script().text("Whole."))
    run_id = await node.start()
    await stage.screen(run_id).shows("Half")
    other = await taken_over(stage, model=LIST)
    run = await other.settled(run_id)
    await node.beat()
    await node.idle(run_id)
    await stage.screen(run_id).sees(RunResult)
    assert (run.status, asked(stage)) == (RunStatus.COMPLETED, [FIRST, SECOND, SECOND])
    assert [event.attempt for event in stage.screen(run_id).of(StepRestarted)] == [2, 3]
    assert changes(stage, run_id) == [(FIRST, SECOND, 1, 2)]


async def test_a_takeover_between_steps_goes_on_with_the_model_of_the_last_answer(stage: Stage) -> None:
    """A worker that hands its run back in a tool loses nothing of what was learned of the models."""
    began, go = asyncio.Event(), asyncio.Event()

    @tool
    async def wait(ctx: Context) -> str:
        """Wait."""
        began.set()
        await go.wait()
        return "waited"

    node = await stage.open(model=LIST, tools=[wait], watch_seconds=0.02)
    stage.play(UNKNOWN, Script().tool("wait"), Script().text("Done."))
    run_id = await node.start()
    await began.wait()
    closing = asyncio.create_task(node.worker.close())
    while not node.runner(run_id).draining:
        await asyncio.sleep(0)
    go.set()
    await closing
    other = await stage.open(model=LIST, tools=[wait], watch_seconds=0.02)
    run = await other.settled(run_id)
    assert (run.status, asked(stage)) == (RunStatus.COMPLETED, [FIRST, SECOND, SECOND])


async def test_after_a_wait_for_a_person_the_turn_stays_with_its_model(stage: Stage) -> None:
    """The wait parts the turn into two generations, and is none of the models' business."""

    @tool(approval=True)
    async def ask(ctx: Context) -> str:
        """Ask."""
        return "asked"

    node = await stage.open(model=LIST, tools=[ask])
    stage.play(UNKNOWN, Script().tool("ask"), Script().text("Done."))
    run_id = await node.start()
    assert (await node.settled(run_id)).status is RunStatus.WAITING
    (call,) = (await stage.story(run_id)).calls
    await node.decide(run_id, Decision(call.id, approve=True))
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert asked(stage) == [FIRST, SECOND, SECOND]


async def test_a_retry_tries_the_first_model_again(stage: Stage) -> None:
    """It is a turn of its own, whatever the failed one had come to."""
    node = await stage.open(model=LIST)
    stage.play(UNKNOWN, UNKNOWN, Script().text("Here."))
    run_id = await node.start()
    assert (await node.settled(run_id)).status is RunStatus.FAILED
    await node.runs.retry(ALICE, run_id=run_id)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert asked(stage) == [FIRST, SECOND, FIRST]


async def test_a_cancel_while_the_second_model_answers_keeps_what_it_has_shown(stage: Stage) -> None:
    """As the second model's own."""
    node = await stage.open(model=LIST)
    stage.play(UNKNOWN, Script().half_text("Half").hold(asyncio.Event()))
    run_id = await node.start()
    await stage.screen(run_id).shows("Half")
    await node.cancel(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED
    assert answered_by(await stage.messages(run_id)) == [SECOND]


async def test_models_that_are_not_allowed_are_left_out(stage: Stage) -> None:
    """The first of those that are allowed is asked, and a run is refused where none is."""
    agents = {"helper": helper(model=LIST), "other": helper(model=[FIRST, THIRD])}
    node = await stage.open(agents=agents, allowed_models=frozenset({SECOND}))
    stage.play(Script().text("Here."))
    run = await node.settled(await node.start())
    assert (run.status, asked(stage), changes(stage, run.id)) == (RunStatus.COMPLETED, [SECOND], [])
    with pytest.raises(ModelNotAllowed, match=f"None of the models '{FIRST}', '{THIRD}'"):
        await node.runs.start(ALICE, agent="other", input="Hi")


async def test_a_budget_in_money_needs_the_price_of_every_model(stage: Stage) -> None:
    """PRICE_UNKNOWN names the one that has none, before anything is begun; one that is not allowed needs none."""
    agents = {"helper": helper(model=[FIRST, "model-x"], budget=Budget(cost=1))}
    node = await stage.open(agents=agents)
    with pytest.raises(PriceUnknown, match="'model-x'"):
        await node.runs.start(ALICE, agent="helper", input="Hi")
    narrow = await stage.open(agents=agents, allowed_models=frozenset({FIRST}))
    stage.play(Script().text("Here."))
    assert (await narrow.settled(await narrow.start())).status is RunStatus.COMPLETED


async def test_a_model_that_is_too_dear_for_what_is_left_ends_the_turn(stage: Stage) -> None:
    """The second model's own price is reserved; where the budget has too little for that, it is BUDGET as ever."""
    node = await stage.open(model=[THIRD, SECOND], budget=Budget(cost="0.0005"))
    stage.play(UNKNOWN)
    run = await node.settled(await node.start())
    assert run.error is not None
    assert (run.finish, run.error.code) == (FinishReason.BUDGET, ErrorCode.BUDGET_SPENT)
    assert (asked(stage), changes(stage, run.id)) == ([THIRD], [])


async def test_what_is_reserved_is_by_the_price_of_the_model_that_is_asked(stage: Stage) -> None:
    """The ask of each attempt is made for its own model."""
    node = await stage.open(model=[THIRD, SECOND], budget=Budget(cost=1), max_tokens=1_000)
    stage.play(UNKNOWN, Script().text("Here."))
    run = await node.settled(await node.start())
    cheap, dear = [call.reserved_cost_pico for call in await stage.model_calls(run.id)]
    assert cheap is not None
    assert dear is not None
    assert dear == cheap * 40  # Opus 5.5 costs forty times what Haiku 5.5 does, input and output alike


async def test_a_tools_question_falls_back_too(stage: Stage) -> None:
    """ctx.llm without a model asks the one that the turn is on, then the next; one that is named stands alone."""

    @tool
    async def ask(ctx: Context, model: str | None = None) -> str:
        """Ask.

        Args:
            model: whom.
        """
        return (await ctx.llm("2 + 2?", model=model)).text

    node = await stage.open(model=LIST, tools=[ask])
    stage.play(
        Script().tool("ask").tool("ask", {"model": FIRST}),
        *[lambda request: UNKNOWN if request.body["model"] == FIRST else Script().text("4")] * 3,
        Script().text("Four."),
    )
    run = await node.settled(await node.start())
    assert run.status is RunStatus.COMPLETED
    results = [call.result for call in (await stage.story(run.id)).calls]
    assert results == ["4", "The model's provider does not know this model."]
    assert sorted(asked(stage)) == sorted([FIRST, FIRST, FIRST, SECOND, FIRST])
    assert changes(stage, run.id) == []
