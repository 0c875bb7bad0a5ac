"""A model that says what it was told to say: for tests of agents, and under the demo model. No network, no chance."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import orjson

from engine.providers.accumulator import Accumulator
from engine.providers.provider import Answer, Delta, FailureKind, ModelRequest, ProviderFailure
from models.ids import Ids

_WORDS = re.compile(r"\S+\s*|\s+")
_CHARACTERS_A_TOKEN = 4

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Say:
    """A block of text, shown word by word."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """A block of reasoning, shown word by word."""

    text: str
    signature: str = "scripted"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. Without an id it gets one of its own; an `input` that is a text is sent as it is."""

    name: str
    input: Any = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """Says nothing until the event is set: a place at which a test can steer, stop or look."""

    until: asyncio.Event


Part = str | Say | Think | Call | Hold | ProviderFailure
"""A piece of a turn: a text is said, a failure is raised where it stands."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer. Without a `stop_reason` it is tool_use where a tool is called, else end_turn."""

    parts: tuple[Part, ...]
    stop_reason: str | None = None


Scripted = Turn | Part | Iterable[Part] | Callable[[ModelRequest], "Turn | Part | Iterable[Part]"]
"""What may stand in a script: a turn, a single part or several, or a function that makes one of them of the request."""


def overloaded() -> ProviderFailure:
    """A turn in which the model's provider is overloaded: the model is asked again, or the next one is."""
    return ProviderFailure(
        FailureKind.OVERLOADED, "scripted: overloaded", shown="The model's provider is overloaded.", retryable=True
    )


def retired() -> ProviderFailure:
    """A turn in which the provider does not know the model any more: the next one is asked at once."""
    return ProviderFailure(
        FailureKind.ERROR,
        "scripted: retired",
        shown="The model's provider does not know this model.",
        retryable=False,
        elsewhere=True,
    )


def as_turn(scripted: Turn | Part | Iterable[Part]) -> Turn:
    """A turn of whatever stands for one."""
    if isinstance(scripted, Turn):
        return scripted
    if isinstance(scripted, str | Say | Think | Call | Hold | ProviderFailure):
        return Turn((scripted,))
    return Turn(tuple(scripted))


class ScriptedModel:
    """A provider that plays the given turns in order, and remembers what it was asked in `requests`.

        model = ScriptedModel(Call("search_docs", {"query": "pelicans"}), "Pelicans eat fish.")

    A request beyond the last turn is a ProviderFailure that is not to be repeated.
    """

    def __init__(self, *turns: Scripted, name: str = "scripted") -> None:
        self.requests: list[ModelRequest] = []
        self._turns = list(turns)
        self._name = name
        self._ids = Ids()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[ScriptedResponse]:
        """Play the next turn."""
        self.requests.append(request)
        if len(self.requests) > len(self._turns):
            raise ProviderFailure(
                FailureKind.ERROR,
                f"the script has {len(self._turns)} turns, and request {len(self.requests)} came",
                shown="The scripted model has no turn left.",
                retryable=False,
            )
        scripted = self._turns[len(self.requests) - 1]
        turn = as_turn(scripted(request) if callable(scripted) else scripted)
        yield ScriptedResponse(request, turn, name=self._name, ids=self._ids)


class ScriptedResponse:
    """A turn on its way, put together as a real response is; see provider.Response.

    `delay` is in seconds, before each word; `sleep` waits for it. Tokens are counted as a quarter of the characters,
    and cost nothing.
    """

    def __init__(
        self,
        request: ModelRequest,
        turn: Turn,
        *,
        name: str,
        ids: Ids,
        delay: float = 0.0,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._request = request
        self._turn = turn
        self._ids = ids
        self._delay = delay
        self._sleep = sleep
        self._accumulator = Accumulator(name, lambda model, usage: Decimal(0))

    async def __aiter__(self) -> AsyncIterator[Delta]:
        for event in _events(self._request, self._turn, self._ids):
            if isinstance(event, Hold):
                await event.until.wait()
                continue
            if isinstance(event, ProviderFailure):
                event.usage = self._accumulator.usage
                raise event
            delta = self._accumulator.feed(event)
            if delta is not None:
                await self._sleep(self._delay)
                yield delta

    @property
    def answer(self) -> Answer:
        """The whole answer, once the iteration has ended by itself."""
        return self._accumulator.answer()

    def partial(self) -> Answer:
        """What was shown until now; see provider.Response."""
        return self._accumulator.partial()


def _events(request: ModelRequest, turn: Turn, ids: Ids) -> Iterator[dict[str, Any] | Hold | ProviderFailure]:
    prompt = orjson.dumps([request.system, request.messages, request.tools], default=str)
    usage = {"input_tokens": len(prompt) // _CHARACTERS_A_TOKEN, "output_tokens": 1}
    yield {"type": "message_start", "message": {"usage": usage}}
    said = 0
    for index, part in enumerate(turn.parts):
        if isinstance(part, Hold | ProviderFailure):
            yield part
            continue
        block, deltas = _block(part, ids)
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            said += sum(len(value) for value in delta.values())
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = turn.stop_reason or ("tool_use" if any(isinstance(part, Call) for part in turn.parts) else "end_turn")
    usage = {"output_tokens": max(1, said // _CHARACTERS_A_TOKEN)}
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    yield {"type": "message_stop"}


def _block(part: str | Say | Think | Call, ids: Ids) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """A part as its block begins, and the deltas that fill it."""
    match part:
        case Think(text, signature):
            deltas = [{"type": "thinking_delta", "thinking": word} for word in _WORDS.findall(text)]
            deltas.append({"type": "signature_delta", "signature": signature})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case Call(name, value, identifier):
            raw = value if isinstance(value, str) else orjson.dumps(value).decode()
            block = {"type": "tool_use", "id": identifier or ids("toolu"), "name": name, "input": {}}
            return block, [{"type": "input_json_delta", "partial_json": raw}]
        case str(text) | Say(text):
            deltas = [{"type": "text_delta", "text": word} for word in _WORDS.findall(text)]
            return {"type": "text", "text": ""}, deltas
    raise TypeError(f"{part!r} can't be said")
