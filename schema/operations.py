"""The inputs and payloads of the mutations on runs."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry.scalars import JSON

from schema.enums import SteerMode
from schema.errors import UserError
from schema.overrides import RunOverridesInput
from schema.run import AgentRun
from schema.usage import BudgetInput

UNSET: Any = strawberry.UNSET

_RUN = "The run as it is now; null where the mutation was refused."
ERRORS = "Why the mutation was refused; empty where it was done."
KEY = (
    "The caller's own idempotency key: the same key with the same input gives the first answer again and does nothing "
    "twice. Kept for 24 hours at least."
)


_ATTACHMENTS = (
    "Images and PDFs that go with the input, before its text: 20 at most, with 28,000,000 characters of base64 in all."
)


@strawberry.input(description="An image (PNG, JPEG, GIF or WebP) or a PDF of at most 100 pages.")
class AttachmentInput:
    """One of the attachments of startRun and steerRun."""

    name: str | None = strawberry.field(
        description="The file's name: a document's title, and what the file is saved as.", default=UNSET
    )
    media_type: str = strawberry.field(description="What it is, such as image/png; the content must agree.")
    data: str = strawberry.field(description="The content as base64, with its padding and without line breaks.")


@strawberry.input(description="What to start: a new run, or the next turn of one.")
class StartRunInput:
    """The input of startRun."""

    agent: str = strawberry.field(
        description="The name of an agent that code defines, or the id or handle of one that is stored."
    )
    input: str = strawberry.field(description="What is said to the agent; not empty.")
    run_id: strawberry.ID | None = strawberry.field(
        description="The run to continue; where it is generating or waiting, the input is queued.", default=UNSET
    )
    title: str | None = strawberry.field(
        description="The run's title; cut from the first input where none is given. Replaces a continued run's.",
        default=UNSET,
    )
    attachments: list[AttachmentInput] | None = strawberry.field(description=_ATTACHMENTS, default=UNSET)
    metadata: JSON | None = strawberry.field(
        description=(
            "The caller's own tags, an object of at most 16 KB: shown on the run, filtered by in `runs`, never read by "
            "the engine. Replaces that of a continued run."
        ),
        default=UNSET,
    )
    budget: BudgetInput | None = strawberry.field(
        description=(
            "How much the turn that begins may spend, in the place of the agent's own budget. Where the input is "
            "queued, the turn under way keeps its own."
        ),
        default=UNSET,
    )
    overrides: RunOverridesInput | None = strawberry.field(
        description=(
            "What a run that begins has in its agent's place; for holders of a role that the server's settings name, "
            "else FORBIDDEN."
        ),
        default=UNSET,
    )
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of startRun.")
class StartRunPayload:
    """The payload of startRun."""

    run: AgentRun | None = strawberry.field(description=_RUN)
    queued: bool = strawberry.field(description="Whether the input waits behind a generation under way.")
    input_id: strawberry.ID | None = strawberry.field(
        description="The queued input's id, for `withdrawInput`; null where the input began a turn."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(
    description="What to say to a run. One that is neither RUNNING nor WAITING begins its next turn with it."
)
class SteerRunInput:
    """The input of steerRun."""

    run_id: strawberry.ID = strawberry.field(description="The run to steer.")
    input: str = strawberry.field(description="What is said to the agent; not empty.")
    mode: SteerMode | None = strawberry.field(
        description="How the input reaches a generation under way.", default=SteerMode.QUEUE
    )
    attachments: list[AttachmentInput] | None = strawberry.field(description=_ATTACHMENTS, default=UNSET)
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of steerRun.")
class SteerRunPayload:
    """The payload of steerRun."""

    run: AgentRun | None = strawberry.field(description=_RUN)
    queued: bool = strawberry.field(description="Whether the input waits behind a generation under way.")
    input_id: strawberry.ID | None = strawberry.field(
        description="The queued input's id, for `withdrawInput`; null where the input began a turn."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="Which queued input to take back.")
class WithdrawInputInput:
    """The input of withdrawInput."""

    run_id: strawberry.ID = strawberry.field(description="The run that it was sent to.")
    input_id: strawberry.ID = strawberry.field(
        description="The input's id, as `startRun`, `steerRun` and `pendingInput` give it."
    )


@strawberry.type(description="What came of withdrawInput.")
class WithdrawInputPayload:
    """The payload of withdrawInput."""

    run: AgentRun | None = strawberry.field(description=_RUN)
    withdrawn: bool = strawberry.field(
        description="Whether it was taken back; false where it is in the transcript by now, or interrupts."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="Which run to stop.")
class CancelRunInput:
    """The input of cancelRun."""

    run_id: strawberry.ID = strawberry.field(description="The run to stop.")
    reason: str | None = strawberry.field(description="Why, in words, for the record.", default=UNSET)


@strawberry.type(description="What came of cancelRun.")
class CancelRunPayload:
    """The payload of cancelRun."""

    run: AgentRun | None = strawberry.field(description=_RUN)
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(
    description="Which FAILED or CANCELLED run to go on with, from its last completed step, without new input."
)
class RetryRunInput:
    """The input of retryRun."""

    run_id: strawberry.ID = strawberry.field(description="The run to go on with.")
    budget: BudgetInput | None = strawberry.field(
        description="How much this turn may spend, in the place of the agent's own budget.", default=UNSET
    )
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of retryRun.")
class RetryRunPayload:
    """The payload of retryRun."""

    run: AgentRun | None = strawberry.field(description=_RUN)
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="Which run to copy, up to where, and how the copy goes on.")
class ForkRunInput:
    """The input of forkRun."""

    run_id: strawberry.ID = strawberry.field(description="The run to copy.")
    seq: int = strawberry.field(
        description=(
            "The `seq` of the last message to copy; moved back where it would part a tool call from its result."
        )
    )
    input: str | None = strawberry.field(
        description="What is said to the agent in the copy; without it the copy is IDLE.", default=UNSET
    )
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of forkRun.")
class ForkRunPayload:
    """The payload of forkRun."""

    run: AgentRun | None = strawberry.field(description="The new run; null where the mutation was refused.")
    errors: list[UserError] = strawberry.field(description=ERRORS)
