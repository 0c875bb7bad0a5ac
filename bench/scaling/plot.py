"""What a measured run is to do: it stands in the run's first input, and the model's stand-in follows it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Plot:
    """So many steps, each an answer of so many deltas; all but the last call `tool`.

    `size` is the characters of a delta, `pace` the milliseconds before each.
    """

    steps: int = 1
    deltas: int = 5
    size: int = 300
    pace: float = 0.0
    tool: str = "look_up"

    @property
    def input(self) -> str:
        """The run's first input."""
        return json.dumps(asdict(self))


def plot_of(text: str) -> Plot:
    """The plot at the beginning of an input; whatever was said later may follow it."""
    return Plot(**json.JSONDecoder().raw_decode(text)[0])
