"""An answer in a thread while it is being written: its text and reasoning, as its run's streams tell them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from models.chat_message import ChatMessage
from models.events import ReasoningDelta, RunResult, StepRestarted, StreamEvent, TextDelta
from models.said import one_text
from models.text import utf16_prefix

PACE_SECONDS = 0.25
"""How long what has grown waits for more, so that it is told a few times a second rather than token by token."""
_Blocks = dict[tuple[int, int], str]


class Growing:
    """Follows the events of the run behind a message until it is closed.

    `grown` is called when there is more to see, `ended` at the end of each generation: the rows may say then how the
    turn has ended. By the same rule as theirs (models/said.py) the texts of the turn's answers are one.
    """

    def __init__(
        self,
        message: ChatMessage,
        events: AsyncGenerator[StreamEvent],
        *,
        grown: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self.message = message
        self._grown = grown
        self._ended = ended
        self._texts: _Blocks = {}
        self._reasonings: _Blocks = {}
        self._timer: asyncio.TimerHandle | None = None
        self._task = asyncio.create_task(self._follow(events))
        self._task.add_done_callback(lambda _: grown())

    @property
    def text(self) -> str:
        """The text so far."""
        return _joined(self._texts)

    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return _joined(self._reasonings)

    def check(self) -> None:
        """Raise what following the run has failed with, if it has."""
        if self._task.done() and not self._task.cancelled():
            self._task.result()

    async def close(self) -> None:
        """Follow no more."""
        if self._timer is not None:
            self._timer.cancel()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self, events: AsyncGenerator[StreamEvent]) -> None:
        async with aclosing(events):
            async for event in events:
                self._take(event)

    def _take(self, event: StreamEvent) -> None:
        match event:
            case TextDelta():
                _write(self._texts, event)
            case ReasoningDelta():
                _write(self._reasonings, event)
            case StepRestarted():
                for blocks in (self._texts, self._reasonings):
                    for place in [place for place in blocks if place[0] == event.step]:
                        del blocks[place]
            case RunResult():
                self._ended()
                return
            case _:
                return
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PACE_SECONDS, self._tell)

    def _tell(self) -> None:
        self._timer = None
        self._grown()


def _write(blocks: _Blocks, delta: TextDelta | ReasoningDelta) -> None:
    place = delta.step, delta.block
    blocks[place] = utf16_prefix(blocks.get(place, ""), delta.offset) + delta.text


def _joined(blocks: _Blocks) -> str:
    answers: dict[int, str] = {}
    for step, block in sorted(blocks):
        answers[step] = answers.get(step, "") + blocks[step, block]
    return one_text(answers.values())
