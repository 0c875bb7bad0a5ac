"""The patrol: what was not heard of is found in the rows, for everyone who watches, at next to no cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.patrol import CHUNK, FRESH_MS, TRUSTING_SECONDS, DatabaseSigns, Patrol
from engine.streams.bell import Bell
from engine.streams.memory import MemoryStreams
from engine.watching import DatabaseRows, RunChange, Watching
from models.database import Database
from models.enums import RunStatus
from models.events import RunResult, StepFinished, TextDelta
from models.run import Run, RunQuery
from tests.support.databases import KINDS, LeaseClock, controlled, empty, new_postgres, new_sqlite
from tests.support.desk import COMPLETED, Desk, Hands, text_answer
from tests.support.rows import a_run, store
from tests.support.statements import counted, selects
from tests.support.watched import Client

POLL_SECONDS = 2.0
PATIENCE = 60.0
ALICE = RunQuery(user_id="alice")


@pytest.fixture(scope="module")
def postgres_address() -> Iterator[str]:
    """A migrated PostgreSQL database that these tests share, emptied before each."""
    with new_postgres() as address:
        yield address


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Database, LeaseClock]]:
    """An empty database."""
    is_sqlite = request.param == "sqlite"
    address = new_sqlite(tmp_path) if is_sqlite else str(request.getfixturevalue("postgres_address"))
    async with controlled(address) as (opened, clock):
        if not is_sqlite:
            await empty(opened)
        yield opened, clock


class House:
    """A process that hears nothing of what `desk`, another one, does; it has the patrol alone."""

    def __init__(self, database: Database, leases: LeaseClock, *, trusted: bool = False) -> None:
        self.desk = Desk(database, leases)
        self.streams, self.bell = MemoryStreams(), Bell(trusted=trusted)
        self.watching = Watching(DatabaseRows(database), self.streams, self.bell, ids=self.desk.ids)
        self.signs = DatabaseSigns(database)
        self.patrol = Patrol(self.signs, self.streams, self.bell, self.desk.clock, POLL_SECONDS)
        self.bell.on_trust = self.patrol.hurry
        self.clients: list[Client[Any]] = []

    def watch(self, events: Any) -> Client[Any]:
        """A client."""
        client: Client[Any] = Client(events)
        self.clients.append(client)
        return client

    async def list_of(self, query: RunQuery = ALICE) -> Client[Any]:
        """A client that watches a list, once it knows what is there."""
        listening = len(self.bell)
        client = self.watch(self.watching.runs(query))
        await until(lambda: len(self.bell) > listening and self.waits())
        return client

    def waits(self) -> bool:
        """Whether every listener waits for the bell."""
        return all(one._waiter is not None for group in self.bell._listeners.values() for one in group)

    async def quiet(self) -> None:
        """Wait until who was rung has read what there is, and all wait again."""
        await asyncio.sleep(0)  # who was rung just now waits no more from here on
        await until(self.waits)
        followed = self.streams.followed().items()
        await until(lambda: all(log.waiting == self.streams.followers(stream_id) for stream_id, log in followed))

    async def round(self) -> None:
        """An interval passes, and the patrol looks."""
        self.desk.clock.advance(POLL_SECONDS)
        await self.patrol.round()

    async def pass_by(self, seconds: float = 3_600) -> None:
        """Time passes; the patrol looks at its end as it did all the while."""
        self.desk.clock.advance(seconds)
        await self.patrol.round()

    async def close(self) -> None:
        """Nobody watches any more."""
        for client in self.clients:
            await client.leave()
        assert len(self.bell) == len(self.streams) == 0


@pytest.fixture
async def house(database: tuple[Database, LeaseClock]) -> AsyncIterator[House]:
    """A process whose bell can't be trusted."""
    house = House(*database)
    yield house
    await house.close()


@pytest.fixture
async def trusting(database: tuple[Database, LeaseClock]) -> AsyncIterator[House]:
    """A process whose bell can be trusted."""
    house = House(*database, trusted=True)
    yield house
    await house.close()


