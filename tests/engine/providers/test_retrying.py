"""When a failed model call is made again."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.providers.provider import FailureKind, ProviderFailure
from engine.providers.retrying import ATTEMPTS, delay

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy


def failure(*, retryable: bool = True, retry_after: float | None = None) -> ProviderFailure:
    """A failure of the provider."""
    return ProviderFailure(
        FailureKind.OVERLOADED, "529", shown="overloaded", retryable=retryable, retry_after=retry_after
    )


def test_the_wait_doubles_from_half_a_second_to_sixteen() -> None:
    """With all of the jitter."""
    waits = [delay(attempt, failure(), lambda: 1.0) for attempt in range(1, ATTEMPTS)]
    assert waits == [0.5, 1.0, 2.0, 4.0]


def test_half_of_the_wait_is_jitter() -> None:
    """Many runs that failed together do not ask again together."""
    assert delay(3, failure(), lambda: 0.0) == 1.0
    assert delay(3, failure(), lambda: 0.5) == 1.5


def test_the_fifth_attempt_is_the_last() -> None:
    """A step asks five times at most."""
    assert ATTEMPTS == 5
    assert delay(5, failure(), lambda: 0.0) is None
    assert delay(6, failure(retry_after=1.0), lambda: 0.0) is None


def test_what_can_not_be_mended_by_asking_again_is_given_up_at_once() -> None:
    """Whatever wait the provider names."""
    assert delay(1, failure(retryable=False, retry_after=1.0), lambda: 0.0) is None


@pytest.mark.parametrize(("named", "least"), [(7.0, 7.0), (60.0, 60.0), (3_600.0, 60.0), (0.0, 0.25), (0.1, 0.25)])
def test_a_wait_that_the_provider_names_is_kept_up_to_a_minute(named: float, least: float) -> None:
    """Never shorter than it asked for, nor than our own; the jitter comes on top."""
    assert delay(1, failure(retry_after=named), lambda: 0.0) == least
    assert delay(1, failure(retry_after=named), lambda: 1.0) == least + 0.25


@unhurried
@given(
    st.integers(min_value=1, max_value=4),
    st.one_of(st.none(), st.floats(min_value=0, allow_nan=False)),
    st.floats(min_value=0, max_value=1, exclude_max=True),
)
def test_no_wait_is_longer_than_the_longest(attempt: int, named: float | None, chance: float) -> None:
    """Whatever is named, a step goes on within about a minute."""
    wait = delay(attempt, failure(retry_after=named), lambda: chance)
    assert wait is not None
    assert 0.25 <= wait <= 60.0 + 8.0
