"""The courier: posts deliveries to webhooks, on every node that works, each by one node at a time."""

from __future__ import annotations

import asyncio
import logging

from engine.builtin.fetch_policy import FetchPolicy
from engine.posting import SECONDS, PostFailed, posted
from engine.signing import signed_headers
from engine.workshop import Workshop
from models.away import DatabaseAway
from models.verbs.delivering import Attempt, Claimed, claim_deliveries, record_delivery

log = logging.getLogger("steersman.webhooks")
AT_ONCE = 32
LEASE_MS = 60_000
"""How long a delivery is its claimer's: many times what a post may take, so that no other node posts it meanwhile."""
PAUSES = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 36_000.0)
"""Seconds from the end of an attempt to the next one: eight attempts, over about 27 hours."""
JITTER = 0.2
GONE = 410


class Courier:
    """Posts what is due, a number of deliveries at once; no connection of the database is held meanwhile."""

    def __init__(self, shop: Workshop, policy: FetchPolicy, *, seconds: float = SECONDS) -> None:
        self._shop = shop
        self._policy = policy
        self._seconds = seconds
        self._posting: set[asyncio.Task[None]] = set()

    async def keep_delivering(self, every: float) -> None:
        """Post what is due every so many seconds, until cancelled; what goes wrong is tried again the next time.

        What is being posted then is left: it is posted again, by whoever looks once its lease is over.
        """
        try:
            while True:
                await asyncio.sleep(every)
                try:
                    await self.round()
                except DatabaseAway as away:
                    log.info("nothing is delivered now: %s", away)
                except Exception:
                    log.exception("deliveries could not be looked at; the next look is in %g s", every)
        finally:
            for task in self._posting:
                task.cancel()
            await asyncio.gather(*self._posting, return_exceptions=True)

    async def round(self) -> None:
        """Begin to post what is due. Raises DatabaseAway."""
        while (free := AT_ONCE - len(self._posting)) > 0:
            claim = {"limit": free, "lease_ms": LEASE_MS, "at": self._shop.clock()}
            claimed = await self._shop.database.write(claim_deliveries, **claim)
            for one in claimed:
                task = asyncio.create_task(self._deliver(one), name=f"delivery {one.delivery.id}")
                self._posting.add(task)
                task.add_done_callback(self._posting.discard)
            if not claimed:
                return

    async def rest(self) -> None:
        """Wait until nothing is being posted."""
        while self._posting:
            await asyncio.wait(set(self._posting))

    async def _deliver(self, claimed: Claimed) -> None:
        one = claimed.delivery
        told = {"webhook_id": one.webhook_id, "run_id": one.run_id}
        try:
            attempt = await self._attempt(claimed)
        except Exception:
            log.exception("a delivery could not be posted", extra=told)
            attempt = self._ended(one.attempts, None, "The server could not post it; its log has the cause.")
        if attempt.error is not None:
            over = " for the last time" if attempt.due_at is None else ""
            log.warning("a delivery failed%s: %s", over, attempt.error, extra=told)
        try:
            await self._shop.store(record_delivery, delivery_id=one.id, attempt=attempt, at=self._shop.clock())
        except Exception:
            log.exception("what came of a delivery could not be recorded; it may be posted again", extra=told)

    async def _attempt(self, claimed: Claimed) -> Attempt:
        one, body = claimed.delivery, claimed.delivery.body.encode()
        headers = signed_headers(claimed.secret, one.id, self._shop.clock() // 1000, body)
        headers |= {"Content-Type": "application/json", "User-Agent": "Steersman-Webhooks"}
        try:
            status = await posted(claimed.url, body, headers, self._policy, seconds=self._seconds)
        except PostFailed as failed:
            return self._ended(one.attempts, None, str(failed))
        return self._ended(one.attempts, status, None if _is_success(status) else _said(status))

    def _ended(self, number: int, status: int | None, error: str | None) -> Attempt:
        """What an attempt means: delivered, gone, given up, or to be tried again."""
        if error is None:
            return Attempt(number, status, None, None, delivered=True)
        if status == GONE or number > len(PAUSES):
            return Attempt(number, status, error, None, gone=status == GONE)
        pause = PAUSES[number - 1] * (1 - JITTER + 2 * JITTER * self._shop.random())
        return Attempt(number, status, error, self._shop.clock() + round(pause * 1000))


def _is_success(status: int) -> bool:
    return 200 <= status < 300


def _said(status: int) -> str:
    if 300 <= status < 400:
        return f"It answered {status}; redirects are not followed."
    return f"It answered {status}."
