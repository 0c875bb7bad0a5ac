"""Statistics: how runs have gone over a span of time."""

from __future__ import annotations

from typing import Any

import strawberry

from models import statistics as rows
from schema.scalars import DateTime
from schema.usage import Usage


@strawberry.type(description="What was begun in a time.")
class StatisticsFigures:
    """Read from models.statistics.Figures."""

    turns: int = strawberry.field(
        description="Turns, each where its last generation was begun; those that are under way or wait are among them. "
        "A turn that was retried counts again."
    )
    completed: int = strawberry.field(description="Those of them that the model has answered.")
    failed: int = strawberry.field(description="Those of them that have failed.")
    cancelled: int = strawberry.field(description="Those of them that were stopped.")
    calls: int = strawberry.field(description="Calls of models that were begun.")
    usage: Usage = strawberry.field(
        description="What these calls used, as far as it is known; what has no known price counts nothing of cost."
    )


def _to(root: strawberry.Parent[rows.Part]) -> Any:
    return root.end


def _from(root: strawberry.Parent[rows.Part]) -> Any:
    return root.start


@strawberry.type(description="One part of the span; all parts are equally long.")
class StatisticsPart:
    """Read from models.statistics.Part."""

    from_: DateTime = strawberry.field(resolver=_from, name="from", description="When it begins.")
    to: DateTime = strawberry.field(resolver=_to, description="When the next begins.")
    figures: StatisticsFigures = strawberry.field(description="What was begun in it.")


@strawberry.type(description="The runs of one agent, or of one user.")
class StatisticsGroup:
    """Read from models.statistics.Group."""

    name: str = strawberry.field(description="The agent's name or handle, or the user's id.")
    figures: StatisticsFigures = strawberry.field(description="What was begun of them.")


@strawberry.type(description="How long something took, over all of its times in the span.")
class StatisticsTimes:
    """Read from models.statistics.Percentiles."""

    count: int = strawberry.field(description="How many times there were.")
    p50: int | None = strawberry.field(
        description="Milliseconds that half of them took at most; null where there were none."
    )
    p95: int | None = strawberry.field(
        description="Milliseconds that 95 of a hundred took at most; null where there were none."
    )


@strawberry.type(description="How runs stand at this moment.")
class StatisticsPresent:
    """Read from models.statistics.Present."""

    queued: int = strawberry.field(description="Runs that no worker has taken yet.")
    running: int = strawberry.field(description="Runs that a worker works on.")
    waiting: int = strawberry.field(description="Runs that wait for a person or a client.")
    oldest_queued_at: DateTime | None = strawberry.field(
        description="Since when the first of those waits that no worker has taken; null where there are none."
    )


def _start(root: strawberry.Parent[rows.Statistics]) -> Any:
    return root.span.start


def _end(root: strawberry.Parent[rows.Statistics]) -> Any:
    return root.span.end


@strawberry.type(description="How runs have gone over a span of time.")
class Statistics:
    """Read from models.statistics.Statistics."""

    from_: DateTime = strawberry.field(resolver=_start, name="from", description="When the span begins.")
    to: DateTime = strawberry.field(resolver=_end, description="When it ends; what is begun then is not in it.")
    present: StatisticsPresent = strawberry.field(description="How runs stand now, whatever the span.")
    total: StatisticsFigures = strawberry.field(description="What was begun in the span.")
    parts: list[StatisticsPart] = strawberry.field(description="The same by time, the first part first.")
    agents: list[StatisticsGroup] = strawberry.field(description="The same by agent, the dearest first, 50 at most.")
    users: list[StatisticsGroup] | None = strawberry.field(
        description="The same by user, the dearest first, 50 at most; null where only the viewer's runs are looked at."
    )
    first_token: StatisticsTimes = strawberry.field(
        description="From asking a model for a step to the first of its text or reasoning."
    )
    step: StatisticsTimes = strawberry.field(description="From asking a model for a step to the end of its answer.")
