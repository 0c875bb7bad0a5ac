"""A provider that fails: asked again, at most five times, and what the run's owner reads of it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from engine.tool import tool
from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import RunResult, StepRestarted, TextDelta
from tests.support.messages_script import Script
from tests.support.messages_server import Request
from tests.support.stage import ALICE, Stage

SECRET = "sk-ant-secret at 10.0.0.7"


async def test_a_failed_provider_is_asked_again(stage: Stage) -> None:
    """A 500, a 529 and a cut connection before any text: the fourth attempt's answer is the step's."""
    node = await stage.open()
    stage.play(Script.status(500), Script.status(529, "overloaded_error"), Script().cut(at=40), Script().text("Hello."))
    run = await node.settled(await node.start())
    assert (run.status, run.error, run.steps) == (RunStatus.COMPLETED, None, 1)
    assert [event.attempt for event in stage.screen(run.id).of(StepRestarted)] == [2, 3, 4]
    assert [call.attempt for call in await stage.model_calls(run.id)] == [1, 2, 3, 4]


async def test_a_step_is_asked_five_times_at_most(stage: Stage) -> None:
    """Five attempts, StepRestarted between them and at the end, then FAILED with ERROR; retryRun starts over."""
    node = await stage.open()
    stage.play(*(Script().text("Half").fail() for _ in range(5)), Script().text("Whole."))
    run_id = await node.start()
    run = await node.settled(run_id)
    assert (run.status, run.finish, run.steps, run.seq) == (RunStatus.FAILED, FinishReason.ERROR, 0, 1)
    assert len(stage.server.requests) == 5
    screen = stage.screen(run_id)
    assert [event.attempt for event in screen.of(StepRestarted)] == [2, 3, 4, 5, 6]
    assert screen.names == ["StepRestarted"] * 5 + ["RunResult"]
    assert screen.text == ""
    assert screen.of(RunResult)[0].text == ""
    await node.runs.retry(ALICE, run_id=run_id)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


async def test_an_overload_inside_a_stream_withdraws_its_text(stage: Stage) -> None:
    """An error event after three deltas, with HTTP status 200: the text is taken back and not doubled."""
    node = await stage.open()
    stage.play(Script().text("a", "b", "c").fail("overloaded_error"), Script().text("abc", "d"))
    run = await node.settled(await node.start())
    screen = stage.screen(run.id)
    assert screen.text == "abcd"
    (restarted,) = screen.of(StepRestarted)
    assert restarted.reason == "The model's provider is overloaded."
    first = next(event for event in screen.of(TextDelta) if event.attempt == 2)
    assert first.offset == 0
    (answer,) = (await stage.messages(run.id))[1:]
    assert answer.content == [{"type": "text", "text": "abcd"}]


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (Script.status(500, "api_error", SECRET), ErrorCode.PROVIDER_ERROR),
        (Script.status(529, "overloaded_error", SECRET), ErrorCode.PROVIDER_OVERLOADED),
        (Script.status(429, "rate_limit_error", SECRET), ErrorCode.PROVIDER_OVERLOADED),
        (Script.status(504, "timeout_error", SECRET), ErrorCode.PROVIDER_TIMEOUT),
        (Script().text("x").fail("overloaded_error", SECRET), ErrorCode.PROVIDER_OVERLOADED),
        (Script().text("x").fail("api_error", SECRET), ErrorCode.PROVIDER_ERROR),
        (Script().text("x").end(), ErrorCode.PROVIDER_ERROR),
        (Script().text("x").raw(b"event: x\ndata: {\n\n").cut(), ErrorCode.PROVIDER_ERROR),
    ],
)
async def test_the_owner_reads_what_kind_of_failure_it_was(
    stage: Stage, script: Script, code: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    """The code names the kind; the message has nothing of the provider's own words, which the log has whole."""
    node = await stage.open()
    stage.server.answer(lambda request: script)
    with caplog.at_level(logging.WARNING):
        run = await node.settled(await node.start())
    assert run.error is not None
    assert (run.status, run.error.code) == (RunStatus.FAILED, code)
    shown = [run.error.message, *(event.reason for event in stage.screen(run.id).of(StepRestarted))]
    assert not any(word in text for text in shown for word in ("sk-ant", "10.0.0.7", "http"))
    if script.http is not None:
        assert SECRET in caplog.text
    assert len(stage.server.requests) == 5


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_a_request_that_is_refused_for_good_is_not_repeated(stage: Stage, status: int) -> None:
    """An error that asking again can't mend ends the run at once with PROVIDER_ERROR."""
    node = await stage.open()
    stage.play(Script.status(status, "some_error", SECRET))
    run = await node.settled(await node.start())
    assert run.error is not None
    assert (run.error.code, len(stage.server.requests), stage.pauses.asked) == (ErrorCode.PROVIDER_ERROR, 1, [])
    assert SECRET not in run.error.message


