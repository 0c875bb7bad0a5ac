"""Where each limit lies, for 10,000, 100,000 and a million runs at once: from measured costs, by queueing and sums.

    python -m bench.simulate [--write]

The costs are those of bench/costs.json, which `python -m bench.scaling --write` measures. What is asked, and what
machines can take, is assumed: see bench/simulation/load.py. The tables are those of docs/scaling.md; `--write` puts
them there.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from bench.processes import ROOT
from bench.scaling import summary
from bench.scaling.figures import Sheet, read_sheet
from bench.simulation import tables
from bench.simulation.costs import FILE, costs_of
from bench.simulation.load import Load, Machines, Plan

PAGE = ROOT / "docs/scaling.md"
_MADE = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def made(sheet: Sheet) -> dict[str, str]:
    """Every part of docs/scaling.md that is made from figures, by its name there."""
    costs, machines, load = costs_of(sheet), Machines(), Load(0)
    return {
        "conditions": summary.conditions(sheet),
        "hundred": summary.hundred_table(sheet),
        "costs": summary.costs_table(sheet),
        "rows": summary.rows_table(sheet),
        "signals": summary.signals_table(sheet),
        "others": summary.others_table(sheet),
        "limits": tables.limits_table(costs, machines, load, Plan()),
        "nodes": tables.nodes_table(costs, machines, load, Plan()),
        "stages": tables.stages_table(costs, machines, load),
        "needs": tables.needs_table(costs, machines, load),
        "storms": tables.storms_table(costs, machines),
    }


def filled(page: str, parts: dict[str, str]) -> str:
    """The page with its made parts made anew. Raises KeyError for a part that is not known."""
    return _MADE.sub(lambda found: f"{found[1]}{parts[found[2]]}\n{found[3]}", page)


def main() -> None:
    """Print all of it, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put it into docs/scaling.md")
    parser.add_argument("--costs", type=Path, default=FILE, help="the file of measured costs")
    options = parser.parse_args()
    parts = made(read_sheet(options.costs))
    if options.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")
    else:
        print("\n\n".join(f"<!-- made: {name} -->\n{text}\n<!-- end -->" for name, text in parts.items()))


if __name__ == "__main__":
    main()
