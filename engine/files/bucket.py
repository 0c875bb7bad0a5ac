"""Files in a bucket that speaks S3: the one file that knows its client."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from engine.files.store import FilesAway, unchanged
from engine.threads import run_in_thread

T = TypeVar("T")
log = logging.getLogger("steersman.files")
_NOTHING = "0" * 64
"""The name of a file that is not there: a bucket that answers says so."""


class Bucket:
    """A bucket, or a folder in one: `s3://bucket/folder`.

    `endpoint` is where a store that is not Amazon's own answers. Keys and region are read from the environment as all
    clients of S3 do: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, or the machine's role. The client is asked
    from threads: its own coroutines are ended by threads of its own, which abort a process that ends meanwhile.
    """

    def __init__(self, url: str, endpoint: str | None = None) -> None:
        self.url = url
        named = {} if endpoint is None else {"endpoint": endpoint}
        self._store = S3Store.from_url(
            url,
            config=named,  # type: ignore[arg-type]  # a TypedDict with one key or none
            client_options={
                "allow_http": endpoint is not None and endpoint.startswith("http:"),
                "connect_timeout": timedelta(seconds=5),
                "timeout": timedelta(seconds=60),
            },
            retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=20)},
        )

    async def put(self, digest: str, data: bytes) -> None:
        """See FileStore. A bucket shows an object once all of it is there."""
        await self._asked(lambda: self._put(digest, data))

    async def get(self, digest: str) -> bytes | None:
        """See FileStore."""
        data = await self._asked(lambda: self._get(digest))
        if data is None or unchanged(digest, data):
            return data
        log.error("the object %s of %s is not what it was stored as; it counts as gone", _key(digest), self.url)
        return None

    async def problem(self) -> str | None:
        """See FileStore."""
        try:
            await self.get(_NOTHING)
        except FilesAway as error:
            return str(error)
        return None

    async def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return await run_in_thread(ask, "files")
        except (BaseError, OSError) as error:
            words = " ".join(str(error).partition("Debug source")[0].split())[:300]
            raise FilesAway(f"The bucket {self.url} can't be used: {words}") from error

    def _put(self, digest: str, data: bytes) -> None:
        if not self._has(digest, len(data)):
            obstore.put(self._store, _key(digest), data)

    def _has(self, digest: str, size: int) -> bool:
        try:
            return obstore.head(self._store, _key(digest))["size"] == size
        except FileNotFoundError:
            return False

    def _get(self, digest: str) -> bytes | None:
        try:
            return bytes(obstore.get(self._store, _key(digest)).bytes())
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise
            return None


def _key(digest: str) -> str:
    return f"{digest[:2]}/{digest}"
