"""Who is signed in, and the models there are."""

from __future__ import annotations

from engine.providers.prices import PricedModel
from engine.user import User
from schema.context import Info
from schema.viewer import Model


def get_viewer(info: Info) -> User | None:
    """The signed-in user, or None."""
    return info.context.user


def list_models(info: Info) -> list[Model]:
    """The models with a price, those that agents name and those that are allowed, by name."""
    engine = info.context.engine
    names = {model.id for model in engine.prices.models()} | (engine.config.allowed_models or frozenset())
    names |= {name for agent in engine.roster.kinds.values() for name in agent.models}
    return [_model(name, engine.prices.get(name), engine.config.allowed_models) for name in sorted(names)]


def _model(name: str, known: PricedModel | None, allowed: frozenset[str] | None) -> Model:
    return Model(
        id=name,
        allowed=allowed is None or name in allowed,
        context_tokens=None if known is None else known.context_tokens,
        max_output_tokens=None if known is None else known.max_output_tokens,
        input_price=None if known is None else known.rates.input,
        output_price=None if known is None else known.rates.output,
    )
