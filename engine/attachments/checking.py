"""All that is checked of an input's attachments before anything is stored: bounds first, then one after another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from engine.attachments.given import Given, NotTaken, bytes_of, media_type_of, name_of
from engine.attachments.images import fitted
from engine.attachments.limits import MAX_ATTACHMENTS, MAX_ENCODED, MAX_PAGES, PDF, encoded_length
from engine.errors import AttachmentRefused

FIELD = "attachments"


@dataclass(frozen=True, slots=True)
class Checked:
    """An attachment that a model can be given: `data` is what is stored and sent.

    `given_sha256` is the hash of what was given, the same whatever it was scaled down to.
    """

    data: bytes
    media_type: str
    name: str | None
    given_sha256: str
    width: int | None = None
    height: int | None = None
    pages: int | None = None

    @property
    def sha256(self) -> str:
        """The hash of what is stored, and its name there."""
        return hashlib.sha256(self.data).hexdigest()


def check_bounds(given: Sequence[Given]) -> None:
    """How many there are and how large, before anything is decoded. Raises AttachmentRefused."""
    if len(given) > MAX_ATTACHMENTS:
        message = f"There are {len(given)} attachments; at most {MAX_ATTACHMENTS} go with one input."
        raise AttachmentRefused(message, field=(FIELD,))
    _check_total(sum(one.encoded_length for one in given))


def checked(given: Sequence[Given]) -> list[Checked]:
    """Each as a model can be given it. Takes a while: not for the event loop. Raises AttachmentRefused."""
    found = [_checked(one, place) for place, one in enumerate(given)]
    _check_total(sum(encoded_length(len(one.data)) for one in found))
    if sum(one.pages or 0 for one in found) > MAX_PAGES:
        message = f"The PDFs have more than {MAX_PAGES} pages altogether; that many fit into one request to a model."
        raise AttachmentRefused(message, field=(FIELD,))
    return found


def _check_total(characters: int) -> None:
    if characters > MAX_ENCODED:
        message = (
            f"The attachments have {characters:,} characters of base64 in all; at most {MAX_ENCODED:,} (about "
            f"{MAX_ENCODED * 3 // 4_000_000} MB of files) go with one input."
        )
        raise AttachmentRefused(message, field=(FIELD,))


def _checked(given: Given, place: int) -> Checked:
    try:
        name, data = name_of(given), bytes_of(given)
        media_type = media_type_of(given, data)
        digest = hashlib.sha256(data).hexdigest()
        if media_type == PDF:
            from engine.attachments.documents import pages_of  # noqa: PLC0415 - its library is slow to load

            return Checked(data, media_type, name, digest, pages=pages_of(data))
        picture = fitted(data, media_type)
        return Checked(picture.data, picture.media_type, name, digest, picture.width, picture.height)
    except NotTaken as refused:
        raise AttachmentRefused(str(refused), field=(FIELD, str(place), refused.about)) from refused
