"""Scripts for the Messages API server: what one response says, and how it goes wrong on its way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(slots=True)
class Start:
    """message_start, with the figures of its usage."""

    usage: dict[str, Any]
    model: str | None


@dataclass(slots=True)
class Open:
    """The start of a block; `fresh` names the field that the server fills with something it never gave before."""

    index: int
    block: dict[str, Any]
    fresh: str | None = None


@dataclass(slots=True)
class Signature:
    """The signature of a thinking block, made by the server where none is given."""

    index: int
    thinking: str
    value: str | None


@dataclass(slots=True)
class Event:
    """Any event, as it is."""

    body: dict[str, Any]
    delta: bool = False


@dataclass(slots=True)
class Raw:
    """Any bytes of the body, as they are."""

    data: bytes


@dataclass(slots=True)
class Hold:
    """Silence until the event is set."""

    released: asyncio.Event


@dataclass(slots=True)
class Pause:
    """Silence for some seconds."""

    seconds: float


@dataclass(slots=True)
class Cut:
    """The connection breaks."""


@dataclass(slots=True)
class End:
    """The response ends cleanly, whatever it has said."""


Act = Start | Open | Signature | Event | Raw | Hold | Pause | Cut | End


@dataclass(slots=True)
class Http:
    """A plain HTTP answer instead of a stream."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


