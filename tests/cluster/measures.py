"""How long it took: from a worker's death to the next event of its runs, from a cancel or an input to its effect."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.cluster.logs import Taking


@dataclass(slots=True)
class Recovery:
    """A run that a worker held when it died: moments on the monotonic clock, `died_ms` in ms since the epoch too."""

    why: str
    run_id: str
    died: float
    died_ms: int
    seen: float | None = None


@dataclass(slots=True)
class Signal:
    """A cancel or an input: when it was sent, and when a watcher saw its effect, on the monotonic clock."""

    what: str
    run_id: str
    sent: float
    seen: float | None = None
    watched: bool = True
    """Whether all who watched had their sockets all the while."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which a service was away, on the monotonic clock."""

    name: str
    began: float
    ended: float


@dataclass
class Measures:
    """All that is measured."""

    recoveries: list[Recovery] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    _waiting: dict[str, Recovery] = field(default_factory=dict)

    def died(self, why: str, run_ids: Sequence[str], died: float, died_ms: int) -> None:
        """A worker has died, or was frozen, that held these runs."""
        for run_id in run_ids:
            recovery = Recovery(why, run_id, died, died_ms)
            self.recoveries.append(recovery)
            self._waiting[run_id] = recovery

    def heard(self, run_id: str, at_ms: int, now: float) -> None:
        """A watcher has been told of an event that was made at `at_ms`."""
        waiting = self._waiting.get(run_id)
        if waiting is not None and at_ms > waiting.died_ms:
            waiting.seen = now
            del self._waiting[run_id]

    def expect(self, what: str, run_id: str, sent: float) -> Signal:
        """A cancel or an input was sent; whoever sees its effect notes that in what this returns."""
        signal = Signal(what, run_id, sent)
        self.signals.append(signal)
        return signal

    # ------------------------------------------------------------------ afterwards

    def recovered(self, why: str) -> tuple[list[float], list[float]]:
        """Seconds until the next event: where nothing else was amiss meanwhile, and where something was."""
        calm: list[float] = []
        disturbed: list[float] = []
        deaths = sorted({recovery.died for recovery in self.recoveries})
        for recovery in self.recoveries:
            if recovery.why == why and recovery.seen is not None:
                another = any(recovery.died < died < recovery.seen for died in deaths)
                amiss = another or self._outage_within(recovery.died - 5, recovery.seen)
                (disturbed if amiss else calm).append(recovery.seen - recovery.died)
        return calm, disturbed

    def latencies(self, what: str, taken: dict[str, list[Taking]]) -> tuple[list[float], int]:
        """Seconds until the effect was seen of runs that nothing happened to; and how many others there were."""
        calm: list[float] = []
        others = 0
        for signal in self.signals:
            if signal.what == what and signal.seen is not None and self._was_calm(signal, signal.seen, taken):
                calm.append(signal.seen - signal.sent)
            else:
                others += signal.what == what
        return calm, others

    def _was_calm(self, signal: Signal, seen: float, taken: dict[str, list[Taking]]) -> bool:
        """Whether nothing was amiss meanwhile, or shortly before: no service, no socket, and no worker of the run's."""
        offset = time.time() - time.monotonic()
        began, ended = (signal.sent - 2 + offset) * 1000, (seen + 0.1 + offset) * 1000
        moved = any(one.why != "claim" and began < one.at < ended for one in taken.get(signal.run_id, ()))
        return signal.watched and not moved and not self._outage_within(signal.sent - 5, seen)

    def _outage_within(self, began: float, ended: float) -> bool:
        return any(outage.began < ended and outage.ended > began for outage in self.outages)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies; the nearest one there is."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]
