"""Looking things up in documents: the best passages, named, within bounds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.builtin import passages
from engine.builtin.document import Document
from engine.builtin.knowledge import KNOWLEDGE
from engine.builtin.passages import MAX_PASSAGE, parts_of, search
from engine.builtin.tool_type import ToolSetting
from engine.tool_error import ToolError

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy

DOCUMENTS = [
    Document("returns", "Returns and refunds", "Goods may be returned within 30 days.\n\nWe pay postage in Austria."),
    Document("hours", "Opening hours", "We are open from 9 to 17.\n\nOn holidays we are closed."),
    Document("café", "Café", "The café serves Melange, and naïve cake."),
]


async def found(given: Sequence[Document], query: str, limit: int = 5, **config: Any) -> dict[str, Any]:
    """What the tool gives over these documents."""

    async def given_documents() -> Sequence[Document]:
        return given

    made = KNOWLEDGE.tool("handbook", config, ToolSetting(documents=given_documents))
    result = await made.function(**made.check({"query": query, "limit": limit}))
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("How long can I return something?", "returns"),
        ("opening", "hours"),
        ("holiday", "hours"),
        ("cafe naive", "café"),
        ("REFUND", "returns"),
    ],
)
async def test_the_passage_that_answers_is_found_first(query: str, key: str) -> None:
    """By words in any form, with accents or without, in titles too; with its document's key and title."""
    passage = (await found(DOCUMENTS, query))["passages"][0]
    assert passage["key"] == key
    assert passage["title"] == next(one.title for one in DOCUMENTS if one.key == key)
    assert passage["excerpt"] in next(one.text for one in DOCUMENTS if one.key == key)


async def test_several_passages_are_ranked_and_no_more_than_asked_for() -> None:
    """The document that says most of it comes first."""
    many = [Document(f"d{n}", "", "tea " * n + "other words " * 50) for n in range(1, 30)]
    result = await found(many, "tea", 3)
    assert result["passages"][0]["key"] in ("d27", "d28", "d29")
    assert len(result["passages"]) == 3


async def test_a_tool_may_search_some_of_the_documents() -> None:
    """Those that its configuration names by their keys."""
    with pytest.raises(ToolError, match=r"Nothing fits\. The documents are: Opening hours\. Try other words\."):
        await found(DOCUMENTS, "refund", documents=["hours"])
    with pytest.raises(ToolError, match="no documents"):
        await found(DOCUMENTS, "refund", documents=["gone"])
    with pytest.raises(ToolError, match="no documents"):
        await found([], "refund")


@pytest.mark.parametrize(
    "query", ['"', "NEAR(", "x NOT", "title:x", "*", "-", "", "x'; DROP TABLE passages;--", "\x00"]
)
async def test_a_query_in_odd_signs_is_only_words(query: str) -> None:
    """Nothing that a model writes is read as the search engine's own syntax."""
    with pytest.raises(ToolError, match="Try other words"):
        await found(DOCUMENTS, query)


@unhurried
@given(st.text(max_size=40), st.text(max_size=200))
def test_no_query_and_no_text_breaks_the_search(query: str, text: str) -> None:
    """Whatever is asked, of whatever was written."""
    assert isinstance(search([Document("k", text, text)], query, 5), list)


@unhurried
@given(st.text(alphabet="ab \n", max_size=4_000))
def test_passages_hold_all_the_words_and_none_is_long(text: str) -> None:
    """In order; paragraphs stay whole where they can."""
    parts = list(parts_of(text))
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(0 < len(part) <= MAX_PASSAGE for part in parts)


def test_a_word_without_end_is_cut() -> None:
    """A passage is bounded whatever it is made of."""
    assert [len(part) for part in parts_of("x" * 3_000)] == [MAX_PASSAGE, MAX_PASSAGE, 600]


async def test_more_than_can_be_searched_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out is told, not passed over."""
    monkeypatch.setattr(passages, "MAX_CHARS", len(DOCUMENTS[0].text + DOCUMENTS[1].text))
    result = await found([*DOCUMENTS, Document("book", "Book", "tea " * 100)], "return holiday")
    assert result["not_searched"] == ["book", "café"]
    assert "not_searched" not in await found(DOCUMENTS[:1], "return")


def test_as_many_documents_as_are_taken_are_searched_in_seconds() -> None:
    """The index of all that fits is made for one call."""
    words = " ".join(f"word{n % 5_000}" for n in range(700))
    many = [Document(f"d{n}", f"Title {n}", words[:5_000]) for n in range(1_000)]
    began = time.process_time()
    assert len(search(many, "word42", 5)) == 5
    assert time.process_time() - began < 20
