"""Small files of every kind that can be attached, made anew for each test."""

from __future__ import annotations

import base64
import io
import random
from typing import Any

from PIL import Image
from pypdf import PdfWriter


def picture(kind: str = "PNG", size: tuple[int, int] = (40, 30), *, mode: str = "RGB", **options: Any) -> bytes:
    """An image of one colour."""
    return written(Image.new(mode, size, 3), kind, **options)


def noise(kind: str = "PNG", size: tuple[int, int] = (40, 30), *, mode: str = "RGB") -> bytes:
    """An image that no format makes small: the same for the same size."""
    channels = {"RGB": 3, "RGBA": 4, "L": 1}[mode]
    pixels = random.Random(7).randbytes(size[0] * size[1] * channels)  # noqa: S311 - no secret: it must be the same
    return written(Image.frombytes(mode, size, pixels), kind, **({"compress_level": 1} if kind == "PNG" else {}))


def written(image: Image.Image, kind: str, **options: Any) -> bytes:
    """The image in this format."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def pdf(pages: int = 1, *, password: str | None = None) -> bytes:
    """A PDF of so many empty pages."""
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(72, 72)
    if password is not None:
        writer.encrypt(password, algorithm="AES-256")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def encoded(data: bytes) -> str:
    """The content as base64, as clients send it."""
    return base64.b64encode(data).decode("ascii")
