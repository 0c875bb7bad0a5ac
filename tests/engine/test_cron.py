"""Cron: when a schedule is due next, by the clock of a time zone that is changed twice a year."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cron import BadCron, BadTimeZone, check_cron, check_time_zone, next_tick

BERLIN = "Europe/Berlin"


def at(text: str) -> int:
    """A moment, in ms since the epoch."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def ticks(cron: str, time_zone: str, after: str, count: int) -> list[str]:
    """The next ticks, as UTC shows them."""
    found, place = [], at(after)
    for _ in range(count):
        tick = next_tick(cron, time_zone, place)
        assert tick is not None
        found.append(datetime.fromtimestamp(tick / 1000, UTC).strftime("%d %H:%M"))
        place = tick
    return found


def test_names_ranges_lists_and_steps_mean_what_they_do_in_cron() -> None:
    """2027-06-04 is a Friday."""
    assert ticks("0 9 * * MON-FRI", "UTC", "2027-06-04T08:00Z", 3) == ["04 09:00", "07 09:00", "08 09:00"]
    assert ticks("*/20 8,10 * * *", "UTC", "2027-06-04T08:30Z", 3) == ["04 08:40", "04 10:00", "04 10:20"]
    assert ticks("0 0 1 JAN *", "UTC", "2027-06-04T08:30Z", 1) == ["01 00:00"]
    assert ticks("5-50/15 7 * * 7", "UTC", "2027-06-04T08:30Z", 2) == ["06 07:05", "06 07:20"]


def test_a_schedule_goes_by_the_clock_of_its_zone() -> None:
    """Nine in the morning in New York is another hour of UTC after the clock was changed there."""
    ticked = ticks("0 9 * * *", "America/New_York", "2027-03-12T20:00Z", 2)
    assert ticked == ["13 14:00", "14 13:00"]


def test_what_is_due_in_a_gap_of_the_clock_comes_once_right_after_it() -> None:
    """In Berlin the hour from 2 to 3 of 2027-03-28 is skipped at 01:00 UTC."""
    assert ticks("30 2 * * *", BERLIN, "2027-03-27T12:00Z", 2) == ["28 01:00", "29 00:30"]
    assert ticks("0,30 2 * * *", BERLIN, "2027-03-27T12:00Z", 3) == ["28 01:00", "29 00:00", "29 00:30"]


def test_what_is_due_in_a_repeated_hour_of_the_clock_comes_once() -> None:
    """In Berlin the hour from 2 to 3 of 2027-10-31 comes at 00:00 UTC, and again at 01:00."""
    assert ticks("30 2 * * *", BERLIN, "2027-10-30T12:00Z", 2) == ["31 00:30", "01 01:30"]
    assert ticks("30 2 * * *", BERLIN, "2027-10-31T01:10Z", 1) == ["01 01:30"], "asked within the second of them"


def test_what_comes_every_so_often_goes_by_the_time_that_passes() -> None:
    """Every half hour is every half hour, whatever the clock on the wall does."""
    spring, autumn = "2027-03-28T00:10Z", "2027-10-30T23:40Z"
    assert ticks("*/30 * * * *", BERLIN, spring, 4) == ["28 00:30", "28 01:00", "28 01:30", "28 02:00"]
    assert ticks("*/30 * * * *", BERLIN, autumn, 5) == ["31 00:00", "31 00:30", "31 01:00", "31 01:30", "31 02:00"]


@pytest.mark.parametrize(
    ("word", "cron"), [("@daily", "0 0 * * *"), (" @Hourly ", "0 * * * *"), ("@weekly", "0 0 * * 0")]
)
def test_the_usual_words_stand_for_expressions(word: str, cron: str) -> None:
    """They are kept as what they stand for."""
    assert check_cron(word) == cron


@pytest.mark.parametrize(
    "text",
    ["", "x", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
     "5-1 * * * *", "*/0 * * * *", "*/x * * * *", "1,,2 * * * *", "* * * * FOO", "@reboot", "0 0 31 2 *", "0 0 30 2 *",
     "²L * * * *", "9" * 5_000 + " * * * *", "* " * 5_000, "\0 * * * *"],
)  # fmt: skip
def test_what_is_no_cron_expression_is_refused_in_a_sentence(text: str) -> None:
    """So is one that no day fulfils."""
    with pytest.raises(BadCron, match=r"\.$"):
        check_cron(text)


@pytest.mark.parametrize(
    "name", ["", "Mars/Base", "America", "America/", "localtime", "../etc/passwd", "/UTC", "UTC\0", "x" * 1_000, "a b"]
)
def test_what_is_no_time_zone_is_refused(name: str) -> None:
    """No file of the machine is opened by it."""
    with pytest.raises(BadTimeZone, match="There is no time zone"):
        check_time_zone(name)


@settings(deadline=None)
@given(
    st.sampled_from(["30 2 * * *", "*/7 * * * *", "15 1,2,3 * * *", "0 0 * * *", "59 23 L * *", "0 */2 * * 0#1"]),
    st.sampled_from([BERLIN, "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "UTC"]),
    st.integers(at("2027-01-01T00:00Z"), at("2028-12-31T00:00Z")),
)
def test_ticks_always_rise(cron: str, time_zone: str, after: int) -> None:
    """Whatever the clock does: a tick is later than the moment it is asked for, and never comes twice."""
    found = [after]
    for _ in range(5):
        tick = next_tick(cron, time_zone, found[-1])
        assert tick is not None
        found.append(tick)
    assert all(one < other for one, other in pairwise(found))
    assert next_tick(cron, time_zone, found[1] - 1) == found[1]
