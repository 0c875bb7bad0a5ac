"""The runs above one: each is told when something below it begins to wait for a person, or ceases to."""

from __future__ import annotations

from collections.abc import AsyncIterator

from engine.workshop import Workshop
from models.run import Run
from models.verbs.delegating import look_below
from models.verbs.row import Done, Holder


async def above(shop: Workshop, run: Run, holder: Holder) -> AsyncIterator[Done]:
    """Let each run above this one look at what is below it, from the nearest up; what became of each."""
    while run.parent_id is not None:
        named = {"run_id": run.parent_id, "next_stream": shop.ids("str")}
        done = await shop.store(look_below, **named, holder=holder, at=shop.clock())
        yield done
        run = done.run
