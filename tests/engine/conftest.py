"""The stage that tests of the loop share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.stage import Stage, open_stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A database, a provider that plays scripts, and nodes that are opened on them; checked at the end."""
    async with open_stage(tmp_path) as stage:
        yield stage
