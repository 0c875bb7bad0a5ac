"""When a failed model call is made again: pure policy, no clock."""

from __future__ import annotations

from collections.abc import Callable

from engine.providers.provider import ProviderFailure

ATTEMPTS = 5
"""How often one step asks the provider at most."""
LONGEST_ASKED = 60.0
"""Seconds up to which a provider's own Retry-After is honoured."""
_FIRST, _LONGEST = 0.5, 16.0


def delay(attempt: int, failure: ProviderFailure, random: Callable[[], float]) -> float | None:
    """Seconds to wait after the `attempt`th attempt (from 1) has failed; None: give up.

    The wait doubles from 0.5 s to 16 s. Half of it is jitter: `random` gives a number from 0 up to 1, so that many
    runs that failed together do not ask again together. A provider that named its own wait is given at least that,
    up to a minute, and the jitter comes on top.
    """
    if attempt >= ATTEMPTS or not failure.retryable:
        return None
    half = min(_LONGEST, _FIRST * 2.0 ** (attempt - 1)) / 2
    asked = min(failure.retry_after or 0.0, LONGEST_ASKED)
    return max(half, asked) + half * random()
