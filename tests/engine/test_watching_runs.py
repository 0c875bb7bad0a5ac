"""Watching a list of runs: what is added, changed and removed, and what is not told."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.watching import KEPT, RunChange, _Shown
from models.enums import FinishReason, RunStatus
from models.run import Run, RunQuery
from tests.support.watched import ALICE, Client, House, quiet


def told(client: Client[RunChange]) -> list[tuple[str, str]]:
    """The changes that a client was told, and forgotten."""
    changes: list[tuple[str, str]] = [(change.kind, change.run_id) for change in client]
    assert all((change.run is None) == (change.kind == "REMOVED") for change in client)
    client.clear()
    return changes


async def test_runs_without_a_filter_tells_new_runs_and_changes() -> None:
    """Nothing of what is there at the start; ADDED for a new run, CHANGED for any later change of any run."""
    house = House()
    old = house.open()
    client = Client(house.watching.runs(ALICE))
    await quiet()
    assert told(client) == []
    new = house.open()
    house.open("bob")
    await quiet()
    house.change(old)
    house.change(new)
    house.bell.ring(new, "alice")
    await quiet()
    house.bell.ring(new, "alice")
    await quiet()
    assert told(client) == [("ADDED", new), ("CHANGED", old), ("CHANGED", new)]
    await client.leave()
    house.assert_empty()


async def test_an_administrator_watches_everybodys_runs() -> None:
    """Without a user every run is told."""
    house = House()
    client = Client(house.watching.runs(RunQuery()))
    await quiet()
    runs = [house.open("alice"), house.open("bob")]
    await quiet()
    assert told(client) == [("ADDED", run_id) for run_id in runs]
    await client.leave()


async def test_runs_with_a_filter_tells_who_begins_and_ceases_to_match() -> None:
    """ADDED as a run begins to match, CHANGED while it does, REMOVED as it ceases to, nothing else."""
    house = House()
    there, idle = house.open(status=RunStatus.RUNNING), house.open()
    client = Client(house.watching.runs(replace(ALICE, status=(RunStatus.RUNNING, RunStatus.WAITING))))
    await quiet()
    for run_id, status in (
        (idle, RunStatus.RUNNING),
        (idle, RunStatus.WAITING),
        (idle, RunStatus.COMPLETED),
        (idle, RunStatus.IDLE),
        (there, RunStatus.FAILED),
        (there, RunStatus.RUNNING),
    ):
        house.change(run_id, status=status)
        await quiet()
    assert told(client) == [
        ("ADDED", idle),
        ("CHANGED", idle),
        ("REMOVED", idle),
        ("REMOVED", there),
        ("ADDED", there),
    ]
    await client.leave()


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (replace(ALICE, search="bear"), {"title": "A Bear"}),
        (replace(ALICE, metadata={"tag": 1}), {"metadata": {"tag": 1}}),
        (replace(ALICE, finish=(FinishReason.STUCK,)), {"finish": FinishReason.STUCK}),
    ],
)
async def test_what_can_change_may_begin_and_cease_to_match(query: RunQuery, values: dict[str, object]) -> None:
    """Whatever of a filter can change is followed."""
    house = House()
    run_id = house.open()
    client = Client(house.watching.runs(query))
    await quiet()
    house.change(run_id, **values)
    await quiet()
    house.change(run_id, title="x", metadata={}, finish=None)
    await quiet()
    assert told(client) == [("ADDED", run_id), ("REMOVED", run_id)]
    await client.leave()


async def test_a_filter_by_agent_or_parent_tells_no_others() -> None:
    """Runs of other agents are never told, neither old nor new ones."""
    house = House()
    old, other = house.open(), house.open(agent="other")
    client = Client(house.watching.runs(replace(ALICE, agent="other")))
    await quiet()
    house.change(old)
    house.change(other)
    house.open()
    new = house.open(agent="other")
    await quiet()
    assert sorted(told(client)) == [("ADDED", new), ("CHANGED", other)]
    await client.leave()


@pytest.mark.parametrize("query", [ALICE, replace(ALICE, status=(RunStatus.IDLE,))])
async def test_a_run_opened_while_the_watch_begins_is_new(query: RunQuery) -> None:
    """Whoever subscribes and starts a run at once is told that it was added."""
    for late in (False, True):
        house = House()
        house.open()
        client = Client(house.watching.runs(query))
        await asyncio.sleep(0)
        if late:
            house.rows.meanwhile = lambda house=house: house.open()  # type: ignore[misc] # bound here, in each round
        else:
            house.open()
        await quiet()
        assert [kind for kind, _ in told(client)] == ["ADDED"]
        await client.leave()


async def test_a_run_that_is_gone_is_removed() -> None:
    """Where a row has gone, who was shown it is told."""
    house = House()
    run_id = house.open()
    client = Client(house.watching.runs(ALICE))
    await quiet()
    del house.rows.runs[run_id]
    house.bell.ring(run_id, "alice")
    house.bell.ring("run_never_seen", "alice")
    await quiet()
    assert told(client) == [("REMOVED", run_id)]
    await client.leave()


async def test_old_runs_beyond_the_newest_are_known_without_their_names() -> None:
    """A long list costs little: a run far down it is still no new one."""
    house = House()
    runs = [house.open() for _ in range(150)]
    client = Client(house.watching.runs(ALICE))
    await quiet()
    for run_id in (runs[0], runs[49], runs[50], runs[51], runs[149]):
        house.change(run_id)
    await quiet()
    assert {kind for kind, _ in told(client)} == {"CHANGED"}
    await client.leave()


def test_a_long_watch_does_not_grow_without_end() -> None:
    """Runs that were told long ago are kept as older ones, not by name, and are told alike."""
    run = Run(id="", user_id="alice", agent="helper", status=RunStatus.IDLE, created_at=0, updated_at=0)
    runs = [replace(run, id=f"run_{number:08}") for number in range(3 * KEPT)]
    shown = _Shown(ALICE, [], "")
    assert {change.kind for run in runs if (change := shown.change(run.id, run))} == {"ADDED"}
    assert len(shown) <= KEPT
    for run in runs[:: KEPT // 7]:
        change = shown.change(run.id, replace(run, revision=2))
        assert change is not None
        assert change.kind == "CHANGED"


def test_a_long_filtered_watch_does_not_grow_either() -> None:
    """An older run that ceases to match is told as REMOVED; one that never could match is told of never."""
    run = Run(id="", user_id="alice", agent="helper", status=RunStatus.FAILED, created_at=0, updated_at=0)
    runs = [replace(run, id=f"run_{number:08}") for number in range(2 * KEPT)]
    shown = _Shown(RunQuery(agent="helper", status=(RunStatus.FAILED,)), [], "")
    assert {change.kind for run in runs if (change := shown.change(run.id, run))} == {"ADDED"}
    assert len(shown) <= KEPT
    oldest, newest = runs[0], runs[-1]
    for one in (oldest, newest):
        assert shown.change(one.id, replace(one, revision=2, status=RunStatus.RUNNING)) == RunChange(
            "REMOVED", one.id, None
        )
    assert shown.change(oldest.id, replace(oldest, revision=3, agent="other", status=RunStatus.RUNNING)) is None
    assert shown.change(newest.id, replace(newest, revision=3, status=RunStatus.RUNNING)) is None


async def test_a_filtered_list_is_begun_with_its_newest_runs_alone() -> None:
    """However many match: the older ones are known by their age."""
    house = House()
    runs = [house.open(status=RunStatus.RUNNING) for _ in range(KEPT + 30)]
    client = Client(house.watching.runs(RunQuery(status=(RunStatus.RUNNING,))))
    await quiet()
    for run_id in (runs[0], runs[-1]):
        house.change(run_id, title="changed")
        await quiet()
        house.change(run_id, status=RunStatus.COMPLETED)
        await quiet()
    assert told(client) == [(kind, run_id) for run_id in (runs[0], runs[-1]) for kind in ("CHANGED", "REMOVED")]
    await client.leave()


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(RunStatus), st.integers(0, 3)), max_size=30))
def test_a_filtered_list_kept_by_its_changes_is_always_right(moves: list[tuple[int, RunStatus, int]]) -> None:
    """Whoever queries once and applies every change holds exactly the runs that match, however fast they change."""

    async def play() -> None:
        house = House()
        runs = [house.open(status=RunStatus.RUNNING) for _ in range(4)]
        query = replace(ALICE, status=(RunStatus.RUNNING,))
        shown = {key for key, run in house.rows.runs.items() if query.matches(run)}
        client = Client(house.watching.runs(query))
        await quiet()
        for index, status, turns in moves:
            house.change(runs[index], status=status)
            for _ in range(turns):
                await asyncio.sleep(0)
        await quiet()
        for kind, run_id in told(client):
            assert (run_id in shown) == (kind != "ADDED")
            shown = shown - {run_id} if kind == "REMOVED" else shown | {run_id}
        assert shown == {key for key, run in house.rows.runs.items() if query.matches(run)}
        await client.leave()

    asyncio.run(play())
