"""Failures as clients see them: expected ones as data (UserError), the rest as top-level errors with a code."""

from __future__ import annotations

from typing import ClassVar

import strawberry
from graphql import GraphQLError
from strawberry.utils.str_converters import to_camel_case

from engine.errors import Refused
from schema.enums import ErrorCode

_JSON_ARGUMENTS = ("config", "options", "value")


class ApiError(GraphQLError):
    """A top-level error; `code` stands in its extensions, and the class's docstring is its message by default."""

    code: ClassVar[str]

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip(), extensions={"code": self.code})


class AgentRequiresUser(ApiError):
    """Sign in to do this: send `Authorization: Bearer <token>`."""

    code = "AGENT_REQUIRES_USER"


class BadUserInput(ApiError):
    """An argument is not acceptable."""

    code = "BAD_USER_INPUT"


class Forbidden(ApiError):
    """The viewer may not do this."""

    code = "FORBIDDEN"


class RunIsMissing(ApiError):
    """There is no such run."""

    code = "RUN_NOT_FOUND"


class RemoteIsMissing(ApiError):
    """There is no such remote."""

    code = "NOT_FOUND"


class ThreadIsMissing(ApiError):
    """There is no such thread."""

    code = "NOT_FOUND"


@strawberry.type(description="An expected failure of a mutation: what went wrong, and with which argument.")
class UserError:
    """One reason why a mutation did not do what it was asked."""

    code: ErrorCode = strawberry.field(description="The stable code that programs can rely on.")
    message: str = strawberry.field(description="The same in words, for people.")
    field: list[str] | None = strawberry.field(
        description='The path of the argument at fault, such as ["input", "runId"]; null where it is about none.'
    )


def user_errors(refused: Refused) -> list[UserError]:
    """The refusal as a payload's `errors`; its `field` is a path within the mutation's input object."""
    path = None if refused.field is None else ["input", *_path(refused.field)]
    return [UserError(code=refused.code, message=refused.message, field=path)]


def _path(field: tuple[str, ...]) -> list[str]:
    """The argument's path in the names of the schema; within a JSON value the names are the caller's own."""
    names = next((place + 1 for place, name in enumerate(field) if name in _JSON_ARGUMENTS), len(field))
    return [*(to_camel_case(name) for name in field[:names]), *field[names:]]
