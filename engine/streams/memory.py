"""The streams of one process, in memory: what their owners publish, and who follows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from engine.streams.log import Log
from models.events import StreamEvent

REMEMBERED = 4096
"""How many ids of streams that have ended are kept, so that a late writer can't bring one back to memory."""


class MemoryStreams:
    """The logs of this process, by stream id. Every method belongs to the event loop's thread.

    A log is here while its owner publishes or while somebody follows it, and no longer: one whose end was published
    goes with its last follower, and so does one that a follower opened for a stream that nobody here owns.
    """

    def __init__(self) -> None:
        self._logs: dict[str, Log] = {}
        self._followers: dict[str, int] = {}
        self._ended: dict[str, None] = {}

    def __len__(self) -> int:
        """How many logs are held."""
        return len(self._logs)

    def followers(self, stream_id: str) -> int:
        """How many follow the stream."""
        return self._followers.get(stream_id, 0)

    def publish(self, events: Sequence[StreamEvent]) -> None:
        """Hand on what the owners of these streams tell, each stream's events in the order of their numbers.

        A lasting event is published after the commit of its row. Numbers that are not above the stream's last one are
        a late writer's, and are ignored.
        """
        for event in events:
            log = self._logs.get(event.stream_id)
            if log is None:
                log = self._owned(event.stream_id)
                if log is None:
                    continue
            log.append(event)
            if log.done:
                self._remember(event.stream_id)
                self._let_go(event.stream_id)

    def trim(self, stream_id: str, upto: int) -> None:
        """Forget what is numbered up to `upto`: the rows hold all of it that lasts.

        Never call it with a number in the middle of a step whose answer is not stored yet: its text would be lost.
        """
        log = self._logs.get(stream_id)
        if log is not None:
            log.trim(upto)

    def reset(self, stream_id: str, gone: int) -> None:
        """A new owner begins to publish: what is numbered up to `gone` is in the rows alone."""
        log = self._owned(stream_id)
        if log is not None:
            log.reset(gone)

    def forsake(self, stream_id: str, last: int | None = None) -> None:
        """The stream's owner has stopped without ending it; call it once nothing of the owner's can commit any more.

        Its memory is let go; followers have the rows alone until another owner publishes. `last` is the highest number
        that the owner told: where the stream has gone beyond it, it has another owner already, and stays.
        """
        log = self._logs.get(stream_id)
        if log is not None and (last is None or log.last <= last):
            log.forsake()
            self._let_go(stream_id)

    @contextmanager
    def follow(self, stream_id: str) -> Iterator[Log]:
        """The stream's log for as long as somebody reads it; an empty one, not live, where nobody here owns it."""
        log = self._logs.setdefault(stream_id, Log())
        self._followers[stream_id] = self.followers(stream_id) + 1
        try:
            yield log
        finally:
            self._followers[stream_id] -= 1
            if not self._followers[stream_id]:
                del self._followers[stream_id]
                self._let_go(stream_id)

    def _owned(self, stream_id: str) -> Log | None:
        """The log to write to, made where there is none; None where the stream has ended."""
        if stream_id in self._ended:
            return None
        return self._logs.setdefault(stream_id, Log())

    def _let_go(self, stream_id: str) -> None:
        log = self._logs[stream_id]
        if stream_id not in self._followers and (log.done or not log.live):
            del self._logs[stream_id]

    def _remember(self, stream_id: str) -> None:
        self._ended[stream_id] = None
        if len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]
