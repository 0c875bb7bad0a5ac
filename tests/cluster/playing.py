"""One run as its clients live it: started, watched from several devices, steered or cancelled, and seen to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.cluster import documents
from tests.cluster.api import Answer, Api, Refused
from tests.cluster.devices import Device
from tests.cluster.logs import milliseconds
from tests.cluster.measures import Measures, Signal
from tests.cluster.stories import AGENT, Cancel, Decide, Deed, Steer, Story
from tests.cluster.viewers import Final, Reader, Subscriber, Watcher

ENDED = ("COMPLETED", "FAILED", "CANCELLED")
_LOOK = 3.0  # seconds after which a run is asked for although its watcher has seen no end
_PAUSE = 0.5
_CATCH_UP = 30.0  # seconds that subscribers have to see the end of a run that has ended


@dataclass(eq=False)
class Play:
    """A run, and all that its clients know of it."""

    story: Story
    run_id: str = ""
    stream_id: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    """The inputs that were accepted after the first: text by id, or by the text itself where it began a turn."""
    decided: list[str] = field(default_factory=list)
    """The calls that were allowed."""
    cancelled: bool = False
    final: Final | None = None
    subscribers: list[Subscriber] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with several devices."""

    token: str
    devices: Sequence[Device]


@dataclass(eq=False)
class Player:
    """Plays stories with what it is given; `plays` has every one that was begun."""

    api: Api
    users: Sequence[User]
    measures: Measures
    plays: list[Play] = field(default_factory=list)

    async def perform(self, story: Story) -> Play:
        """Play one story to its end, or until this is cancelled; what the API refuses is noted as a problem of it."""
        play, dice = Play(story), Random(story.seed)  # noqa: S311 - a test's dice, nothing secret
        user = self.users[dice.randrange(len(self.users))]
        self.plays.append(play)
        performance = _Performance(self, play, user, dice)
        try:
            await performance.begin()
            for place, deed in enumerate(story.deeds):
                await performance.do(place, deed)
            await performance.see_the_end()
        except Refused as refused:
            play.problems.append(f"the API refused {refused}")
        finally:
            await performance.leave()
        return play


