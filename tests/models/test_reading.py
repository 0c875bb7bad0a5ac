"""Reads of runs, messages and calls: windows by keyset, filters that mean the same in SQL and in Python."""

from __future__ import annotations

from typing import Any

import pytest

from models.call import calls_of_steps, count_calls, find_calls, get_calls
from models.database import Database
from models.enums import FinishReason, RunStatus
from models.message import count_messages, find_messages, get_messages, messages_after
from models.model_call import count_model_calls, find_model_calls, get_model_calls
from models.page import BadCursor, Slice, Window
from models.run import Run, RunQuery, count_runs, find_runs, get_run, get_runs, matching_run_ids, newest_run_ids
from models.usage import Usage
from tests.support.desk import dice_of
from tests.support.rows import NOW, a_call, a_message, a_model_call, a_run, store

SOME_RUNS = 23


@pytest.fixture
async def runs(database: Database) -> list[Run]:
    """Runs of two users, oldest first."""
    dice = dice_of(3)
    made = [
        a_run(
            user_id=dice.choice(["alice", "bob"]),
            agent=dice.choice(["helper", "other"]),
            status=dice.choice(list(RunStatus)),
            title=dice.choice([None, "\u00c4pfel zählen", "Sums of A", "50% off_x"]),
            metadata=dice.choice([{}, {"a": 1}, {"a": 1, "b": {"c": [1, None]}}, {"a": "1"}]),
            finish=dice.choice([None, *FinishReason]),
            created_at=NOW + number,
        )
        for number in range(SOME_RUNS)
    ]
    await store(database, *made)
    child = a_run(parent_id=made[0].id)
    await store(database, child)
    return [*made, child]


