"""A server that speaks as much of S3 as a store of files asks for, on a real port; it checks every signature.

It stands in for a bucket: moto's server would do, but what it brings holds back packages that Steersman runs on.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import hashlib
import hmac
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.server import running

BUCKET = "attachments"
KEYS = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "a secret of the tests", "AWS_REGION": "eu-west-1"}
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>[^,]+), ?"
    r"SignedHeaders=(?P<names>[^,]+), ?Signature=(?P<sign>\w+)"
)


class S3:
    """One bucket: its objects by their keys."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    async def __call__(self, request: Request) -> Response:
        """Answer GET, HEAD and PUT of one object."""
        bucket, key = request.path_params["bucket"], request.path_params["key"]
        body = await request.body()
        if not _is_signed(request, body):
            return _error(403, "SignatureDoesNotMatch")
        if bucket != BUCKET:
            return _error(404, "NoSuchBucket")
        if request.method == "PUT":
            self.objects[key] = body
        elif key not in self.objects:
            return _error(404, "NoSuchKey")
        data = self.objects[key]
        headers = {"ETag": f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'}
        if request.method == "PUT":
            return Response(headers=headers)
        return Response(data, headers=headers | {"Last-Modified": "Mon, 30 Nov 2026 12:00:00 GMT"})


def _error(status: int, code: str) -> Response:
    return Response(
        f"<Error><Code>{code}</Code><Message>{code}</Message></Error>", status, media_type="application/xml"
    )


def _is_signed(request: Request, body: bytes) -> bool:
    """Whether it is signed with KEYS, the body included (AWS Signature Version 4)."""
    given = _AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
    if given is None or given["key"] != KEYS["AWS_ACCESS_KEY_ID"]:
        return False
    digest = request.headers["x-amz-content-sha256"]
    if digest != hashlib.sha256(body).hexdigest():
        return False
    headers = "".join(f"{name}:{request.headers[name].strip()}\n" for name in given["names"].split(";"))
    path, query = request.scope["raw_path"].decode(), request.scope["query_string"].decode()
    canonical = "\n".join([request.method, path, query, headers, given["names"], digest])
    what = [
        "AWS4-HMAC-SHA256",
        request.headers["x-amz-date"],
        given["scope"],
        hashlib.sha256(canonical.encode()).hexdigest(),
    ]
    key = f"AWS4{KEYS['AWS_SECRET_ACCESS_KEY']}".encode()
    for part in (*given["scope"].split("/"), "\n".join(what)):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.compare_digest(key.hex(), given["sign"])


@asynccontextmanager
async def s3_server() -> AsyncIterator[str]:
    """The server's address, with one bucket in it; KEYS must be in the environment of who asks it.

    It has a thread and a loop of its own, as a machine elsewhere would.
    """
    ready: concurrent.futures.Future[str] = concurrent.futures.Future()
    done = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(ready, done)), name="s3", daemon=True)
    thread.start()
    try:
        yield await asyncio.wrap_future(ready)
    finally:
        done.set()
        await asyncio.to_thread(thread.join)


async def _serve(ready: concurrent.futures.Future[str], done: threading.Event) -> None:
    app = Starlette(routes=[Route("/{bucket}/{key:path}", S3().__call__, methods=["GET", "HEAD", "PUT"])])
    async with running(app) as server:
        ready.set_result(server.url)
        await asyncio.to_thread(done.wait)
