"""The sweep, made by whoever is there, worker or not: what nobody else would ever come back to.

Runs whose worker died with a cancel flagged are settled; calls that nobody decided or answered in time are closed, and
their runs go on, as do runs that wait for a remote which has left; so do runs whose children have ceased to wait, where
who let these go on died before it came to that. With a run go on those above it that waited for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from engine.above import above
from engine.streams.bell import tell_others
from engine.workshop import Workshop
from models.away import DatabaseAway
from models.enums import RunStatus
from models.verbs.chatting import drop_temporary_chats
from models.verbs.delegating import resume
from models.verbs.expiring import drop_temporary
from models.verbs.remoting import forsake
from models.verbs.row import Done, Holder
from models.verbs.settling import settle_flagged
from models.verbs.waiting import expire

log = logging.getLogger("steersman.sweep")
BATCH = 50


async def keep_sweeping(shop: Workshop, every: float, grace_seconds: float = 0.0) -> None:
    """Sweep every so many seconds, for ever; what goes wrong is tried again the next time.

    Whether remotes have left is not looked at for `grace_seconds` after the start, and after the database was away:
    those who are there had no way to say so.
    """
    heard_from = shop.clock() + round(grace_seconds * 1000)
    while True:
        await asyncio.sleep(every)
        try:
            await sweep(shop, leaving=shop.clock() >= heard_from)
        except DatabaseAway as away:
            log.info("no sweep now: %s", away)
            heard_from = shop.clock() + round(grace_seconds * 1000)
        except Exception:
            log.exception("the sweep failed; the next one is in %g s", every)


async def sweep(shop: Workshop, *, leaving: bool = True) -> None:
    """Settle and close what asks for it, and tell who watches. Raises DatabaseAway.

    Calls that wait for a remote which has left are closed where it is time for `leaving`.
    """
    await _all(shop, settle_flagged, "settled a cancelled run whose worker is gone")
    await _all(shop, expire, "closed calls that nobody decided or answered in time")
    if leaving:
        await _all(shop, forsake, "closed calls that waited for a remote which has left")
    await _all(shop, resume, "let a run go on whose child waits no more")
    while dropped := await shop.database.write(drop_temporary, at=shop.clock()):
        log.info("dropped %d temporary agents that nobody has used for long", dropped)
    while dropped := await shop.database.write(drop_temporary_chats, at=shop.clock()):
        log.info("dropped %d temporary chats that nobody has posted in for long", dropped)


async def _all(shop: Workshop, verb: Callable[..., list[Done]], what: str) -> None:
    while True:
        swept = await shop.database.write(verb, limit=BATCH, ids=shop.ids, at=shop.clock())
        for done in swept:
            log.info(what, extra={"run_id": done.run.id})
            if done.run.status is not RunStatus.RUNNING:  # else its next owner tells, or who reads the rows
                shop.streams.tell(done.events)
            shop.bell.changed(done.run)
            tell_others(shop.bell, done.others)
            tell_others(shop.bell, [one async for one in above(shop, done.run, Holder())])
        if len(swept) < BATCH:
            return
