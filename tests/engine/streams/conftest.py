"""A Redis of one's own, rows, and the check that nothing of a test is left in its process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.services import OwnRedis
from tests.support.teller import Book


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[OwnRedis]:
    """A Redis server for this test alone; afterwards no task is left."""
    async with OwnRedis(tmp_path) as server:
        yield server
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.fixture
def book() -> Book:
    """Rows in memory, which all nodes of a test read."""
    return Book()
