"""Whether a provider can be reached, without asking a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from engine.providers.reaching import problem_of_provider
from tests.support.messages_server import MessagesServer


@asynccontextmanager
async def answering(status: str | None) -> AsyncIterator[str]:
    """A server that answers one request with this status, or with None never; its address."""
    left = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if status is not None:
            body = b'{"error": "sk-ant-hidden-word"}'
            head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
        await reader.read()  # until the client leaves
        writer.close()
        left.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await left.wait()


async def test_a_server_without_a_list_of_models_is_reached_all_the_same() -> None:
    """Local servers have none; no model is asked."""
    async with MessagesServer() as server:
        assert await problem_of_provider("test", server.url) is None
        assert [request.body for request in server.requests] == [None]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("401 Unauthorized", "The model's provider refused the API key."),
        ("500 Internal Server Error", "The model's provider failed."),
        (None, "The model's provider took too long."),
    ],
)
async def test_what_is_wrong_is_told_without_the_provider_s_words(status: str | None, told: str) -> None:
    """A refused key, a server that fails, one that does not answer."""
    async with answering(status) as url:
        assert await problem_of_provider("test", url, seconds=1.0) == told
