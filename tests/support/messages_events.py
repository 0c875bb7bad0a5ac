"""Events of the Messages API for tests of what is made of them, and the making."""

from __future__ import annotations

from typing import Any

from engine.providers.accumulator import Accumulator
from engine.providers.provider import Delta

HIGH, LOW = "\ud83d", "\ude00"


def start(index: Any, block: Any) -> dict[str, Any]:
    """The start of a block."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def more(index: Any, kind: str, **fields: Any) -> dict[str, Any]:
    """A delta."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: Any) -> dict[str, Any]:
    """The end of a block."""
    return {"type": "content_block_stop", "index": index}


def end(reason: Any = "end_turn") -> list[dict[str, Any]]:
    """The end of a message."""
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {}}, {"type": "message_stop"}]


def text(index: Any, *pieces: Any) -> list[dict[str, Any]]:
    """A text block."""
    return [
        start(index, {"type": "text", "text": ""}),
        *(more(index, "text_delta", text=piece) for piece in pieces),
        stop(index),
    ]


def call(index: Any, *pieces: Any, name: Any = "search", identifier: Any = "toolu_1") -> list[dict[str, Any]]:
    """A tool call, its input in pieces."""
    return [
        start(index, {"type": "tool_use", "id": identifier, "name": name, "input": {}}),
        *(more(index, "input_json_delta", partial_json=piece) for piece in pieces),
        stop(index),
    ]


def fed(*events: Any) -> tuple[Accumulator, list[Delta]]:
    """An accumulator that took the events, and the deltas it gave, those of `close` too."""
    accumulator = Accumulator("model-a")
    deltas = [delta for event in events if (delta := accumulator.feed(event)) is not None]
    return accumulator, [*deltas, *accumulator.close()]


def shown(deltas: list[Delta]) -> dict[int, str]:
    """The text of each block as its deltas tell it."""
    texts: dict[int, str] = {}
    for delta in deltas:
        texts[delta.block] = texts.get(delta.block, "") + delta.text
    return texts


def stored(accumulator: Accumulator) -> dict[int, str]:
    """The non-empty text of each block as it is stored."""
    texts = {
        place: block.get("text", "") if block["type"] == "text" else block.get("thinking", "")
        for place, block in enumerate(accumulator.answer().blocks)
        if block["type"] in ("text", "thinking")
    }
    return {place: told for place, told in texts.items() if told}


def partial(*events: Any) -> list[dict[str, Any]]:
    """What is kept after these events."""
    accumulator = Accumulator("model-a")
    for event in events:
        accumulator.feed(event)
    answer = accumulator.partial()
    assert answer.stop_reason is None
    return answer.blocks
