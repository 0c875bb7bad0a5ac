"""How much a remote may offer."""

from __future__ import annotations

from collections.abc import Sequence

from models.json_codec import dump_json
from models.remote import RemoteTool

MAX_TOOLS = 200
MAX_NAME = 200  # characters of a tool's name
MAX_DESCRIPTION = 4_000
MAX_OFFER = 512 * 1024  # bytes as JSON of all tools of a remote


def as_many_as_fit(tools: Sequence[RemoteTool]) -> list[RemoteTool]:
    """The first of these tools, as many as a remote may have and as its row has room for."""
    kept, size = [], 0
    for tool in tools[:MAX_TOOLS]:
        size += len(dump_json(tool.to_json()).encode())
        if size > MAX_OFFER:
            break
        kept.append(tool)
    return kept
