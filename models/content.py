"""The blocks of a user turn: tool results first, then the inputs, one text block each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.call import ToolCall

INTERRUPTED = "tool execution was interrupted"
NOT_RUN = "not run: the run was stopped before this call began"


def result_block(provider_id: str, text: Any, is_error: bool) -> dict[str, Any]:
    """One tool_result block, for the tool_use block of that id."""
    content = text if isinstance(text, str) else ""
    return {"type": "tool_result", "tool_use_id": provider_id, "content": content, "is_error": is_error}


def result_blocks(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """A tool_result for each finished call of a step, in order of index."""
    return [result_block(call.provider_id, call.result, call.is_error) for call in calls]


def input_block(text: str) -> dict[str, Any]:
    """One input as a text block."""
    return {"type": "text", "text": text}


def user_content(results: Sequence[dict[str, Any]], inputs: Sequence[str]) -> list[dict[str, Any]]:
    """A user turn that is more than one plain input: results first, then the inputs in the order they came."""
    return [*results, *(input_block(text) for text in inputs)]


def has_tool_use(content: Any) -> bool:
    """Whether there are tool calls among the blocks."""
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks)


def text_of(content: Any) -> str:
    """The text blocks joined, with nothing between them; a plain turn's own text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))
