"""A worker's contact with the database: when leases are renewed, and when lapsed ones are left alone."""

from __future__ import annotations

import logging

import pytest

from engine.contact import Contact
from models.away import DatabaseAway
from models.clock import ManualClock

LEASE = 9.0


class Times:
    """A contact whose clock is moved by hand."""

    def __init__(self) -> None:
        self.clock = ManualClock(5_000)
        self.contact = Contact(LEASE, lambda: self.clock() / 1000)

    def fresh(self) -> bool:
        """Whether lapsed leases are left alone."""
        return self.contact.is_fresh

    def overdue(self) -> bool:
        """Whether its own have lapsed."""
        return self.contact.is_overdue

    async def works(self) -> None:
        """The database answers."""

    async def fails(self) -> None:
        """It is away."""
        raise DatabaseAway("The database is away: no answer")

    async def breaks(self) -> None:
        """There is a defect."""
        raise LookupError("a defect")


@pytest.fixture
def times() -> Times:
    """A contact that has just begun."""
    return Times()


def renewals(times: Times, poll: float, seconds: float) -> list[float]:
    """When a worker that looks every `poll` seconds renews its leases."""
    found = []
    for look in range(1, round(seconds / poll) + 1):
        times.clock.advance(poll)
        if times.contact.is_due(poll):
            times.contact.renewed()
            found.append(round(look * poll, 3))
    return found


def test_leases_are_renewed_within_a_third_of_their_time(times: Times) -> None:
    """At every look where looks are rare, and no more often than needed where they are frequent."""
    assert renewals(times, 3.0, 12.0) == [3.0, 6.0, 9.0, 12.0]
    assert renewals(times, 2.0, 8.0) == [2.0, 4.0, 6.0, 8.0]
    assert len(renewals(times, 0.1, 30.0)) == pytest.approx(10, abs=1)


async def test_after_an_outage_lapsed_leases_are_left_for_the_time_of_one(times: Times) -> None:
    """From the last failure on, so that whoever lives can renew theirs first."""
    assert not times.fresh()
    assert not await times.contact.tried(times.fails)
    times.clock.advance(LEASE - 1)
    assert not await times.contact.tried(times.fails)
    assert await times.contact.tried(times.works)
    times.clock.advance(LEASE - 0.001)
    assert times.fresh()
    times.clock.advance(0.001)
    assert not times.fresh()


def test_a_worker_that_was_frozen_past_its_leases_leaves_those_of_others(times: Times) -> None:
    """What held it up may have held up everybody: it renews its own first, and waits as after an outage."""
    times.clock.advance(LEASE + 1)
    assert times.overdue()
    times.contact.renewed()
    assert not times.overdue()
    assert times.fresh()
    times.clock.advance(LEASE)
    assert not times.fresh()


async def test_an_outage_is_told_once_and_so_is_its_end(times: Times, caplog: pytest.LogCaptureFixture) -> None:
    """However often it was tried meanwhile; the log says how long it took."""
    caplog.set_level(logging.WARNING)
    for _ in range(5):
        await times.contact.tried(times.fails)
        times.clock.advance(1)
    for _ in range(2):
        await times.contact.tried(times.works)
    assert [record.getMessage() for record in caplog.records] == [
        "The database is away: no answer; loops wait for it",
        "the database is back after 5.0 s",
    ]


async def test_a_defect_is_no_outage(times: Times, caplog: pytest.LogCaptureFixture) -> None:
    """It is in the log whole, and is tried again at the next occasion."""
    assert await times.contact.tried(times.breaks)
    assert not times.fresh()
    assert "a defect" in caplog.text
