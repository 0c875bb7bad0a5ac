"""What authors and operators set, and what a call of a model is estimated to take."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from engine.agent import Agent
from engine.budget import Budget, merged
from engine.budgets import TOOLS_TOKENS, prompt_tokens, tariff_of, unpriced
from engine.limits import ByRole, Limits
from engine.providers.prices import load_prices
from models.enums import Role
from models.message import Message
from models.spending import Bounds, Tariff
from models.usage import Usage


@pytest.mark.parametrize(
    ("given", "cost"),
    [("0.20", "0.20"), (" 1 ", "1"), (2, "2"), (Decimal("0.000000000001"), "0.000000000001"), ("1e-3", "0.001")],
)
def test_a_cost_is_an_exact_amount(given: Any, cost: str) -> None:
    """As a text, a whole number or a Decimal."""
    assert Budget(cost=given).cost == Decimal(cost)
    assert Budget(cost=given).bounds == Bounds(int(Decimal(cost) * 10**12))


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({}, ValueError, "limits something"),
        ({"cost": 0.2}, TypeError, "not 0.2"),
        ({"cost": True}, TypeError, "not True"),
        ({"cost": "a lot"}, ValueError, "such as"),
        ({"cost": "0"}, ValueError, "above 0"),
        ({"cost": "NaN"}, ValueError, "above 0"),
        ({"cost": "1E-13"}, ValueError, "twelve digits"),
        ({"tokens": 0}, ValueError, "from 1"),
        ({"tokens": 1.5}, ValueError, "from 1"),
    ],
)
def test_what_is_no_budget_is_refused_in_words(given: dict[str, Any], error: type[Exception], words: str) -> None:
    """When it is written, not when it runs out; floats above all, which hold few sums of money."""
    with pytest.raises(error, match=words):
        Budget(**given)
    with pytest.raises(TypeError, match="budget is a Budget"):
        Agent(system="x", model="m", budget="0.20")  # type: ignore[arg-type]


def test_what_a_turn_is_given_goes_before_the_agents_own() -> None:
    """Part by part."""
    assert merged(None, None) is None
    assert merged(Budget(tokens=5), None) == merged(None, Budget(tokens=5)) == Bounds(tokens=5)
    assert merged(Budget(cost=1), Budget(cost=2, tokens=5)) == Bounds(10**12, 5)


def test_of_several_roles_the_largest_limit_counts() -> None:
    """A role's own limit goes before everybody's, also where it is less."""
    limit = ByRole(5, {"staff": 50, "guest": 1, "admin": 20})
    assert [limit.of(roles) for roles in ([], ["user"], ["guest"], ["staff", "admin", "guest"])] == [5, 5, 1, 50]
    staff: ByRole[int] = ByRole(None, {"staff": 50})
    assert staff.of(["user"]) is None
    assert Limits(daily_tokens=limit).day_of(["guest"]) == Bounds(tokens=1)
    assert (str(limit), str(ByRole(Decimal("5.50")))) == ("5,staff=50,guest=1,admin=20", "5.50")


def test_a_tariff_is_a_models_price_at_its_worst() -> None:
    """Input costs what writing it into the cache costs; long prompts have rates of their own."""
    prices = load_prices()
    assert tariff_of(prices.get("claude-sonnet-5-5")) == Tariff(2_500_000, 10_000_000)
    assert tariff_of(prices.get("claude-haiku-5-5")) == Tariff(125_000, 500_000, 100_000, 625_000, 2_500_000)
    assert tariff_of(prices.get("nobody-knows")) is None


def a_message(role: Role, content: Any, **values: Any) -> Message:
    """A message of some run."""
    return Message("msg_1", "run_1", "alice", 1, role, content, 1, 0, **values)


def test_a_prompt_is_estimated_by_what_the_provider_counted_before() -> None:
    """And the bytes of what was added since; without such a figure, of this model, by the bytes of all."""
    asked = a_message(Role.USER, "x" * 1_000)
    answer = a_message(
        Role.ASSISTANT, [{"type": "text", "text": "y" * 600}], model="m", stop_reason="end_turn",
        usage=Usage(40, 7, 100, 10),
    )  # fmt: skip
    more = a_message(Role.USER, "z" * 200)
    plain = prompt_tokens("system", [], [asked], "m")
    assert 500 < plain < 550
    assert prompt_tokens("system", [{"name": "t"}], [asked], "m") >= plain + TOOLS_TOKENS
    assert 157 + 100 < prompt_tokens("system", [], [asked, answer, more], "m") < 157 + 130
    assert 500 + 300 + 100 < prompt_tokens("system", [], [asked, answer, more], "other") < 1_000
    cut = a_message(Role.ASSISTANT, answer.content, model="m", usage=Usage(150, 1))
    assert 150 + 300 < prompt_tokens("system", [], [asked, cut], "m") < 150 + 350
    copied = a_message(Role.ASSISTANT, answer.content, model="m", stop_reason="end_turn")
    assert 800 < prompt_tokens("system", [], [asked, copied], "m") < 900


def test_agents_whose_model_has_no_price_are_told_where_money_is_limited() -> None:
    """By name, with the model; a budget in tokens needs no price."""
    agents = {
        "money": Agent(system="x", model="model-x", budget=Budget(cost=1)),
        "tokens": Agent(system="x", model="model-x", budget=Budget(tokens=1)),
        "known": Agent(system="x", model="claude-sonnet-5-5", budget=Budget(cost=1)),
    }
    (told,) = unpriced(agents, load_prices(), Limits())
    assert told.startswith("money asks model-x")
    assert len(unpriced(agents, load_prices(), Limits(monthly_cost=Decimal(1)))) == 2


def test_every_model_of_a_list_needs_a_price_but_one_that_is_not_allowed() -> None:
    """Each may have to be asked."""
    agents = {"list": Agent(system="x", model=["claude-sonnet-5-5", "model-x", "model-y"], budget=Budget(cost=1))}
    told = unpriced(agents, load_prices(), Limits())
    assert [line.split(",")[0] for line in told] == ["list asks model-x", "list asks model-y"]
    assert unpriced(agents, load_prices(), Limits(), allowed=["claude-sonnet-5-5"]) == []
