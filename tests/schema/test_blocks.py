"""Stored blocks become typed ones, and no block, however odd, makes a message unreadable."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from strawberry import ID
from strawberry.scalars import JSON

from schema.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    OtherBlock,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    blocks_of,
    has_calls,
)
from tests.support.rows import a_message, a_run

RUN = a_run()


def typed(*blocks: Any, calls: int = 0) -> list[Block]:
    """The blocks as clients see them, in a message whose step has so many calls."""
    return blocks_of(a_message(RUN, 1, list(blocks)), {index: f"call_{index}" for index in range(calls)})


def test_plain_text_is_one_text_block() -> None:
    """A plain user turn is stored as a string."""
    assert blocks_of(a_message(RUN, 1, "Hello"), {}) == [TextBlock(text="Hello")]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text", "text": ""}, TextBlock(text="")),
        ({"type": "thinking", "thinking": "Hm.", "signature": "s"}, ReasoningBlock(text="Hm.")),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            ImageBlock(media_type="image/png", url="data:image/png;base64,aGk="),
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.jpg?x=1"}},
            ImageBlock(media_type="image/jpeg", url="https://example.com/a.jpg?x=1"),
        ),
        (
            {"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}},
            DocumentBlock(media_type="text/plain", title="T", url="data:text/plain;charset=utf-8;base64,aGk="),
        ),
        (
            {"type": "document", "source": {"type": "url", "url": "https://example.com/x"}},
            DocumentBlock(media_type="application/octet-stream", title=None, url="https://example.com/x"),
        ),
    ],
)
def test_each_known_block_has_its_type(block: dict[str, Any], expected: Block) -> None:
    """What the block holds is shown as it is."""
    assert typed(block) == [expected]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {}},
        {"type": "hologram"},
        {"type": "text"},
        {"type": "text", "text": 3},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "image", "source": None},
        {"type": "document", "source": {"type": "content", "content": []}},
        {"type": "tool_use", "id": "t", "name": "add", "input": {}},
        {"no": "type"},
        "no block",
        None,
    ],
)
def test_any_other_block_is_shown_whole(block: Any) -> None:
    """Unknown kinds, unknown forms, and calls without a row of their own."""
    (shown,) = typed(block)
    assert isinstance(shown, OtherBlock)
    assert shown.data == block


def test_calls_and_results_carry_our_own_ids_in_the_order_of_the_step() -> None:
    """The i-th tool_use block is the step's call of index i, whatever its provider's id."""
    use = {"type": "tool_use", "id": "same", "name": "add", "input": {"a": 1}}
    shown = typed({"type": "text", "text": "Adding."}, use, use, calls=2)
    assert shown[1:] == [
        ToolUseBlock(tool_call_id=ID("call_0"), name="add", input=JSON({"a": 1})),
        ToolUseBlock(tool_call_id=ID("call_1"), name="add", input=JSON({"a": 1})),
    ]
    results = typed(
        {"type": "tool_result", "tool_use_id": "same", "content": "3", "is_error": False},
        {"type": "tool_result", "tool_use_id": "same", "is_error": True},
        calls=2,
    )
    assert results == [
        ToolResultBlock(tool_call_id=ID("call_0"), content=JSON("3"), is_error=False),
        ToolResultBlock(tool_call_id=ID("call_1"), content=JSON(""), is_error=True),
    ]


def test_only_messages_with_calls_need_rows_of_calls() -> None:
    """Plain messages cost no further read."""
    assert not has_calls(a_message(RUN, 1, "Hello"))
    assert not has_calls(a_message(RUN, 1, [{"type": "text", "text": "Hello"}]))
    assert has_calls(a_message(RUN, 1, [{"type": "tool_result", "tool_use_id": "x", "content": ""}]))


json_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=8,
)
kinds = some.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "document"])
odd_blocks = some.fixed_dictionaries(
    {"type": kinds},
    optional=dict.fromkeys(("text", "thinking", "source", "input", "name", "content", "title"), json_values),
)


@given(some.lists(odd_blocks | json_values, max_size=5))
def test_no_block_makes_a_message_unreadable(blocks: list[Any]) -> None:
    """Whatever was stored, each block is shown, in order, and no value is of another type than the schema says."""
    shown = typed(*blocks, calls=1)
    assert len(shown) == len(blocks)
    for block in shown:
        for name in ("text", "name", "media_type", "url", "tool_call_id"):
            assert isinstance(getattr(block, name, ""), str)
