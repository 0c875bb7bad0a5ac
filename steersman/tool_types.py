"""Tools of the built-in types, called by server code: no model is asked, and nothing is stored."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from engine.builtin.document import Document
from engine.builtin.fetch_policy import FetchPolicy
from engine.builtin.registry import BUILTIN
from engine.builtin.tool_type import ToolSetting, ToolType
from engine.threads import run_in_thread
from engine.tool import Tool
from steersman.process import current
from steersman.settings import read_settings


async def call_tool(
    tool_type: str,
    arguments: Mapping[str, Any],
    *,
    config: Mapping[str, Any] | None = None,
    documents: Sequence[Mapping[str, str]] = (),
) -> Any:
    """Run a tool of a built-in type once, and give what it gives.

    `config` is what an agent's resource would hold, `documents` what `knowledge` searches, each with a `key`, a
    `text`, and a `title` unless the key will do. What may be fetched is as the deployment says. The type `agent` needs
    a run around it: call `steersman.run` instead.

    Raises ValueError for a type that there is not, for a configuration (BadConfig) and for arguments (BadArguments)
    that do not fit, ToolError for what the tool itself has to say, and TimeoutError after the tool's own time.
    """
    known = BUILTIN.get(tool_type)
    if known is None:
        raise ValueError(f"there is no tool type {tool_type!r}; there are: {', '.join(BUILTIN)}")
    made = _tool(known, config, [_document(one) for one in documents])
    checked = made.check(dict(arguments))
    async with asyncio.timeout(made.timeout or None):
        if made.is_async:
            return await made.function(**checked)
        return await run_in_thread(lambda: made.function(**checked), f"tool {made.name}")


def _tool(known: ToolType, config: Mapping[str, Any] | None, documents: Sequence[Document]) -> Tool[..., Any]:
    async def given() -> Sequence[Document]:
        return documents

    setting = ToolSetting(documents=given, fetch=FetchPolicy(private=_may_fetch_privately()))
    made = known.tool(known.identifier, config, setting)
    if made.agent is not None:
        raise ValueError(f"a tool of the type {known.identifier!r} needs a run around it: call steersman.run instead")
    return made


def _document(given: Mapping[str, str]) -> Document:
    if not {"key", "text"} <= given.keys():
        raise ValueError(f"a document has a key, a text and perhaps a title; this one has {', '.join(given) or 'none'}")
    return Document(given["key"], given.get("title") or given["key"], given["text"])


def _may_fetch_privately() -> bool:
    """As the engine of this process has it, else by the settings."""
    opened = current()
    return read_settings(os.environ).fetch_private if opened is None else opened.engine.config.fetch_private