async def until(holds: Any) -> None:
    """Wait until it holds. Raises TimeoutError where it does not come about."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.002)


def stream_of(hands: Hands) -> str:
    """The stream of the generation that is under way."""
    return hands.numbers.stream_id


def spend(hands: Hands) -> None:
    """A delta has taken a number."""
    hands.numbers = replace(hands.numbers, next=hands.numbers.next + 1)


async def some_runs(house: House, count: int, **values: Any) -> list[Run]:
    """Runs that nobody has touched since they were opened."""
    runs = [a_run(id=house.desk.ids("run"), updated_at=house.desk.clock(), **values) for _ in range(count)]
    await store(house.desk.database, *runs)
    return runs


def told(client: Client[Any]) -> list[tuple[str, str]]:
    """What a list's client was told."""
    changes: list[RunChange] = list(client)
    return [(change.kind, change.run_id) for change in changes]


# ---------------------------------------------------------------- streams


async def test_an_end_that_was_never_published_is_found(house: House) -> None:
    """Its owner, in another process, died between the commit and the publication, or could not be heard."""
    hands = await house.desk.open()
    client = house.watch(house.watching.stream(stream_of(hands)))
    await house.round()
    await hands.begin()
    spend(hands)
    await hands.answer(text_answer(1, "Hello."))
    await house.round()
    await until(lambda: len(client) == 2)
    await hands.settle(COMPLETED)
    await house.round()
    await until(lambda: isinstance(client[-1], RunResult))
    assert [type(event) for event in client] == [TextDelta, StepFinished, RunResult]


async def test_an_end_that_was_never_published_is_found_by_who_follows_a_live_log(house: House) -> None:
    """The owner was in this very process; whatever it had published is not given again."""
    hands = await house.desk.open()
    house.streams.begin(stream_of(hands), 0)
    client = house.watch(house.watching.stream(stream_of(hands)))
    await hands.begin()
    await hands.answer(text_answer(1, "Hello."))
    house.streams.publish(await house.desk.events(hands.run.id))
    await until(lambda: len(client) == 1)
    await house.round()
    await hands.settle(COMPLETED)
    await house.round()
    await until(lambda: isinstance(client[-1], RunResult))
    assert [type(event) for event in client] == [StepFinished, RunResult]
    house.streams.forsake(stream_of(hands))


async def test_a_log_that_is_fed_no_more_gives_way_to_the_rows(house: House) -> None:
    """Its owner can't be heard, though it goes on: what is committed is seen an interval later."""
    hands = await house.desk.open()
    client = house.watch(house.watching.stream(stream_of(hands)))
    await until(lambda: stream_of(hands) in house.streams.followed())
    log = house.streams.followed()[stream_of(hands)]
    log.skip(0)
    log.feed(TextDelta(stream_of(hands), 1, 1, 1, 0, 0, 0, "Hel"), 0)
    await until(lambda: len(client) == 1)
    spend(hands)
    spend(hands)
    await hands.begin()
    await hands.answer(text_answer(1, "Hello."))
    await house.round()
    await house.round()
    await until(lambda: len(client) == 3)
    assert [getattr(event, "text", None) for event in client] == ["Hel", "Hello.", None]


async def test_a_fed_log_that_is_merely_behind_stays(house: House) -> None:
    """What has been committed since the last look may still be on its way."""
    hands = await house.desk.open()
    client = house.watch(house.watching.stream(stream_of(hands)))
    await until(lambda: stream_of(hands) in house.streams.followed())
    log = house.streams.followed()[stream_of(hands)]
    log.skip(0)
    await house.round()
    await hands.begin()
    await hands.answer(text_answer(1, "Hello."))
    await house.round()
    assert log.live
    (finished,) = await house.desk.events(hands.run.id)
    log.feed(finished, 0)
    await house.round()
    assert log.live
    await until(lambda: len(client) == 1)


# ---------------------------------------------------------------- runs and their messages


async def test_a_change_of_a_run_that_was_not_heard_of_is_found(house: House) -> None:
    """Who watches the run sees it; who watches its messages gets them."""
    hands = await house.desk.open("Hi")
    runs = house.watch(house.watching.run(hands.run.id))
    messages = house.watch(house.watching.messages(hands.run.id))
    await until(lambda: len(runs) == len(messages) == 1)
    await hands.begin()
    await hands.answer(text_answer(1, "Hello."))
    await house.round()
    await until(lambda: len(messages) == 2)
    await hands.settle(COMPLETED)
    await house.round()
    await until(lambda: runs[-1].status is RunStatus.COMPLETED)
    assert [message.seq for message in messages] == [1, 2]


