"""The hammer: forty tasks call all verbs on six runs, and every invariant holds."""

from __future__ import annotations

import pytest

from tests.models.hammer import Hammer
from tests.support.desk import Desk

OPERATIONS = {"sqlite": 3_000, "postgresql": 2_000}


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_input_is_lost_and_no_run_stranded_however_verbs_fall_together(
    desk: Desk, kind: str, seed: int
) -> None:
    """No input lost or doubled, seq gap-free, one writer a fence, numbers rising, one result a stream, pairs whole."""
    hammer = Hammer(desk, seed=seed, tasks=40, runs=6, operations=OPERATIONS[kind])
    await hammer.run()
    done = hammer.record.counts
    for verb in ("append_answer", "append_results", "start_call", "finish_call", "settle", "begin_step", "announce"):
        assert done[verb] > 0
    assert done["fence refused"] > 0
