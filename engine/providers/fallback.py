"""What becomes of a step whose model call has failed: asked again, asked of the next model, given up. Pure policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.providers.provider import ProviderFailure
from engine.providers.retrying import ATTEMPTS, delay

TRIES = 2
"""How often a model is asked that has a successor: a second time, since most overloads are over in a moment."""
LONGEST_WAIT = 5.0
"""Seconds: a model that asks for a longer wait, and has a successor, is not waited for."""


@dataclass(frozen=True, slots=True)
class Again:
    """Ask the same model, after so many seconds."""

    pause: float


@dataclass(frozen=True, slots=True)
class FallBack:
    """Ask this model, at once: nobody has asked it yet."""

    model: str


def after_failure(
    failure: ProviderFailure, tried: Sequence[str], models: Sequence[str], random: Callable[[], float]
) -> Again | FallBack | None:
    """What follows a failure of the last of `tried`, the models asked so far, in order; None: give up.

    `models` are those that may be asked, in the order in which to use them. All of them together get the attempts of
    one step; a model with successors leaves at least one attempt to each. `random` gives a number from 0 up to 1.
    """
    model = tried[-1]
    successors = models[models.index(model) + 1 :] if failure.elsewhere and model in models else ()
    if len(tried) >= ATTEMPTS:
        return None
    if failure.retryable and _may_try(tried, len(successors)) and not (successors and _is_far_off(failure)):
        pause = delay(tried.count(model), failure, random)
        return None if pause is None else Again(pause)
    return FallBack(successors[0]) if successors else None


def _may_try(tried: Sequence[str], successors: int) -> bool:
    """Whether the last model that was tried is asked once more, where so many may follow it."""
    own = tried.count(tried[-1])
    left = ATTEMPTS - (len(tried) - own)
    return own < (max(1, min(TRIES, left - successors)) if successors else left)


def _is_far_off(failure: ProviderFailure) -> bool:
    return failure.retry_after is not None and failure.retry_after > LONGEST_WAIT
