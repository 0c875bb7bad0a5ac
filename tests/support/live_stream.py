"""A stream's life, move by move, as its owners make it; its rows; and a viewer that applies what it is sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from models.enums import FinishReason, RunStatus
from models.events import (
    InputApplied,
    InputQueued,
    ReasoningDelta,
    RunResult,
    StepFinished,
    StepRestarted,
    StreamEvent,
    TextDelta,
    ToolCallFinished,
    ToolCallProgress,
    ToolCallStarted,
)
from models.stream import StreamRows
from models.text import utf16_length
from models.usage import Usage

WORDS = ("a", "bc", " token", "\U0001f600", "\u00e9", "\n", "zzz ", "\u65e5\u672c")


@dataclass(frozen=True)
class Publish:
    """The owner hands an event to the log."""

    event: StreamEvent


@dataclass(frozen=True)
class Commit:
    """A lasting event is in the rows; with StepFinished, the step's answer."""

    event: StreamEvent
    blocks: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Trim:
    """The owner lets go of what the rows hold."""

    upto: int


@dataclass(frozen=True)
class TakeOver:
    """The owner is dead, and another begins above `gone`."""

    gone: int


Move = Publish | Commit | Trim | TakeOver


@dataclass
class Stored:
    """The rows of one stream."""

    lasting: list[StreamEvent] = field(default_factory=list)
    answers: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def commit(self, move: Commit) -> None:
        """Keep a lasting event."""
        self.lasting.append(move.event)
        if isinstance(move.event, StepFinished):
            self.answers[move.event.message_seq] = move.blocks or []

    def read(self, after: int) -> StreamRows:
        """What the rows tell above a number."""
        lasting = [replace(event) for event in self.lasting if event.seq > after]
        ended = any(isinstance(event, RunResult) for event in self.lasting)
        return StreamRows(lasting, dict(self.answers), ended)


class Viewer:
    """What a client makes of the events; refuses numbers that do not rise, and text that leaves a gap."""

    def __init__(self) -> None:
        self.last = 0
        self.texts: dict[tuple[int, int], str] = {}
        self.lasting: list[StreamEvent] = []
        self.ended = False

    def see(self, event: StreamEvent) -> None:
        """Take one event."""
        assert event.seq > self.last, (event, self.last)
        assert not self.ended, event
        self.last = event.seq
        self.apply(event)
        if event.lasting:
            self.lasting.append(event)
        self.ended = isinstance(event, RunResult)

    def apply(self, event: StreamEvent) -> None:
        """What a browser does with an event's text."""
        if isinstance(event, StepRestarted):
            self.texts = {key: text for key, text in self.texts.items() if key[0] != event.step}
        elif isinstance(event, TextDelta | ReasoningDelta):
            units = self.texts.get((event.step, event.block), "").encode("utf-16-le")
            assert len(units) // 2 >= event.offset, f"a gap before {event}"
            self.texts[event.step, event.block] = units[: event.offset * 2].decode("utf-16-le") + event.text


def dice(seed: int) -> Random:
    """The same dice for the same seed."""
    return Random(seed)  # noqa: S311 - a test's dice, nothing secret


def life(rnd: Random, stream_id: str = "str_1", *, words: int = 8, piece: int = sys.maxsize) -> Iterator[Move]:
    """The moves of a generation: steps with retries, takeovers, queued input and tools, and its end.

    A text has fewer than `words` words, and a delta at most `piece` characters.
    """
    return _Owner(rnd, stream_id, words, piece).moves()


