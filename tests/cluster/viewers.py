"""Subscribers: what each has been told, what it shows, and what was wrong with it on the way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.cluster import documents
from tests.support.page import Page

TEXTS = {"TextDelta": "text", "ReasoningDelta": "thinking"}
"""The kinds of events that pass, by the kind of block that holds their text."""
PASSING = frozenset({*TEXTS, "ToolCallProgress"})
Heard = Callable[[dict[str, Any], float], None]
"""Is told of each event as it arrives, and when, on the monotonic clock."""


@dataclass(frozen=True, slots=True)
class Final:
    """How a run has ended, as the API tells: what every subscriber must come to."""

    status: str
    finish: str
    stream_id: str
    seq: int


class Watcher:
    """Follows the events of a run: of one generation by `stream`, or of all from it on by `runStream`."""

    def __init__(self, run_id: str, stream_id: str, *, all_generations: bool, heard: Heard) -> None:
        self.run_id = run_id
        self.all_generations = all_generations
        self.document = documents.WATCH_RUN_STREAM if all_generations else documents.WATCH_STREAM
        self.reconnects, self.listening = 0, False
        self.page = Page()
        self.lasting: dict[str, list[tuple[int, str]]] = {stream_id: []}
        self.results: dict[str, dict[str, Any]] = {}
        self.problems: list[str] = []
        self.events = 0
        self.changed = asyncio.Event()
        self._stream_id = stream_id
        self._heard = heard
        self._over = 0
        self._attempts: dict[int, int] = {}
        self._final: Final | None = None
        self._completed = False

    @property
    def kind(self) -> str:
        """The subscription's name."""
        return "runStream" if self.all_generations else "stream"

    @property
    def last_seen(self) -> dict[str, Any]:
        """The RunResult of the newest generation that it has seen."""
        return self.results.get(self._stream_id, {})

    def variables(self) -> Mapping[str, Any]:
        """After the last event that it has."""
        after = self.page.last.get(self._stream_id, 0)
        return {"runId": self.run_id, "streamId": self._stream_id, "after": after}

    def take(self, item: dict[str, Any]) -> None:
        """Apply an event, and note what is wrong with its order."""
        stream_id, kind = item["streamId"], item["__typename"]
        if stream_id != self._stream_id:
            self._begin(stream_id)
        if stream_id in self.results:
            self.problems.append(f"{kind} {item['seq']} after RunResult")
        self.page.show(item)
        self._check_order(item, kind)
        if kind not in PASSING:
            self.lasting[stream_id].append((item["seq"], kind))
        if kind == "RunResult":
            self.results[stream_id] = item
        self.events += 1
        self._heard(item, time.monotonic())
        self.changed.set()

    def _begin(self, stream_id: str) -> None:
        if stream_id in self.lasting or self._stream_id not in self.results:
            self.problems.append(f"{stream_id} comes before the end of {self._stream_id}, or again")
        self._stream_id = stream_id
        self._attempts.clear()
        self.lasting.setdefault(stream_id, [])

    def _check_order(self, item: dict[str, Any], kind: str) -> None:
        """No text of a step that is over, or of an attempt that was given up."""
        step = item["step"]
        if kind in TEXTS and (step <= self._over or item["attempt"] < self._attempts.get(step, 1)):
            self.problems.append(f"text came too late: {item}")
        if kind == "StepRestarted":
            self._attempts[step] = item["attempt"]
        if kind == "StepFinished":
            self._over = step

    def text(self) -> dict[tuple[int, int, str], str]:
        """What it shows now: by step, block and kind of block."""
        return {
            (step, block, TEXTS[kind]): units.decode("utf-16-le", "replace")
            for (step, block, kind), units in self.page.blocks.items()
            if units
        }

    def end_at(self, final: Final) -> None:
        """The run has ended: follow it to there, and leave."""
        self._final = final

    def completed(self) -> None:
        """The server says that there is no more."""
        self._completed = True
        if self.all_generations or self._stream_id not in self.results:
            self.problems.append(f"{self.kind} was completed too early")
        self.changed.set()

    @property
    def finished(self) -> bool:
        """Whether it has all that it wanted."""
        if not self.all_generations:
            return self._completed
        return self._final is not None and self._final.stream_id in self.results


class Reader:
    """Follows the messages of a run."""

    kind = "messages"
    document = documents.WATCH_MESSAGES

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.reconnects, self.listening = 0, False
        self.messages: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.changed = asyncio.Event()
        self._final: Final | None = None

    @property
    def seq(self) -> int:
        """The last message that it has."""
        return self.messages[-1]["seq"] if self.messages else 0

    def variables(self) -> Mapping[str, Any]:
        """After the last message that it has."""
        return {"runId": self.run_id, "afterSeq": self.seq}

    def take(self, item: dict[str, Any]) -> None:
        """Take a message."""
        if item["seq"] != self.seq + 1:
            self.problems.append(f"message {item['seq']} came behind {self.seq}")
        self.messages.append(item)
        self.changed.set()

    def end_at(self, final: Final) -> None:
        """The run has ended: follow it to there, and leave."""
        self._final = final

    def completed(self) -> None:
        """The server says that there is no more, which is never so."""
        self.problems.append("messages was completed")

    @property
    def finished(self) -> bool:
        """Whether it has all that it wanted."""
        return self._final is not None and self.seq >= self._final.seq


Subscriber = Watcher | Reader
