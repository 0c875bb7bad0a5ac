"""References in a transcript, and what a model is given in their place. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.attachments.limits import MAX_ENCODED, MAX_IN_REQUEST, MAX_PAGES, encoded_length
from models.attachment import Attachment, reference_in
from models.content import input_block

Block = dict[str, Any]
Turn = dict[str, Any]
Place = tuple[int, int]
"""A turn's number, and its block's."""

GONE = "its file is gone"
TOO_MUCH = "the conversation has more attachments than one request to a model can carry, and newer ones go first"


def references(turns: Sequence[Turn]) -> dict[Place, str]:
    """The ids of the attachments that the users' turns refer to, by turn and block, in order."""
    return {
        (number, place): identifier
        for number, turn in enumerate(turns)
        if turn["role"] == "user" and isinstance(turn["content"], list)
        for place, block in enumerate(turn["content"])
        if (identifier := reference_in(block)) is not None
    }


def fitting(found: Mapping[Place, str], known: Mapping[str, Attachment]) -> set[Place]:
    """Those of the references that one request can carry altogether: from the newest back, as far as there is room."""
    return set(_from_newest(found, known))


def _from_newest(found: Mapping[Place, str], known: Mapping[str, Attachment]) -> Iterator[Place]:
    characters = pages = 0
    for count, place in enumerate(reversed([place for place, name in found.items() if name in known]), start=1):
        attachment = known[found[place]]
        characters += encoded_length(attachment.size)
        pages += attachment.pages or 0
        if count > MAX_IN_REQUEST or characters > MAX_ENCODED or pages > MAX_PAGES:
            return
        yield place


def replaced(turns: Sequence[Turn], blocks: Mapping[Place, Block]) -> list[Turn]:
    """The turns with other blocks in these places; what was given stays as it is."""
    return [
        turn
        if not any(number == changed for changed, _ in blocks)
        else turn | {"content": [blocks.get((number, place), old) for place, old in enumerate(turn["content"])]}
        for number, turn in enumerate(turns)
    ]


def whole(block: Block, attachment: Attachment, encoded: str) -> Block:
    """The block with the file itself in the reference's place."""
    return block | {"source": {"type": "base64", "media_type": attachment.media_type, "data": encoded}}


def absent(attachment: Attachment | None, why: str) -> Block:
    """What the model reads where it can't be given an attachment."""
    name = f" {attachment.name!r}" if attachment is not None and attachment.name else ""
    kind = f" ({attachment.media_type})" if attachment is not None else ""
    return input_block(f"[The attachment{name}{kind} can't be shown: {why}.]")
