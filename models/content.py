"""The blocks of a user turn: tool results first, then the inputs: of each what is attached to it, and its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.call import ToolCall

INTERRUPTED = "tool execution was interrupted"
NOT_RUN = "not run: the run was stopped before this call began"
DENIED = "not run: a person denied this call"
UNDECIDED = "not run: nobody decided about this call in time"
UNANSWERED = "no answer: nobody answered this call in time"
REMOTE_LEFT = "no answer: the remote {} has left; whether it has done what was asked is not known"
REMOTE_AWAY = "not run: the remote {} is not connected now"


def result_block(provider_id: str, text: Any, is_error: bool) -> dict[str, Any]:
    """One tool_result block, for the tool_use block of that id."""
    content = text if isinstance(text, str) else ""
    return {"type": "tool_result", "tool_use_id": provider_id, "content": content, "is_error": is_error}


def result_blocks(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """A tool_result for each finished call of a step, in order of index."""
    return [result_block(call.provider_id, call.result, call.is_error) for call in calls]


def noted(results: list[dict[str, Any]], note: str | None) -> list[dict[str, Any]]:
    """The results with a note for the model behind the last one."""
    if note is None or not results:
        return results
    *others, last = results
    return [*others, {**last, "content": f"{last['content']}\n{note}"}]


def input_block(text: str) -> dict[str, Any]:
    """One input as a text block."""
    return {"type": "text", "text": text}


def input_blocks(text: str, attached: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """One input: blocks that refer to what is attached to it, then its text."""
    return [*attached, input_block(text)]


def user_content(results: Sequence[dict[str, Any]], inputs: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """A user turn of blocks: results first, then the inputs (see `input_blocks`) in the order they came."""
    return [*results, *(block for blocks in inputs for block in blocks)]


def plain_or_blocks(blocks: list[dict[str, Any]]) -> Any:
    """The content of a turn that an input begins: the text itself where there is nothing else, else the blocks."""
    alone = len(blocks) == 1 and blocks[0]["type"] == "text"
    return blocks[0]["text"] if alone else blocks


def blocks_of_type(content: Any, kind: str) -> list[dict[str, Any]]:
    """The blocks of this type; none of a plain turn, and none of what is no block."""
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def has_tool_use(content: Any) -> bool:
    """Whether there are tool calls among the blocks."""
    return bool(blocks_of_type(content, "tool_use"))


def text_of(content: Any) -> str:
    """The text blocks joined, with nothing between them; a plain turn's own text."""
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in blocks_of_type(content, "text"))
    return "".join(text for text in texts if isinstance(text, str))
