"""The switch that refuses calls of real models: for tests, which should reach no network and cost nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.providers.provider import FailureKind, ProviderFailure

_refusals: list[object] = []


@contextmanager
def refused() -> Iterator[None]:
    """Within this context no provider asks a model over a network, in no thread; contexts may be nested."""
    mark = object()
    _refusals.append(mark)
    try:
        yield
    finally:
        _refusals.remove(mark)


def check() -> None:
    """What a provider calls before it asks a model over a network. Raises ProviderFailure within `refused`."""
    if _refusals:
        raise ProviderFailure(
            FailureKind.ERROR,
            "real models are refused here (steersman.testing.no_real_models): give the test a ScriptedModel",
            shown="Calls of real models are refused here.",
            retryable=False,
        )
