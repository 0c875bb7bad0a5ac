"""The agent that both sides of a benchmark run."""

from __future__ import annotations

from typing import Any

MODEL = "claude-sonnet-5-5"
SYSTEM = "You look things up."
ANSWER = "It is so."
TOOL: dict[str, Any] = {
    "name": "look_up",
    "description": "Look something up.",
    "input_schema": {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "what to look for"}},
        "required": ["word"],
        "additionalProperties": False,
    },
}
