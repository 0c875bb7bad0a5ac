"""The blocks of a message, typed: what the Messages API stored, made easy to show."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

import strawberry
from strawberry.scalars import JSON

from models.attachment import PREFIX
from models.ids import prefix_of
from models.message import Message


@strawberry.type(description="Text.")
class TextBlock:
    """A text block."""

    text: str = strawberry.field(description="The text, as it was written; often Markdown.")


@strawberry.type(description="What the model thought before it answered, or the provider's summary of it.")
class ReasoningBlock:
    """A thinking block."""

    text: str = strawberry.field(description="The thoughts; empty where the provider keeps them to itself.")


@strawberry.type(description="The model asks for a tool.")
class ToolUseBlock:
    """A tool_use block."""

    tool_call_id: strawberry.ID = strawberry.field(
        description="The id of the ToolCall; `node` gives its state and result."
    )
    name: str = strawberry.field(description="The tool's name.")
    input: JSON = strawberry.field(description="The arguments that the model gave.")


@strawberry.type(description="What a tool answered, as the model reads it.")
class ToolResultBlock:
    """A tool_result block."""

    tool_call_id: strawberry.ID = strawberry.field(description="The id of the ToolCall that this answers.")
    content: JSON = strawberry.field(description="The answer: text, or a list of blocks.")
    is_error: bool = strawberry.field(description="Whether the model was told that the call failed.")


_URL = (
    "Where it can be read. An attachment's is a path of this server, read with the same sign-in by its owner and "
    "administrators; of what is part of the message it is a `data:` URL."
)


@strawberry.type(description="A picture.")
class ImageBlock:
    """An image block that refers to an attachment, or has a base64 or a URL source."""

    media_type: str = strawberry.field(description="Its media type, such as image/png.")
    url: str = strawberry.field(description=_URL)


@strawberry.type(description="A document, such as a PDF or plain text.")
class DocumentBlock:
    """A document block that refers to an attachment, or has a base64, a text or a URL source."""

    media_type: str = strawberry.field(description="Its media type, such as application/pdf.")
    title: str | None = strawberry.field(description="Its title, where it has one.")
    url: str = strawberry.field(description=_URL)


@strawberry.type(description="A block that has no type of its own here, whole.")
class OtherBlock:
    """Redacted thinking, server tools, and whatever providers think of next."""

    type: str = strawberry.field(description="The provider's name for this kind of block.")
    data: JSON = strawberry.field(description="The block exactly as it is stored.")


Block: TypeAlias = TextBlock | ReasoningBlock | ToolUseBlock | ToolResultBlock | ImageBlock | DocumentBlock | OtherBlock

ContentBlock = Annotated[
    TextBlock | ReasoningBlock | ToolUseBlock | ToolResultBlock | ImageBlock | DocumentBlock | OtherBlock,
    strawberry.union("ContentBlock", description="One part of a message's content."),
]

FILES = "/files/"
"""The path below which this server gives attachments to their owners."""
_WITH_CALLS = ("tool_use", "tool_result")


def has_calls(message: Message) -> bool:
    """Whether a message holds tool calls or their results, whose ids are in rows of their own."""
    return not isinstance(message.content, str) and any(_kind(block) in _WITH_CALLS for block in message.content)


def blocks_of(message: Message, call_ids: Mapping[int, str]) -> list[Block]:
    """A message's content as typed blocks, in order.

    `call_ids` are those of the message's step by index. The i-th tool_use block (and the i-th tool_result block) is
    the call of index i; one without such a call, like any block of a form that is not known here, becomes an
    OtherBlock.
    """
    if isinstance(message.content, str):
        return [TextBlock(text=message.content)]
    seen = dict.fromkeys(_WITH_CALLS, 0)
    blocks: list[Block] = []
    for block in message.content:
        kind = _kind(block)
        call_id = None
        if kind in _WITH_CALLS:
            call_id = call_ids.get(seen[kind])
            seen[kind] += 1
        blocks.append(_typed(block, call_id) or OtherBlock(type=kind, data=block))
    return blocks


def _kind(block: Any) -> str:
    """The provider's name for a block's kind; empty for what is no block at all."""
    return str(block.get("type", "")) if isinstance(block, dict) else ""


def _typed(block: dict[str, Any], call_id: str | None) -> Block | None:
    """The typed block, or None where the block's form is not known."""
    make = _MAKERS.get(_kind(block))
    try:
        return make(block, call_id) if make is not None else None
    except (KeyError, TypeError, ValueError):  # a block of a known type in a form that providers never promised
        return None


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _text(block: dict[str, Any], call_id: str | None) -> Block:
    return TextBlock(text=_string(block["text"]))


def _thinking(block: dict[str, Any], call_id: str | None) -> Block:
    return ReasoningBlock(text=_string(block["thinking"]))


def _tool_use(block: dict[str, Any], call_id: str | None) -> Block | None:
    if call_id is None or block["input"] is None:
        return None
    return ToolUseBlock(tool_call_id=strawberry.ID(call_id), name=_string(block["name"]), input=block["input"])


def _tool_result(block: dict[str, Any], call_id: str | None) -> Block | None:
    if call_id is None:
        return None
    content = block.get("content")
    return ToolResultBlock(
        tool_call_id=strawberry.ID(call_id),
        content=JSON("" if content is None else content),
        is_error=bool(block.get("is_error")),
    )


def _image(block: dict[str, Any], call_id: str | None) -> Block | None:
    located = _locate(block["source"])
    return None if located is None else ImageBlock(media_type=located[0], url=located[1])


def _document(block: dict[str, Any], call_id: str | None) -> Block | None:
    located, title = _locate(block["source"]), block.get("title")
    if located is None:
        return None
    return DocumentBlock(media_type=located[0], title=None if title is None else _string(title), url=located[1])


def _locate(source: dict[str, Any]) -> tuple[str, str] | None:
    """Media type and URL of a source; None where it is of a kind that has none (a provider's file, nested content)."""
    if source["type"] == "base64":
        media_type = _string(source["media_type"])
        return media_type, f"data:{media_type};base64,{_string(source['data'])}"
    if source["type"] == "file" and prefix_of(_string(source["file_id"])) == PREFIX:
        return _string(source["media_type"]), f"{FILES}{source['file_id']}"
    if source["type"] == "text":
        media_type = _string(source["media_type"])
        data = base64.b64encode(_string(source["data"]).encode("utf-8", "replace")).decode()
        return media_type, f"data:{media_type};charset=utf-8;base64,{data}"
    if source["type"] == "url":
        url = _string(source["url"])
        guessed, _ = mimetypes.guess_type(urlsplit(url).path)
        return guessed or "application/octet-stream", url
    return None


_MAKERS: dict[str, Callable[[dict[str, Any], str | None], Block | None]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _image,
    "document": _document,
}
