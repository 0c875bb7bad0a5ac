"""The application: the one place that joins settings, sign-in, the engine, the schema, the pages and the probes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from engine.engine import Engine
from engine.user import User
from resolvers.root import build_schema, new_context
from schema.context import RequestContext
from steersman import console_config, files, health, log, pages
from steersman.auth import SignIn, sign_in_of
from steersman.edge import REQUEST_ID, Edge
from steersman.graphql import GraphQLEndpoint
from steersman.settings import Settings

OpenEngine = Callable[[], AbstractAsyncContextManager[Engine]]


class House:
    """What lives as long as the application does: the engine, once it is open, and the way to its end."""

    def __init__(self, open_engine: OpenEngine) -> None:
        self._open_engine = open_engine
        self._engine: Engine | None = None
        self.draining = False

    @property
    def engine(self) -> Engine:
        """The engine. Raises RuntimeError before the start and after the end of the application."""
        if self._engine is None:
            raise RuntimeError("the engine is not open")
        return self._engine

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Open the engine, and close it at the end: then it hands its runs back."""
        async with self._open_engine() as engine:
            self._engine = engine
            try:
                yield
            finally:
                self.draining = True
                self._engine = None

    async def drain(self) -> None:
        """Take no more runs, and let those under way end for a while; what is watched goes on meanwhile."""
        self.draining = True
        if self._engine is not None and self._engine.worker is not None:
            await self._engine.worker.close()

    async def state(self) -> health.State:
        """Whether requests should be sent here, and what is wrong."""
        if self.draining or self._engine is None or self._engine.draining:
            return health.unavailable("This server is stopping.")
        return await health.state_of(self._engine)

    def context_for(self, user: User | None) -> RequestContext:
        """What the resolvers of one request, or of one socket, are handed."""
        return new_context(self.engine, user, log.request_id.get() or log.new_request_id())


def create_app(
    settings: Settings, open_engine: OpenEngine, *, dev_user: str | None = None, dist: Path = pages.DIST
) -> FastAPI:
    """The ASGI application. `dev_user` signs in whoever asks from this machine without a token (`steersman dev`).

    `app.state.house` is its House; a server should call `house.drain` before it closes connections. Raises ValueError
    where a development user is asked for on an address that others can reach.
    """
    house = House(open_engine)
    sign_in = sign_in_of(settings, dev_user=dev_user)
    endpoint = GraphQLEndpoint(
        build_schema(),
        sign_in=sign_in,
        make_context=house.context_for,
        page=(lambda: pages.graphiql(dist, console_config.sign_in_origins(settings))) if settings.console else None,
        introspection=settings.introspection,
        any_origin=dev_user is None,
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with house.open():
            yield

    app = FastAPI(
        title="Steersman",
        lifespan=lifespan,
        openapi_url=None,
        routes=[*_routes(house, endpoint, sign_in), *_pages(settings, dist, development=dev_user is not None)],
        middleware=[Middleware(Edge), *_cors(settings)],
    )
    app.state.house = house
    app.state.endpoint = endpoint
    return app


async def drain(app: FastAPI) -> None:
    """End what the application has under way, before its server closes connections: runs first, then event streams."""
    await app.state.house.drain()
    app.state.endpoint.streams.close()


def _routes(house: House, endpoint: GraphQLEndpoint, sign_in: SignIn) -> list[BaseRoute]:
    return [
        Route("/graphql", endpoint),
        WebSocketRoute("/graphql", endpoint),
        files.route(sign_in, lambda: house.engine),
        *health.probes(house.state),
    ]


def _pages(settings: Settings, dist: Path, *, development: bool) -> list[BaseRoute]:
    if not settings.console:
        return []
    routes: list[BaseRoute] = [Route("/", _to_console), Route("/console", _to_console)]
    if not pages.are_built(dist):
        return [*routes, Route("/console/{path:path}", _missing)]
    shown = pages.Pages(dist, sign_in=console_config.sign_in_origins(settings))
    return [*routes, console_config.route(settings, development=development), Mount("/console", shown)]


def _cors(settings: Settings) -> list[Middleware]:
    if not settings.allowed_origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", REQUEST_ID],
            expose_headers=[REQUEST_ID],
            max_age=600,
        )
    ]


async def _to_console(request: Request) -> Response:
    return RedirectResponse("/console/")


async def _missing(request: Request) -> Response:
    return pages.missing()
