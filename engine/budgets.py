"""What a call of a model would take, before it is made: its input estimated, its price at its worst. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from engine.agent import Agent
from engine.limits import Limits
from engine.providers.prices import PricedModel, Prices, Rates
from models.enums import Role
from models.message import Message
from models.spending import Ask, Tariff, tokens_of

TOOLS_TOKENS = 512
"""What a provider itself says to a model that is given tools."""


def prompt_tokens(
    system: str | None, tools: Sequence[Any], transcript: Sequence[Message], model: str, since: int = 0
) -> int:
    """At most how many tokens the input of the next call will be.

    Where this model has answered before, that is what the provider counted then, and the bytes of what was added; else
    the bytes of all. What was counted up to the message `since` is no measure any more.
    """
    counted, added = _counted_and_added(system, tools, transcript, model, since)
    return counted + added


def likely_prompt_tokens(
    system: str | None, tools: Sequence[Any], transcript: Sequence[Message], model: str, since: int = 0
) -> int:
    """The same as it is likely to be, for one who would rather be right on the whole than never too low."""
    counted, added = _counted_and_added(system, tools, transcript, model, since)
    return counted + _likely(added)


def likely_tokens(messages: Sequence[Message]) -> int:
    """How many tokens some messages are likely to be."""
    return _likely(_added(messages))


def _likely(tokens: int) -> int:
    return tokens * 2 // 3  # three bytes a token, where the most is two


def _counted_and_added(
    system: str | None, tools: Sequence[Any], transcript: Sequence[Message], model: str, since: int
) -> tuple[int, int]:
    """The tokens of the next call's input that a provider has counted, and at most those of what came to it."""
    for place in reversed(range(len(transcript))):
        if transcript[place].seq <= since:
            break
        known = _known(transcript[place], model)
        if known is not None:
            return known, _added(transcript[place + 1 :])
    return 0, tokens_of([system, list(tools)]) + (TOOLS_TOKENS if tools else 0) + _added(transcript)


def _known(message: Message, model: str) -> int | None:
    """The tokens up to the end of an answer, where its provider has counted what came before it."""
    usage = message.usage
    if message.role is not Role.ASSISTANT or usage is None or message.model != model:
        return None
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    if not prompt:
        return None
    # Of an answer that was cut, the provider has not counted what it said.
    return prompt + (usage.output_tokens if message.stop_reason else _added([message]))


def _added(messages: Iterable[Message]) -> int:
    return sum(tokens_of({"role": message.role, "content": message.content}) for message in messages)


def tariff_of(priced: PricedModel | None) -> Tariff | None:
    """The most that a model's tokens cost, in whole 10**-12 USD; None where it has no known price."""
    if priced is None:
        return None
    short = _worst(priced.rates)
    if priced.long_rates is None:
        return Tariff(*short)
    return Tariff(*short, priced.over_tokens, *_worst(priced.long_rates))


def _worst(rates: Rates) -> tuple[int, int]:
    """Of input, whichever way it is counted, and of output."""
    return _pico(max(rates.input, rates.cache_write, rates.cache_read)), _pico(rates.output)


def _pico(usd_per_million: Decimal) -> int:
    return math.ceil(usd_per_million * 1_000_000)


def ask_of(
    model: str, input_tokens: int, max_tokens: int, *, prices: Prices, limits: Limits, roles: Iterable[str]
) -> Ask:
    """A call as the verbs take it, for the run of one with these roles."""
    return Ask(input_tokens, max_tokens, tariff_of(prices.get(model)), limits.caps(roles))


def unpriced(
    agents: Mapping[str, Agent],
    prices: Prices,
    limits: Limits,
    *,
    has_balance: bool = False,
    allowed: Collection[str] | None = None,
) -> list[str]:
    """The agents that can't be started since money is limited and a model has no known price, a line each model."""
    everywhere = limits.are_of_money or has_balance
    return [
        f"{name} asks {model}, which has no known price, and {why}: its runs are refused with PRICE_UNKNOWN"
        for name, agent in agents.items()
        for model in agent.models
        if (allowed is None or model in allowed) and prices.get(model) is None
        if (why := _limited(agent, everywhere=everywhere))
    ]


def _limited(agent: Agent, *, everywhere: bool) -> str | None:
    if agent.budget is not None and agent.budget.cost is not None:
        return "has a budget in money"
    return "money is limited here" if everywhere else None
