"""Which tool calls a step's blocks are: read ahead, so that a transcript given message by message takes few reads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TypeAlias

from strawberry.dataloader import DataLoader

from models.call import calls_of_steps
from models.database import Database
from resolvers.batching import loaded

AHEAD = 50
"""How many steps are read at once where one is asked for."""
KEPT = 500
"""How many steps are remembered."""

Step: TypeAlias = tuple[str, int]


class CallIds:
    """The ids of steps' calls by index.

    They alone are remembered between reads: they are written together with the message that shows them, and never
    change.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[Step, Mapping[int, str]] = OrderedDict()
        self._loader: DataLoader[Step, Mapping[int, str]] = DataLoader(self._load, cache=False)

    async def of_step(self, run_id: str, step: int) -> Mapping[int, str]:
        """The ids of one step's calls by index; empty where it has none."""
        kept = self._kept.get((run_id, step))
        return await loaded(self._loader, (run_id, step)) if kept is None else kept

    async def _load(self, steps: list[Step]) -> list[Mapping[int, str]]:
        ahead = max(1, AHEAD // len(set(steps)))
        wanted = {(run_id, step + more) for run_id, step in steps for more in range(ahead)}
        calls = await self._database.read(calls_of_steps, sorted(wanted))
        found = {step: {call.index: call.id for call in made} for step, made in calls.items() if made}
        self._kept.update(found)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return [found.get(step, {}) for step in steps]
