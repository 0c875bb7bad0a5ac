"""Speaking GraphQL to the schema in process, as one user or as nobody."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import strawberry

from engine.user import User
from models.clock import ManualClock
from resolvers.root import build_schema, new_context
from schema.context import RequestContext
from tests.support.rows import NOW

ALICE = User("alice", frozenset({"writer", "editor"}))
BOB = User("bob")
ROOT = User("root", frozenset({"admin"}))
"""An administrator."""


@functools.cache
def the_schema() -> strawberry.Schema:
    """The whole schema, built once."""
    return build_schema()


def context_of(engine: Any, user: User | None = ALICE) -> RequestContext:
    """A request's context, at NOW."""
    return new_context(engine, user, "req_1", clock=ManualClock(NOW))


async def ask(context: RequestContext, text: str, **variables: Any) -> Any:
    """The data of a query or mutation that must not fail."""
    result = await the_schema().execute(text, variable_values=variables, context_value=context)
    assert result.errors is None, result.errors
    return result.data


async def codes_of(context: RequestContext, text: str, **variables: Any) -> list[str | None]:
    """The codes of the top-level errors of a query or mutation."""
    result = await the_schema().execute(text, variable_values=variables, context_value=context)
    return [(error.extensions or {}).get("code") for error in result.errors or ()]


async def follow(context: RequestContext, text: str, **variables: Any) -> AsyncGenerator[Any, None]:
    """The data of each event of a subscription that must not fail."""
    results = await the_schema().subscribe(text, variable_values=variables, context_value=context)
    async with aclosing(results):
        async for result in results:
            assert result.errors is None, result.errors
            yield result.data


async def take(context: RequestContext, count: int, text: str, **variables: Any) -> list[Any]:
    """The first so many events of a subscription, which is then left."""
    found: list[Any] = []
    async with aclosing(follow(context, text, **variables)) as events:
        async for data in events:
            found.append(data)
            if len(found) == count:
                break
    return found


async def refusal_of(context: RequestContext, text: str, **variables: Any) -> list[str | None]:
    """The codes with which a subscription is refused before it gives anything."""
    results = await the_schema().subscribe(text, variable_values=variables, context_value=context)
    async with aclosing(results):
        async for result in results:
            assert result.data is None
            return [(error.extensions or {}).get("code") for error in result.errors or ()]
    return []
