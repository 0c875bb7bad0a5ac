"""compact: from now on the run's requests are built from less than its whole transcript."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from models.compaction import Compacted, get_compaction, insert_compaction
from models.events import ContextCompacted
from models.usage import Usage
from models.verbs.journal import Journal, told_before
from models.verbs.row import Done, Numbers, change_run, fenced
from models.verbs.subcalling import finish_subcall


@dataclass(frozen=True, slots=True)
class SummedUp:
    """How the model call ended that wrote a summary; `model` is the name that the provider gave it."""

    usage: Usage
    model: str
    stop_reason: str | None
    request_id: str | None


def compact(
    c: Connection,
    *,
    run_id: str,
    fence: int,
    compaction: Compacted,
    numbers: Numbers,
    at: int,
    summed_up: SummedUp | None = None,
) -> Done:
    """Store a compaction with its event, and close the model call that wrote its summary, where one did.

    The transcript is not touched. Repeated, it finds its own row. Raises LeaseLost.
    """
    run = fenced(c, run_id, fence)
    if get_compaction(c, compaction.id) is not None:
        events, left = told_before(c, numbers)
        return Done(run, left, events)
    if compaction.model_call_id is not None and summed_up is not None:
        finish_subcall(
            c,
            model_call_id=compaction.model_call_id,
            usage=summed_up.usage,
            model=summed_up.model,
            stop_reason=summed_up.stop_reason,
            request_id=summed_up.request_id,
            at=at,
        )
    insert_compaction(c, compaction)
    journal = Journal(c, numbers, at)
    journal.add(
        ContextCompacted,
        run.steps + 1,
        run.attempt if run.step > run.steps else 1,
        tokens_before=compaction.tokens_before,
        tokens_after=compaction.tokens_after,
    )
    run = change_run(c, "compact", run, at)
    return Done(run, journal.write(), tuple(journal.events))
