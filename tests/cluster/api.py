"""What clients ask of whichever server answers: what fails because a server is away is asked again of another."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Self

import httpx2

from tests.support.clients import TLS, bearer

Json = dict[str, Any]
_PATIENCE = 10.0  # seconds after which a server that does not answer is given up for another
_PAUSE = 0.3


class Refused(Exception):
    """The API refuses what it ought to take: a broken promise."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The value of an operation's one field; when it was first sent and at last answered, and how often it was sent."""

    value: Json
    sent: float
    answered: float
    tries: int


@dataclass
class Api:
    """Requests by POST. `server` chooses the address of one; `failures` counts why requests had to be repeated.

    `odd` is told of the errors that an operation was answered with: their codes, and words.
    """

    server: Callable[[Random], str]
    odd: Callable[[str, str], None]
    failures: Counter[str] = field(default_factory=Counter)
    _http: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64)
        self._http = httpx2.AsyncClient(timeout=_PATIENCE, verify=TLS, limits=limits)
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._http is not None
        await self._http.aclose()

    async def ask(self, token: str, dice: Random, document: str, variables: Mapping[str, Any]) -> Answer:
        """Ask until it is answered, each time of a server chosen anew. Raises Refused."""
        sent, tries = time.monotonic(), 0
        while True:
            tries += 1
            value = await self._try(token, dice, document, variables)
            if value is not None:
                return Answer(value, sent, time.monotonic(), tries)
            await asyncio.sleep(_PAUSE * (0.5 + dice.random()))

    async def do(self, token: str, dice: Random, document: str, **given: Any) -> Answer:
        """A mutation whose one argument is an input. Raises Refused where its payload has errors."""
        answer = await self.ask(token, dice, document, {"input": given})
        if answer.value["errors"]:
            raise Refused(f"{given}: {answer.value['errors']}")
        return answer

    async def _try(self, token: str, dice: Random, document: str, variables: Mapping[str, Any]) -> Json | None:
        """The value; None where there was none, for a reason that is counted."""
        assert self._http is not None
        body = {"query": document, "variables": variables}
        try:
            response = await self._http.post(f"{self.server(dice)}/graphql", json=body, headers=bearer(token))
        except httpx2.TransportError as error:
            self.failures[type(error).__name__] += 1
            return None
        if not response.headers.get("content-type", "").startswith("application/"):
            self.failures[f"HTTP {response.status_code}"] += 1
            return None
        answer = response.json()
        if errors := answer.get("errors"):
            codes = ", ".join(error.get("extensions", {}).get("code", error["message"]) for error in errors)
            self.odd(codes, str(errors[0]))
            return None
        (value,) = answer["data"].values()
        if value is None:
            raise Refused(f"{variables}: there is nothing")
        return dict(value)
