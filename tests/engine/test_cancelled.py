"""The stop signal, from coroutines and from threads."""

from __future__ import annotations

import asyncio
import threading

from engine.cancelled import Cancelled


def test_it_is_true_once_it_is_set() -> None:
    """`if ctx.cancelled:` means what it says, and setting it twice changes nothing."""
    cancelled = Cancelled()
    assert not cancelled
    assert not cancelled.is_set()
    cancelled.set()
    cancelled.set()
    assert cancelled
    assert cancelled.is_set()
    assert cancelled.wait_sync(0)


async def test_all_who_wait_are_woken_whoever_sets_it() -> None:
    """A thread's set reaches coroutines, and threads that wait."""
    cancelled = Cancelled()
    waiting = [asyncio.create_task(cancelled.wait()) for _ in range(3)]
    thread = threading.Thread(target=cancelled.wait_sync)
    thread.start()
    await asyncio.sleep(0)
    threading.Thread(target=cancelled.set).start()
    assert await asyncio.gather(*waiting) == [True, True, True]
    await asyncio.to_thread(thread.join)
    assert await cancelled.wait()


async def test_waiting_ends_at_its_timeout() -> None:
    """It then says that nothing was set, in both worlds."""
    cancelled = Cancelled()
    assert await cancelled.wait(0.01) is False
    assert await asyncio.to_thread(cancelled.wait_sync, 0.01) is False


async def test_a_waiter_that_is_cancelled_leaves_nothing_behind() -> None:
    """A signal may be waited for a million times."""
    cancelled = Cancelled()
    task = asyncio.create_task(cancelled.wait())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert cancelled._waiters == set()


def test_a_waiter_whose_loop_is_gone_does_not_disturb_the_others() -> None:
    """A closed loop is nobody's business."""
    cancelled = Cancelled()
    loop = asyncio.new_event_loop()
    task = loop.create_task(cancelled.wait())
    loop.run_until_complete(asyncio.sleep(0))
    kept = set(cancelled._waiters)
    task.cancel()
    loop.run_until_complete(asyncio.wait({task}))
    loop.close()
    cancelled._waiters |= kept
    cancelled.set()
    assert cancelled.is_set()
