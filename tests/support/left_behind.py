"""A run that was opened, and that nobody works on."""

from __future__ import annotations

from models.clock import system_clock
from models.database import Database
from models.ids import Ids
from models.run import Run
from models.verbs.opening import NewRun, open_run
from models.verbs.row import Holder


async def leave_a_run(database: Database, agent: str) -> Run:
    """A run of alice's, free to take for whoever takes runs."""
    new = NewRun("alice", agent, "Talk")
    done, _ = await database.write(open_run, new=new, key=None, holder=Holder(), ids=Ids(), at=system_clock())
    return done.run
