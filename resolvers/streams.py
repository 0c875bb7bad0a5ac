"""What is live. Each subscription checks access before it begins, and hands on what engine/watching.py gives.

A resolver here returns the engine's own generator, so closing the subscription closes it. Dropping one cancels nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any

import strawberry

from engine.watching import RunChange
from models.events import StreamEvent
from models.message import Message
from models.run import Run
from resolvers.access import require_run, require_stream
from resolvers.runs import Filter, query_of
from schema.context import Info
from schema.errors import BadUserInput, RunIsMissing
from schema.given import given

UNSET: Any = strawberry.UNSET

WatchedId = Annotated[strawberry.ID, strawberry.argument(name="id", description="The run to watch.")]
WatchedRun = Annotated[strawberry.ID, strawberry.argument(description="The run to watch.")]
AfterSeq = Annotated[
    int | None, strawberry.argument(description="Only messages behind this `seq`; 0 for all from the beginning.")
]
StreamId = Annotated[strawberry.ID, strawberry.argument(description="The stream to follow: a run's `streamId`.")]
AfterEvent = Annotated[
    int | None, strawberry.argument(description="Only events behind this number; 0 for all from the beginning.")
]
StartStream = Annotated[
    strawberry.ID | None,
    strawberry.argument(description="The generation to begin with; the run's current or last one without it."),
]
AfterInStream = Annotated[
    int | None,
    strawberry.argument(
        description="Only events behind this number of `streamId`, which must be given then; 0 for all."
    ),
]


async def watch_run(info: Info, run_id: WatchedId) -> AsyncGenerator[Run, None]:
    """The run now, then at each change. Raises RunIsMissing."""
    await require_run(info.context, run_id)
    return info.context.engine.watching.run(run_id)


async def watch_runs(
    info: Info,
    filter: Filter = UNSET,  # noqa: A002 - the argument's promised name
) -> AsyncGenerator[RunChange, None]:
    """Every change of the runs that `list_runs` would list. Raises BadUserInput and Forbidden."""
    return info.context.engine.watching.runs(query_of(info.context, filter))


async def watch_messages(info: Info, run_id: WatchedRun, after_seq: AfterSeq = 0) -> AsyncGenerator[Message, None]:
    """Each message of a run once, in order. Raises BadUserInput and RunIsMissing."""
    start = _from(after_seq, "afterSeq")
    await require_run(info.context, run_id)
    return info.context.engine.watching.messages(run_id, start)


async def watch_stream(info: Info, stream_id: StreamId, after: AfterEvent = 0) -> AsyncGenerator[StreamEvent, None]:
    """One generation from a number on, to its end. Raises BadUserInput and RunIsMissing."""
    start = _from(after, "after")
    await require_stream(info.context, stream_id)
    return info.context.engine.watching.stream(stream_id, start)


async def watch_run_stream(
    info: Info, run_id: WatchedRun, stream_id: StartStream = UNSET, after: AfterInStream = 0
) -> AsyncGenerator[StreamEvent, None]:
    """One generation of a run and every later one. Raises BadUserInput and RunIsMissing."""
    start, first = _from(after, "after"), given(stream_id)
    if start and first is None:
        raise BadUserInput("`after` counts in a stream: give `streamId` too.")
    await require_run(info.context, run_id)
    if first is not None and (await require_stream(info.context, first)).run_id != run_id:
        raise RunIsMissing
    return info.context.engine.watching.run_stream(run_id, first, start)


def _from(number: int | None, name: str) -> int:
    if number is not None and number < 0:
        raise BadUserInput(f"`{name}` must not be negative.")
    return number or 0
