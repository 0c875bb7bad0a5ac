"""The Messages API's rules for the `messages` of a request, as strict as any server has been seen to be: pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

IDENTIFIER = re.compile(r"[a-zA-Z0-9_-]{1,64}")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
IMAGE_CHARACTERS = 5 * 1024 * 1024
THINKING = ("thinking", "redacted_thinking")


def problems(messages: Any, *, paused: bool = False) -> list[str]:
    """Why the API would refuse these messages, one sentence each; empty where it takes them.

    `paused`: the last answer stopped with pause_turn, so the messages may end with it. Without it an answer may stand
    last only where it has calls that the provider runs itself.
    """
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is required"]
    shapes = [problem for index, message in enumerate(messages) for problem in _of_shape(index, message)]
    if shapes:
        return shapes
    found = [problem for index, message in enumerate(messages) for problem in _of_blocks(index, message)]
    if found:
        return found
    return [
        *_of_roles(messages, paused),
        *_of_calls(messages),
        *_of_server_calls(messages, paused),
        *_of_json(messages),
    ]


def _of_shape(index: int, message: Any) -> Iterator[str]:
    if not isinstance(message, dict) or set(message) != {"role", "content"}:
        yield f"messages.{index}: must be an object with role and content, and nothing else"
        return
    if message["role"] not in ("user", "assistant"):
        yield f"messages.{index}.role: must be user or assistant"
    content = message["content"]
    if isinstance(content, str):
        if not content.strip():
            yield f"messages.{index}: text content must be non-empty"
        return
    if not isinstance(content, list) or not content:
        yield f"messages.{index}.content: must be a string or a list with at least one block"
        return
    for place, block in enumerate(content):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str) or not block["type"]:
            yield f"messages.{index}.content.{place}: must be an object with a type"


def _of_blocks(index: int, message: dict[str, Any]) -> Iterator[str]:
    blocks = blocks_of(message)
    for place, block in enumerate(blocks):
        for problem in _of_block(message["role"], block):
            yield f"messages.{index}.content.{place}: {problem}"
    if message["role"] == "assistant" and blocks[-1]["type"] in THINKING:
        yield f"messages.{index}: the final block in an assistant message cannot be thinking"


def _of_block(role: str, block: dict[str, Any]) -> Iterator[str]:
    kind = block["type"]
    if kind == "text":
        yield from _of_text(block)
    elif kind in ("image", "document"):
        yield from _of_source(kind, block.get("source"))
    elif kind == "tool_result":
        yield from _of_result(role, block)
    elif kind == "tool_use" or kind in THINKING or is_server_use(kind) or is_server_result(kind):
        if role != "assistant":
            yield f"{kind}: only an assistant message may have it"
        yield from _of_assistant_block(block)


def _of_source(kind: str, source: Any) -> Iterator[str]:
    if not isinstance(source, dict):
        yield f"{kind}: source is required"
    elif source.get("type") == "file" and (
        set(source) != {"type", "file_id"} or str(source["file_id"]).startswith("att_")
    ):
        yield f"{kind}.source: must name a file of the provider's own"
    elif source.get("type") == "base64" and len(str(source.get("data"))) > IMAGE_CHARACTERS and kind == "image":
        yield f"{kind}.source.base64: image exceeds 5 MB maximum"


def _of_text(block: dict[str, Any]) -> Iterator[str]:
    if not isinstance(block.get("text"), str) or not block["text"].strip():
        yield "text content blocks must be non-empty"


def _of_assistant_block(block: dict[str, Any]) -> Iterator[str]:
    kind = block["type"]
    if kind == "thinking" and not isinstance(block.get("thinking"), str):
        yield "thinking: field required"
    if kind == "thinking" and not _filled(block.get("signature")):
        yield "thinking.signature: field required"
    if kind == "redacted_thinking" and not _filled(block.get("data")):
        yield "redacted_thinking.data: field required"
    if kind == "tool_use":
        if not _fits(IDENTIFIER, block.get("id")):
            yield f"tool_use.id: must match {IDENTIFIER.pattern}"
        if not _fits(TOOL_NAME, block.get("name")):
            yield f"tool_use.name: must match {TOOL_NAME.pattern}"
    if (kind == "tool_use" or is_server_use(kind)) and not isinstance(block.get("input"), dict):
        yield f"{kind}.input: must be an object"
    if is_server_use(kind) and not _filled(block.get("id")):
        yield f"{kind}.id: field required"
    if is_server_result(kind) and not isinstance(block.get("tool_use_id"), str):
        yield f"{kind}.tool_use_id: field required"


def _of_result(role: str, block: dict[str, Any]) -> Iterator[str]:
    if role != "user":
        yield "tool_result: only a user message may have it"
    if not isinstance(block.get("tool_use_id"), str):
        yield "tool_result.tool_use_id: field required"
    if not isinstance(block.get("is_error", False), bool):
        yield "tool_result.is_error: must be a boolean"
    content = block.get("content", "")
    if block.get("is_error") is True and (not content or (isinstance(content, str) and not content.strip())):
        yield "tool_result: content cannot be empty if is_error is true"
    if isinstance(content, list):
        for item in content:
            if not isinstance(item, dict) or not isinstance(item.get("type"), str):
                yield "tool_result.content: must be blocks"
            else:
                yield from _of_block(role, item)
    elif not isinstance(content, str):
        yield "tool_result.content: must be a string or a list of blocks"


def _of_roles(messages: list[dict[str, Any]], paused: bool) -> Iterator[str]:
    if messages[0]["role"] != "user":
        yield "messages.0: the first message must use the user role"
    for index in range(1, len(messages)):
        if messages[index]["role"] == messages[index - 1]["role"]:
            yield f"messages.{index}: roles must alternate"
    last = messages[-1]
    if last["role"] == "assistant" and not paused and not any(is_server_use(b["type"]) for b in blocks_of(last)):
        yield "this model does not support assistant message prefill: the last message must be the user's"


def _of_calls(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Each tool_use has its one tool_result at the beginning of the next message, and no result lacks a call."""
    seen: Counter[str] = Counter()
    called: list[str] = []
    for index, message in enumerate([*messages, {"role": "user", "content": []}]):
        blocks = blocks_of(message)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        for missing in (Counter(called) - Counter(results)).elements():
            yield f"messages.{index - 1}: tool_use {missing!r} has no tool_result right after it"
        for odd in (Counter(results) - Counter(called)).elements():
            yield f"messages.{index}: tool_result {odd!r} belongs to no tool_use of the message before, or comes twice"
        if any(block["type"] == "tool_result" for block in blocks[len(results) :]):
            yield f"messages.{index}: tool_result blocks must come first"
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
        seen.update(called)
    yield from (f"tool_use ids must be unique: {identifier!r}" for identifier, count in seen.items() if count > 1)


def _of_server_calls(messages: list[dict[str, Any]], paused: bool) -> Iterator[str]:
    for index, message in enumerate(messages):
        waiting: set[str] = set()
        for block in blocks_of(message):
            if is_server_use(block["type"]):
                if block["id"] in waiting:
                    yield f"messages.{index}: {block['type']} ids must be unique"
                waiting.add(block["id"])
            elif is_server_result(block["type"]):
                if block["tool_use_id"] not in waiting:
                    yield f"messages.{index}: {block['type']} {block['tool_use_id']!r} has no call before it"
                waiting.discard(block["tool_use_id"])
        if waiting and index < len(messages) - 1:
            yield f"messages.{index}: {sorted(waiting)} were called without a result in the same message"


def _of_json(messages: list[dict[str, Any]]) -> Iterator[str]:
    try:
        json.dumps(messages)
    except (TypeError, ValueError) as error:
        yield f"messages: not JSON: {error}"


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """A message's content as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def is_server_use(kind: str) -> bool:
    """Whether such a block is a call that the provider runs itself."""
    return kind.endswith("_tool_use")


def is_server_result(kind: str) -> bool:
    """Whether such a block is the result of a call that the provider ran itself."""
    return kind.endswith("_tool_result")


def _filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _fits(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