class _Performance:
    """One run under way."""

    def __init__(self, player: Player, play: Play, user: User, dice: Random) -> None:
        self._api, self._measures = player.api, player.measures
        self._play, self._user, self._dice = play, user, dice
        self._followers: list[asyncio.Task[None]] = []
        self._moments: dict[str, tuple[float, int]] = {}
        self._primary: Watcher | None = None
        self._expected: list[tuple[Signal, str, int]] = []
        self._words_seen: dict[int, int] = {}
        self._waiting: list[dict[str, str]] = []

    async def begin(self) -> None:
        """Start the run, and have it watched by one to three subscribers, of which one at least sees every event."""
        play, dice = self._play, self._dice
        bounds = {} if play.story.budget is None else {"budget": {"tokens": play.story.budget}}
        key = f"start {play.story.seed}"
        started = await self._do(documents.START, agent=AGENT, input=play.story.opening, key=key, **bounds)
        play.run_id, play.stream_id = started.value["run"]["id"], started.value["run"]["streamId"]
        self._primary = self._watcher(all_generations=bool(play.story.deeds) or dice.random() < 0.5)
        play.subscribers = [self._primary]
        for _ in range(dice.choice((0, 1, 1, 2))):
            kind = dice.choice(("stream", "runStream", "messages", "messages"))
            play.subscribers.append(
                Reader(play.run_id) if kind == "messages" else self._watcher(all_generations=kind == "runStream")
            )
        for subscriber in play.subscribers:
            device = dice.choice(self._user.devices)
            self._followers.append(asyncio.create_task(device.follow(subscriber), name=f"follow {play.run_id}"))

    def _watcher(self, *, all_generations: bool) -> Watcher:
        return Watcher(self._play.run_id, self._play.stream_id, all_generations=all_generations, heard=self._heard)

    def _heard(self, event: dict[str, Any], now: float) -> None:
        self._measures.heard(self._play.run_id, milliseconds(event["at"]), now)
        if event["__typename"] == "TextDelta":
            self._words_seen[event["step"]] = self._words_seen.get(event["step"], 0) + 1
        elif event["__typename"] == "CallsWaiting":
            self._waiting = event["calls"]
        elif event["__typename"] == "InputQueued":
            self._moments.setdefault(event["inputId"], (now, self._reconnects))
        elif event["__typename"] == "RunResult":
            self._moments.setdefault(event["streamId"], (now, self._reconnects))

    @property
    def _reconnects(self) -> int:
        """How often its subscribers have lost their sockets; where one has none just now, it is as if that went on."""
        return sum(one.reconnects + (not one.listening) for one in self._play.subscribers)

    # ------------------------------------------------------------------ in the middle

    async def do(self, place: int, deed: Deed) -> None:
        """Do what the story has its client do, once it has come so far, or has ended before that."""
        if isinstance(deed, Decide):
            await self._decide(deed)
            return
        while self._words_seen.get(deed.step, 0) < deed.words and not self._has_ended:
            if any(step > deed.step for step in self._words_seen):
                break  # so much was merged into one delta that it never saw that many
            await self._change(_LOOK)
        match deed:
            case Steer():
                await self._steer(self._play.story.input_of(place), deed)
            case Cancel():
                await self._cancel()

    async def _steer(self, text: str, deed: Steer) -> None:
        play = self._play
        mode = "INTERRUPT" if deed.interrupts else "QUEUE"
        key, reconnects = f"{play.story.seed} {text}", self._reconnects
        steered = await self._do(documents.STEER, runId=play.run_id, input=text, mode=mode, key=key)
        play.stream_id = steered.value["run"]["streamId"]
        input_id = steered.value["inputId"]
        play.inputs[input_id or text] = text
        if input_id and steered.tries == 1:
            self._expect("steer", input_id, steered, reconnects)

    async def _cancel(self) -> None:
        play = self._play
        had_ended, reconnects = self._has_ended, self._reconnects
        cancelled = await self._do(documents.CANCEL, runId=play.run_id)
        play.cancelled = True
        if cancelled.tries == 1 and not had_ended:
            self._expect("cancel", play.stream_id, cancelled, reconnects)

    async def _decide(self, deed: Decide) -> None:
        """Allow what waits, once something does; said again with another word, it must be refused."""
        play = self._play
        while not self._waiting:
            if not await self._change(_LOOK) and (await self._row())["status"] in ENDED:
                return
        await asyncio.sleep(deed.seconds)
        for call in self._waiting:
            given = {"toolCallId": call["id"], "decision": "APPROVE"}
            key = f"{play.story.seed} {call['id']}"
            await self._do(documents.DECIDE, runId=call["runId"], decisions=[given], key=key)
            denied = {"runId": call["runId"], "decisions": [{**given, "decision": "DENY"}], "key": f"{key} no"}
            again = await self._api.ask(self._user.token, self._dice, documents.DECIDE, {"input": denied})
            if [error["code"] for error in again.value["errors"]] != ["CALL_ALREADY_DECIDED"]:
                play.problems.append(f"{call['id']} was decided twice: {again.value}")
        play.decided += [call["id"] for call in self._waiting]
        play.stream_id = (await self._row())["streamId"]

    async def _row(self) -> dict[str, Any]:
        asked = await self._api.ask(self._user.token, self._dice, documents.RUN, {"id": self._play.run_id})
        return dict(asked.value)

    def _expect(self, what: str, key: str, answer: Answer, reconnects: int) -> None:
        """The effect of what was done is to be seen as the event with this key."""
        signal = self._measures.expect(what, self._play.run_id, answer.sent)
        self._expected.append((signal, key, reconnects))

    # ------------------------------------------------------------------ the end

    async def see_the_end(self) -> None:
        """Wait until the run has ended, and every subscriber has seen all of it, or has had long enough."""
        self._play.final = final = await self._ended()
        for subscriber in self._play.subscribers:
            subscriber.end_at(final)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CATCH_UP):
                for subscriber in self._play.subscribers:
                    while not subscriber.finished:
                        await _changed(subscriber.changed, _LOOK)

    async def _ended(self) -> Final:
        """How the run has ended: asked for once a watcher has seen an end, or heard nothing for a while."""
        while True:
            if not self._has_ended and await self._change(_LOOK):
                continue
            row = await self._row()
            if row["status"] in ENDED and not row["pendingInput"]:
                return Final(row["status"], row["finish"], row["streamId"], row["messages"]["nodes"][-1]["seq"])
            await asyncio.sleep(_PAUSE)

    @property
    def _has_ended(self) -> bool:
        """Whether the watcher has seen the end of the newest generation that is known."""
        return self._primary is not None and self._play.stream_id in self._primary.results

    async def leave(self) -> None:
        """Nobody watches any more; those that had not seen everything are noted."""
        for signal, key, reconnects in self._expected:
            signal.seen, afterwards = self._moments.get(key, (None, reconnects))
            signal.watched = afterwards == reconnects
        for follower in self._followers:
            follower.cancel()
        for subscriber in self._play.subscribers:
            if not subscriber.finished:
                subscriber.problems.append(f"{subscriber.kind} never saw the end of the run")
        for outcome in await asyncio.gather(*self._followers, return_exceptions=True):
            if isinstance(outcome, Exception):
                self._play.problems.append(f"a subscriber failed: {outcome!r}")

    # ------------------------------------------------------------------ what it is made of

    async def _do(self, document: str, **given: Any) -> Answer:
        return await self._api.do(self._user.token, self._dice, document, **given)

    async def _change(self, seconds: float) -> bool:
        """Wait until the primary watcher is told something; whether it was within so many seconds."""
        assert self._primary is not None
        return await _changed(self._primary.changed, seconds)


async def _changed(event: asyncio.Event, seconds: float) -> bool:
    event.clear()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
            return True
    return False
