"""The tool type `knowledge`: looks things up in the agent's documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from engine.builtin.document import Document
from engine.builtin.passages import search, searchable
from engine.builtin.tool_type import ToolConfig, ToolSetting, ToolType
from engine.threads import run_in_thread
from engine.tool import Tool, tool
from engine.tool_error import ToolError

_MAX_NAMED = 30  # titles that an error lists


class KnowledgeConfig(ToolConfig):
    """Which documents are searched."""

    documents: list[str] | None = Field(
        default=None, min_length=1, description="The keys of the documents that are searched; all of them without."
    )


def _make(name: str, config: KnowledgeConfig, setting: ToolSetting) -> Tool[..., Any]:
    async def knowledge(
        query: Annotated[str, Field(max_length=500)], limit: Annotated[int, Field(ge=1, le=20)] = 5
    ) -> dict[str, Any]:
        """Search the documents for passages that fit, best first; each has its document's key and title.

        Args:
            query: what to look for, as words or a question.
            limit: how many passages at most, 1 to 20.
        """
        wanted = config.documents
        chosen = [one for one in await setting.documents() if wanted is None or one.key in wanted]
        if not chosen:
            raise ToolError("There are no documents to search.")
        return await run_in_thread(lambda: _found(chosen, query, limit), f"tool {name}: search")

    return tool(name=name, description=config.description, on_crash="retry")(knowledge)


def _found(documents: list[Document], query: str, limit: int) -> dict[str, Any]:
    taken = searchable(documents)
    left_out = sorted({one.key for one in documents} - {one.key for one in taken})
    passages = search(taken, query, limit)
    if not passages:
        raise ToolError(f"Nothing fits. The documents are: {_titles(documents)}. Try other words.")
    found: dict[str, Any] = {"passages": [asdict(one) for one in passages]}
    if left_out:
        found["not_searched"] = left_out[:_MAX_NAMED]  # they would take too long together
    return found


def _titles(documents: list[Document]) -> str:
    titles = [one.title or one.key for one in documents]
    return ", ".join(titles[:_MAX_NAMED]) + (f" and {len(titles) - _MAX_NAMED} more" * (len(titles) > _MAX_NAMED))


KNOWLEDGE = ToolType(
    identifier="knowledge",
    description="Searches the agent's documents for passages.",
    config=KnowledgeConfig,
    make=_make,
)