QUERIES = [
    RunQuery(),
    RunQuery(user_id="alice"),
    RunQuery(user_id="nobody"),
    RunQuery(status=(RunStatus.COMPLETED, RunStatus.FAILED)),
    RunQuery(status=()),
    RunQuery(agent="other", user_id="bob"),
    RunQuery(search="\u00e4PFEL"),
    RunQuery(search="%"),
    RunQuery(search="_"),
    RunQuery(search=""),
    RunQuery(search="of a", user_id="alice"),
    RunQuery(metadata={}),
    RunQuery(metadata={"a": 1}),
    RunQuery(metadata={"a": "1"}),
    RunQuery(metadata={"b": {"c": [1, None]}}),
    RunQuery(metadata={"missing": None}),
    RunQuery(metadata={"a": 1}, search="sums", status=tuple(RunStatus)),
    RunQuery(finish=(FinishReason.STOP, FinishReason.ERROR, FinishReason.STUCK)),
    RunQuery(finish=()),
    RunQuery(finish=tuple(FinishReason), search="a"),
    RunQuery(created_after=NOW + 5),
    RunQuery(created_before=NOW + 5),
    RunQuery(created_after=NOW + 5, created_before=NOW + 15, user_id="alice"),
    RunQuery(created_after=NOW + 5, created_before=NOW + 5),
    RunQuery(created_after=NOW + 5, created_before=NOW + 15, search="a"),
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
async def test_a_filter_means_the_same_in_sql_and_in_python(
    database: Database, runs: list[Run], query: RunQuery
) -> None:
    """What the database gives is what `matches` says, newest first, and is counted alike."""
    expected = [run.id for run in reversed(runs) if query.matches(run)]
    found = await database.read(find_runs, query, Window(size=100))
    assert [run.id for run in found.rows] == expected
    assert await database.read(count_runs, query) == len(expected)
    assert await database.read(matching_run_ids, query) == set(expected)
    assert await database.read(newest_run_ids, query, 3) == expected[:3]


async def test_the_children_of_a_run_are_found(database: Database, runs: list[Run]) -> None:
    """By their parent's id."""
    found = await database.read(find_runs, RunQuery(parent_id=runs[0].id), Window())
    assert [run.id for run in found.rows] == [runs[-1].id]


async def walk(database: Database, query: RunQuery, size: int, *, backward: bool) -> list[Run]:
    """All runs, page by page."""
    seen: list[Run] = []
    position: str | None = None
    while True:
        window = Window(size, backward, **{"before" if backward else "after": position})
        page: Slice[Run] = await database.read(find_runs, query, window)
        assert len(page.rows) <= size
        assert page.positions == [run.id for run in page.rows]
        seen = [*page.rows, *seen] if backward else [*seen, *page.rows]
        assert (page.has_next if backward else page.has_previous) == (position is not None)
        if not (page.has_previous if backward else page.has_next):
            return seen
        position = page.positions[0 if backward else -1]


@pytest.mark.parametrize("size", [1, 2, 5, 24, 100])
@pytest.mark.parametrize("query", [RunQuery(), RunQuery(user_id="alice"), RunQuery(search="a")], ids=str)
async def test_pages_in_either_direction_give_every_row_once(
    database: Database, runs: list[Run], size: int, query: RunQuery
) -> None:
    """Forward and backward, whatever the size of the page."""
    expected = [run.id for run in reversed(runs) if query.matches(run)]
    for backward in (False, True):
        assert [run.id for run in await walk(database, query, size, backward=backward)] == expected


async def test_a_filter_in_python_reads_on_until_the_page_is_full(database: Database) -> None:
    """A match behind many rows that do not match is found, and the page says that there is no more."""
    wanted = a_run(title="needle")
    await store(database, wanted, *(a_run(title="hay") for _ in range(1_201)))
    page = await database.read(find_runs, RunQuery(search="NEEDLE"), Window(size=1))
    assert [run.id for run in page.rows] == [wanted.id]
    assert not page.has_next


async def test_rows_that_come_between_two_pages_shift_nothing(database: Database, runs: list[Run]) -> None:
    """The next page goes on from its position, not from a count."""
    first = await database.read(find_runs, RunQuery(), Window(size=5))
    await store(database, a_run(), a_run())
    second = await database.read(find_runs, RunQuery(), Window(size=5, after=first.positions[-1]))
    assert [run.id for run in second.rows] == [run.id for run in list(reversed(runs))[5:10]]


BAD_POSITIONS = ["", "x", "msg_1", "1.5", "NaN", "9" * 30, "-" + "9" * 30, "0x1", str(2**31), "run_\0", "\0", "\ud800"]


@pytest.mark.parametrize("position", BAD_POSITIONS, ids=repr)
@pytest.mark.parametrize("end", ["after", "before"])
async def test_a_position_that_no_list_gave_is_a_bad_cursor_or_an_empty_page(
    database: Database, position: str, end: str
) -> None:
    """Nothing that a client makes up as a cursor is an error of the database."""
    run = a_run()
    await store(database, run, a_message(run, 1), a_call(run, 1), a_model_call(run, 1, Usage()))
    window = Window(after=position) if end == "after" else Window(before=position)
    lists: list[tuple[Any, Any]] = [
        (find_runs, RunQuery()),
        (find_messages, run.id),
        (find_calls, run.id),
        (find_model_calls, run.id),
    ]
    for find, of in lists:
        try:
            await database.read(find, of, window)
        except BadCursor:
            continue
    for find, of in lists[:3]:
        with pytest.raises(BadCursor):
            await database.read(find, of, window)


async def test_messages_follow_a_seq_in_order(database: Database) -> None:
    """At most as many as asked for; none of another run."""
    run, other = a_run(), a_run()
    await store(database, run, other, *(a_message(run, seq) for seq in range(12, 0, -1)), a_message(other, 1))
    assert [message.seq for message in await database.read(messages_after, run.id, 0)] == list(range(1, 13))
    assert [message.seq for message in await database.read(messages_after, run.id, 4, 3)] == [5, 6, 7]
    assert await database.read(messages_after, run.id, 12) == []
    assert await database.read(count_messages, run.id) == 12
    page = await database.read(find_messages, run.id, Window(size=2, backward=True))
    assert (page.positions, page.has_previous, page.has_next) == (["11", "12"], True, False)
    page = await database.read(find_messages, run.id, Window(size=2, after="9", before="12"))
    assert page.positions == ["10", "11"]


async def test_records_are_found_by_their_ids(database: Database) -> None:
    """Those that exist, whoever owns them; none for no ids."""
    run = a_run()
    message, call, model_call = a_message(run, 1), a_call(run, 1), a_model_call(run, 1, Usage(1, 2))
    await store(database, run, message, call, model_call)
    assert await database.read(get_runs, [run.id, "run_none"]) == {run.id: run}
    assert await database.read(get_messages, [message.id, "x"]) == {message.id: message}
    assert await database.read(get_calls, [call.id, "x"]) == {call.id: call}
    assert await database.read(get_model_calls, [model_call.id, "x"]) == {model_call.id: model_call}
    assert await database.read(get_runs, []) == {}
    assert await database.read(get_run, "run_none") is None
    assert await database.read(count_calls, run.id) == 1
    assert await database.read(count_model_calls, run.id) == 1


async def test_calls_come_in_the_order_in_which_the_model_made_them(database: Database) -> None:
    """By step and index, over all pages, also past nine of either."""
    run = a_run()
    calls = [a_call(run, step, index) for step in (1, 2, 10, 11) for index in range(11)]
    await store(database, run, *reversed(calls))
    found = await database.read(find_calls, run.id, Window(size=100))
    assert [(call.step, call.index) for call in found.rows] == [(call.step, call.index) for call in calls]
    page = await database.read(find_calls, run.id, Window(size=3, after=found.positions[10]))
    assert [(call.step, call.index) for call in page.rows] == [(2, 0), (2, 1), (2, 2)]
    steps = await database.read(calls_of_steps, [(run.id, 2), (run.id, 3), ("run_none", 2)])
    assert [call.index for call in steps[run.id, 2]] == list(range(11))
    assert (steps[run.id, 3], steps["run_none", 2]) == ([], [])
