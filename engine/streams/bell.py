"""The bell: tells who listens that rows have changed. It carries ids only; the truth is read from the rows.

Threads of chats ring as runs do, by their own ids and without a user: nobody's list of runs hears of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, Self

from models.enums import RunStatus
from models.run import Run
from models.verbs.ended import ENDED
from models.verbs.row import Done

_Key = tuple[str | None, str | None]


class Ringing(Protocol):
    """What carries rings to other processes. It returns at once and never raises."""

    def ring(self, run_id: str, user_id: str, *, work: bool) -> None:
        """A change of this run was committed here."""
        ...


class Bell:
    """Rings for changes of runs. Every method belongs to the event loop's thread.

    `trusted` tells whether every change is heard here: where other processes work on the same rows, only as long as
    their rings arrive. While it is not, who listens must be told by looking at the rows (see engine/patrol.py);
    `on_trust` is called when it changes. `on_answered` is called when a run that answers in a chat has ended here. With
    `ringing`, rings reach other processes too.
    """

    def __init__(self, *, trusted: bool = True) -> None:
        self.trusted = trusted
        self.ringing: Ringing | None = None
        self.on_trust: Callable[[], None] = lambda: None
        self.on_work: Callable[[], None] = lambda: None
        self.on_heard: Callable[[str], None] = lambda run_id: None
        self.on_answered: Callable[[], None] = lambda: None
        self._listeners: dict[_Key, set[Listener]] = {}

    def __len__(self) -> int:
        """How many listeners there are."""
        return sum(len(listeners) for listeners in self._listeners.values())

    def ring(self, run_id: str, user_id: str, *, work: bool = False) -> None:
        """A change of this run of this user was committed here; with `work`, the run is free for a worker to take."""
        self.mark(run_id, user_id)
        if work:
            self.on_work()
        if self.ringing is not None:
            self.ringing.ring(run_id, user_id, work=work)

    def changed(self, run: Run) -> None:
        """This run was changed here, to what it is now."""
        self.ring(run.id, run.user_id, work=run.status is RunStatus.RUNNING and run.worker is None)
        if run.thread_id is not None and run.status in ENDED:
            self.on_answered()

    def heard(self, run_id: str, user_id: str, *, work: bool) -> None:
        """Another process has committed a change of this run."""
        self.mark(run_id, user_id)
        if work:
            self.on_work()
        self.on_heard(run_id)

    def mark(self, run_id: str, user_id: str) -> None:
        """Tell listeners here of a change, and nobody else."""
        for key in ((run_id, None), (None, user_id), (None, None), (run_id, user_id)):
            for listener in self._listeners.get(key, ()):
                listener.mark(run_id)

    def trust(self, trusted: bool) -> None:
        """Whether every change is heard from now on."""
        if trusted != self.trusted:
            self.trusted = trusted
            self.on_trust()

    def listened(self) -> tuple[set[str], set[str | None]]:
        """The runs that somebody listens to by id, and the users whose runs somebody listens to (None: everybody's)."""
        runs = {run_id for run_id, _ in self._listeners if run_id is not None}
        return runs, {user_id for run_id, user_id in self._listeners if run_id is None}

    def listen(self, *, run_id: str | None = None, user_id: str | None = None) -> Listener:
        """A listener for one run, for a user's runs, or for every run; it hears from when it is entered until left."""
        return Listener(self, (run_id, user_id))

    def join(self, key: _Key, listener: Listener) -> None:
        """A listener begins to hear (called by the listener itself)."""
        self._listeners.setdefault(key, set()).add(listener)

    def leave(self, key: _Key, listener: Listener) -> None:
        """A listener hears no more (called by the listener itself)."""
        listeners = self._listeners.get(key, set())
        listeners.discard(listener)
        if not listeners:
            self._listeners.pop(key, None)


def tell_others(bell: Bell, others: Sequence[Done]) -> None:
    """Ring for runs that were changed beside the one at hand; a loop of theirs that lives here looks at its signals."""
    for done in others:
        bell.changed(done.run)
        bell.on_heard(done.run.id)


class Listener:
    """A context manager that gathers the ids of the runs that rang: each once, however often it rang."""

    def __init__(self, bell: Bell, key: _Key) -> None:
        self._bell = bell
        self._key = key
        self._more: set[str] = set()
        self._marks: set[str] = set()
        self._waiter: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        self._bell.join(self._key, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for run_id in list(self._more):
            self.not_also(run_id)
        self._bell.leave(self._key, self)

    def also(self, run_id: str) -> None:
        """Listen for one more run, until `not_also` or the end."""
        self._more.add(run_id)
        self._bell.join((run_id, None), self)

    def not_also(self, run_id: str) -> None:
        """Listen for that run no more."""
        self._more.discard(run_id)
        self._bell.leave((run_id, None), self)

    def mark(self, run_id: str) -> None:
        """Note that this run rang (called by the bell)."""
        self._marks.add(run_id)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> frozenset[str]:
        """The runs that rang since the last wait, as soon as there are any.

        The marks are cleared before this returns: what is read afterwards, in a transaction of its own, is at least
        as new as every ring that was reported. One task at a time may wait.
        """
        if not self._marks:
            await self._silence()
        return self.take()

    def take(self) -> frozenset[str]:
        """The runs that rang since the last look, without waiting."""
        rung, self._marks = frozenset(self._marks), set()
        return rung

    async def _silence(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("another task waits on this listener")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiter = waiter
        try:
            await waiter
        finally:
            self._waiter = None
