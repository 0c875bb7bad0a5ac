"""A worker's contact with the database: when it last renewed its leases, and since when it can again."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from models.away import DatabaseAway

log = logging.getLogger("steersman.worker")


class Contact:
    """Remembers when renewals succeeded, by a clock of this process alone: `now` in seconds, the event loop's.

    After an outage every worker's leases may have lapsed. Whoever comes back first would take over the runs of all
    others, alive or not: so for the time of one lease from then on none is taken that lapsed.
    """

    def __init__(self, lease_seconds: float, now: Callable[[], float]) -> None:
        self._lease_seconds = lease_seconds
        self._now = now
        self._renewed_at = now()
        self._fresh_until = self._renewed_at
        self._away_since: float | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether contact was lost within the time of a lease."""
        return self._now() < self._fresh_until

    @property
    def is_overdue(self) -> bool:
        """Whether leases that were held at the last renewal have lapsed."""
        return self._now() - self._renewed_at > self._lease_seconds

    def is_due(self, poll_seconds: float) -> bool:
        """Whether a renewal is due now, where the next occasion comes after `poll_seconds`."""
        return self._now() + poll_seconds > self._renewed_at + self._lease_seconds / 3

    def renewed(self) -> None:
        """The leases were renewed. Where they had lapsed before it, those of others may have too."""
        if self.is_overdue:
            self._lost()
        self._renewed_at = self._now()

    async def tried(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Do some work on the database; False where it is away. Any other failure is in the log."""
        try:
            await work()
        except DatabaseAway as away:
            if self._away_since is None:
                self._away_since = self._now()
                log.warning("%s; loops wait for it", away)
            self._lost()
            return False
        except Exception:
            log.exception("the worker failed; it tries again")
            return True
        if self._away_since is not None:
            log.warning("the database is back after %.1f s", self._now() - self._away_since)
            self._away_since = None
        return True

    def _lost(self) -> None:
        self._fresh_until = self._now() + self._lease_seconds
