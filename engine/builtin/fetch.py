"""The tool type `fetch`: reads pages of the web, from hosts that its configuration names."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from engine.builtin.fetching import Page, Rules, fetched, linked
from engine.builtin.hosts import pattern_of
from engine.builtin.readable import decoded, readable
from engine.builtin.tool_type import ToolConfig, ToolSetting, ToolType
from engine.threads import run_in_thread
from engine.tool import Tool, tool

_HTML = ("text/html", "application/xhtml+xml")
_TIMEOUT = 30.0  # fetching has its own, shorter one; turning HTML into text comes on top


def _is_pattern(text: str) -> str:
    pattern_of(text)
    return text


class FetchConfig(ToolConfig):
    """Which hosts may be asked, and how much of a page is read."""

    allow: list[Annotated[str, Field(max_length=300), AfterValidator(_is_pattern)]] = Field(
        min_length=1,
        max_length=100,
        description="The hosts that may be asked: example.com, *.example.com for what is below it, * for every public "
        "host; with :port where it is not the usual one.",
    )
    http: bool = Field(default=False, description="Whether plain http is taken too, beside https.")
    max_chars: int = Field(
        default=32_768, ge=1_000, le=65_536, description="How many characters of a page the model reads at most."
    )


def _make(name: str, config: FetchConfig, setting: ToolSetting) -> Tool[..., Any]:
    rules = Rules(tuple(map(pattern_of, config.allow)), config.http)

    async def fetch(url: str) -> str:
        """Fetch a page by HTTP GET and read its text.

        Args:
            url: its whole address, such as https://example.com/page.
        """
        page = await fetched(url, rules, setting.fetch)
        return await run_in_thread(lambda: as_text(page), f"read {page.url[:100]}")

    usual = f"Fetch a page by HTTP GET and read its text. Hosts that may be asked: {', '.join(config.allow)[:1_000]}."
    made = tool(
        name=name,
        description=config.description or usual,
        timeout=_TIMEOUT,
        max_result_chars=config.max_chars,
        on_crash="retry",
    )
    return made(fetch)


def as_text(page: Page) -> str:
    """A page as a model reads it: where it is, its title, and its text."""
    text = decoded(page.content, page.charset, is_html=page.kind in _HTML)
    head = [page.url]
    if page.kind in _HTML:
        read = readable(text, lambda address: linked(page.url, address))
        head += [f"Title: {read.title}"] if read.title else []
        text = read.text
    if page.is_cut:
        head.append(f"Only the first {len(page.content):,} bytes were read.")
    return "\n".join([*head, "", text])


FETCH = ToolType(
    identifier="fetch",
    description="Reads pages of the web from hosts that its configuration names.",
    config=FetchConfig,
    make=_make,
    example={"allow": ["docs.example.com", "*.example.org"]},
)
