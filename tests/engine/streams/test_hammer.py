"""The hammer: streams on three nodes of one Redis, through all that may happen to it, for a few seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.streams.hammer import hammer

pytestmark = pytest.mark.service


@pytest.mark.parametrize(("seed", "kills"), [(1, False), (2, True)], ids=["emptied", "killed"])
async def test_every_viewer_on_every_node_ends_with_what_the_rows_hold(tmp_path: Path, seed: int, kills: bool) -> None:
    """Through takeovers, late writers, lost ends, reconnects, and a Redis that is emptied, cut, stalled or killed."""
    counts = await hammer(5.0, seed, kills=kills, folder=tmp_path)
    for what in ("streams", "clients", "takeovers", "late events", "reconnects", "lost ends"):
        assert counts[what] > 0
