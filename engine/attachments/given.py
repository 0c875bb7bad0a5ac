"""What a caller gives, read without trust: base64, media type and name. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from engine.attachments.limits import GIF, JPEG, PDF, PNG, TAKEN, WEBP, encoded_length
from models.attachment import MAX_NAME
from models.text import clean

_ALIASES = {"image/jpg": JPEG, "image/pjpeg": JPEG, "image/x-png": PNG, "application/x-pdf": PDF}
# control characters, those that turn the direction of text, and what parts a path
_UNNAMED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_PDF_HEAD = 1_024  # bytes within which a PDF's mark stands


class NotTaken(Exception):
    """An attachment is not taken; the text says why, `about` names the part of it that is at fault."""

    def __init__(self, message: str, about: str = "data") -> None:
        super().__init__(message)
        self.about = about


@dataclass(frozen=True, slots=True)
class Given:
    """An attachment as it was given: base64 text, or bytes where code of this process gives it.

    `media_type` is what it is said to be; None leaves that to its content.
    """

    data: str | bytes
    media_type: str | None = None
    name: str | None = None

    @property
    def encoded_length(self) -> int:
        """Characters of base64, without decoding anything."""
        return len(self.data) if isinstance(self.data, str) else encoded_length(len(self.data))


def bytes_of(given: Given) -> bytes:
    """The content. Raises NotTaken where it is no strict base64, or empty."""
    if isinstance(given.data, bytes):
        data = given.data
    elif given.data.startswith("data:"):
        raise NotTaken("The data is a `data:` URL: send the base64 behind its comma alone.")
    else:
        try:
            data = base64.b64decode(given.data, validate=True)
        except (binascii.Error, ValueError):
            raise NotTaken("The data is not base64 (RFC 4648, with its padding, without line breaks).") from None
    if not data:
        raise NotTaken("The data is empty.")
    return data


def media_type_of(given: Given, data: bytes) -> str:
    """What the content is. Raises NotTaken where that is nothing that is taken, or not what it is said to be."""
    found = sniffed(data)
    if found is None:
        raise NotTaken(f"The data is none of {', '.join(TAKEN)}.")
    if given.media_type is not None:
        said = given.media_type.partition(";")[0].strip().lower()
        if _ALIASES.get(said, said) != found:
            raise NotTaken(f"The data is {found}, and mediaType says {said[:64]!r}.", "media_type")
    return found


def sniffed(data: bytes) -> str | None:
    """The media type that the content's first bytes tell, of those that are taken."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if data.startswith(b"\xff\xd8\xff"):
        return JPEG
    if data.startswith((b"GIF87a", b"GIF89a")):
        return GIF
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return WEBP
    return PDF if b"%PDF-" in data[:_PDF_HEAD] else None


def name_of(given: Given) -> str | None:
    """The file's name without the folders before it; None where it has none. Raises NotTaken."""
    if given.name is None:
        return None
    name = " ".join(_UNNAMED.sub(" ", clean(given.name)).replace("\\", "/").rpartition("/")[2].split())
    if len(name) > MAX_NAME:
        raise NotTaken(f"The name has more than {MAX_NAME} characters.", "name")
    return name or None
