"""The measurement of docs/scaling.md works, on a PostgreSQL and a Redis of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from bench.scaling.figures import Sheet, read_sheet
from bench.simulate import made
from bench.simulation.costs import FILE, Costs
from tests.support.project import ROOT

GUARD = 1_100.0
"""Seconds after which a measurement that hangs is ended; far above what even a busy machine needs."""


@pytest.mark.service
async def test_everything_that_the_page_shows_can_be_measured(tmp_path: Path) -> None:
    """A quick measurement of real processes ends with every figure, and the page can be made from them."""
    file = tmp_path / "costs.json"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.scaling", "--quick", "--write", str(file)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(GUARD):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    assert process.returncode == 0, output.decode()
    sheet = read_sheet(file)
    assert {field.name for field in fields(Costs)} <= sheet.figures.keys()
    assert all(made(sheet).values())
    assert sheet.figures.keys() == read_sheet(FILE).figures.keys()
    for name in ("cancel_p50_bell", "cancel_p50_poll", "worker_step", "postgres_step", "redis_write", "claims"):
        assert sheet[name] > 0, name


def test_figures_are_kept_as_they_were(tmp_path: Path) -> None:
    """What is written can be read again; noise below nothing counts as nothing."""
    sheet = Sheet({"cores": "2"})
    sheet.add("one", 1234.5, "µs", "what", "how")
    sheet.add("none", -3.0, "µs", "what", "how")
    sheet.write(tmp_path / "costs.json")
    assert read_sheet(tmp_path / "costs.json") == sheet
    assert (sheet["one"], sheet["none"]) == (1230.0, 0.0)
    assert json.loads((tmp_path / "costs.json").read_text(encoding="utf-8"))["conditions"] == {"cores": "2"}
