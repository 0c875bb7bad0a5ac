"""What is forgotten in time: idempotency keys."""

from __future__ import annotations

import asyncio
import logging

from models.clock import Clock
from models.database import Database
from models.key import purge_keys

log = logging.getLogger("steersman.housekeeping")
KEPT_MS = 48 * 3_600_000  # twice the 24 hours that are promised
EVERY_SECONDS = 3_600.0


async def keep_house(database: Database, clock: Clock, every: float = EVERY_SECONDS) -> None:
    """Forget old keys, now and then, for ever; what goes wrong is tried again the next time."""
    while True:
        try:
            forgotten = await database.write(purge_keys, clock() - KEPT_MS)
            if forgotten:
                log.info("forgot %d idempotency keys", forgotten)
        except Exception:
            log.exception("old idempotency keys could not be forgotten; the next try is in %g s", every)
        await asyncio.sleep(every)
