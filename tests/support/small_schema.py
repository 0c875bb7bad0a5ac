"""A small schema and an application around it, for tests of the transports alone."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

import strawberry
from graphql import GraphQLError
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import Route, WebSocketRoute

from engine.errors import RunNotFound
from engine.user import User
from steersman.auth import DevelopmentUser, SecretKey, SignedIn, SignIn, Tokens, mint
from steersman.graphql import GraphQLEndpoint
from steersman.settings import Settings

SECRET = "a secret of the tests, long enough for HS256"
# What no client may ever read.
HIDDEN = "postgresql://admin:hunter2@db/prod"


@dataclass
class Seen:
    """What the resolvers saw: how many subscriptions are open, and what was mutated."""

    open: int = 0
    written: list[str] = field(default_factory=list)


@dataclass
class SmallContext:
    """The context of the small schema."""

    user: User | None
    seen: Seen


Info = strawberry.Info[SmallContext, None]


def _coded(code: str) -> GraphQLError:
    return GraphQLError(f"refused with {code}", extensions={"code": code})


def _always() -> bool:
    return True


@strawberry.type
class Nested:
    """A type that leads to itself."""

    name: str = "nested"

    @strawberry.field
    def deeper(self) -> Nested:
        return Nested()


@strawberry.type
class Query:
    """Things to ask."""

    @strawberry.field
    def hello(self) -> str:
        return "world"

    @strawberry.field
    def nested(self) -> Nested:
        return Nested()

    @strawberry.field
    def whoami(self, info: Info) -> str | None:
        return info.context.user.id if info.context.user else None

    @strawberry.field
    def roles(self, info: Info) -> list[str]:
        return sorted(info.context.user.roles) if info.context.user else []

    @strawberry.field
    def echo(self, text: str) -> str:
        return text

    @strawberry.field
    def broken(self) -> str | None:
        raise ValueError(HIDDEN)

    @strawberry.field
    def broken_value(self) -> int | None:
        return HIDDEN  # type: ignore[return-value]

    @strawberry.field
    def refused(self) -> str | None:
        raise _coded("FORBIDDEN")

    @strawberry.field
    def missing(self) -> str | None:
        raise RunNotFound


@strawberry.type
class Mutation:
    """Things to change."""

    @strawberry.mutation
    def write(self, info: Info, text: str) -> str:
        info.context.seen.written.append(text)
        return text

    @strawberry.mutation
    def broken(self) -> str | None:
        raise ValueError(HIDDEN)


@strawberry.type
class Subscription:
    """Things to watch."""

    @strawberry.subscription
    async def ticks(self, info: Info, count: int) -> AsyncGenerator[int, None]:
        for number in range(count):
            yield number

    @strawberry.subscription
    async def silence(self, info: Info) -> AsyncGenerator[str, None]:
        """One event, then nothing for ever."""
        info.context.seen.open += 1
        try:
            yield "first"
            await asyncio.Event().wait()
        finally:
            info.context.seen.open -= 1

    @strawberry.subscription
    async def flood(self, info: Info) -> AsyncGenerator[str, None]:
        """Large events without end."""
        info.context.seen.open += 1
        try:
            while True:
                yield "x" * 65_536
        finally:
            info.context.seen.open -= 1

    @strawberry.subscription
    async def refused(self) -> AsyncGenerator[int, None]:
        if _always():
            raise _coded("RUN_NOT_FOUND")
        yield 0

    @strawberry.subscription
    async def broken_at_once(self) -> AsyncGenerator[int, None]:
        if _always():
            raise ValueError(HIDDEN)
        yield 0

    @strawberry.subscription
    async def broken_later(self) -> AsyncGenerator[int, None]:
        yield 0
        raise ValueError(HIDDEN)

    @strawberry.subscription
    async def broken_events(self) -> AsyncGenerator[int, None]:
        yield 0
        yield HIDDEN  # type: ignore[misc]
        yield 2


schema = strawberry.Schema(Query, mutation=Mutation, subscription=Subscription)


@dataclass
class Small:
    """The application around the small schema, its endpoint and what its resolvers saw."""

    app: Starlette
    endpoint: GraphQLEndpoint
    seen: Seen


class ShortSignIn(SignIn):
    """Takes every token for one that ends so many seconds from now."""

    seconds = 0.2

    async def __call__(self, connection: HTTPConnection, payload: Mapping[str, Any] | None = None) -> SignedIn | None:
        """Who asks, for a moment."""
        signed_in = await super().__call__(connection, payload)
        return signed_in and dataclasses.replace(signed_in, expires_at=time.time() + self.seconds)


def small_app(*, dev_user: str | None = None, short: bool = False, **options: Any) -> Small:
    """The small schema behind the real endpoint, tokens signed with SECRET; `options` are the endpoint's.

    `short` has every token end a moment after it was read.
    """
    seen = Seen()
    kind = ShortSignIn if short else SignIn
    sign_in = kind(Tokens(SecretKey(SECRET)), DevelopmentUser(User(dev_user)) if dev_user else None)
    endpoint = GraphQLEndpoint(
        schema,
        sign_in=sign_in,
        make_context=lambda user: SmallContext(user, seen),
        any_origin=dev_user is None,
        **options,
    )
    app = Starlette(routes=[Route("/graphql", endpoint), WebSocketRoute("/graphql", endpoint)])
    return Small(app, endpoint, seen)


def token(sub: str = "alice", *roles: str, seconds: int = 3600, secret: str = SECRET) -> str:
    """A token that the small application takes."""
    return mint(Settings(jwt_secret=secret), sub, roles, seconds=seconds)
