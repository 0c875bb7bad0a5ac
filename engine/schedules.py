"""Schedules: what their owners do with them, and the firing of those that are due, on every node."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

from engine.cron import BadCron, BadTimeZone, check_cron, check_time_zone, next_tick
from engine.errors import Forbidden, InvalidInput, KeyReused, NotFound, Refused
from engine.inputs import checked_input, checked_words, key_of
from engine.runs import Runs, Verb
from engine.user import User
from engine.workshop import Workshop
from models.away import DatabaseAway
from models.key import KeyUsedOtherwise
from models.schedule import Schedule, due_schedules
from models.verbs.errors import NoSuchSchedule, TickPassed, TooMany
from models.verbs.row import Done
from models.verbs.scheduling import (
    MAX_SCHEDULES,
    NewSchedule,
    Tick,
    create_schedule,
    delete_schedule,
    fire,
    pass_over,
)

log = logging.getLogger("steersman.schedules")
PAGE = 100
MAX_USER = 255
_DEFECT = "The server could not begin the run; its log has the cause."


class Schedules:
    """Creates, removes and fires schedules. What clients call raises engine.errors.Refused.

    Administrators may create them for another user.
    """

    def __init__(self, shop: Workshop, runs: Runs) -> None:
        self._shop = shop
        self._runs = runs

    # ------------------------------------------------------------------ what clients do

    async def create(
        self,
        user: User,
        *,
        agent: str,
        input: str,  # noqa: A002 - the contract's name
        cron: str,
        time_zone: str = "UTC",
        run_id: str | None = None,
        user_id: str | None = None,
        key: str | None = None,
    ) -> Schedule:
        """A new schedule; the same key gives the same one. Its runs belong to `user_id`, else to who creates it."""
        text, at = checked_input(input), self._shop.clock()
        said = {"agent": agent, "input": text, "cron": cron, "timeZone": time_zone, "runId": run_id, "userId": user_id}
        kept = key_of(user, "createSchedule", key, **said)
        owner = self._owner(user, user_id)
        plain, first = _first_tick(cron, time_zone, at)
        chosen = await self._runs.check(owner, agent=agent, run_id=run_id)
        new = NewSchedule(
            user_id=owner.id,
            created_by=user.id,
            roles=sorted(owner.roles),
            agent=chosen.word,
            agent_id=chosen.agent_id,
            run_id=run_id,
            input=text,
            cron=plain,
            time_zone=time_zone,
            next_at=first,
        )
        try:
            return await self._shop.database.write(create_schedule, new=new, key=kept, ids=self._shop.ids, at=at)
        except KeyUsedOtherwise:
            raise KeyReused(field=("key",)) from None
        except TooMany:
            raise InvalidInput(f"One user creates at most {MAX_SCHEDULES} schedules; delete one first.") from None
        except NoSuchSchedule:
            raise NotFound("The schedule that this key had made was deleted.", field=("key",)) from None

    async def delete(self, user: User, *, schedule_id: str) -> str:
        """Remove a schedule; what it has begun goes on."""
        try:
            await self._shop.database.write(delete_schedule, user_id=user.id, schedule_id=schedule_id)
        except NoSuchSchedule:
            raise NotFound("There is no such schedule.", field=("id",)) from None
        return schedule_id

    def _owner(self, user: User, user_id: str | None) -> User:
        """Whose the runs will be, with the roles of who asks. Raises Forbidden, InvalidInput."""
        if user_id is None or user_id == user.id:
            return user
        if not self._shop.is_admin(user):
            raise Forbidden(
                f"Only the role {self._shop.admin_role!r} may create schedules for another user.", field=("user_id",)
            )
        return User(checked_words("user_id", user_id, MAX_USER), user.roles)

    # ------------------------------------------------------------------ what comes due

    async def keep_firing(self, every: float) -> None:
        """Fire what is due every so many seconds, for ever; what goes wrong is tried again the next time."""
        while True:
            await asyncio.sleep(every)
            try:
                await self.fire_due()
            except DatabaseAway as away:
                log.info("no schedules are looked at now: %s", away)
            except Exception:
                log.exception("schedules could not be looked at; the next look is in %g s", every)

    async def fire_due(self) -> None:
        """Fire what is due, each once however many ticks were missed. Raises DatabaseAway."""
        async for schedule in self._due():
            told = {"schedule_id": schedule.id, "user_id": schedule.user_id}
            try:
                await self._fire(schedule)
            except DatabaseAway:
                raise
            except Refused as refused:
                log.warning("a schedule began no run: %s", refused, extra=told)
                await self._pass_over(schedule, f"{refused.code}: {refused.message}")
            except Exception:
                log.exception("a schedule could begin no run", extra=told)
                await self._pass_over(schedule, _DEFECT)

    async def _due(self) -> AsyncIterator[Schedule]:
        """What is due now, each once in a look, whether it could be fired or not."""
        at, place = self._shop.clock(), (-1, "")
        while True:
            page = await self._shop.database.read(due_schedules, at, place, PAGE)
            for schedule in page:
                yield schedule
            if len(page) < PAGE:
                return
            place = page[-1].next_at or 0, page[-1].id

    async def _fire(self, schedule: Schedule) -> None:
        """Begin the run of a tick, unless somebody else does. Raises Refused where it can't be begun."""
        tick = self._tick(schedule)

        def within(verb: Verb) -> Verb:
            def fire_it(c: Any, **arguments: Any) -> tuple[Done, dict[str, Any]]:
                return fire(c, begin=verb, tick=tick, **arguments)

            return fire_it

        user = User(schedule.user_id, frozenset(schedule.roles))
        said: dict[str, Any] = {"agent": schedule.agent_id or schedule.agent, "input": schedule.input}
        if schedule.run_id is None:
            said["metadata"] = {"schedule": schedule.id}
        try:
            began = await self._runs.within(within).start(user, **said, run_id=schedule.run_id)
        except TickPassed:
            return
        log.info("a schedule fired", extra={"schedule_id": schedule.id, "run_id": began.run.id})

    async def _pass_over(self, schedule: Schedule, error: str) -> None:
        tick, at = self._tick(schedule), self._shop.clock()
        with contextlib.suppress(TickPassed):
            await self._shop.database.write(pass_over, tick=tick, error=error, at=at)

    def _tick(self, schedule: Schedule) -> Tick:
        """The tick that has come; and the next one after now, so that missed ones come once together."""
        assert schedule.next_at is not None  # noqa: S101 - else it would not be due
        try:
            following = next_tick(schedule.cron, schedule.time_zone, max(self._shop.clock(), schedule.next_at))
        except (BadCron, BadTimeZone):  # it was checked: another release of the zones has this one no more
            log.exception("a schedule comes due no more", extra={"schedule_id": schedule.id})
            following = None
        return Tick(schedule.id, schedule.next_at, following)


def _first_tick(cron: str, time_zone: str, at: int) -> tuple[str, int]:
    """The expression as it is kept, and when it is due first. Raises InvalidInput."""
    try:
        plain = check_cron(cron)
    except BadCron as error:
        raise InvalidInput(str(error), field=("cron",)) from None
    try:
        first = next_tick(plain, check_time_zone(time_zone), at)
    except BadTimeZone as error:
        raise InvalidInput(str(error), field=("time_zone",)) from None
    if first is None:
        raise InvalidInput("No day fulfils this cron expression.", field=("cron",))
    return plain, first
