"""Which model answers in a process."""

from __future__ import annotations

import pytest

from engine.providers.anthropic import AnthropicProvider
from engine.providers.demo import DemoModel
from engine.providers.prices import load_prices
from steersman.provider import Choice, Kind, NoProvider, choose_provider, open_provider

KEY = {"ANTHROPIC_API_KEY": "sk-ant-hidden-word"}
ADDRESS = {"ANTHROPIC_BASE_URL": "http://me:hidden-word@127.0.0.1:9"}


@pytest.mark.parametrize(
    ("environment", "asked", "kind"),
    [
        (KEY, {}, Kind.API),
        (ADDRESS, {}, Kind.API),
        (KEY, {"fallback": Kind.SCRIPTED}, Kind.API),
        (KEY, {"scripted": True}, Kind.SCRIPTED),
        (KEY, {"local": True}, Kind.LOCAL),
        ({}, {"fallback": Kind.SCRIPTED}, Kind.SCRIPTED),
        ({}, {"fallback": Kind.NOBODY}, Kind.NOBODY),
        ({"ANTHROPIC_API_KEY": "  "}, {"fallback": Kind.SCRIPTED}, Kind.SCRIPTED),
    ],
)
def test_what_is_asked_for_goes_before_the_environment_and_that_before_the_fallback(
    environment: dict[str, str], asked: dict[str, bool], kind: Kind
) -> None:
    """An empty variable is none."""
    assert choose_provider(environment, **asked).kind is kind  # type: ignore[arg-type]  # of two types, by name


def test_without_any_it_says_what_to_set() -> None:
    """Nobody gets a made-up answer who did not ask for it."""
    with pytest.raises(NoProvider, match="ANTHROPIC_API_KEY"):
        choose_provider({})


def test_a_choice_can_be_printed() -> None:
    """Neither its words nor its form as a string hold a key or a password."""
    for environment in (KEY, ADDRESS, {**KEY, **ADDRESS}):
        choice = choose_provider(environment)
        assert "hidden-word" not in f"{choice.why} {choice!r}"


async def test_the_provider_of_a_choice_is_opened() -> None:
    """Each kind has its own; nobody answers nothing."""
    prices = load_prices()
    async with open_provider(choose_provider(KEY), prices) as provider:
        assert isinstance(provider, AnthropicProvider)
    async with open_provider(choose_provider({}, scripted=True), prices) as demo:
        assert isinstance(demo, DemoModel)
    async with open_provider(Choice(Kind.NOBODY, "nobody"), prices) as nobody:
        assert not isinstance(nobody, DemoModel | AnthropicProvider)
