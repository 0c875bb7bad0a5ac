"""Kinds: a configuration makes an agent of one, or is refused with the field at fault."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from engine.agent import Agent
from engine.bad_config import BadConfig
from engine.expert import expert
from engine.kinds import check_model, configured
from engine.providers.anthropic import AnthropicProvider


class Desk(BaseModel):
    """What a desk is configured with."""

    company: str
    steps: int = Field(8, ge=0)


def desk(**values: Any) -> Agent:
    """A kind that speaks for a company."""

    def configure(config: Desk) -> dict[str, Any]:
        return {"system": f"You speak for {config.company}.", "max_steps": config.steps}

    given = {"system": "You speak.", "model": "model-a", "fields": Desk, "configure": configure, "name": "desk"}
    return Agent(**{**given, **values})


def nothing_refused(parameter: str) -> None:
    """A provider that takes every parameter."""


def test_a_configuration_changes_the_options_that_the_kind_says() -> None:
    """And is on the agent as its tools see it."""
    agent = configured(desk(), {"company": "Ink & Co"})
    assert (agent.system, agent.max_steps, agent.name) == ("You speak for Ink & Co.", 8, "desk")
    assert agent.config == Desk(company="Ink & Co")


def test_a_kind_may_have_fields_for_its_tools_alone() -> None:
    """Without `configure` nothing of the agent changes."""
    agent = configured(desk(configure=None), {"company": "Ink & Co"})
    assert (agent.system, agent.config) == ("You speak.", Desk(company="Ink & Co"))


def test_a_kind_without_fields_is_itself() -> None:
    """No copy is made."""
    plain = Agent(system="You help.", model="model-a")
    assert configured(plain, None) is plain
    with pytest.raises(BadConfig):
        configured(plain, {"x": 1})


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"auth": "user"}, "auth, which is no option"),
        ({"colour": "red"}, "colour, which is no option"),
        ({"max_steps": 0}, "max_steps is a whole number from 1"),
        ({"system": " "}, "system is empty"),
        ({"model": 7}, "model is a model's name"),
    ],
)
def test_what_the_kind_s_code_makes_of_it_is_checked_as_an_author_s_agent_is(told: dict[str, Any], words: str) -> None:
    """When it is saved, and not when it runs."""
    with pytest.raises(BadConfig, match=words):
        configured(desk(configure=lambda config: told), {"company": "x"})


@pytest.mark.parametrize(
    ("error", "words"), [(ValueError("no such company"), "no such company"), (KeyError("secret"), r"used \(KeyError\)")]
)
def test_a_kind_may_refuse_in_its_own_words(error: Exception, words: str) -> None:
    """Those of a ValueError are shown; what else its code raises is for the log."""

    def configure(config: Desk) -> dict[str, Any]:
        raise error

    with pytest.raises(BadConfig, match=words) as caught:
        configured(desk(configure=configure), {"company": "x"})
    assert "secret" not in str(caught.value)


def test_configure_needs_fields() -> None:
    """The author is told when the file is loaded."""
    with pytest.raises(ValueError, match="configure needs fields"):
        Agent(system="You help.", model="model-a", configure=dict)


@pytest.mark.parametrize(
    ("option", "value"),
    [("temperature", -0.1), ("temperature", "hot"), ("repetition_penalty", 11), ("tool_choice", "find_order")],
)
def test_how_a_model_chooses_its_words_is_checked(option: str, value: Any) -> None:
    """As every other option is."""
    with pytest.raises(ValueError, match=option):
        Agent(**{"system": "You help.", "model": "model-a", option: value})


def test_an_expert_is_its_configuration() -> None:
    """Every field reaches the agent."""
    given = {"system_prompt": "You count.", "model": "model-b", "temperature": 0.5, "repetition_penalty": 1.1}
    agent = configured(expert, {**given, "max_tokens": 100, "tool_choice": "any"})
    assert (agent.system, agent.models, agent.temperature) == ("You count.", ("model-b",), 0.5)
    assert (agent.repetition_penalty, agent.max_tokens, agent.tool_choice) == (1.1, 100, "any")


def test_an_expert_needs_nothing() -> None:
    """All its fields have defaults."""
    assert configured(expert, None).system == expert.system


async def test_a_parameter_that_the_provider_does_not_take_is_named_with_the_reason() -> None:
    """The Messages API knows no repetition penalty, Anthropic's own no temperature; other servers are asked for it."""
    own = AnthropicProvider(api_key="test", base_url="https://api.anthropic.com")
    other = AnthropicProvider(api_key="test", base_url="http://127.0.0.1:1")
    warm, penalised = (configured(expert, given) for given in ({"temperature": 1}, {"repetition_penalty": 1.2}))
    for provider, agent, words in (
        (own, warm, "temperature can't be set here: .* no temperature any more"),
        (own, penalised, "repetition_penalty can't be set here: .* knows no repetition penalty"),
        (other, penalised, "repetition_penalty can't be set here"),
    ):
        with pytest.raises(BadConfig, match=words):
            check_model(agent, lambda agent: agent.models, provider.refusal_of)
    check_model(warm, lambda agent: agent.models, other.refusal_of)
    for provider in (own, other):
        await provider.close()


def test_a_model_that_is_not_allowed_is_refused() -> None:
    """Naming the field."""
    with pytest.raises(BadConfig, match="not among the allowed") as caught:
        check_model(expert, lambda agent: (), nothing_refused)
    assert caught.value.place == ("model",)