async def test_attempts_back_off_with_jitter(stage: Stage) -> None:
    """The pauses double from half a second, half of each by chance, so that runs do not come back together."""
    node = await stage.open(random=iter([0.0, 1.0, 0.5, 0.0]).__next__)
    stage.server.answer(lambda request: Script.status(500))
    await node.settled(await node.start())
    assert stage.pauses.asked == [0.25, 1.0, 1.5, 2.0]


async def test_five_runs_that_are_limited_wait_as_long_as_they_were_told(stage: Stage) -> None:
    """429 with Retry-After: every one of five runs waits at least so long, each a little different."""
    fractions = iter(range(100))
    node = await stage.open(random=lambda: next(fractions) / 100)
    limited: set[str] = set()

    def answer(request: Request) -> Script:
        text = request.messages[0]["content"][0]["text"]
        if text in limited:
            return Script().text("Now.")
        limited.add(text)
        return Script.status(429, "rate_limit_error", retry_after="7")

    stage.server.answer(answer)
    runs = await asyncio.gather(*(node.start(f"run {number}") for number in range(5)))
    for run_id in runs:
        assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert len(set(stage.pauses.asked)) == 5
    assert all(7.0 <= pause <= 7.5 for pause in stage.pauses.asked)


async def test_retry_after_is_honoured_up_to_a_minute(stage: Stage) -> None:
    """A provider that asks for an hour is asked again after a minute."""
    node = await stage.open()
    stage.play(Script.status(529, "overloaded_error", retry_after="3600"), Script().text("Now."))
    await node.settled(await node.start())
    (pause,) = stage.pauses.asked
    assert 60.0 <= pause <= 61.0


async def test_each_step_has_attempts_of_its_own(stage: Stage) -> None:
    """Four failures in one step and four in the next do not add up."""

    @tool
    async def work() -> str:
        """Work."""
        return "worked"

    node = await stage.open(tools=[work])
    failures = [Script.status(500) for _ in range(4)]
    stage.play(*failures, Script().tool("work"), *failures, Script().text("Done."))
    run = await node.settled(await node.start())
    assert (run.status, run.steps) == (RunStatus.COMPLETED, 2)


async def test_what_failed_attempts_had_reported_is_counted(stage: Stage) -> None:
    """Tokens of an attempt that broke off after they were reported are in the run's usage, each once."""
    node = await stage.open()
    stage.play(
        Script(input_tokens=100).text("a").fail(),
        Script(input_tokens=100).text("b").cut(),
        Script(input_tokens=10).text("c"),
    )
    run = await node.settled(await node.start())
    assert stage.screen(run.id).of(RunResult)[0].usage.input_tokens == 210


async def test_queued_input_at_a_failed_end_is_kept_unanswered(stage: Stage) -> None:
    """Input that waited as the run FAILED is appended, told by InputApplied; user rows in a row merge on replay."""
    stage.pauses.released.clear()
    node = await stage.open()
    stage.play(Script.status(500), Script.status(400, "invalid_request_error"), Script().text("Here."))
    run_id = await node.start("One")
    await stage.pauses.begun.wait()
    await node.steer(run_id, "Two")
    stage.pauses.released.set()
    run = await node.settled(run_id)
    assert (run.status, run.seq, run.pending) == (RunStatus.FAILED, 2, ())
    assert stage.screen(run_id).names == ["InputQueued", "StepRestarted", "StepRestarted", "InputApplied", "RunResult"]
    await node.steer(run_id, "Three")
    await node.settled(run_id)
    (message,) = stage.server.requests[-1].messages
    assert [block["text"] for block in message["content"]] == ["One", "Two", "Three"]
