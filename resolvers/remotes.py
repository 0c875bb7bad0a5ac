"""Remotes: remotes, registerRemote, deleteRemote, answerRemoteCall, remoteCalls."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any

import strawberry

from engine.errors import NotFound, Refused
from models.enums import RemoteKind
from models.remote import Remote, RemoteCall, count_remotes, find_remotes
from schema.connections import After, Before, First, Last, Page, Paging, page
from schema.context import Info
from schema.errors import BadUserInput, RemoteIsMissing, user_errors
from schema.given import given
from schema.remote import (
    AnswerRemoteCallInput,
    AnswerRemoteCallPayload,
    DeleteRemoteInput,
    DeleteRemotePayload,
    RegisterRemoteInput,
    RegisterRemotePayload,
    as_remote,
)

UNSET: Any = strawberry.UNSET

Register = Annotated[RegisterRemoteInput, strawberry.argument(description="The remote to register.")]
Delete = Annotated[DeleteRemoteInput, strawberry.argument(description="Which remote to remove.")]
Answer = Annotated[AnswerRemoteCallInput, strawberry.argument(description="The answer.")]
WatchedRemote = Annotated[strawberry.ID, strawberry.argument(description="The client whose calls they are.")]


async def list_remotes(
    info: Info, first: First = UNSET, after: After = UNSET, last: Last = UNSET, before: Before = UNSET
) -> Page[Remote]:
    """A page of the remotes that the viewer may use, newest first. Raises BadUserInput."""
    paging, viewer = Paging(first, after, last, before), info.context.viewer
    return await page(info.context, "remotes", paging, find=find_remotes, count=count_remotes, of=viewer.id)


async def register_remote(info: Info, input: Register) -> RegisterRemotePayload:  # noqa: A002 - the argument's promised name
    """Register a remote."""
    context, tools = info.context, given(input.tools)
    try:
        remote = await context.engine.remotes.register(
            context.viewer,
            name=input.name,
            kind=RemoteKind(input.kind),
            url=given(input.url),
            tools=None if tools is None else [(one.name, one.description, one.input_schema) for one in tools],
        )
    except Refused as refused:
        return RegisterRemotePayload(remote=None, errors=user_errors(refused))
    return RegisterRemotePayload(remote=as_remote(remote), errors=[])


async def delete_remote(info: Info, input: Delete) -> DeleteRemotePayload:  # noqa: A002 - the argument's promised name
    """Remove a remote."""
    context = info.context
    try:
        deleted = await context.engine.remotes.delete(context.viewer, remote_id=input.id)
    except Refused as refused:
        return DeleteRemotePayload(deleted_id=None, errors=user_errors(refused))
    return DeleteRemotePayload(deleted_id=strawberry.ID(deleted), errors=[])


async def answer_remote_call(info: Info, input: Answer) -> AnswerRemoteCallPayload:  # noqa: A002 - the promised name
    """Answer a call that waits for a client."""
    context = info.context
    result, is_error = given(input.result), bool(given(input.is_error))
    try:
        accepted = await context.engine.remotes.answer_call(
            context.viewer, call_id=input.call_id, result=result, is_error=is_error
        )
    except Refused as refused:
        return AnswerRemoteCallPayload(accepted=False, errors=user_errors(refused))
    return AnswerRemoteCallPayload(accepted=accepted, errors=[])


async def watch_remote_calls(info: Info, remote_id: WatchedRemote) -> AsyncGenerator[RemoteCall, None]:
    """What waits for the client's answer, then each call that begins to. Raises RemoteIsMissing, BadUserInput."""
    context = info.context
    try:
        remote = await context.engine.remotes.of(context.viewer, remote_id)
    except NotFound:
        raise RemoteIsMissing from None
    if remote.kind is not RemoteKind.CLIENT:
        raise BadUserInput("An MCP server answers its calls itself.")
    return context.engine.remotes.calls(remote)
