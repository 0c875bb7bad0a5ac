"""How runs have gone: one's own, and for administrators everybody's."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from models.statistics import Span, Statistics, statistics
from schema.context import Info
from schema.errors import BadUserInput, Forbidden
from schema.scalars import DateTime

From = Annotated[
    DateTime | None,
    strawberry.argument(name="from", description="When the span begins; a day before its end if left out."),
]
To = Annotated[DateTime | None, strawberry.argument(description="When it ends; now if left out.")]
Parts = Annotated[int, strawberry.argument(description="Into how many equal parts it is cut, 1 to 200.")]
Everyone = Annotated[
    bool,
    strawberry.argument(description="Look at the runs of all users, for holders of the administrators' role alone."),
]
UNSET: Any = strawberry.UNSET
DAY_MS = 86_400_000
LONGEST_MS = 92 * DAY_MS
MOST_PARTS = 200


async def get_statistics(
    info: Info, from_: From = UNSET, to: To = UNSET, parts: Parts = 24, everyone: Everyone = False
) -> Statistics:
    """The viewer's, or everybody's. Raises BadUserInput and Forbidden."""
    if everyone and not info.context.is_admin:
        raise Forbidden("Only administrators see the figures of all users.")
    end = info.context.clock() if to in (UNSET, None) else to
    start = end - DAY_MS if from_ in (UNSET, None) else from_
    if not 1 <= parts <= MOST_PARTS:
        raise BadUserInput(f"`parts` is 1 to {MOST_PARTS}, not {parts}.")
    if not start < end <= start + LONGEST_MS:
        raise BadUserInput("The span ends after it begins, and is 92 days long at most.")
    if end - start < parts:
        raise BadUserInput("The span has not as many milliseconds as it is to have parts.")
    span = Span(start, end, parts, None if everyone else info.context.viewer.id)
    return await info.context.loaders.read(statistics, span)
