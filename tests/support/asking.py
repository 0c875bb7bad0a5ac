"""Asking a provider, for tests of it."""

from __future__ import annotations

import pytest

from engine.providers.anthropic import AnthropicProvider
from engine.providers.provider import Answer, Delta, ModelRequest, ProviderFailure

KEY = "sk-test-of-no-use"
TOOL = {"name": "search", "description": "Search.", "input_schema": {"type": "object", "properties": {}}}
ASK = ModelRequest(model="claude-sonnet-5-5", messages=[{"role": "user", "content": "Hello"}], system="Be kind.")


async def ask(provider: AnthropicProvider, request: ModelRequest = ASK) -> tuple[list[Delta], Answer]:
    """The deltas and the answer."""
    async with provider.stream(request) as response:
        deltas = [delta async for delta in response]
        return deltas, response.answer


async def failure(provider: AnthropicProvider, request: ModelRequest = ASK) -> ProviderFailure:
    """The failure that the call ends with."""
    with pytest.raises(ProviderFailure) as caught:
        await ask(provider, request)
    return caught.value


async def outcome(provider: AnthropicProvider) -> Answer | ProviderFailure:
    """The answer, or the failure that came instead."""
    try:
        return (await ask(provider))[1]
    except ProviderFailure as failed:
        return failed