async def test_the_next_generation_is_found_too(house: House) -> None:
    """Who follows a run's streams goes on into the one that was begun elsewhere."""
    first = await house.desk.open()
    await first.settle(COMPLETED)
    client = house.watch(house.watching.run_stream(first.run.id))
    await until(lambda: len(client) == 1)
    await until(house.waits)
    second = await house.desk.sent(first.run.id, "And?")
    await house.round()
    await until(lambda: stream_of(second) in house.streams.followed())
    await second.settle(COMPLETED)
    await house.round()
    await until(lambda: len(client) == 2)
    assert client[-1].stream_id == stream_of(second)


# ---------------------------------------------------------------- lists


async def test_a_list_is_told_of_runs_that_others_change(house: House) -> None:
    """ADDED, CHANGED and REMOVED, at the interval."""
    client = await house.list_of(RunQuery(user_id="alice", status=(RunStatus.RUNNING,)))
    everyone = await house.list_of(RunQuery())
    await house.round()
    hands = await house.desk.open()
    run_id = hands.run.id
    await house.round()
    await until(lambda: told(client) == told(everyone) == [("ADDED", run_id)])
    await hands.begin()
    await house.round()
    await until(lambda: told(client)[1:] == told(everyone)[1:] == [("CHANGED", run_id)])
    await hands.settle(COMPLETED)
    await house.round()
    await until(lambda: told(client)[2:] == [("REMOVED", run_id)])
    await until(lambda: told(everyone)[2:] == [("CHANGED", run_id)])


async def test_an_old_run_that_is_spoken_to_again_is_not_overlooked(house: House) -> None:
    """However many are newer, and though it has ended again when the patrol looks."""
    old = await house.desk.open()
    await old.settle(COMPLETED)
    house.desk.clock.advance(3_600)
    await some_runs(house, 300)
    await house.pass_by()
    client = await house.list_of()
    await house.round()
    again = await house.desk.sent(old.run.id, "Still there?")
    await again.settle(COMPLETED)
    await house.round()
    await until(lambda: told(client) == [("CHANGED", old.run.id)])


async def test_every_run_under_way_is_looked_at(house: House) -> None:
    """However many there are, in whatever order they change: all of more than one statement gives."""
    runs = await some_runs(house, CHUNK + 50, status=RunStatus.RUNNING)
    await house.pass_by()
    client = await house.list_of()
    await house.round()
    for run in runs:
        await house.desk.force(run.id, revision=2, updated_at=house.desk.clock())
    await house.round()
    await until(lambda: len(client) == len(runs))
    assert sorted(told(client)) == sorted(("CHANGED", run.id) for run in runs)


async def test_a_list_is_not_flooded_with_old_changes_at_its_start(house: House) -> None:
    """Neither when the process has just begun nor when it has been there for long: they are no news."""
    await store(
        house.desk.database, *(a_run(id=house.desk.ids("run"), updated_at=house.desk.clock()) for _ in range(50))
    )
    for seconds in (FRESH_MS / 1000 + 1, 3_600):
        await house.pass_by(seconds)
        client = await house.list_of()
        await house.round()
        new = await house.desk.open()
        await house.round()
        await until(lambda client=client: len(client) > 0)
        assert told(client) == [("ADDED", new.run.id)]
        await client.leave()
        await some_runs(house, 50)


async def test_what_changes_before_a_list_is_first_looked_at_is_told(house: House) -> None:
    """It had nobody to hear it: once too often rather than never."""
    hands = await house.desk.open()
    await house.pass_by()
    client = await house.list_of()
    house.desk.clock.advance(1)
    await hands.begin()
    await house.round()
    await until(lambda: told(client) == [("CHANGED", hands.run.id)])


