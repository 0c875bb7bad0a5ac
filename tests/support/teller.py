"""An owner of one stream on one node, and the rows that it writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from engine.streams.memory import MemoryStreams
from engine.streams.replay import replay
from models.enums import FinishReason, RunStatus
from models.events import RunResult, StepFinished, StepRestarted, StreamEvent, TextDelta, ToolCallProgress
from models.run import Sign
from models.stream import StreamRows
from models.text import utf16_length
from models.usage import Usage
from tests.support.live_stream import Commit, Stored, Viewer

SID = "str_1"
HEADROOM = 1_000
"""How many numbers the next owner leaves out: those that this one may have used."""


async def at_once() -> None:
    """No pause."""


class Book:
    """The rows of all streams; counts how often they are read, and pauses before and after each read."""

    def __init__(self, pause: Callable[[], Awaitable[None]] = at_once) -> None:
        self.stored: dict[str, Stored] = {}
        self.reads = 0
        self._pause = pause

    def of(self, stream_id: str = SID) -> Stored:
        """One stream's rows."""
        return self.stored.setdefault(stream_id, Stored())

    def seen(self, stream_id: str = SID) -> Viewer:
        """What who reads the rows alone makes of them."""
        viewer = Viewer()
        for event in replay(self.of(stream_id).read(0)):
            viewer.see(event)
        return viewer

    async def read(self, stream_id: str, after: int) -> StreamRows:
        """What follow() asks for: the rows some time after it has asked, given some time later."""
        self.reads += 1
        await self._pause()
        rows = self.of(stream_id).read(after)
        await self._pause()
        return rows

    # ------------------------------------------------------------------ what a patrol asks for

    async def stream_heads(self, stream_ids: Collection[str]) -> dict[str, tuple[int, bool]]:
        """The highest number of each stream's lasting events, and whether it has ended."""
        rows = {stream_id: self.of(stream_id).read(0) for stream_id in stream_ids}
        return {stream_id: (one.lasting[-1].seq if one.lasting else 0, one.ended) for stream_id, one in rows.items()}

    async def signs_of(self, run_ids: Collection[str]) -> list[Sign]:
        """There are no runs."""
        return []

    async def changed_signs(self, since: int, user_ids: Collection[str] | None) -> list[Sign]:
        """Likewise."""
        return []


class Teller:
    """The owner: begins when it is made, and tells what it is told to."""

    def __init__(
        self,
        streams: MemoryStreams,
        book: Book,
        stream_id: str = SID,
        *,
        gone: int = 0,
        step: int = 1,
        attempt: int = 1,
    ) -> None:
        self.streams = streams
        self.book = book
        self.stream_id = stream_id
        self.seq = gone
        self.step = step
        self.attempt = attempt
        self.text = ""
        self._step_end = 0
        streams.begin(stream_id, gone)

    def say(self, *pieces: str) -> None:
        """More of the step's text, a delta each."""
        for piece in pieces:
            offset = utf16_length(self.text)
            self.text += piece
            self.streams.publish([self._event(TextDelta, block=0, offset=offset, text=piece)])

    def tell_progress(self, message: str) -> None:
        """What a tool says of itself."""
        self.streams.publish([self._event(ToolCallProgress, tool_call_id="call_1", message=message, fraction=None)])

    def tell(self, kind: type[StreamEvent], **values: Any) -> StreamEvent:
        """A lasting event: committed, then published."""
        event = self.commit(kind, **values)
        self.streams.publish([event])
        return event

    def commit(self, kind: type[StreamEvent], **values: Any) -> StreamEvent:
        """A lasting event that is not published."""
        event = self._event(kind, **values)
        blocks = [{"type": "text", "text": self.text}] if kind is StepFinished else None
        self.book.of(self.stream_id).commit(Commit(event, blocks))
        return event

    def finish(self) -> None:
        """End the step, let go of the one before it as a publisher does, and begin the next."""
        end = self.tell(StepFinished, **self.finish_values()).seq
        self.streams.trim(self.stream_id, self._step_end)
        self._step_end = end
        self.step, self.attempt, self.text = self.step + 1, 1, ""

    def finish_values(self) -> dict[str, Any]:
        """What StepFinished says of this step."""
        return {"message_seq": self.step + 1, "stop_reason": "end_turn", "usage": Usage()}

    def end(self) -> RunResult:
        """The stream's end."""
        event = self.tell(RunResult, **self.end_values())
        assert isinstance(event, RunResult)
        return event

    def end_values(self) -> dict[str, Any]:
        """What RunResult says of this run."""
        return {
            "run_id": "run_1",
            "status": RunStatus.COMPLETED,
            "finish": FinishReason.STOP,
            "text": "",
            "output": None,
            "model": None,
            "steps": self.step,
            "usage": Usage(),
            "cancelled": False,
            "error": None,
        }

    def taken_over(self, streams: MemoryStreams) -> Teller:
        """Another owner, which begins the step again; this one does not know of it."""
        other = Teller(
            streams, self.book, self.stream_id, gone=self.seq + HEADROOM, step=self.step, attempt=self.attempt + 1
        )
        other._step_end = self._step_end
        return other

    def restart(self) -> None:
        """Say that the step begins again."""
        self.text = ""
        self.tell(StepRestarted, reason="another worker took the run over")

    def stop(self) -> None:
        """Hand the run back."""
        self.streams.forsake(self.stream_id, self.seq)

    def _event(self, kind: type[StreamEvent], **values: Any) -> StreamEvent:
        self.seq += 1
        envelope: dict[str, Any] = {"stream_id": self.stream_id, "seq": self.seq, "at": self.seq}
        return kind(**envelope, step=self.step, attempt=self.attempt, **values)
