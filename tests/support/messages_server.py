"""A server that speaks the Messages API from scripts, as strictly as the real one, and tells how far each answer got.

    async with MessagesServer() as server:
        server.play(Script().text("Let me see.").tool("search", {"q": "x"}), Script().text("Found ", "it."))
        provider = AnthropicProvider(base_url=server.url, api_key="test")
        ...
        assert server.refused == []

As a process of its own: `python -m tests.support.messages_server --help`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from tests.support.messages_requests import refusals
from tests.support.messages_script import Cut, End, Event, Hold, Http, Open, Pause, Raw, Script, Signature, Start

Chooser = Callable[["Request"], Script]


@dataclass(eq=False)
class Request:
    """One request, and what became of its answer."""

    body: Any
    headers: dict[str, str]
    request_id: str = ""
    """What the answer's header named it."""
    events: int = 0
    bytes: int = 0
    """Events and bytes of the answer's body that were written."""
    finished: bool = False
    """Whether the answer was written to its end, as its script has it."""
    was_cut_off: bool = False
    cut_off_at: float | None = None
    """When the client left before the end, on the monotonic clock."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def cut_off(self) -> None:
        """Wait until the answer has ended; raises AssertionError unless the client cut it off."""
        await self.ended.wait()
        assert self.was_cut_off, "the client took the answer to its end"

    def leave(self) -> None:
        """The client has gone."""
        if not self.finished and not self.was_cut_off:
            self.was_cut_off, self.cut_off_at = True, time.monotonic()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages that were sent."""
        return self.body["messages"]  # type: ignore[no-any-return]  # a request that was taken has them

    def summary(self) -> dict[str, Any]:
        """What another process may want to know of it."""
        return {
            "body": self.body,
            "events": self.events,
            "bytes": self.bytes,
            "finished": self.finished,
            "cut_off": self.was_cut_off,
        }


