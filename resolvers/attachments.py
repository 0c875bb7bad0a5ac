"""Attachments as mutations are given them."""

from __future__ import annotations

from engine.attachments.given import Given
from schema.given import given
from schema.operations import AttachmentInput


def attachments_of(inputs: list[AttachmentInput] | None) -> list[Given]:
    """What is to be checked; nothing is decoded yet."""
    return [Given(one.data, one.media_type, given(one.name)) for one in given(inputs) or ()]
