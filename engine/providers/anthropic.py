"""The Messages API, spoken through the anthropic SDK: the one file that knows the provider's dialect of a request."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2
from anthropic import AnthropicError, AsyncAnthropic, AsyncStream, DefaultAsyncHttpxClient
from anthropic.types import RawMessageStreamEvent

from engine.providers import real_calls
from engine.providers.accumulator import Accumulator
from engine.providers.failures import failure_of, incomplete
from engine.providers.prices import Prices, load_prices
from engine.providers.provider import Answer, Delta, ModelRequest, ProviderFailure
from models.clock import Clock, system_clock
from models.text import clean

log = logging.getLogger("steersman.provider")
_EPHEMERAL = {"type": "ephemeral"}
_CACHEABLE = frozenset({"text", "tool_result", "image", "document", "search_result"})
_CACHED_TURNS = 2  # with the system prompt and the tools these are the four breakpoints that the API allows
_BREAKS_CONNECTIONS = frozenset({"llama.cpp"})  # promises to keep a connection, and closes it under the next request
_ASIDE = 5.0  # seconds that a question may take which nothing depends on
_LINGER = 0.25  # seconds that a server may take to end a response whose answer is whole
_REASONING = {"type": "adaptive", "display": "summarized"}
_OWN_HOST = "anthropic.com"
_ADAPTIVE = re.compile(r"claude-(fable|mythos|opus|sonnet)-(\d+)(?:-(\d{1,2}))?(?:-\d{8}|-latest)?")
_ADAPTIVE_SINCE = (4, 6)  # of Opus and Sonnet
_THINKS_UNASKED_SINCE = (5, 5)  # of Opus


class AnthropicProvider:
    """Asks any server that speaks the Messages API.

    One client is shared by all calls; leave the context, or call `close`, when the process ends. The SDK's own retries
    are off: who calls decides (retrying.py). `stall_seconds` is how long the server may be silent, `connect_seconds`
    how long a connection may take. `base_url` carries no /v1; without one the SDK takes ANTHROPIC_BASE_URL, or the
    API's own address.
    """

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        prices: Prices | None = None,
        stall_seconds: float = 60.0,
        connect_seconds: float = 10.0,
        clock: Clock = system_clock,
    ) -> None:
        self._prices = load_prices() if prices is None else prices
        self._clock = clock
        timeout = httpx2.Timeout(stall_seconds, connect=connect_seconds)
        # A proxy named in the environment can't reach a server on this machine.
        local = _is_loopback(base_url or os.environ.get("ANTHROPIC_BASE_URL", ""))
        self._client = AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            max_retries=0,
            open_telemetry=False,
            http_client=DefaultAsyncHttpxClient(timeout=timeout, trust_env=not local),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; nothing can be asked afterwards."""
        await self._client.close()

    async def context_of(self, model: str) -> int | None:
        """The most tokens of a request to the model, as the API tells; None where it does not."""
        try:
            real_calls.check()
            told: Any = (await self._client.models.retrieve(model, timeout=_ASIDE)).max_input_tokens
        except (AnthropicError, httpx2.HTTPError, ProviderFailure, ValueError) as error:
            # Servers that speak the API may lack this; the setting serves.
            log.info("the provider does not tell the context of %s: %s", model, type(error).__name__)
            return None
        return told if isinstance(told, int) and told > 0 else None

    def refusal_of(self, parameter: str) -> str | None:
        """Why a parameter is not taken: the Messages API lacks it, or Anthropic's own has given it up."""
        if parameter == "repetition_penalty":
            return "The Messages API knows no repetition penalty."
        host = self._client.base_url.host
        if parameter == "temperature" and (host == _OWN_HOST or host.endswith(f".{_OWN_HOST}")):
            return "The Messages API of Anthropic takes no temperature any more; other servers that speak it may."
        return None

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AnthropicResponse]:
        """Ask the model. Raises ProviderFailure; leaving the context closes the connection at once."""
        real_calls.check()
        if request.temperature is not None and self.refusal_of("temperature"):
            request = replace(request, temperature=None)  # saved where another provider was asked
        try:
            stream = await self._client.messages.create(**parameters_of(request), stream=True)
        except Exception as error:
            raise failure_of(error, self._clock) from error
        response = AnthropicResponse(stream, Accumulator(request.model, self._prices.cost), self._clock)
        try:
            yield response
            await response.drain()
        finally:
            with suppress(Exception):  # the connection is dropped either way; what went wrong before matters more
                await stream.close()


