"""The streams of one process: what their owners publish, and who follows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Protocol

from engine.streams.log import BOUNDARIES, Log
from models.events import StreamEvent

REMEMBERED = 4096
"""How many ids of streams that have ended are kept, so that a late writer can't bring one back to memory."""


class Sharing(Protocol):
    """What carries logs between processes. Every method returns at once and never raises."""

    def owned(self, stream_id: str, log: Log) -> None:
        """An owner in this process begins to publish to the log."""
        ...

    def told(self, stream_id: str, log: Log) -> None:
        """The owner in this process has published to the log."""
        ...

    def trimmed(self, stream_id: str, upto: int) -> None:
        """What is numbered up to `upto` is in the rows."""
        ...

    def forsaken(self, stream_id: str) -> None:
        """The owner in this process has stopped."""
        ...

    def wanted(self, stream_id: str, log: Log) -> None:
        """Somebody here follows the stream, and nobody here owns it: what others publish should reach the log."""
        ...

    def unwanted(self, stream_id: str) -> None:
        """Nobody here follows the stream any more."""
        ...


class MemoryStreams:
    """The logs of this process, by stream id. Every method belongs to the event loop's thread.

    A log is here while its owner publishes or while somebody follows it, and no longer: one whose end was published
    goes with its last follower, and so does one that a follower opened for a stream that nobody here owns. With
    `sharing` the owners may be in other processes.
    """

    def __init__(self, sharing: Sharing | None = None) -> None:
        self._sharing = sharing
        self._logs: dict[str, Log] = {}
        self._followers: dict[str, int] = {}
        self._ended: dict[str, None] = {}

    def __len__(self) -> int:
        """How many logs are held."""
        return len(self._logs)

    @property
    def shared(self) -> bool:
        """Whether the owners may be in other processes."""
        return self._sharing is not None

    def followers(self, stream_id: str) -> int:
        """How many follow the stream."""
        return self._followers.get(stream_id, 0)

    def followed(self) -> dict[str, Log]:
        """The logs that somebody follows, and that have not ended, by stream id."""
        logs = ((stream_id, self._logs[stream_id]) for stream_id in self._followers)
        return {stream_id: log for stream_id, log in logs if not log.done}

    # ------------------------------------------------------------------ owners

    def begin(self, stream_id: str, gone: int) -> None:
        """An owner begins to publish: what is numbered up to `gone` is in the rows alone."""
        log = self._owned(stream_id)
        if log is not None:
            log.reset(gone)
            if self._sharing is not None:
                self._sharing.owned(stream_id, log)

    def publish(self, events: Sequence[StreamEvent]) -> None:
        """Hand on what the owners of these streams tell, each stream's events in the order of their numbers.

        A lasting event is published after the commit of its row. Numbers that are not above the stream's last one are
        a late writer's, and are ignored; so is what goes on in the middle of a stream that nobody here has begun.
        """
        for event in events:
            log = self._logs.get(event.stream_id)
            begins = log is None or not log.live
            if begins and event.seq > 1 and not isinstance(event, BOUNDARIES):
                continue  # what came before it may be text that is nowhere
            if log is None:
                log = self._owned(event.stream_id)
            if log is not None and not log.fed and log.append(event):
                self._published(log, event, begins=begins)

    def _published(self, log: Log, event: StreamEvent, *, begins: bool) -> None:
        if self._sharing is not None:
            if begins:
                self._sharing.owned(event.stream_id, log)
            self._sharing.told(event.stream_id, log)
        if log.done:
            self._remember(event.stream_id)
            self._let_go(event.stream_id)

    def tell(self, events: Sequence[StreamEvent]) -> None:
        """Publish for one who has settled a run in its owner's place, and goes no further.

        The events of each stream are the first ones beyond all that its last owner may have told.
        """
        for stream_id, group in groupby(events, key=lambda event: event.stream_id):
            told = list(group)
            self.begin(stream_id, told[0].seq - 1)
            self.publish(told)
            self.forsake(stream_id)

    def trim(self, stream_id: str, upto: int) -> None:
        """Forget what is numbered up to `upto`: the rows hold all of it that lasts.

        Never call it with a number in the middle of a step whose answer is not stored yet: its text would be lost.
        """
        log = self._logs.get(stream_id)
        if log is not None and not log.fed:
            log.trim(upto)
            if self._sharing is not None:
                self._sharing.trimmed(stream_id, upto)

    def forsake(self, stream_id: str, last: int | None = None) -> None:
        """The stream's owner has stopped without ending it; call it once nothing of the owner's can commit any more.

        Its memory is let go; followers have the rows alone until another owner publishes. `last` is the highest number
        that the owner told: where the stream has gone beyond it, it has another owner already, and stays.
        """
        log = self._logs.get(stream_id)
        if log is None or log.done or log.fed or (last is not None and log.last > last):
            return
        if self._sharing is not None:
            self._sharing.forsaken(stream_id)
        log.forsake()
        self._let_go(stream_id)

    # ------------------------------------------------------------------ followers

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
                if self._sharing is not None:
                    self._sharing.unwanted(stream_id)
                self._let_go(stream_id)

    def seek(self, stream_id: str) -> None:
        """A follower lacks what an owner elsewhere publishes: have it brought here, where there is a way."""
        if self._sharing is not None:
            self._sharing.wanted(stream_id, self._logs[stream_id])

    def _owned(self, stream_id: str) -> Log | None:
        """The log to write to, made where there is none; None where the stream has ended."""
        if stream_id in self._ended:
            return None
        return self._logs.setdefault(stream_id, Log())

    def _let_go(self, stream_id: str) -> None:
        log = self._logs[stream_id]
        if stream_id not in self._followers and (log.done or log.fed or not log.live):
            del self._logs[stream_id]

    def _remember(self, stream_id: str) -> None:
        self._ended[stream_id] = None
        if len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]
