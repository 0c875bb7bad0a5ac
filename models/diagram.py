"""The transition table as a picture; `python -m models.diagram` prints what stands in the README."""

from __future__ import annotations

import sys

from models.transitions import TRANSITIONS


def mermaid() -> str:
    """The statuses and the verbs that lead from one to another, as a Mermaid state diagram.

    Verbs that never change a status are left out; of the others every move is drawn, also that which stays.
    """
    edges: dict[tuple[str, str], list[str]] = {}
    for verb, moves in TRANSITIONS.items():
        if all(after == {before} for before, after in moves.items()):
            continue
        for before, afters in moves.items():
            for after in sorted(afters):
                edges.setdefault((before or "[*]", after), []).append(verb)
    lines = [f"    {before} --> {after}: {', '.join(verbs)}" for (before, after), verbs in edges.items()]
    return "\n".join(["stateDiagram-v2", *lines]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(mermaid())
