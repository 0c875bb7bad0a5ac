"""The attachments of one process: taken from users, kept, read by their owners, and given to models."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from engine.attachments.checking import Checked, check_bounds, checked
from engine.attachments.expanding import GONE, TOO_MUCH, absent, fitting, references, replaced, whole
from engine.attachments.given import Given
from engine.errors import AttachmentRefused
from engine.files.store import FilesAway, FileStore
from engine.providers.provider import FailureKind, ProviderFailure
from engine.threads import run_in_thread
from engine.user import User
from models.attachment import PREFIX, Attachment
from models.clock import Clock
from models.ids import Ids
from models.uninterrupted import uninterrupted

log = logging.getLogger("steersman.attachments")
Rows: TypeAlias = Callable[[list[str]], Awaitable[dict[str, Attachment]]]
AT_ONCE = 2
"""How many inputs' attachments are decoded at once: one image may take a few hundred megabytes meanwhile."""
KEPT_CHARACTERS = 64_000_000
"""Characters of base64 that are kept for the next step of the same runs."""
AWAY = "The attachments can't be reached at the moment; try again soon."


class Attachments:
    """What is done with attachments, over one store of files."""

    def __init__(self, files: FileStore, clock: Clock, ids: Ids) -> None:
        self.files = files
        self._clock = clock
        self._ids = ids
        self._decoding = asyncio.Semaphore(AT_ONCE)
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._characters = 0

    async def check(self, given: Sequence[Given]) -> list[Checked]:
        """What was given, as a model can be given it; nothing is stored yet. Raises AttachmentRefused."""
        if not given:
            return []
        check_bounds(given)
        async with self._decoding:  # until the thread has ended, also where who asked goes away meanwhile
            return await uninterrupted(run_in_thread(lambda: checked(given), "attachments"))

    async def keep(self, user: User, found: Sequence[Checked]) -> tuple[Attachment, ...]:
        """Store the files, each once. The rows that name them are for the verb that is called next to write.

        Where that verb refuses, a file that no row names stays behind. Raises AttachmentRefused.
        """
        kept = [await self._keep(user, one) for one in found]
        return tuple(kept)

    async def _keep(self, user: User, found: Checked) -> Attachment:
        digest = found.sha256
        try:
            await self.files.put(digest, found.data)
        except FilesAway as error:
            log.exception("an attachment could not be stored")
            message = "The attachments can't be stored at the moment; try again soon."
            raise AttachmentRefused(message, field=("attachments",)) from error
        return Attachment(
            id=self._ids(PREFIX),
            user_id=user.id,
            sha256=digest,
            media_type=found.media_type,
            name=found.name,
            size=len(found.data),
            width=found.width,
            height=found.height,
            pages=found.pages,
            created_at=self._clock(),
        )

    async def expanded(self, turns: list[dict[str, Any]], rows: Rows) -> list[dict[str, Any]]:
        """The turns of a request with files in the place of references, as many as one request can carry.

        `rows` gives the attachments that the run's owner has, by id. What can't be given becomes a text that says so.
        Raises ProviderFailure, to be tried again, where the store can't be reached.
        """
        found = references(turns)
        if not found:
            return turns
        known = await rows(list(dict.fromkeys(found.values())))
        fits = fitting(found, known)
        try:
            blocks = {
                place: await self._block(turns[place[0]]["content"][place[1]], known.get(name), fits=place in fits)
                for place, name in found.items()
            }
        except FilesAway as error:
            raise ProviderFailure(FailureKind.ERROR, str(error), shown=AWAY, retryable=True, elsewhere=False) from error
        return replaced(turns, blocks)

    async def _block(self, block: dict[str, Any], attachment: Attachment | None, *, fits: bool) -> dict[str, Any]:
        if attachment is None:
            return absent(None, GONE)
        if not fits:
            return absent(attachment, TOO_MUCH)
        encoded = await self._encoded(attachment.sha256)
        return absent(attachment, GONE) if encoded is None else whole(block, attachment, encoded)

    async def _encoded(self, digest: str) -> str | None:
        """The file as base64: from memory where a step before this one had it."""
        if (kept := self._kept.get(digest)) is not None:
            self._kept.move_to_end(digest)
            return kept
        data = await self.files.get(digest)
        if data is None:
            return None
        encoded = await run_in_thread(lambda: base64.b64encode(data).decode("ascii"), "attachments")
        if digest not in self._kept:  # else another run has read it meanwhile
            self._kept[digest] = encoded
            self._characters += len(encoded)
        while self._characters > KEPT_CHARACTERS:
            _, dropped = self._kept.popitem(last=False)
            self._characters -= len(dropped)
        return encoded
