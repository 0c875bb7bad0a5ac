"""One step of a run: the model is asked until it answers, is stopped, or has failed as often as it may."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.answering import Listener
from engine.control import Stopped
from engine.providers.fallback import Again, FallBack, after_failure
from engine.providers.provider import Answer, FailureKind, ModelRequest, ProviderFailure
from engine.providers.retrying import ATTEMPTS
from engine.settlements import provider_failed, unaffordable
from engine.starts import again, begun_here, fallen_back, first_start, next_start
from engine.summing_up import make_room
from engine.transcript import replay
from models.attachment import Attachment, get_attachments
from models.usage import Usage
from models.verbs.errors import Unaffordable
from models.verbs.stepping import StepStart

if TYPE_CHECKING:
    from engine.runner import Runner

log = logging.getLogger("steersman.run")


async def call_model(runner: Runner) -> None:
    """Begin the step where that is not done yet, ask the model, and store what came of it."""
    start = begun_here(runner) or await _begin(runner)
    tried: list[str] = []
    may_shorten = True
    while start is not None:
        tried.append(start.model)
        listener = Listener(runner, start)
        outcome: Answer | ProviderFailure
        try:
            outcome = await runner.until_stopped(_ask(runner, listener, start.model))
        except Stopped:
            await _cut(runner, listener)
            return
        except ProviderFailure as failure:
            outcome = failure
        if may_shorten and len(tried) < ATTEMPTS and _is_too_long(outcome):
            may_shorten = False
            done, following = await _shorter(runner, outcome, listener)
            if done:
                start = following
                continue
        if isinstance(outcome, Answer):
            await runner.append_answer(listener.answered(outcome))
            return
        start = await _after_failure(runner, outcome, tried, start, listener)


async def _begin(runner: Runner) -> StepStart | None:
    """Begin the step, with room made for it; None where the run has settled, or what was said meanwhile goes first."""
    try:
        await make_room(runner)
    except Stopped:
        if (ending := runner.stopping()) is not None:
            await runner.settle(ending.end)
        else:
            await runner.append_results(start=None)
        return None
    except Unaffordable as refusal:
        await runner.settle(unaffordable(refusal))
        return None
    return await runner.begin_step(first_start(runner))


def _is_too_long(outcome: Answer | ProviderFailure) -> bool:
    """Whether the model could not read it all, or had no room left for its answer."""
    if isinstance(outcome, Answer):
        return outcome.stop_reason == "model_context_window_exceeded"
    return outcome.kind is FailureKind.TOO_LONG


async def _shorter(
    runner: Runner, outcome: Answer | ProviderFailure, listener: Listener
) -> tuple[bool, StepStart | None]:
    """Whether the model reads less from now on; then the step's new beginning, None where the loop is to look again."""
    reported = outcome.usage or Usage()
    why = outcome.shown if isinstance(outcome, ProviderFailure) else "The conversation left no room for an answer."
    try:
        if not await make_room(runner, refused=True):
            return False, None
    except Stopped:
        await _cut(runner, listener, reported)
        return True, None
    except Unaffordable as refusal:
        await runner.settle(unaffordable(refusal), reported=reported, withdrawn=why)
        return True, None
    return True, await runner.begin_step(again(runner, why, reported))


async def _after_failure(
    runner: Runner, failure: ProviderFailure, tried: list[str], start: StepStart, listener: Listener
) -> StepStart | None:
    """Begin the step again, after a pause or with the next model.

    None where it was the last try, or the loop was stopped or settled.
    """
    reported = failure.usage or Usage()  # what a provider refuses it does not count
    told = runner.ids | {"attempt": start.attempt, "model": start.model}
    log.warning("the model's provider failed", exc_info=failure, extra=told)
    match after_failure(failure, tried, runner.models, runner.shop.random):
        case FallBack(model):
            return await runner.begin_step(fallen_back(runner, model, failure.shown, reported))
        case Again(pause):
            try:
                await runner.until_stopped(runner.shop.sleep(pause))
            except Stopped:
                await _cut(runner, listener, reported)
                return None
            return await runner.begin_step(again(runner, failure.shown, reported))
    await runner.settle(provider_failed(failure), reported=reported, withdrawn=failure.shown)
    return None


async def _ask(runner: Runner, listener: Listener, model: str) -> Answer:
    return await listener.listen(await _request(runner, model))


async def _request(runner: Runner, model: str) -> ModelRequest:
    """What the model is asked. Raises ProviderFailure where attachments can't be reached."""
    shop, agent = runner.shop, runner.agent

    async def attached(ids: list[str]) -> dict[str, Attachment]:
        return await shop.read(get_attachments, ids, runner.run.user_id)

    return ModelRequest(
        model=model,
        messages=await shop.attachments.expanded(replay(runner.shown, model), attached),
        system=agent.prompt,
        tools=agent.definitions,
        max_tokens=runner.run.step_max_tokens or agent.max_tokens,
        output=agent.output_type.schema if agent.output_type is not None else None,
        temperature=agent.temperature,
        repetition_penalty=agent.repetition_penalty,
        tool_choice="auto" if agent.tool_choice == "any" and runner.run.turn_steps else agent.tool_choice,
    )


async def _cut(runner: Runner, listener: Listener, known: Usage | None = None) -> None:
    """The response was stopped: keep what was shown and reported of it, and do what it was stopped for."""
    shown, reported = listener.shown(), listener.reported() or known
    if (ending := runner.stopping()) is not None:
        await runner.settle(ending.end, cut=shown, reported=reported)
    elif shown is None:
        await runner.append_results(start=again(runner, "interrupted by a new input", reported))
    else:
        stepped = replace(runner.run, steps=runner.run.steps + 1, turn_steps=runner.run.turn_steps + 1)
        await runner.append_results(cut=shown, start=next_start(runner, stepped))
