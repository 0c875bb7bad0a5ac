"""What a request asks for: query, variables, operationName, extensions, checked before anything is executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request

from models.text import clean, clean_json
from steersman.edge import MAX_BODY, MAX_BODY_OF_NOBODY
from steersman.graphql.encoding import NotJson, decode


class BadRequest(Exception):
    """The request is no GraphQL request; `status` is the HTTP status that says so."""

    def __init__(self, message: str, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        self.message = message
        self.status = status
        self.headers = dict(headers or {})
        super().__init__(message)


class NoOperation(BadRequest):
    """It is a request in its form, but nothing that could be executed."""


@dataclass(frozen=True, slots=True)
class Params:
    """One operation to run."""

    query: str
    variables: dict[str, Any] | None
    operation_name: str | None
    extensions: dict[str, Any] | None


async def read(request: Request, *, signed_in: bool) -> Params:
    """The parameters of a GET or POST request. Raises BadRequest."""
    if request.method == "GET":
        given: dict[str, Any] = dict(request.query_params)
        for name in ("variables", "extensions"):
            if given.get(name):
                given[name] = _json(given[name], f"`{name}`")
        return check({name: value for name, value in given.items() if value != ""})
    if request.method == "POST":
        _check_content_type(request.headers.get("content-type", ""))
        return check(_json(await _body(request, MAX_BODY if signed_in else MAX_BODY_OF_NOBODY), "the body"))
    raise BadRequest("Use POST, or GET for queries.", 405, {"Allow": "GET, POST"})


def check(given: Any) -> Params:
    """The parameters, their types checked and their text cleaned. Raises BadRequest, and NoOperation."""
    if isinstance(given, list):
        raise BadRequest("Batches are not taken: send one operation a request.")
    if not isinstance(given, dict):
        raise BadRequest("A request is a JSON object with `query`.")
    query = given.get("query")
    if not isinstance(query, str):
        raise BadRequest("`query` must be a GraphQL document, as a string.")
    if not query:
        raise NoOperation("`query` is empty: it must be a GraphQL document.")
    variables = _one_of(given, "variables", dict, "an object")
    try:
        variables = clean_json(variables)
    except RecursionError:
        raise NoOperation("`variables` are nested too deep.") from None
    return Params(
        clean(query),
        variables,
        _one_of(given, "operationName", str, "a string"),
        _one_of(given, "extensions", dict, "an object"),
    )


def _one_of(given: Mapping[str, Any], name: str, kind: type, words: str) -> Any:
    value = given.get(name)
    if value is not None and not isinstance(value, kind):
        raise BadRequest(f"`{name}` must be {words} or null.")
    return value


def _check_content_type(content_type: str) -> None:
    """JSON alone is taken: what a form or a script of another site can send without asking first is not."""
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    charset = next((part.partition("=")[2].strip('"') for part in parameters if part.startswith("charset=")), "utf-8")
    if kind != "application/json" or charset not in ("utf-8", "utf8"):
        raise BadRequest("The body must be JSON in UTF-8: `Content-Type: application/json`.", 415)


async def _body(request: Request, most: int) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise BadRequest(f"The body is over {most // (1024 * 1024)} MiB.", 413)
    except ClientDisconnect:  # no fault of this server, and nobody reads the answer
        raise BadRequest("The body was cut off.") from None
    return bytes(body)


def _json(text: str | bytes, what: str) -> Any:
    try:
        return decode(text)
    except NotJson:
        raise BadRequest(f"No JSON: {what}.") from None
