"""The siege: clients keep runs under way, while the faults of the plan happen."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from steersman.auth import mint
from steersman.settings import Settings
from tests.cluster.api import Api
from tests.cluster.devices import Device
from tests.cluster.faults import Faults
from tests.cluster.house import PATIENCE, House
from tests.cluster.options import Options
from tests.cluster.plan import plan
from tests.cluster.playing import Player, User
from tests.cluster.stories import story_of
from tests.cluster.usage import Cores
from tests.support.commands import SECRET

log = logging.getLogger("cluster")
_USERS = 4
_RAMP = 3.0
"""Seconds until every slot has its first run: begun at once, all would be at the same step for a long time."""


async def besiege(house: House, over: asyncio.Event) -> tuple[Player, Faults]:
    """Keep so many runs under way until the time is over, while the plan is carried out; then let all of them end.

    `over` is set by whoever wants it to be over earlier. Gives what was played, and what was done.
    """
    options = house.options
    users = _users(house)
    devices = [device for user in users for device in user.devices]
    faults = Faults(
        servers=house.servers,
        workers=house.workers,
        devices=devices,
        postgres=house.postgres,
        redis=house.redis,
        measures=house.measures,
        held=house.held,
        drain=PATIENCE,
        over=over,
    )
    async with Api(house.server, house.note_odd, house.failures) as api, AsyncExitStack() as stack:
        for device in devices:
            stack.push_async_callback(device.close)
        player = Player(api, users, house.measures)
        slots = _Slots(player, options, over)
        stack.push_async_callback(slots.leave)
        before, began = Cores.now(), time.monotonic()
        planned = await stack.enter_async_context(_beside(faults.carry_out(plan(options), began)))
        await stack.enter_async_context(_beside(_ring_after(over, options.seconds)))
        await stack.enter_async_context(_beside(house.lag.watch()))
        slots.begin()
        await over.wait()
        house.busy, house.costs = Cores.now().share(before), house.costs_now()
        log.info("the time is over; waiting for the faults and the runs under way")
        await planned
        await slots.end()
    return player, faults


def _users(house: House) -> list[User]:
    """A few users, with all the devices among them."""
    users = []
    for number in range(min(_USERS, house.options.devices)):
        token = mint(Settings(jwt_secret=SECRET), f"user-{number}", seconds=86_400)
        devices = []
        for place in range(number, house.options.devices, _USERS):
            dice = Random(f"{house.options.seed}/device/{place}")  # noqa: S311 - a test's dice, nothing secret
            devices.append(Device(token, dice, house.server, house.failures, house.note_odd))
        users.append(User(token, devices))
    return users


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Do something as a task for as long as the context lasts."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait((task,))


@dataclass(eq=False)
class _Slots:
    """As many runs at once as there are slots; when one has ended, its slot begins another."""

    player: Player
    options: Options
    over: asyncio.Event
    _next: int = 0
    _slots: list[asyncio.Task[None]] = field(default_factory=list)

    def begin(self) -> None:
        """Begin as many runs as there are slots."""
        for place in range(self.options.runs):
            self._slots.append(asyncio.create_task(self._slot(place), name=f"slot {place}"))

    async def end(self) -> None:
        """Wait until the last runs have ended, or have had long enough; a defect of the harness is raised."""
        await asyncio.wait(self._slots, timeout=self.options.patience)
        for outcome in await self.leave():
            if isinstance(outcome, Exception):
                raise outcome

    async def leave(self) -> list[BaseException | None]:
        """Begin no more, and leave what is under way; how each slot ended."""
        for slot in self._slots:
            slot.cancel()
        return await asyncio.gather(*self._slots, return_exceptions=True)

    async def _slot(self, place: int) -> None:
        await asyncio.sleep(place / self.options.runs * _RAMP)
        while not self.over.is_set():
            self._next += 1
            await self.player.perform(story_of(self._next, self.options.seed, self.options.words))


async def _ring_after(over: asyncio.Event, seconds: float) -> None:
    await asyncio.sleep(seconds)
    over.set()
