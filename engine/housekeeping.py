"""What is forgotten in time: idempotency keys, and what was spent on days long past, deliveries of webhooks."""

from __future__ import annotations

import asyncio
import logging

from models.away import DatabaseAway
from models.clock import Clock
from models.database import Database
from models.key import purge_keys
from models.purse import purge_days
from models.webhook import purge_deliveries

log = logging.getLogger("steersman.housekeeping")
KEPT_MS = 48 * 3_600_000  # twice the 24 hours that are promised
DELIVERIES_KEPT_MS = 30 * 24 * 3_600_000
EVERY_SECONDS = 3_600.0


async def keep_house(database: Database, clock: Clock, every: float = EVERY_SECONDS) -> None:
    """Forget old keys, now and then, for ever; what goes wrong is tried again the next time."""
    while True:
        try:
            forgotten = await database.write(purge_keys, clock() - KEPT_MS)
            await database.write(purge_days, clock() - KEPT_MS)
            await database.write(purge_deliveries, clock() - DELIVERIES_KEPT_MS)
            if forgotten:
                log.info("forgot %d idempotency keys", forgotten)
        except DatabaseAway as away:
            log.info("old idempotency keys are kept until the next try in %g s: %s", every, away)
        except Exception:
            log.exception("old idempotency keys could not be forgotten; the next try is in %g s", every)
        await asyncio.sleep(every)
