"""Remote, its tools and its calls, with the inputs and payloads of what is done with them."""

from __future__ import annotations

from typing import Any, cast

import strawberry
from strawberry.scalars import JSON

from models.remote import Remote as RemoteRecord
from schema.context import Info
from schema.enums import RemoteKind
from schema.errors import UserError
from schema.node import Node
from schema.operations import ERRORS
from schema.scalars import DateTime

UNSET: Any = strawberry.UNSET


@strawberry.type(description="A tool that a remote offers.")
class RemoteTool:
    """Read from models.remote.RemoteTool."""

    name: str = strawberry.field(description="What the remote calls it; a model sees the remote's name before it.")
    description: str = strawberry.field(description="What a model reads of it.")
    input_schema: JSON = strawberry.field(description="The JSON schema of its arguments.")


def _connected(root: strawberry.Parent[RemoteRecord], info: Info) -> Any:
    return root.connected_until > info.context.engine.shop.clock()


@strawberry.type(
    description=(
        "Something connected that offers tools to runs of its owner: a client that answers `remoteCalls`, or an MCP "
        "server. Those that an administrator configured are everybody's."
    )
)
class Remote(Node):
    """Read from models.remote.Remote."""

    name: str = strawberry.field(description="Its name, the only one of its owner's.")
    kind: RemoteKind = strawberry.field(description="What it is.")
    connected: bool = strawberry.field(
        resolver=_connected,
        description=(
            "Whether it is there: a client from the beginning of a `remoteCalls` subscription until shortly after the "
            "last one's end, a server from its last answer until it fails."
        ),
    )
    tools: list[RemoteTool] = strawberry.field(description="What it offers.")


def as_remote(remote: RemoteRecord) -> Remote:
    """The record, which stands for its type: said to the type checker alone."""
    return cast(Remote, remote)


@strawberry.type(description="A tool call that waits for a client's answer; see `answerRemoteCall`.")
class RemoteCall:
    """Read from models.remote.RemoteCall."""

    id: strawberry.ID = strawberry.field(description="Its own id, which is not that of the tool call.")
    remote_id: strawberry.ID = strawberry.field(description="The remote that is to answer it.")
    run_id: strawberry.ID = strawberry.field(description="The run that waits.")
    tool: str = strawberry.field(description="The tool, by the name that the client gave it.")
    input: JSON = strawberry.field(description="The arguments, which fit the tool's schema.")
    deadline: DateTime = strawberry.field(description="Until when the answer counts; then the model reads of none.")


@strawberry.input(description="A tool that a client offers.")
class RemoteToolInput:
    """One tool of registerRemote."""

    name: str = strawberry.field(description="What the client calls it, in at most 200 characters.")
    description: str = strawberry.field(
        description="What a model should know of it, in at most 4,000 characters: what it does, when to use it."
    )
    input_schema: JSON = strawberry.field(
        description='The JSON schema of its arguments, with "type": "object"; arguments are checked against it.'
    )


@strawberry.input(description="The remote to register, in the place of the viewer's own of this name.")
class RegisterRemoteInput:
    """The input of registerRemote."""

    name: str = strawberry.field(description="What it is called, in at most 64 characters.")
    kind: RemoteKind = strawberry.field(description="What it is.")
    url: str | None = strawberry.field(
        description="Where an MCP server answers, over streamable HTTP: https://…; it is connected to at once.",
        default=UNSET,
    )
    tools: list[RemoteToolInput] | None = strawberry.field(
        description="What a client offers; an MCP server tells that itself.", default=UNSET
    )


@strawberry.type(description="What came of registerRemote.")
class RegisterRemotePayload:
    """The payload of registerRemote."""

    remote: Remote | None = strawberry.field(description="The remote; null where the mutation was refused.")
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="Which remote to remove.")
class DeleteRemoteInput:
    """The input of deleteRemote."""

    id: strawberry.ID = strawberry.field(description="The remote to remove; runs that wait for it read that it left.")


@strawberry.type(description="What came of deleteRemote.")
class DeleteRemotePayload:
    """The payload of deleteRemote."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="The id of the remote that is gone; null where the mutation was refused."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)


@strawberry.input(description="A client's answer to a call of `remoteCalls`.")
class AnswerRemoteCallInput:
    """The input of answerRemoteCall."""

    call_id: strawberry.ID = strawberry.field(description="The id of the call, as `remoteCalls` gave it.")
    result: JSON | None = strawberry.field(description="What the model reads: a text, or any JSON.", default=UNSET)
    is_error: bool | None = strawberry.field(
        description="Whether the result says why the call failed.",
        default=False,
    )


@strawberry.type(description="What came of answerRemoteCall.")
class AnswerRemoteCallPayload:
    """The payload of answerRemoteCall."""

    accepted: bool = strawberry.field(
        description="Whether this answer counts: false where the call was answered before, or does not wait any more."
    )
    errors: list[UserError] = strawberry.field(description=ERRORS)
