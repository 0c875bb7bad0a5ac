"""A scripted server, and a provider that asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from engine.providers.anthropic import AnthropicProvider
from tests.support.asking import KEY
from tests.support.messages_server import MessagesServer


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    """A scripted server."""
    async with MessagesServer(api_key=KEY) as server:
        yield server


@pytest.fixture
async def provider(server: MessagesServer) -> AsyncIterator[AnthropicProvider]:
    """A provider that asks it."""
    async with AnthropicProvider(api_key=KEY, base_url=server.url) as provider:
        yield provider
