"""The beginnings of a run's steps: which attempt at which model, and what it would like to take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.budgets import ask_of, prompt_tokens
from engine.summing_up import is_full
from models.enums import Role
from models.model_call import model_of_step
from models.run import Run
from models.usage import Usage
from models.verbs.stepping import StepStart

if TYPE_CHECKING:
    from engine.runner import Runner


async def model_of_turn(runner: Runner) -> str:
    """The model that the turn is on, by its rows: that of the step under way, else that of the turn's last answer.

    The first of the agent's where the turn begins, or where the agent does not name that one any more.
    """
    run, models = runner.run, runner.models
    found: str | None = None
    if len(models) > 1 and run.step == run.steps + 1:
        found = await runner.shop.read(model_of_step, str(run.stream_id), run.step)
    elif run.turn_steps:
        answers = (message for message in reversed(runner.transcript) if message.role is Role.ASSISTANT)
        found = next((answer.model for answer in answers), None)
    return found if found is not None and found in models else models[0]


def begun_here(runner: Runner) -> StepStart | None:
    """The step that an earlier verb of this loop has begun already."""
    run = runner.run
    if run.step == run.steps + 1 and run.step_fence == run.fence:
        return StepStart(run.step, run.attempt, runner.model)  # what it may take is reserved
    return None


def first_start(runner: Runner) -> StepStart:
    """The step's beginning: anew where an earlier owner had begun it."""
    if runner.run.step == runner.run.steps + 1:
        return again(runner, "another worker took the run over")
    return _start(runner, runner.run.steps + 1)


def again(runner: Runner, reason: str, reported: Usage | None = None) -> StepStart:
    """The next attempt at the step that was begun; `reported` is what the one before it has used."""
    return _start(runner, runner.run.steps + 1, runner.run.attempt + 1, reason, reported)


def fallen_back(runner: Runner, model: str, reason: str, reported: Usage) -> StepStart:
    """The next attempt at the step that was begun, by another model."""
    start = _start(runner, runner.run.steps + 1, runner.run.attempt + 1, reason, reported, model)
    return replace(start, fell_back_from=runner.model)


def next_start(runner: Runner, run: Run) -> StepStart | None:
    """The step that follows the results, where the turn may have one more and this process goes on.

    None also where room must be made before it.
    """
    if runner.draining or run.turn_steps >= runner.agent.max_steps or is_full(runner, runner.calls):
        return None
    return _start(runner, run.steps + 1)


def _start(
    runner: Runner,
    step: int,
    attempt: int = 1,
    reason: str = "",
    reported: Usage | None = None,
    model: str | None = None,
) -> StepStart:
    """A step's beginning, with what it would like to take; by the model that the turn is on unless another is named."""
    shop, agent, model = runner.shop, runner.agent, model or runner.model
    since = runner.compaction.seq if runner.compaction is not None else 0
    size = prompt_tokens(agent.prompt, agent.definitions, runner.shown, model, since)
    ask = ask_of(model, size, agent.max_tokens, prices=shop.prices, limits=shop.limits, roles=runner.run.roles)
    return StepStart(step, attempt, model, reason, reported, ask)
