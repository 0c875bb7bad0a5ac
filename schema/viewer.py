"""Who is signed in, and the models there are."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import strawberry

from engine.user import User
from models.model_call import spent_since as spent_today
from models.model_call import usage_since
from models.purse import day_start
from models.spending import Bounds
from schema.context import Info
from schema.usage import Budget, Usage, allowance


def _roles(root: strawberry.Parent[User]) -> Any:
    return sorted(root.roles)


def _is_admin(root: strawberry.Parent[User], info: Info) -> Any:
    return info.context.engine.is_admin(root)


async def _usage_today(root: strawberry.Parent[User], info: Info) -> Any:
    return await info.context.loaders.read(usage_since, root.id, day_start(info.context.clock()))


async def _daily_limit(root: strawberry.Parent[User], info: Info) -> Any:
    bounds = info.context.engine.config.limits.day_of(root.roles)
    if bounds == Bounds():
        return None
    return allowance(bounds, await info.context.loaders.read(spent_today, root.id, day_start(info.context.clock())))


@strawberry.type(description="The user who is signed in.")
class Viewer:
    """Read from engine.user.User."""

    id: str = strawberry.field(description="The user's id: the `sub` of the token.")
    roles: list[str] = strawberry.field(resolver=_roles, description="The user's roles, in alphabetical order.")
    is_admin: bool = strawberry.field(
        resolver=_is_admin,
        description="Whether the user holds the role of administrators, who may read and cancel everybody's runs.",
    )
    usage_today: Usage = strawberry.field(
        resolver=_usage_today, description="What the model calls of the user's runs used since midnight UTC."
    )
    daily_limit: Budget | None = strawberry.field(
        resolver=_daily_limit,
        description="The user's limit for a day, and what is spent of it; null where there is none.",
    )


@strawberry.type(description="A model that agents may name.")
class Model:
    """A model as this deployment knows it."""

    id: str = strawberry.field(description="The provider's name of the model.")
    allowed: bool = strawberry.field(description="Whether this deployment lets agents use it.")
    context_tokens: int | None = strawberry.field(
        description="How many tokens its context holds; null where that is not known."
    )
    max_output_tokens: int | None = strawberry.field(
        description="How long an answer may be, in tokens; null where that is not known."
    )
    input_price: Decimal | None = strawberry.field(
        description="The price of a million input tokens in USD; null where it is not known."
    )
    output_price: Decimal | None = strawberry.field(
        description="The price of a million output tokens in USD; null where it is not known."
    )
