"""Which clients are connected here: for as long as one of their subscriptions lives, and a grace after.

Each process that has a subscription of a remote moves the end of its being connected ahead; several count as one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from models.away import DatabaseAway
from models.clock import Clock
from models.database import Database
from models.verbs.remoting import renew_remotes

log = logging.getLogger("steersman.remote")
RENEWALS = 3
"""How often within the grace a client that is there is renewed."""

BATCH = 500
"""How many are renewed in one transaction."""


class Presence:
    """The clients whose subscriptions this process serves."""

    def __init__(self, database: Database, clock: Clock, grace_seconds: float) -> None:
        self._database = database
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._here: Counter[str] = Counter()

    def __len__(self) -> int:
        """How many remotes have a subscription here."""
        return len(self._here)

    @asynccontextmanager
    async def of(self, remote_id: str) -> AsyncIterator[None]:
        """A subscription of this remote lives within this context."""
        self._here[remote_id] += 1
        try:
            await self._renew([remote_id])
            yield
        finally:
            self._here[remote_id] -= 1
            if not self._here[remote_id]:
                del self._here[remote_id]

    async def renew(self) -> None:
        """Move the end ahead for all that are here. Raises DatabaseAway."""
        if self._here:
            await self._renew(list(self._here))

    async def _renew(self, remote_ids: list[str]) -> None:
        until = self._clock() + round(self._grace_seconds * 1000)
        for start in range(0, len(remote_ids), BATCH):
            batch = remote_ids[start : start + BATCH]
            await self._database.write(renew_remotes, remote_ids=batch, until=until)

    async def keep(self) -> None:
        """Renew, again and again, until cancelled; what goes wrong is tried again the next time."""
        while True:
            await asyncio.sleep(self._grace_seconds / RENEWALS)
            try:
                await self.renew()
            except DatabaseAway as away:
                log.info("clients could not be renewed: %s", away)
            except Exception:
                log.exception("clients could not be renewed")
