"""Tool types of tests alone: one that is configured, and one that reads the agent's documents."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from engine.builtin.tool_type import ToolConfig, ToolSetting, ToolType
from engine.tool import Tool, tool


class GreetingConfig(ToolConfig):
    """How it greets."""

    word: str = Field("Hello", min_length=1, description="What it begins with.")


def _greeting(name: str, config: GreetingConfig, setting: ToolSetting) -> Tool[..., Any]:
    def greet(who: str) -> str:
        """Greet somebody.

        Args:
            who: whom.
        """
        return f"{config.word}, {who}!"

    return tool(name=name, description=config.description)(greet)


def _titles(name: str, config: None, setting: ToolSetting) -> Tool[..., Any]:
    async def titles() -> list[str]:
        """List the documents there are."""
        return [f"{one.key}: {one.title}" for one in await setting.documents()]

    return tool(name=name)(titles)


GREETING = ToolType("greeting", "Greets somebody.", GreetingConfig, _greeting)
TITLES = ToolType("titles", "Lists documents.", None, _titles)
TYPES = {one.identifier: one for one in (GREETING, TITLES)}
