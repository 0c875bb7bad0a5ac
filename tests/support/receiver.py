"""An endpoint of webhooks on this machine: it keeps what was posted, and answers what the test says."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Answer = int | asyncio.Event | bytes
"""A status; a whole response; or what is waited for before it is 204."""


@dataclass(frozen=True)
class Post:
    """What was posted."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The body."""
        value: dict[str, Any] = json.loads(self.body)
        return value

    @property
    def id(self) -> str:
        """The delivery's id."""
        return self.headers["webhook-id"]

    def is_signed_with(self, secret: str) -> bool:
        """Whether the signature is the one that this secret makes, by the words of the convention alone."""
        key = base64.b64decode(secret[len("whsec_") :])
        content = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        return self.headers["webhook-signature"] == f"v1,{expected}"


@dataclass
class Receiver:
    """`answers` are given in their order, then 204s; `most` is how many posts were there at the same moment."""

    port: int = 0
    posts: list[Post] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    at_once: int = 0
    most: int = 0
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/hook"

    async def until(self, holds: Callable[[Receiver], object]) -> None:
        """Wait until it holds."""
        while not holds(self):
            self._came.clear()
            await self._came.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one post, answer, and close."""
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._take(reader, writer)
        finally:
            self.at_once -= 1
            writer.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = [line.split(": ", 1) for line in lines if line]
        headers = {name.lower(): value for name, value in pairs}
        body = await reader.readexactly(int(headers["content-length"]))
        self.posts.append(Post(first.split()[1], headers, body))
        answer = self.answers.pop(0) if self.answers else 204
        self._came.set()
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            answer = 204
        whole = answer if isinstance(answer, bytes) else f"HTTP/1.1 {answer} X\r\nContent-Length: 0\r\n\r\n".encode()
        writer.write(whole)
        await writer.drain()


@asynccontextmanager
async def receiver(*answers: Answer) -> AsyncIterator[Receiver]:
    """An endpoint that answers these, one after another, and takes all that comes after."""
    one = Receiver(answers=list(answers))
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    try:
        yield one
    finally:
        server.close()
        await server.wait_closed()
