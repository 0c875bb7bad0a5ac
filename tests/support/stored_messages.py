"""Stored messages for tests, and hypothesis strategies that make every kind of them, odd ones included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from models.enums import Role
from models.message import Message

MODEL = "model-a"


def user(content: Any, seq: int = 0) -> Message:
    """A user's message."""
    return _message(Role.USER, content, seq, None, None)


def assistant(content: Any, stop_reason: str | None = "end_turn", model: str | None = MODEL, seq: int = 0) -> Message:
    """An answer."""
    return _message(Role.ASSISTANT, content, seq, model, stop_reason)


def numbered(messages: Sequence[Message]) -> list[Message]:
    """The messages with seq from 1."""
    return [_message(m.role, m.content, seq, m.model, m.stop_reason) for seq, m in enumerate(messages, 1)]


def from_request(request: Sequence[dict[str, Any]]) -> list[Message]:
    """A request's messages as if they were stored; a last answer has paused."""
    return [
        user(message["content"], seq)
        if message["role"] == "user"
        else assistant(message["content"], "pause_turn" if seq == len(request) else "end_turn", seq=seq)
        for seq, message in enumerate(request, 1)
    ]


def text(value: Any) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value}


def call(identifier: Any = "toolu_1", name: Any = "add", arguments: Any = None) -> dict[str, Any]:
    """A tool_use block."""
    return {"type": "tool_use", "id": identifier, "name": name, "input": {} if arguments is None else arguments}


def answer(identifier: Any = "toolu_1", content: Any = "3", **more: Any) -> dict[str, Any]:
    """A tool_result block."""
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, **more}


def thinking(value: str = "hm", signature: Any = "c2ln") -> dict[str, Any]:
    """A thinking block."""
    return {"type": "thinking", "thinking": value, "signature": signature}


def _message(role: Role, content: Any, seq: int, model: str | None, stop_reason: str | None) -> Message:
    return Message(
        id=f"msg_{seq}",
        run_id="run_1",
        user_id="alice",
        seq=seq,
        role=role,
        content=content,
        step=0,
        created_at=0,
        model=model,
        stop_reason=stop_reason,
    )


_words = st.sampled_from(["", " ", "\n\t", "hello", " hi ", "a\u00e9\U0001f600", "W\ufffds"])
_ids = st.sampled_from(["", "toolu_1", "toolu_2", "call_0", "call_0_2", "a b", "\u00e9!", "x" * 80])
_junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
    max_leaves=4,
)
_texts = st.builds(text, _words | _junk)
_plain_blocks = st.one_of(
    _texts,
    st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
    st.just({"type": "image"}),
    st.just({"type": "novelty", "anything": [1, {"deep": True}]}),
)
_results = st.builds(answer, _ids | _junk, _words | _junk | st.lists(_plain_blocks | _junk, max_size=3)) | st.builds(
    answer, _ids, _words, is_error=st.booleans() | _junk
)
_calls = st.builds(call, _ids | _junk, st.sampled_from(["add", "", "odd name", "n" * 200]) | _junk, _junk | st.just({}))
_thoughts = st.one_of(
    st.builds(thinking, _words, st.sampled_from(["c2ln", "", None])),
    st.just(thinking("", "only-a-signature")),
    st.just({"type": "redacted_thinking", "data": "ZGF0YQ=="}),
    st.just({"type": "redacted_thinking"}),
)
_server = st.one_of(
    st.builds(lambda i: {"type": "server_tool_use", "id": i, "name": "web_search", "input": {}}, _ids | _junk),
    st.builds(lambda i: {"type": "web_search_tool_result", "tool_use_id": i, "content": []}, _ids | _junk),
)

blocks = st.one_of(_plain_blocks, _results, _calls, _thoughts, _server, _junk)
"""Any block, in its place or not, sound or not."""

contents = _words | st.lists(blocks, max_size=6) | _junk
stored = st.builds(
    _message,
    st.sampled_from(Role),
    contents,
    st.just(0),
    st.sampled_from([MODEL, "model-b", None]),
    st.sampled_from(["end_turn", "tool_use", "pause_turn", "max_tokens", None]),
)
transcripts = st.lists(stored, max_size=8).map(numbered)
"""Whatever may be stored, and more."""
