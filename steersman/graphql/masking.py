"""What a client reads of an error: expected ones as they are, each with a code; of a defect nothing but an id.

The code in `extensions` tells them apart: GRAPHQL_PARSE_FAILED, GRAPHQL_VALIDATION_FAILED, BAD_USER_INPUT,
TOO_COMPLEX, UNAVAILABLE, whatever code an error was raised with, and INTERNAL for everything else. An INTERNAL error
names the request's id, under which the log has its cause.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLError, GraphQLSyntaxError
from graphql.language import VariableDefinitionNode
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError

from engine.errors import Refused
from models.away import DatabaseAway
from steersman.log import new_request_id, request_id

logger = logging.getLogger("steersman.graphql")

VALIDATION_FAILED = "GRAPHQL_VALIDATION_FAILED"
# graphql-core's own words where a document is over its limits, and for an argument that a variable left empty.
_OVER_LIMITS = ("Syntax Error: Document contains more than", "Syntax Error: Document is nested too deeply")
_BAD_ARGUMENT = "Argument '"


@dataclass(frozen=True, slots=True)
class Public:
    """An error's code and message as clients may read them."""

    code: str
    message: str


def mask(errors: Sequence[GraphQLError]) -> list[dict[str, Any]]:
    """The errors as a response carries them; defects are logged here, and nowhere else."""
    return [_formatted(error) for error in errors]


def defect(error: Exception) -> dict[str, Any]:
    """An exception that nobody expected, as a response carries it."""
    coerced = error if isinstance(error, GraphQLError) else GraphQLError(str(error), original_error=error)
    return _formatted(coerced)


def _formatted(error: GraphQLError) -> dict[str, Any]:
    public = _public(error)
    extensions: dict[str, Any] = {"code": public.code} if public else _internal(error)
    if public and error.extensions and not error.original_error:
        extensions = {**error.extensions, "code": public.code}
    formatted: dict[str, Any] = {"message": public.message if public else _INTERNAL_MESSAGE}
    if error.locations:
        formatted["locations"] = [location.formatted for location in error.locations]
    if error.path is not None:
        formatted["path"] = error.path
    return {**formatted, "extensions": extensions}


_UNAVAILABLE_MESSAGE = (
    "The server can't reach its database just now, so nobody knows whether this was done. Ask again; what changes "
    "something is safe to ask again with the key that it was given."
)
_INTERNAL_MESSAGE = "Something went wrong on our side. The server's log has it under the request's id."


def _internal(error: GraphQLError) -> dict[str, Any]:
    cause = error.original_error or error
    named = request_id.get() or new_request_id()
    details = {"path": error.path, "request_id": named}
    logger.error("a request failed: %s", type(cause).__name__, exc_info=cause, extra=details)
    return {"code": "INTERNAL", "requestId": named}


def _public(error: GraphQLError) -> Public | None:
    """The error as clients may read it; None for a defect."""
    if isinstance(error, GraphQLSyntaxError):
        code = "TOO_COMPLEX" if error.message.startswith(_OVER_LIMITS) else "GRAPHQL_PARSE_FAILED"
        return Public(code, error.message)
    raised = _raised(error)
    if isinstance(raised, CannotGetOperationTypeError):
        name = raised.operation_name
        return Public(
            "BAD_USER_INPUT",
            "The document has no operation to run."
            if name is None
            else f"The document has no operation named {name!r}.",
        )
    if isinstance(raised, InvalidOperationTypeError):
        return Public("BAD_USER_INPUT", "GET is for queries and subscriptions: send mutations by POST.")
    if isinstance(raised, DatabaseAway):
        logger.warning("a request could not be answered: %s", raised, exc_info=raised)
        return Public("UNAVAILABLE", _UNAVAILABLE_MESSAGE)
    if isinstance(raised, Refused):
        return Public(raised.code.value, raised.message)
    if isinstance(raised, GraphQLError):
        coded: Any = (raised.extensions or {}).get("code")
        if isinstance(coded, str):
            return Public(coded, raised.message)
        # A request error: variables that can't be coerced, an operation that can't be chosen.
        if error.path is None or raised.message.startswith(_BAD_ARGUMENT):
            return Public("BAD_USER_INPUT", raised.message)
    return None


def _raised(error: GraphQLError) -> BaseException:
    """What was raised before it was given a place in the document and in the response."""
    cause: BaseException = error
    while isinstance(cause, GraphQLError) and cause.original_error is not None:
        if _is_of_variable(cause):
            return GraphQLError(cause.message)
        cause = cause.original_error
    return cause


def _is_of_variable(error: GraphQLError) -> bool:
    """Whether it tells of a variable's value: then its cause is the scalar's own refusal, told to the client anyway."""
    return error.path is None and any(isinstance(node, VariableDefinitionNode) for node in error.nodes or ())