class _Owner:
    def __init__(self, rnd: Random, stream_id: str, words: int, piece: int) -> None:
        self._rnd = rnd
        self._stream_id = stream_id
        self._words = words
        self._piece = piece
        self._seq = 0
        self._step = rnd.randrange(3)
        self._attempt = 1
        self._messages = 1

    def moves(self) -> Iterator[Move]:
        rnd = self._rnd
        for _ in range(rnd.randrange(1, 4)):
            self._step, self._attempt = self._step + 1, 1
            while rnd.random() < 0.3:
                yield from self._deltas(self._blocks())
                yield from self._restarted()
            yield from self._whole_step()
            yield from self._tools()
        if rnd.random() < 0.2:
            self._step, self._attempt = self._step + 1, 1
            yield from self._deltas(self._blocks())
            yield from self._restarted()
        yield from self._lasting(
            RunResult,
            run_id="run_1",
            status=RunStatus.COMPLETED,
            finish=FinishReason.STOP,
            text="",
            output=None,
            model=None,
            steps=1,
            usage=Usage(),
            cancelled=False,
            error=None,
        )
        if rnd.random() < 0.3:
            yield Trim(self._seq)

    def _whole_step(self) -> Iterator[Move]:
        blocks = self._blocks()
        yield from self._deltas(blocks)
        self._messages += 1
        finished = self._event(StepFinished, message_seq=self._messages, stop_reason="end_turn", usage=Usage())
        yield Commit(finished, blocks)
        if self._rnd.random() < 0.1:
            yield self._take_over()  # the owner died between commit and publication
            return
        yield Publish(finished)
        if self._rnd.random() < 0.7:
            yield Trim(finished.seq)

    def _blocks(self) -> list[dict[str, Any]]:
        """An answer's blocks as they are stored."""
        blocks: list[dict[str, Any]] = []
        for _ in range(self._rnd.randrange(4)):
            kind = self._rnd.choice(("text", "thinking", "text", "tool_use", "nothing"))
            text = "".join(self._rnd.choice(WORDS) for _ in range(self._rnd.randrange(1, self._words)))
            if kind == "text":
                blocks.append({"type": "text", "text": text})
            elif kind == "thinking":
                blocks.append({"type": "thinking", "thinking": text, "signature": "c2ln"})
            elif kind == "tool_use":
                blocks.append({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}})
            else:
                blocks.append({"type": "text", "text": ""})
        return blocks

    def _deltas(self, blocks: list[dict[str, Any]]) -> Iterator[Move]:
        for index, block in enumerate(blocks):
            kind: type[StreamEvent] = ReasoningDelta if block["type"] == "thinking" else TextDelta
            text, offset = block.get("thinking") or block.get("text") or "", 0
            while text:
                cut = self._rnd.randrange(1, min(len(text), self._piece) + 1)
                piece, text = text[:cut], text[cut:]
                yield Publish(self._event(kind, block=index, offset=offset, text=piece))
                offset += utf16_length(piece)
                if self._rnd.random() < 0.2:
                    yield from self._lasting(InputQueued, input_id="inp_1", queued=1)

    def _restarted(self) -> Iterator[Move]:
        """The attempt failed, or its owner died."""
        if self._rnd.random() < 0.5:
            yield self._take_over()
        self._attempt += 1
        yield from self._lasting(StepRestarted, reason="tried again")

    def _tools(self) -> Iterator[Move]:
        for number in range(self._rnd.randrange(3)):
            call = {"tool_call_id": f"call_{number}", "name": "add", "input": {}}
            yield from self._lasting(ToolCallStarted, **call)
            if self._rnd.random() < 0.3:
                event = self._event(ToolCallProgress, tool_call_id=call["tool_call_id"], message="…", fraction=None)
                yield Publish(event)
            if self._rnd.random() < 0.2:
                yield self._take_over()
            yield from self._lasting(ToolCallFinished, **call, result="3", is_error=False)
        if self._rnd.random() < 0.5:
            self._messages += 1
            yield from self._lasting(InputApplied, input_ids=["inp_1"], message_seq=self._messages)

    def _lasting(self, kind: type[StreamEvent], **values: Any) -> Iterator[Move]:
        event = self._event(kind, **values)
        yield Commit(event)
        yield Publish(event)

    def _take_over(self) -> TakeOver:
        self._seq += self._rnd.randrange(50)
        return TakeOver(self._seq)

    def _event(self, kind: type[StreamEvent], **values: Any) -> Any:
        self._seq += 1
        envelope: dict[str, Any] = {
            "stream_id": self._stream_id,
            "seq": self._seq,
            "step": self._step,
            "attempt": self._attempt,
        }
        return kind(**envelope, at=self._seq, **values)
