"""add_tools: tools for a run of its own, beside its agent's, before or while it works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from models.overrides import Overrides, RunTool
from models.verbs.errors import TooMany
from models.verbs.row import Done, change_run, lock


def add_tools(c: Connection, *, run_id: str, tools: Sequence[RunTool], most: int, at: int) -> Done:
    """Give the run these tools, each in the place of one that was added under its name before.

    A run at work has them from its next request on. Raises RunMissing, and TooMany beyond `most` in all.
    """
    run, _ = lock(c, run_id)
    before = run.overrides or Overrides()
    added = {one.name: one for one in (*before.added, *tools)}
    if len(added) > most:
        raise TooMany(run_id)
    after = replace(before, added=tuple(added.values()))
    if after == before:
        return Done(run)
    return Done(change_run(c, "add_tools", run, at, overrides=after))
