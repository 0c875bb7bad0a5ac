"""Attachments over HTTP: each given to who may read its owner's runs, so that no browser runs what is in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from engine.engine import Engine
from engine.files.store import FilesAway
from engine.user import User
from models.attachment import PREFIX, Attachment, get_attachments
from models.ids import prefix_of
from schema.blocks import FILES
from steersman.auth import KeysUnavailable, SignIn, TokenRefused

POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
"""A file that a browser opens by itself runs nothing, loads nothing, and is of no origin."""
_SUFFIXES = {
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "application/pdf": (".pdf",),
}
_UNSAFE = re.compile(r'[^\w .()\[\]+@,-]|["\\\\]')


def route(sign_in: SignIn, engine: Callable[[], Engine]) -> BaseRoute:
    """The route of attachments, with the sign-in of the GraphQL endpoint; `engine` gives the open engine."""

    async def get(request: Request) -> Response:
        try:
            signed_in = await sign_in(request)
        except TokenRefused as error:
            return _refusal(str(error), 401, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
        except KeysUnavailable as error:
            return _refusal(str(error), 503, {"Retry-After": "5"})
        if signed_in is None:
            return _refusal("Sign in to read this: send `Authorization: Bearer <token>`.", 401, _BEARER)
        return await _given(request, signed_in.user, engine())

    return Route(f"{FILES}{{id:path}}", get, methods=["GET"])


_BEARER = {"WWW-Authenticate": "Bearer"}


async def _given(request: Request, user: User, engine: Engine) -> Response:
    """The user's own attachment, or an administrator's to read; missing and someone else's look the same."""
    identifier = request.path_params["id"]
    found = {}
    if prefix_of(identifier) == PREFIX:
        owner = None if engine.is_admin(user) else user.id
        found = await engine.database.read(get_attachments, [identifier], owner)
    attachment = found.get(identifier)
    if attachment is None:
        return _refusal("There is no such file.", 404)
    headers = headers_of(attachment)
    if _is_known(request.headers.get("if-none-match", ""), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    try:
        data = await engine.attachments.files.get(attachment.sha256)
    except FilesAway:
        return _refusal("Files can't be read at the moment; try again soon.", 503, {"Retry-After": "5"})
    if data is None:
        return _refusal("There is no such file.", 404)
    return Response(data, media_type=attachment.media_type, headers=headers)


def headers_of(attachment: Attachment) -> dict[str, str]:
    """What is told of a file beside its type. It never changes, but who may read it is asked each time."""
    shown = "inline" if attachment.media_type.startswith("image/") else "attachment"
    name = file_name(attachment)
    plain = name.encode("ascii", "replace").decode().replace("?", "_")
    return {
        "Content-Disposition": f"{shown}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": POLICY,
        "Cache-Control": "private, no-cache",
        "ETag": f'"{attachment.sha256}"',
        "Vary": "Authorization",
        "X-Content-Type-Options": "nosniff",
    }


def file_name(attachment: Attachment) -> str:
    """A name that is safe on every disk, and ends as its type does."""
    suffixes = _SUFFIXES.get(attachment.media_type, (".bin",))
    name = _UNSAFE.sub("_", attachment.name or attachment.id).strip(" .") or attachment.id
    if name.lower().endswith(suffixes):
        return name
    stem, dot, _ = name.rpartition(".")
    return f"{stem if dot and stem else name}{suffixes[0]}"


def _is_known(given: str, etag: str) -> bool:
    """Whether the client has the file already (RFC 9110 section 13.1.2)."""
    known = [one.strip().removeprefix("W/") for one in given.split(",")]
    return etag in known or "*" in known


def _refusal(message: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers=headers)
