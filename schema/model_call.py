"""ModelCall: one call of the model."""

from __future__ import annotations

import strawberry

from schema.node import Node
from schema.scalars import DateTime
from schema.usage import Usage


@strawberry.type(description="One call of the model: what a run's usage is made of.")
class ModelCall(Node):
    """Read from models.model_call.ModelCall."""

    run_id: strawberry.ID = strawberry.field(description="The run that it belongs to.")
    step: int = strawberry.field(description="The step that it is for; steps count over the whole run, from 1.")
    attempt: int = strawberry.field(description="Which attempt at the step it is, from 1.")
    model: str = strawberry.field(description="The model that was asked.")
    usage: Usage = strawberry.field(description="What it used, by the provider's last figure.")
    stop_reason: str | None = strawberry.field(
        description="Why the model stopped, in the provider's word; null while it answers and where it was cut."
    )
    started_at: DateTime = strawberry.field(description="When the call was begun.")
    first_token_at: DateTime | None = strawberry.field(
        description="When the first of its text or reasoning came; null where there was none, or it is still to come."
    )
    finished_at: DateTime | None = strawberry.field(description="When it ended; null while it is under way.")
    request_id: str | None = strawberry.field(description="The provider's own id of the request, for its support.")
