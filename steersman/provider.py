"""Which model answers in this process: one choice, made from the environment and what the command line asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

from engine.providers.prices import Prices
from engine.providers.provider import Provider

API_KEY = "ANTHROPIC_API_KEY"
BASE_URL = "ANTHROPIC_BASE_URL"


class Kind(StrEnum):
    """Who answers."""

    API = "api"
    LOCAL = "local"
    SCRIPTED = "scripted"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Choice:
    """Who answers, and `why` as a sentence for people. `api_key` and `base_url` are for the API alone."""

    kind: Kind
    why: str
    api_key: str = ""
    base_url: str | None = None

    def __repr__(self) -> str:
        return f"Choice({self.kind}, {self.why!r})"  # without the key


class NoProvider(Exception):
    """There is no model to ask: set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL to a server with the Messages API."""


def choose_provider(
    environment: Mapping[str, str], *, local: bool = False, scripted: bool = False, fallback: Kind | None = None
) -> Choice:
    """Who answers in this process.

    What is asked for goes first: `local`, the small model on this machine, or `scripted`, the demo model. Else a key or
    an address in the environment means the Messages API. Else it is `fallback`; without one NoProvider is raised.
    """
    if scripted:
        return Choice(Kind.SCRIPTED, "the scripted demo model, as asked for: no real model answers")
    if local:
        return Choice(Kind.LOCAL, "a small real model on this machine, whatever model an agent names; it uses no tools")
    key = environment.get(API_KEY, "").strip()
    address = environment.get(BASE_URL, "").strip() or None
    if address is not None:
        why = f"the Messages API at {_without_user(address)} ({BASE_URL})"
        return Choice(Kind.API, why, key or "none", address)
    if key:
        return Choice(Kind.API, f"the Messages API of Anthropic ({API_KEY})", key)
    if fallback is Kind.SCRIPTED:
        why = f"the scripted demo model, no real one: {API_KEY} is not set. Set it, or use --local-model"
        return Choice(Kind.SCRIPTED, why)
    if fallback is None:
        raise NoProvider((NoProvider.__doc__ or "").strip())
    return Choice(fallback, "no model: this process runs no agents")


@asynccontextmanager
async def open_provider(choice: Choice, prices: Prices) -> AsyncIterator[Provider]:
    """The provider that was chosen, for as long as the context lasts. Raises LocalModelUnavailable."""
    # Each is imported where it is needed: the SDK alone takes longer than the rest of a short command.
    if choice.kind is Kind.API:
        from engine.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - see above

        async with AnthropicProvider(api_key=choice.api_key, base_url=choice.base_url, prices=prices) as provider:
            yield provider
    elif choice.kind is Kind.LOCAL:
        from engine.providers.local import local_model  # noqa: PLC0415 - see above

        async with local_model(prices) as model:
            yield model
    elif choice.kind is Kind.SCRIPTED:
        from engine.providers.demo import DemoModel  # noqa: PLC0415 - see above

        yield DemoModel()
    else:
        from engine.providers.scripted import ScriptedModel  # noqa: PLC0415 - see above

        yield ScriptedModel()


def _without_user(address: str) -> str:
    scheme, mark, rest = address.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"
