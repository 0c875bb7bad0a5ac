"""The README's picture of a run's life is the table that the code obeys."""

from __future__ import annotations

from models.diagram import mermaid
from models.transitions import TRANSITIONS
from tests.support.markdown import blocks
from tests.support.project import ROOT


def test_the_state_diagram_is_drawn_from_the_transition_table() -> None:
    """Made anew by `python -m models.diagram`."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [block.text for block in blocks(readme) if block.info == "mermaid"] == [mermaid()]


def test_every_move_to_another_status_is_drawn() -> None:
    """What is left out of the picture changes no status."""
    drawn = mermaid()
    for verb, moves in TRANSITIONS.items():
        for before, afters in moves.items():
            for after in afters - {before}:
                (line,) = [line for line in drawn.splitlines() if f"{before or '[*]'} --> {after}:" in line]
                assert verb in line.partition(": ")[2].split(", ")
