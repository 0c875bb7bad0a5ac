"""docs/scaling.md shows what its programs give."""

from __future__ import annotations

import re

from bench.scaling.figures import read_sheet
from bench.simulate import PAGE, filled, made
from bench.simulation.costs import FILE


def test_the_tables_of_the_page_are_those_of_the_kept_figures() -> None:
    """Whoever measures or simulates anew writes the page anew; nobody edits a table by hand."""
    page = PAGE.read_text(encoding="utf-8")
    parts = made(read_sheet(FILE))
    assert set(re.findall(r"<!-- made: (\w+) -->", page)) == parts.keys()
    assert filled(page, parts) == page


def test_filling_a_page_touches_its_made_parts_alone() -> None:
    """Empty ones too: what stands between two of them stays."""
    page = "one\n<!-- made: a -->\n<!-- end -->\ntwo\n<!-- made: b -->\nold\n<!-- end -->\nthree\n"
    told = filled(page, {"a": "A", "b": "B"})
    assert told == "one\n<!-- made: a -->\nA\n<!-- end -->\ntwo\n<!-- made: b -->\nB\n<!-- end -->\nthree\n"
    assert filled(told, {"a": "A", "b": "B"}) == told
