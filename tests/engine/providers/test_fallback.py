"""What becomes of a step whose model call has failed: who is asked next, how often, and when nobody is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agent import MAX_MODELS
from engine.providers.fallback import LONGEST_WAIT, Again, FallBack, after_failure
from engine.providers.provider import FailureKind, ProviderFailure
from engine.providers.retrying import ATTEMPTS


def failure(
    *, retryable: bool = True, elsewhere: bool | None = None, retry_after: float | None = None
) -> ProviderFailure:
    """A failure of the provider."""
    return ProviderFailure(
        FailureKind.OVERLOADED,
        "529",
        shown="overloaded",
        retryable=retryable,
        elsewhere=elsewhere,
        retry_after=retry_after,
    )


def asked(models: str, error: ProviderFailure) -> str:
    """The models that are asked, one after the other, where each fails in this way."""
    tried = models[0]
    while (following := after_failure(error, tried, models, lambda: 0.0)) is not None:
        tried += following.model if isinstance(following, FallBack) else tried[-1]
    return tried


@pytest.mark.parametrize(
    ("models", "order"),
    [("a", "aaaaa"), ("ab", "aabbb"), ("abc", "aabbc"), ("abcd", "aabcd"), ("abcde", "abcde")],
)
def test_all_models_together_have_the_attempts_of_one_step(models: str, order: str) -> None:
    """A model with a successor is asked twice where that leaves an attempt to each; the last one has what is left."""
    assert asked(models, failure()) == order


def test_a_model_that_is_not_there_is_not_asked_again() -> None:
    """The next one takes the step at once, and the last one's failure is the end."""
    assert asked("abc", failure(retryable=False, elsewhere=True)) == "abc"


def test_what_another_model_would_meet_as_well_does_not_fall_back() -> None:
    """A refusal ends the step; what may pass is asked again of the same model, as often as a single one would be."""
    assert asked("abc", failure(retryable=False)) == "a"
    assert asked("abc", failure(elsewhere=False)) == "aaaaa"


def test_the_next_model_is_asked_at_once_and_the_same_one_after_a_pause() -> None:
    """A model that comes new to the step begins with the shortest pause."""
    assert after_failure(failure(), "a", "ab", lambda: 1.0) == Again(0.5)
    assert after_failure(failure(), "aa", "ab", lambda: 1.0) == FallBack("b")
    assert after_failure(failure(), "aab", "ab", lambda: 1.0) == Again(0.5)


def test_a_model_that_asks_for_a_long_wait_gives_way_to_the_next() -> None:
    """Up to five seconds are waited for; the last model is waited for as long as it asks."""
    assert after_failure(failure(retry_after=LONGEST_WAIT), "a", "ab", lambda: 0.0) == Again(LONGEST_WAIT)
    assert after_failure(failure(retry_after=30.0), "a", "ab", lambda: 0.0) == FallBack("b")
    assert after_failure(failure(retry_after=30.0), "ab", "ab", lambda: 0.0) == Again(30.0)


@given(st.integers(1, MAX_MODELS), st.lists(st.booleans(), min_size=ATTEMPTS, max_size=ATTEMPTS))
def test_every_model_of_a_list_is_asked_before_a_step_is_given_up(count: int, gone: list[bool]) -> None:
    """Whichever are overloaded and whichever are not there; and never are there more attempts than a step has."""
    models = "abcde"[:count]
    tried = "a"
    for is_gone in gone:
        error = failure(retryable=not is_gone, elsewhere=True)
        following = after_failure(error, tried, models, lambda: 0.0)
        if following is None:
            break
        tried += following.model if isinstance(following, FallBack) else tried[-1]
    assert set(tried) == set(models)
    assert len(tried) <= ATTEMPTS
    assert list(tried) == sorted(tried)
