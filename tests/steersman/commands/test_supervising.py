"""Which changes start the development server anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from watchfiles import Change

from steersman.commands.supervising import SourceFilter


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("agents/support.py", True),
        ("agents/_helper.py", True),
        ("agents/library/page.md", True),
        ("agents/prompt.txt", True),
        ("agents/cache.db", False),
        ("agents/notes.db-wal", False),
        ("agents/__pycache__/support.cpython-311.pyc", False),
        ("agents/.support.py.swp", False),
        ("engine/worker.py", True),
        ("engine/providers/prices.json", False),
    ],
)
def test_what_people_write_counts_and_what_programs_write_does_not(tmp_path: Path, path: str, counts: bool) -> None:
    """A tool that keeps a file in the agents folder does not start the server anew for ever."""
    assert SourceFilter(tmp_path / "agents")(Change.modified, str(tmp_path / path)) is counts
