"""The viewer and the models."""

from __future__ import annotations

from decimal import Decimal

from engine.engine import Engine
from models.database import Database
from models.usage import Usage
from tests.support.api import ask, context_of
from tests.support.fake_engine import FakeEngine
from tests.support.rows import NOW, a_model_call, a_run, store

MIDNIGHT = NOW - 8 * 60 * 60 * 1000
VIEWER = """{ viewer {
  id roles usageToday { inputTokens outputTokens cost } dailyLimit { cost }
} }"""


async def test_the_viewer_is_who_is_signed_in(engine: FakeEngine) -> None:
    """With roles in order; no limit is set by this part."""
    data = await ask(context_of(engine), VIEWER)
    assert data["viewer"] == {
        "id": "alice",
        "roles": ["editor", "writer"],
        "usageToday": {"inputTokens": 0, "outputTokens": 0, "cost": "0"},
        "dailyLimit": None,
    }


async def test_today_begins_at_midnight_utc(engine: FakeEngine, database: Database) -> None:
    """What was used a millisecond before does not count, nor what others used."""
    mine, other = a_run(), a_run(user_id="bob")
    usage = Usage(10, 1, cost=Decimal("0.25"))
    calls = [a_model_call(mine, 1, usage, started_at=at) for at in (MIDNIGHT - 1, MIDNIGHT, NOW)]
    await store(database, mine, other, *calls, a_model_call(other, 1, usage))
    data = await ask(context_of(engine), VIEWER)
    assert data["viewer"]["usageToday"] == {"inputTokens": 20, "outputTokens": 2, "cost": "0.5"}


async def test_the_models_are_those_that_have_a_price_are_named_or_are_allowed(served: Engine) -> None:
    """Prices are USD per million tokens as plain decimals; what is not known is null."""
    text = "{ models { id allowed contextTokens maxOutputTokens inputPrice outputPrice } }"
    models = (await ask(context_of(served), text))["models"]
    by_id = {model["id"]: model for model in models}
    assert [model["id"] for model in models] == sorted(by_id)
    assert by_id["claude-sonnet-5-5"]["allowed"] is True
    assert (by_id["claude-haiku-5-5"]["inputPrice"], by_id["claude-haiku-5-5"]["outputPrice"]) == ("0.10", "0.50")
    assert by_id["claude-haiku-5-5"]["allowed"] is False
    assert by_id["model-a"] == {
        "id": "model-a",
        "allowed": True,
        "contextTokens": None,
        "maxOutputTokens": None,
        "inputPrice": None,
        "outputPrice": None,
    }
    assert by_id["model-b"]["allowed"] is False