class MessagesServer:
    """The server; use it as a context. Requests take the scripts in order, then what `answer` chooses.

    `keeps=False` is for one that is asked very often: `requests` then stays empty, and they are counted alone.
    """

    def __init__(self, *, port: int = 0, api_key: str | None = None, keeps: bool = True) -> None:
        self.requests: list[Request] = []
        self.asked = 0
        """How many requests there were."""
        self.refused: list[str] = []
        """Why requests were answered with 400; a test of a good client asserts that it is empty."""
        self.connections = 0
        """How many connections were made."""
        self.url = ""
        self.contexts: dict[str, int] = {}
        """What it tells of its models' contexts; it does not know others."""
        self.models_asked: list[str] = []
        self._port = port
        self._api_key = api_key
        self._keeps = keeps
        self._scripts: deque[Script | Chooser] = deque()
        self._chooser: Chooser | None = None
        self._signatures: dict[str, tuple[str, str]] = {}
        self._paused = False
        self._made = 0
        self._arrivals = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", self._port, limit=2**16)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    def play(self, *scripts: Script | Chooser) -> None:
        """Answer the next requests with these, in order."""
        self._scripts.extend(scripts)

    def answer(self, chooser: Chooser) -> None:
        """Answer every request for which no script is left with what this chooses for it."""
        self._chooser = chooser

    async def arrived(self, count: int) -> Request:
        """Wait for the request with this number, from 1."""
        async with self._arrivals:
            await self._arrivals.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    def fresh(self, prefix: str) -> str:
        """A word that this server has not said before."""
        self._made += 1
        return f"{prefix}_{self._made:04}"

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(0)  # so that drain means: handed to the kernel
        early = b""
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    head, body = await _read_request(reader, early)
                    early = await self._respond(head, body, reader, writer)
        except _ConnectionOver:
            pass
        finally:
            writer.close()

    async def _respond(
        self, head: _Head, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes:
        """Answer one request; what the client sent too early for the next."""
        if head.line.startswith("GET /requests "):
            state = {"requests": [request.summary() for request in self.requests], "refused": self.refused}
            await _write_plain(writer, Http(200, state))
            return b""
        if head.line.startswith("GET /refusals "):
            await _write_plain(writer, Http(200, {"requests": self.asked, "refused": self.refused}))
            return b""
        if head.line.startswith("GET /v1/models/"):
            await _write_plain(writer, self._model(head.line.split()[1].rpartition("/")[2]))
            return b""
        request, script = await self._take(head, body)
        watch = asyncio.create_task(reader.read(1))
        play = asyncio.create_task(_Player(self, request, script, writer).play())
        try:
            await asyncio.wait({watch, play}, return_when=asyncio.FIRST_COMPLETED)
            if watch.done() and (watch.exception() or not watch.result()):
                request.leave()
                raise _ConnectionOver
            await play
        except ConnectionError:
            request.leave()
            raise
        finally:
            for task in (watch, play):
                task.cancel()
            await asyncio.wait({watch, play})
            request.ended.set()
        return watch.result() if not watch.cancelled() else b""

    async def _take(self, head: _Head, body: bytes) -> tuple[Request, Script]:
        try:
            value = json.loads(body)
        except ValueError:
            value = None
        request = Request(value, head.headers)
        script = self._script_for(head, request)
        self.asked += 1
        if self._keeps:
            async with self._arrivals:
                self.requests.append(request)
                self._arrivals.notify_all()
        return request, script.finished()

    def _script_for(self, head: _Head, request: Request) -> Script:
        if not head.line.startswith("POST /v1/messages "):
            return Script.status(404, "not_found_error", f"nothing here: {head.line}")
        key = head.headers.get("authorization", "").removeprefix("Bearer ") or head.headers.get("x-api-key", "")
        if not key or (self._api_key is not None and key != self._api_key):
            return Script.status(401, "authentication_error", f"invalid x-api-key: {key}")
        found = refusals(request.body, request.headers, self._signatures, paused=self._paused)
        if not found and not self._scripts and self._chooser is None:
            found = ["no script is left for this request"]
        if found:
            self.refused.extend(found)
            return Script.status(400, "invalid_request_error", "; ".join(found))
        chosen = self._scripts.popleft() if self._scripts else self._chooser
        script = chosen if isinstance(chosen, Script) else chosen(request) if chosen else Script()
        self._paused = script.stop_reason == "pause_turn"
        return script

    def _model(self, name: str) -> Http:
        self.models_asked.append(name)
        if name not in self.contexts:
            return Http(404, {"type": "error", "error": {"type": "not_found_error", "message": f"model: {name}"}})
        told = {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
        return Http(200, {**told, "lifecycle": "active", "max_input_tokens": self.contexts[name], "max_tokens": 64_000})

    def sign(self, thinking: str, model: str, signature: str | None) -> str:
        """The signature of what `model` thought, remembered."""
        signature = signature or self.fresh("sig")
        self._signatures[signature] = (thinking, model)
        return signature


class _ConnectionOver(Exception):
    """Nothing more is to be said on this connection."""


@dataclass(slots=True)
class _Head:
    line: str
    headers: dict[str, str]


async def _read_request(reader: asyncio.StreamReader, early: bytes) -> tuple[_Head, bytes]:
    head = (early + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *rest = head.rstrip("\r\n").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (entry.partition(":") for entry in rest)}
    return _Head(line, headers), await reader.readexactly(int(headers.get("content-length", "0")))


async def _write_plain(writer: asyncio.StreamWriter, http: Http) -> None:
    body = json.dumps(http.body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **http.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {http.status} Scripted\r\n{lines}\r\n".encode("latin-1") + body)
    await writer.drain()


class _Player:
    """Plays one script on one connection."""

    def __init__(self, server: MessagesServer, request: Request, script: Script, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._request = request
        self._script = script
        self._writer = writer
        self._headers_sent = False

    async def play(self) -> None:
        """Play it to its end; raises _ConnectionOver where it ends with the connection."""
        if self._script.http is not None:
            await _write_plain(self._writer, self._script.http)
        else:
            for act in self._script.acts:
                await self._perform(act)
            await self._send_headers()
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()
        self._request.finished = True

    async def _perform(self, act: object) -> None:
        match act:
            case Hold(released):
                await released.wait()
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Cut():
                self._request.finished = True
                raise _ConnectionOver
            case Raw(data):
                await self._write(data)
            case End():
                pass
            case _:
                await self._write_event(act)

    async def _write_event(self, act: object) -> None:
        if isinstance(act, Event) and act.delta and self._script.pace:
            await asyncio.sleep(self._script.pace)
        event = self._event_of(act)
        await self._write(_encoded(event))
        self._request.events += 1

    def _event_of(self, act: object) -> dict[str, Any]:
        requested = self._request.body["model"]
        match act:
            case Start(usage, model):
                message: dict[str, Any] = {"id": self._server.fresh("msg"), "type": "message", "role": "assistant"}
                message |= {"content": [], "model": model or requested, "stop_reason": None, "usage": usage}
                return {"type": "message_start", "message": message}
            case Open(index, block, fresh):
                made = {} if fresh is None else {fresh: self._server.fresh("toolu")}
                return {"type": "content_block_start", "index": index, "content_block": {**block, **made}}
            case Signature(index, thinking, value):
                signature = self._server.sign(thinking, requested, value)
                delta = {"type": "signature_delta", "signature": signature}
                return {"type": "content_block_delta", "index": index, "delta": delta}
            case Event(body):
                return body
        raise TypeError(act)

    async def _write(self, data: bytes) -> None:
        await self._send_headers()
        size = self._script.chunk or len(data)
        for start in range(0, len(data), size):
            await self._write_chunk(data[start : start + size])

    async def _write_chunk(self, data: bytes) -> None:
        left = None if self._script.cut_at is None else self._script.cut_at - self._request.bytes
        kept = data if left is None else data[:left]
        if kept:
            self._writer.write(b"%x\r\n%b\r\n" % (len(kept), kept))
            await self._writer.drain()
            self._request.bytes += len(kept)
        if self._script.chunk is not None:
            await asyncio.sleep(0)
        if left is not None and len(data) >= left:
            self._request.finished = True
            raise _ConnectionOver

    async def _send_headers(self) -> None:
        if not self._headers_sent:
            self._headers_sent = True
            self._request.request_id = identifier = self._server.fresh("req")
            self._writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                + f"server: {self._script.server_name}\r\nrequest-id: {identifier}\r\n".encode()
                + b"transfer-encoding: chunked\r\n\r\n"
            )
            await self._writer.drain()


def _encoded(event: dict[str, Any]) -> bytes:
    """The event as bytes: characters as UTF-8, so that writes can split them, lone surrogates escaped."""
    try:
        return f"event: {event.get('type')}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
    except UnicodeEncodeError:
        return f"event: {event.get('type')}\ndata: {json.dumps(event)}\n\n".encode()


if __name__ == "__main__":
    from tests.support.messages_process import main

    main()
