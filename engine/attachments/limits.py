"""What the Messages API takes, and what is taken here so that no request comes to be refused there."""

from __future__ import annotations

PNG, JPEG, GIF, WEBP, PDF = "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"
TAKEN = (PNG, JPEG, GIF, WEBP, PDF)
"""The media types that are taken."""

MAX_ATTACHMENTS = 20
"""How many go with one input."""
MAX_ENCODED = 28_000_000
"""Characters of base64 that one input's attachments have, and those of one request to a model.

The API takes requests of 32 MB; what is left is for the text, the tools and the system prompt.
"""
MAX_IMAGE_ENCODED = 5 * 1024 * 1024
"""Characters of base64 that one image has when it is sent: it is these that the API counts."""
MAX_PIXELS = 40_000_000
"""Pixels of an image that is decoded here; one that has more is refused by what its head says."""
LONG_SIDE = 1_568
"""Pixels of an image's long side beyond which the API scales it down itself."""
MAX_PAGES = 100
"""Pages of the PDFs in one request."""
MAX_IN_REQUEST = 100
"""Images and PDFs in one request."""


def encoded_length(size: int) -> int:
    """How many characters of base64 so many bytes become."""
    return (size + 2) // 3 * 4
