"""What the Messages API checks of a request beside its messages: headers, tools, system prompt, cache, signatures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.messages_rules import TOOL_NAME, blocks_of, problems

FIELDS = frozenset(
    {"model", "max_tokens", "messages", "system", "tools", "stream", "thinking", "tool_choice", "metadata"}
)
Signatures = Mapping[str, tuple[str, str]]
"""What was signed: signature -> (the thinking, the model that thought it)."""


def refusals(body: Any, headers: Mapping[str, str], signatures: Signatures, *, paused: bool) -> list[str]:
    """Why the API would refuse this request, one sentence each; empty where it takes it."""
    if not isinstance(body, dict):
        return ["the body must be a JSON object"]
    found = [*_of_headers(headers), *_of_fields(body), *_of_tools(body.get("tools", [])), *_of_system(body)]
    found += problems(body.get("messages"), paused=paused)
    return found or [*_of_cache(body), *_of_signatures(body, signatures)]


def _of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    if not headers.get("anthropic-version"):
        yield "anthropic-version: header is required"
    if not headers.get("content-type", "").startswith("application/json"):
        yield "content-type: must be application/json"


def _of_fields(body: dict[str, Any]) -> Iterator[str]:
    for name in sorted(set(body) - FIELDS):
        yield f"{name}: extra inputs are not permitted"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: field required"
    most = body.get("max_tokens")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        yield "max_tokens: must be at least 1"
    if body.get("thinking") is not None and body["thinking"].get("type") not in ("adaptive", "enabled", "disabled"):
        yield "thinking.type: unknown"


def _of_tools(tools: Any) -> Iterator[str]:
    if not isinstance(tools, list):
        yield "tools: must be a list"
        return
    names = [tool.get("name") for tool in tools]
    if len(set(names)) < len(names):
        yield "tools: names must be unique"
    for place, tool in enumerate(tools):
        if not isinstance(tool.get("name"), str) or not TOOL_NAME.fullmatch(tool["name"]):
            yield f"tools.{place}.name: must match {TOOL_NAME.pattern}"
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"tools.{place}.input_schema: must be a schema of an object"
        if not isinstance(tool.get("description", ""), str):
            yield f"tools.{place}.description: must be a string"


def _of_system(body: dict[str, Any]) -> Iterator[str]:
    system = body.get("system", "x")
    texts = [system] if isinstance(system, str) else [block.get("text") for block in system]
    if any(not isinstance(text, str) or not text.strip() for text in texts):
        yield "system: text content blocks must be non-empty"


def _of_cache(body: dict[str, Any]) -> Iterator[str]:
    system = body.get("system", [])
    blocks = [block for message in body["messages"] for block in blocks_of(message)]
    everywhere = [*body.get("tools", []), *([] if isinstance(system, str) else system), *blocks]
    marked = [block for block in everywhere if "cache_control" in block]
    if len(marked) > 4:
        yield f"cache_control: at most 4 breakpoints, not {len(marked)}"
    if any(block.get("type") in ("thinking", "redacted_thinking") for block in marked):
        yield "cache_control: not on thinking"


def _of_signatures(body: dict[str, Any], signatures: Signatures) -> Iterator[str]:
    for place, message in enumerate(body["messages"]):
        for block in blocks_of(message):
            if block["type"] == "thinking":
                thinking, model = signatures.get(block["signature"], (None, None))
                if thinking != block["thinking"] or model != body["model"]:
                    yield f"messages.{place}: invalid signature in thinking block"
