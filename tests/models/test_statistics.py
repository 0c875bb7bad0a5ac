"""Statistics: what is counted, where it is counted, and what half of the times were below."""

from __future__ import annotations

from decimal import Decimal

from models.database import Database
from models.statistics import Percentiles, Span, statistics
from models.usage import Usage
from tests.support.desk import Desk
from tests.support.rows import NOW, a_model_call, a_run, store

HOUR = 3_600_000


async def test_a_call_counts_once_in_the_part_in_which_it_was_begun(database: Database) -> None:
    """Also where it ends in the next; what is begun at the end of the span is not in it."""
    run = a_run()
    moments = [NOW - 1, NOW, NOW + HOUR - 1, NOW + HOUR, NOW + 2 * HOUR - 1, NOW + 2 * HOUR]
    one = Usage(1, 2, 3, 4, Decimal("0.1"))
    calls = [
        a_model_call(run, step, one, started_at=at, finished_at=at + HOUR) for step, at in enumerate(moments, start=1)
    ]
    await store(database, run, *calls)
    found = await database.read(statistics, Span(NOW, NOW + 2 * HOUR, 2, run.user_id))
    assert [(part.start, part.end) for part in found.parts] == [(NOW, NOW + HOUR), (NOW + HOUR, NOW + 2 * HOUR)]
    assert [part.figures.calls for part in found.parts] == [2, 2]
    assert found.total.usage == Usage(4, 8, 12, 16, Decimal("0.4"))


async def test_parts_that_end_between_milliseconds_hold_what_they_say(database: Database) -> None:
    """A call of each millisecond, in a span that its parts do not divide: each part has as many as it is long."""
    run = a_run()
    calls = [a_model_call(run, step, Usage(), started_at=NOW + step) for step in range(100)]
    await store(database, run, *calls)
    for parts in (1, 3, 7, 64, 99, 100):
        found = await database.read(statistics, Span(NOW, NOW + 100, parts, run.user_id))
        assert [part.figures.calls for part in found.parts] == [part.end - part.start for part in found.parts]
        assert (found.parts[0].start, found.parts[-1].end, found.total.calls) == (NOW, NOW + 100, 100)


async def test_others_count_only_where_everybody_is_looked_at(database: Database) -> None:
    """By user then, the dearest first; by agent in either case."""
    cheap, dear = a_run(), a_run(user_id="bob", agent="other")
    await store(
        database,
        cheap,
        dear,
        a_model_call(cheap, 1, Usage(1, cost=Decimal("0.1")), started_at=NOW),
        a_model_call(dear, 1, Usage(1, cost=Decimal("0.2")), started_at=NOW),
    )
    own = await database.read(statistics, Span(NOW, NOW + HOUR, 1, cheap.user_id))
    assert (own.total.calls, own.users) == (1, None)
    assert [group.name for group in own.agents] == [cheap.agent]
    every = await database.read(statistics, Span(NOW, NOW + HOUR, 1, None))
    assert every.users is not None
    assert [(group.name, group.figures.usage.cost) for group in every.users] == [
        ("bob", Decimal("0.2")),
        (cheap.user_id, Decimal("0.1")),
    ]


async def test_percentiles_are_times_that_there_were(database: Database) -> None:
    """The nearest rank; calls of tools, and those that are not over, have none."""
    run = a_run()
    ended = [
        a_model_call(run, took, Usage(), started_at=NOW, first_token_at=NOW + took, finished_at=NOW + 10 * took)
        for took in range(1, 101)
    ]
    others = [
        a_model_call(run, 101, Usage(), started_at=NOW, finished_at=None),
        a_model_call(run, 102, Usage(), started_at=NOW, finished_at=NOW + 999_999, tool_call_id="call_1"),
    ]
    await store(database, run, *ended, *others)
    found = await database.read(statistics, Span(NOW, NOW + HOUR, 1, run.user_id))
    assert found.first_token == Percentiles(100, 50, 95)
    assert found.step == Percentiles(100, 500, 950)


async def test_a_run_that_no_worker_has_taken_is_queued_since_its_turn_was_begun(desk: Desk) -> None:
    """It counts as running once one has taken it."""
    hands = await desk.open(worker=None)
    span = Span(0, NOW * 2, 1, hands.run.user_id)
    waiting = (await desk.database.read(statistics, span)).present
    assert (waiting.queued, waiting.running, waiting.oldest_queued_at) == (1, 0, hands.run.created_at)
    await desk.open()
    both = (await desk.database.read(statistics, span)).present
    assert (both.queued, both.running) == (1, 1)