class Script:
    """One response, told step by step: `Script().text("Hel", "lo").tool("search", {"q": "x"}).stop("tool_use")`.

    A script without `stop`, `end`, `cut` or `fail` stops as a model would: tool_use where it calls a tool, else
    end_turn. `hold` and `pause` before anything else keep the server silent before its headers.
    """

    def __init__(self, *, model: str | None = None, **usage: Any) -> None:
        self.acts: list[Act] = []
        self.http: Http | None = None
        self.pace = 0.0
        self.chunk: int | None = None
        self.cut_at: int | None = None
        self.stop_reason: str | None = None
        self.server_name = "scripted"
        self._model = model
        self._usage = {"input_tokens": 10, "output_tokens": 1, **usage}
        self._started = False
        self._ended = False
        self._calls = False
        self._blocks = 0
        self._deltas = 0

    @classmethod
    def status(cls, status: int, kind: str = "api_error", message: str = "it went wrong", **headers: str) -> Self:
        """An HTTP error; headers by name, with underscores for hyphens: `Script.status(429, retry_after="2")`."""
        script = cls()
        body = {"type": "error", "error": {"type": kind, "message": message}}
        script.http = Http(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
        return script

    def text(self, *pieces: str) -> Self:
        """A text block, one delta a piece."""
        return self._block({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces])

    def thinking(self, *pieces: str, signature: str | None = None) -> Self:
        """A thinking block with a signature, one that the server makes up where none is given."""
        index = self._open({"type": "thinking", "thinking": "", "signature": ""})
        self._grow(index, [{"type": "thinking_delta", "thinking": piece} for piece in pieces])
        self.acts.append(Signature(index, "".join(pieces), signature))
        return self._close(index)

    def redacted(self, data: str = "b3BhcXVl") -> Self:
        """A redacted thinking block."""
        return self._block({"type": "redacted_thinking", "data": data}, [])

    def tool(self, name: str, arguments: Any = None, *, id: str | None = None, pieces: int = 3) -> Self:  # noqa: A002 - the API's own word
        """A tool call. `arguments` as JSON in so many pieces; a text is sent as it is, broken or not."""
        raw = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
        self._calls = True
        fresh = "id" if id is None else None
        index = self._open({"type": "tool_use", "id": id, "name": name, "input": {}}, fresh)
        size = max(1, -(-len(raw) // pieces))
        cut = ["", *(raw[start : start + size] for start in range(0, len(raw), size))]
        self._grow(index, [{"type": "input_json_delta", "partial_json": piece} for piece in cut])
        return self._close(index)

    def half_tool(self, name: str, raw: str) -> Self:
        """A tool call whose block never ends: what a cut in its middle leaves."""
        self._calls = True
        index = self._open({"type": "tool_use", "id": None, "name": name, "input": {}}, "id")
        return self._grow(index, [{"type": "input_json_delta", "partial_json": raw}])

    def half_text(self, *pieces: str) -> Self:
        """A text block that never ends."""
        index = self._open({"type": "text", "text": ""})
        return self._grow(index, [{"type": "text_delta", "text": piece} for piece in pieces])

    def block(self, block: dict[str, Any], *deltas: dict[str, Any]) -> Self:
        """Any block with any deltas."""
        return self._block(block, deltas)

    def event(self, body: dict[str, Any]) -> Self:
        """Any event, as it is."""
        self._start()
        self.acts.append(Event(body))
        return self

    def raw(self, data: bytes) -> Self:
        """Any bytes, as they are."""
        self.acts.append(Raw(data))
        return self

    def hold(self, released: asyncio.Event) -> Self:
        """Silence until the event is set."""
        self.acts.append(Hold(released))
        return self

    def pause(self, seconds: float) -> Self:
        """Silence for so many seconds."""
        self.acts.append(Pause(seconds))
        return self

    def paced(self, seconds: float) -> Self:
        """So many seconds before each delta."""
        self.pace = seconds
        return self

    def in_chunks(self, size: int) -> Self:
        """Write the body in pieces of so many bytes, each on its own: characters are split."""
        self.chunk = size
        return self

    def served_by(self, name: str) -> Self:
        """What the server calls itself in its headers."""
        self.server_name = name
        return self

    def stop(self, reason: str = "end_turn", **usage: Any) -> Self:
        """End as a server does: message_delta with the reason and the usage, then message_stop."""
        self._start()
        figures = usage or {"output_tokens": max(1, self._deltas)}
        self.acts.append(Event({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": figures}))
        self.acts.append(Event({"type": "message_stop"}))
        self.stop_reason = reason
        self._ended = True
        return self

    def end(self) -> Self:
        """End cleanly, without message_stop."""
        self._start()
        return self._finish(End())

    def cut(self, at: int | None = None) -> Self:
        """Break the connection here; or, whatever the script says, after so many bytes of the body."""
        if at is None:
            return self._finish(Cut())
        self.cut_at = at
        return self

    def fail(self, kind: str = "overloaded_error", message: str = "Overloaded") -> Self:
        """An error event inside the stream, then a clean end."""
        self._start()
        self.acts.append(Event({"type": "error", "error": {"type": kind, "message": message}}))
        return self._finish(End())

    def finished(self) -> Self:
        """The script with an end, if it had none."""
        return self if self._ended or self.http else self.stop("tool_use" if self._calls else "end_turn")

    def _finish(self, act: Act) -> Self:
        self.acts.append(act)
        self._ended = True
        return self

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self.acts.append(Start(self._usage, self._model))

    def _block(self, block: dict[str, Any], deltas: Iterable[dict[str, Any]]) -> Self:
        index = self._open(block)
        return self._grow(index, deltas)._close(index)

    def _open(self, block: dict[str, Any], fresh: str | None = None) -> int:
        self._start()
        index, self._blocks = self._blocks, self._blocks + 1
        self.acts.append(Open(index, block, fresh))
        return index

    def _grow(self, index: int, deltas: Iterable[dict[str, Any]]) -> Self:
        for delta in deltas:
            self._deltas += 1
            self.acts.append(Event({"type": "content_block_delta", "index": index, "delta": delta}, delta=True))
        return self

    def _close(self, index: int) -> Self:
        self.acts.append(Event({"type": "content_block_stop", "index": index}))
        return self


def script_of(steps: Iterable[dict[str, Any]]) -> Script:
    """A script from JSON: each step an object of one method's name and its arguments.

    `[{"text": ["Hel", "lo"]}, {"tool": ["search", {"q": "x"}]}, {"pause": 0.1}, {"stop": "tool_use"}]`; an HTTP error
    is `[{"status": [529, "overloaded_error"]}]`.
    """
    script = Script()
    for step in steps:
        ((name, arguments),) = step.items()
        listed = arguments if isinstance(arguments, list) else [arguments]
        if name == "status":
            return Script.status(*listed)
        script = getattr(script, name)(*([] if arguments is None else listed))
    return script
