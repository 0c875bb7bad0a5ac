"""The inputs and payloads of the mutations on agents and their resources."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry.scalars import JSON

from schema.agent import Agent
from schema.errors import UserError
from schema.operations import ERRORS, KEY

UNSET: Any = strawberry.UNSET
_AGENT = "The agent as it is now; null where the mutation was refused."
_NAME = "What people call it, in at most 255 characters."
_HANDLE = "A name that no other agent here has: 1 to 64 small letters, digits, _ or -."
_DESCRIPTION = "What it is for, in at most 4,000 characters."
_PICTURE = "The address of its picture: https://…, or data:image/…."
_CONFIG = "Its configuration, an object with the kind's fields; checked against them."
_SHARED = (
    "The roles whose holders may see and run it, 20 at most; its configuration and its resources stay its owner's "
    "alone."
)


@strawberry.input(description="The agent to create.")
class CreateAgentInput:
    """The input of createAgent."""

    kind: str = strawberry.field(description="The identifier of its kind; see `agentKinds`.")
    name: str = strawberry.field(description=_NAME)
    handle: str | None = strawberry.field(description=_HANDLE, default=UNSET)
    description: str | None = strawberry.field(description=_DESCRIPTION, default=UNSET)
    picture: str | None = strawberry.field(description=_PICTURE, default=UNSET)
    config: JSON | None = strawberry.field(description=_CONFIG, default=UNSET)
    temporary: bool | None = strawberry.field(
        description="Whether it is only for now: gone a day after its last use, or when a lone process starts anew.",
        default=False,
    )
    shared_with: list[str] | None = strawberry.field(description=_SHARED, default=UNSET)
    main_chat_id: strawberry.ID | None = strawberry.field(
        description="A chat that the viewer is in, to be its main chat; without one it gets a chat of its own.",
        default=UNSET,
    )
    key: str | None = strawberry.field(description=KEY, default=UNSET)


@strawberry.type(description="What came of createAgent.")
class CreateAgentPayload:
    """The payload of createAgent."""

    agent: Agent | None = strawberry.field(description=_AGENT)
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="What to change of an agent: what is left out stays, null clears what may be left out.")
class UpdateAgentInput:
    """The input of updateAgent."""

    id: strawberry.ID = strawberry.field(description="The agent to change.")
    name: str | None = strawberry.field(description=_NAME, default=UNSET)
    handle: str | None = strawberry.field(description=_HANDLE, default=UNSET)
    description: str | None = strawberry.field(description=_DESCRIPTION, default=UNSET)
    picture: str | None = strawberry.field(description=_PICTURE, default=UNSET)
    config: JSON | None = strawberry.field(
        description="Its whole configuration, in the place of the old one; checked against the kind's fields.",
        default=UNSET,
    )
    shared_with: list[str] | None = strawberry.field(description=_SHARED, default=UNSET)


@strawberry.type(description="What came of updateAgent.")
class UpdateAgentPayload:
    """The payload of updateAgent."""

    agent: Agent | None = strawberry.field(description=_AGENT)
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="Which agent to remove.")
class DeleteAgentInput:
    """The input of deleteAgent."""

    id: strawberry.ID = strawberry.field(description="The agent to remove, with its resources; its runs stay.")


@strawberry.type(description="What came of deleteAgent.")
class DeleteAgentPayload:
    """The payload of deleteAgent."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="The id of the agent that is gone; null where the mutation was refused."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="A resource to write, in the place of the one with the same kind and key.")
class SetResourceInput:
    """The input of setResource."""

    agent_id: strawberry.ID = strawberry.field(description="The agent that it is for.")
    key: str = strawberry.field(description="Its name: 1 to 64 letters, digits, _ or -.")
    kind: str = strawberry.field(description='What its value is for: "tools" or "document".')
    value: JSON = strawberry.field(description="A tool's {type, config}, or a document's {title, text}.")


@strawberry.type(description="What came of setResource.")
class SetResourcePayload:
    """The payload of setResource."""

    agent: Agent | None = strawberry.field(description=_AGENT)
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="Which resource to remove.")
class DeleteResourceInput:
    """The input of deleteResource."""

    agent_id: strawberry.ID = strawberry.field(description="The agent that has it.")
    key: str = strawberry.field(description="Its key.")
    kind: str = strawberry.field(description="Its kind.")


@strawberry.type(description="What came of deleteResource.")
class DeleteResourcePayload:
    """The payload of deleteResource."""

    agent: Agent | None = strawberry.field(description=_AGENT)
    errors: list[UserError] = strawberry.field(description=ERRORS)
