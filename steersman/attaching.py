"""Attachments as code of this process gives them: files by their paths, or bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.attachments.given import Given
from engine.attachments.limits import MAX_ENCODED, encoded_length
from engine.errors import AttachmentRefused
from engine.threads import run_in_thread


async def read_all(attachments: Sequence[Path | str | bytes]) -> list[Given]:
    """What is to be checked; a text is a path. Raises AttachmentRefused where a file can't be read."""
    if not attachments:
        return []
    return await run_in_thread(lambda: [_read(one, place) for place, one in enumerate(attachments)], "attachments")


def _read(attachment: Path | str | bytes, place: int) -> Given:
    if isinstance(attachment, bytes):
        return Given(attachment)
    path, field = Path(attachment), ("attachments", str(place))
    try:
        if encoded_length(path.stat().st_size) > MAX_ENCODED:
            raise AttachmentRefused(f"{path.name} is too large: at most {MAX_ENCODED * 3 // 4:,} bytes.", field=field)
        return Given(path.read_bytes(), name=path.name)
    except OSError as error:
        raise AttachmentRefused(f"{path} can't be read: {error.strerror or error}.", field=field) from error
