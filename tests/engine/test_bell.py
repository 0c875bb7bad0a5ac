"""The bell: ids only, gathered, and nothing left behind."""

from __future__ import annotations

import asyncio

import pytest

from engine.streams.bell import Bell


async def test_a_listener_hears_what_it_asked_for() -> None:
    """One run, a user's runs, or every run."""
    bell = Bell()
    with (
        bell.listen(run_id="run_1") as one,
        bell.listen(user_id="alice") as hers,
        bell.listen() as every,
        bell.listen(run_id="run_1", user_id="bob") as both,
    ):
        bell.ring("run_1", "alice")
        bell.ring("run_2", "alice")
        bell.ring("run_3", "bob")
        assert await one.wait() == {"run_1"}
        assert await hers.wait() == {"run_1", "run_2"}
        assert await every.wait() == {"run_1", "run_2", "run_3"}
        assert both.take() == frozenset()


async def test_rings_are_gathered_between_two_waits() -> None:
    """However often a run rang, it is told once; what was told is not told again."""
    bell = Bell()
    with bell.listen(user_id="alice") as listener:
        for _ in range(100):
            bell.ring("run_1", "alice")
        assert await listener.wait() == {"run_1"}
        assert listener.take() == frozenset()
        bell.ring("run_1", "alice")
        assert listener.take() == {"run_1"}


async def test_a_ring_while_nobody_waits_is_kept() -> None:
    """A change that comes while rows are being read is heard at the next wait."""
    bell = Bell()
    with bell.listen(run_id="run_1") as listener:
        waiting = asyncio.create_task(listener.wait())
        await asyncio.sleep(0)
        bell.ring("run_1", "alice")
        bell.ring("run_1", "alice")
        assert await waiting == {"run_1"}
        bell.ring("run_1", "alice")
        assert await listener.wait() == {"run_1"}


async def test_a_ring_wakes_whoever_waits_even_if_it_then_stops() -> None:
    """A cancelled wait loses no mark."""
    bell = Bell()
    with bell.listen(run_id="run_1") as listener:
        waiting = asyncio.create_task(listener.wait())
        await asyncio.sleep(0)
        bell.ring("run_1", "alice")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert listener.take() == {"run_1"}


async def test_who_has_left_leaves_nothing() -> None:
    """Listeners go when they are left, however that comes about, and none is there before it is entered."""
    bell = Bell()
    bell.listen(run_id="run_1")
    assert len(bell) == 0
    with bell.listen(run_id="run_1"), bell.listen(run_id="run_1"):
        assert len(bell) == 2
    assert len(bell) == 0
    assert bell._listeners == {}
    bell.ring("run_1", "alice")


async def test_one_task_at_a_time_waits() -> None:
    """A second wait is a mistake, and says so."""
    with Bell().listen() as listener:
        first = asyncio.create_task(listener.wait())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError):
            await listener.wait()
        first.cancel()