async def test_a_change_that_was_committed_late_is_found(house: House) -> None:
    """It says that it was made before the last look: its transaction waited out an outage, or its clock is behind."""
    hands = await house.desk.open()
    await house.pass_by()
    client = await house.list_of()
    await house.round()
    made = house.desk.clock() - 60_000
    await house.round()
    await house.desk.force(hands.run.id, revision=hands.run.revision + 1, updated_at=made)
    await house.round()
    await until(lambda: told(client) == [("CHANGED", hands.run.id)])
    await house.round()
    await house.round()
    other = await house.desk.open()
    await house.round()
    await until(lambda: len(client) == 2)
    assert told(client)[1] == ("ADDED", other.run.id)  # and it was told once


# ---------------------------------------------------------------- what it costs


async def test_nothing_is_read_while_nobody_watches(house: House) -> None:
    """Not one statement, however many runs there are and change."""
    hands = await house.desk.open()
    await hands.begin()
    with counted() as statements:
        for _ in range(5):
            await house.round()
    assert statements == []


async def test_an_interval_costs_a_statement_of_each_kind_for_all_watchers_together(house: House) -> None:
    """Of a thousand idle subscriptions none asks the database for itself."""
    users = [f"user-{number}" for number in range(20)]
    runs = [await house.desk.open(user_id=user) for user in users]
    for user in users:
        await house.list_of(RunQuery(user_id=user))
    for hands in runs:
        for _ in range(5):
            house.watch(house.watching.run(hands.run.id))
            house.watch(house.watching.messages(hands.run.id))
            house.watch(house.watching.stream(stream_of(hands)))
    await until(lambda: all(house.streams.followers(stream_of(hands)) == 5 for hands in runs))
    await house.quiet()
    await house.round()
    await house.quiet()
    await house.pass_by()
    await house.quiet()
    with counted() as statements:
        await house.round()
        await house.quiet()
    assert selects(statements) == 3


async def test_runs_are_left_alone_while_every_ring_is_heard(trusting: House) -> None:
    """Streams are looked at all the same; runs again after a while, in case a process died before it rang."""
    hands = await trusting.desk.open()
    client = trusting.watch(trusting.watching.run(hands.run.id))
    await until(lambda: len(client) == 1)
    with counted() as statements:
        for _ in range(round(TRUSTING_SECONDS / POLL_SECONDS) - 1):
            await trusting.round()
    assert statements == []
    await hands.begin()
    await trusting.round()
    await until(lambda: len(client) == 2)


async def test_a_bell_that_is_lost_is_made_up_for_at_once(trusting: House) -> None:
    """And again when it is found: what changed in between was heard by nobody."""
    hands = await trusting.desk.open()
    runs, changes = trusting.watch(trusting.watching.run(hands.run.id)), await trusting.list_of()
    await until(lambda: len(runs) == 1)
    await trusting.round()
    walking = asyncio.create_task(trusting.patrol.walk())
    for number, trusted in enumerate((False, True), 1):
        await trusting.desk.queue(hands.run.id, "more")
        trusting.desk.clock.advance(1)
        trusting.bell.trust(trusted=trusted)
        await until(lambda number=number: len(runs) == number + 1)
        await until(lambda number=number: len(changes) >= number)
    walking.cancel()
    await asyncio.gather(walking, return_exceptions=True)


async def test_a_look_that_failed_is_made_again(trusting: House, caplog: pytest.LogCaptureFixture) -> None:
    """What may have been missed while the bell was away is not forgotten with it."""
    hands = await trusting.desk.open()
    client = trusting.watch(trusting.watching.run(hands.run.id))
    await until(lambda: len(client) == 1)
    failing = Failing(trusting.signs)
    trusting.patrol._signs = failing
    trusting.bell.trust(trusted=False)
    await hands.begin()
    trusting.bell.trust(trusted=True)
    with pytest.raises(LookupError):
        await trusting.round()
    failing.fails = False
    await trusting.round()
    await until(lambda: len(client) == 2)


class Failing(DatabaseSigns):
    """Signs of a database that does not answer."""

    def __init__(self, signs: DatabaseSigns) -> None:
        super().__init__(signs._database)
        self.fails = True

    async def signs_of(self, run_ids: Any) -> Any:
        if self.fails:
            raise LookupError
        return await super().signs_of(run_ids)


def test_it_runs_on_what_a_run_is() -> None:
    """A run's sign changes with each of its changes: its revision rises, and so does its time."""
    assert {"revision", "updated_at"} <= set(Run.__slots__)