class AnthropicResponse:
    """A response on its way; see provider.Response."""

    def __init__(self, stream: AsyncStream[RawMessageStreamEvent], accumulator: Accumulator, clock: Clock) -> None:
        self._stream = stream
        self._accumulator = accumulator
        self._clock = clock
        self._request_id = stream.response.headers.get("request-id")

    async def __aiter__(self) -> AsyncIterator[Delta]:
        accumulator = self._accumulator
        while not accumulator.stopped:
            try:
                event = await anext(self._stream, None)
                if event is None:
                    break
                delta = accumulator.feed(event)
            except Exception as error:
                raise failure_of(error, self._clock, accumulator.usage if accumulator.started else None) from error
            if delta is not None:
                yield delta
        if not accumulator.whole:
            raise incomplete(accumulator.usage)
        for delta in accumulator.close():
            yield delta

    @property
    def answer(self) -> Answer:
        """The whole answer, once the iteration has ended by itself."""
        return self._accumulator.answer(self._request_id)

    def partial(self) -> Answer:
        """What was shown until now; see provider.Response."""
        return self._accumulator.partial(self._request_id)

    async def drain(self) -> None:
        """After the answer's end, read to the end of the response: only then can its connection be used again."""
        headers = self._stream.response.headers
        if not self._accumulator.stopped or headers.get("server") in _BREAKS_CONNECTIONS:
            return
        with suppress(Exception):  # the answer is whole; a server that does not let go of it is left
            async with asyncio.timeout(_LINGER):
                while await anext(self._stream, None) is not None:
                    pass


def parameters_of(request: ModelRequest) -> dict[str, Any]:
    """A request as the SDK takes it.

    Its bytes depend on the request alone, and what two requests of one conversation share is equal in both but for the
    cache's breakpoints: on the last tool, the system prompt, and the last two turns of the user, the earlier of which
    is where the call before this one wrote its prefix.
    """
    parameters: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": _with_breakpoints([_in_blocks(message) for message in request.messages]),
    }
    if request.system and request.system.strip():
        system = {"type": "text", "text": clean(request.system), "cache_control": _EPHEMERAL}
        parameters["system"] = [system]
    if request.tools:
        parameters["tools"] = [*request.tools[:-1], {**request.tools[-1], "cache_control": _EPHEMERAL}]
        if request.tool_choice != "auto":
            parameters["tool_choice"] = {"type": request.tool_choice}
    if request.temperature is not None:
        parameters["extra_body"] = {"temperature": request.temperature}  # the SDK has no argument for it any more
    if _wants_reasoning(request):
        parameters["thinking"] = _REASONING
    return parameters


def _in_blocks(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with its content as blocks: one shape, so that a turn's bytes stay what they were."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"role": message["role"], "content": blocks}


def _with_breakpoints(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    left = _CACHED_TURNS
    for place in range(len(messages) - 1, -1, -1):
        content = messages[place]["content"]
        if left == 0 or messages[place]["role"] != "user" or not content or not _cacheable(content[-1]):
            continue
        messages[place]["content"] = [*content[:-1], {**content[-1], "cache_control": _EPHEMERAL}]
        left -= 1
    return messages


def _cacheable(block: Mapping[str, Any]) -> bool:
    return block.get("type") in _CACHEABLE and block.get("text") != ""


def _wants_reasoning(request: ModelRequest) -> bool:
    """Whether to ask for a summary of what the model thinks; one that is not known to take that would refuse it.

    The newest Opus thinks unasked, and says there what it else says between tool calls: without the summary that is
    lost to those who watch.
    """
    named = _ADAPTIVE.fullmatch(request.model)
    if named is None or (request.tools and request.tool_choice == "any"):  # the API takes one or the other
        return False
    line, version = named[1], (int(named[2]), int(named[3] or 0))
    takes_it = line in ("fable", "mythos") or version >= _ADAPTIVE_SINCE
    return takes_it and (request.reasoning or (line == "opus" and version >= _THINKS_UNASKED_SINCE))


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
