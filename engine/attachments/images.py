"""Images: decoded once to be sure of them, and scaled down where a model would not be shown more of them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageOps

from engine.attachments.given import NotTaken
from engine.attachments.limits import (
    GIF,
    JPEG,
    LONG_SIDE,
    MAX_IMAGE_ENCODED,
    MAX_PIXELS,
    PNG,
    WEBP,
    encoded_length,
)

_FORMATS = {PNG: "PNG", JPEG: "JPEG", GIF: "GIF", WEBP: "WEBP"}
_QUALITIES = (90, 75, 50)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that a model can be shown; `width` and `height` are in pixels."""

    data: bytes
    media_type: str
    width: int
    height: int


def fitted(data: bytes, media_type: str) -> Picture:
    """The image as it is where the API takes it so, else scaled down to what it would show of it, and written anew.

    `media_type` is what the content was found to be: no other decoder is tried. Raises NotTaken where the image is
    broken, or so large that it is not even decoded.
    """
    image = _opened(data, media_type)
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise _too_large(f"It has {width:,} by {height:,} pixels")
    fits = max(width, height) <= LONG_SIDE and encoded_length(len(data)) <= MAX_IMAGE_ENCODED
    try:
        if not fits:
            image.draft("RGB", (LONG_SIDE, LONG_SIDE))  # a JPEG need not be decoded at its full size
        image.load()
        if fits:
            return Picture(data, media_type, width, height)
        image = _scaled(image)
        for kind, written in _written(image, media_type):
            if encoded_length(len(written)) <= MAX_IMAGE_ENCODED:
                return Picture(written, kind, *image.size)
    except Exception as error:  # the decoders raise whatever a broken file makes them stumble over
        raise _broken() from error
    raise NotTaken("The image is too large, and can't be made small enough.")


def _opened(data: bytes, media_type: str) -> Image.Image:
    try:
        return Image.open(io.BytesIO(data), formats=[_FORMATS[media_type]])
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _too_large("It has too many pixels") from None
    except Exception as error:  # as above
        raise _broken() from error


def _too_large(what: str) -> NotTaken:
    return NotTaken(f"{what}; at most {MAX_PIXELS:,} in all are taken. Scale the image down.")


def _broken() -> NotTaken:
    return NotTaken("The image is broken, or was cut off.")


def _scaled(image: Image.Image) -> Image.Image:
    """The first frame, upright, its long side within the limit, in a mode that every format can be written from."""
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith(("I", "F")):
        image = image.convert("F").point(lambda value: value / 256).convert("L")  # 16 bits a pixel to 8
    elif image.mode not in ("L", "RGB", "RGBA"):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    image.thumbnail((LONG_SIDE, LONG_SIDE), Image.Resampling.LANCZOS, reducing_gap=3.0)
    return image


def _written(image: Image.Image, media_type: str) -> Iterator[tuple[str, bytes]]:
    """The image in its own format where that keeps it whole, then ever smaller at the cost of quality."""
    if media_type in (PNG, GIF):
        yield PNG, _in_format(image, "PNG")
    lossy = WEBP if media_type == WEBP or image.mode == "RGBA" else JPEG
    for quality in _QUALITIES:
        yield lossy, _in_format(image, _FORMATS[lossy], quality=quality)


def _in_format(image: Image.Image, name: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, name, **options)
    return buffer.getvalue()
