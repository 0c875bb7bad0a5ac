"""The example agents: their tools do what they say, and refuse what they must."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.cancelled import Cancelled
from engine.context import Context
from engine.executing import execute
from engine.loading import load_agents
from engine.tool_error import ToolError
from models.enums import ToolCallState

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy

AGENTS = load_agents(Path(__file__).parents[2] / "agents")
RESEARCHER = AGENTS["researcher"].toolbox
CALCULATOR = AGENTS["calculator"].toolbox
SLOWPOKE = AGENTS["slowpoke"].toolbox


def test_the_examples_load_without_a_complaint() -> None:
    """No error, no warning, each with a description for clients and the same model."""
    assert {"researcher", "calculator", "desk", "frontdesk", "slowpoke"} <= set(AGENTS)
    assert (AGENTS.errors, AGENTS.warnings) == ([], [])
    for name in ("researcher", "calculator", "desk", "frontdesk", "slowpoke"):
        assert AGENTS[name].models == ("claude-sonnet-5-5",)
        assert AGENTS[name].description


# The researcher


def test_a_search_finds_the_section_that_answers() -> None:
    """By its words in any form, the best first, with the words marked."""
    found = RESEARCHER["search_docs"]("why is a lease not enough for frozen workers?")
    assert found[0]["page"] == "leases-and-fencing.md"
    assert "**" in found[0]["excerpt"]
    assert len(RESEARCHER["search_docs"]("the model", limit=2)) == 2


@pytest.mark.parametrize("query", ['"', "NEAR(", "a AND", "page:x", "*", "-", "", "x'; DROP TABLE sections;--", "€"])
def test_a_query_in_odd_signs_is_only_words(query: str) -> None:
    """Nothing that a model writes is read as the search engine's own syntax."""
    try:
        found = RESEARCHER["search_docs"](query)
    except ToolError as error:
        found = str(error)
    assert isinstance(found, list) or "Nothing fits" in found


@unhurried
@given(st.text(max_size=40))
def test_no_query_breaks_the_search(query: str) -> None:
    """Whatever is asked is found or not found."""
    try:
        assert RESEARCHER["search_docs"](query)
    except ToolError as error:
        assert "Try other words" in str(error)  # noqa: PT017  # either end is right


def test_a_page_is_read_whole() -> None:
    """What the search names can be read."""
    for passage in RESEARCHER["search_docs"]("tokens", limit=20):
        assert RESEARCHER["read_page"](passage["page"]).startswith("# ")


@pytest.mark.parametrize(
    "path", ["../researcher.py", "/etc/passwd", "..", "", ".", "x\x00.md", "library/idempotency.md", "./idempotency.md"]
)
def test_no_path_leads_out_of_the_library(path: str) -> None:
    """Only the names of its own pages are opened; the error lists them."""
    with pytest.raises(ToolError, match=r"idempotency\.md"):
        RESEARCHER["read_page"](path)


# The calculator


async def test_arithmetic_is_worked_out_by_the_built_in_calculator() -> None:
    """Exactly, and refused in its words."""
    assert await CALCULATOR["calculate"]("(1 + 2) * 0.1") == "0.3"
    with pytest.raises(ToolError, match="'x': 'x' is not known here; there are pi"):
        await CALCULATOR["calculate"]("x")


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "text"),
    [
        (1, "mile", "km", "1.609344 km"),
        (100, "C", "F", "212 F"),
        (-40, "F", "C", "-40 C"),
        (0, "K", "C", "-273.15 C"),
        (1, "GiB", "MiB", "1024 MiB"),
        (2, "week", "h", "336 h"),
        (1, "lb", "g", "453.59237 g"),
    ],
)
def test_units_are_converted(value: float, from_unit: str, to_unit: str, text: str) -> None:
    """To twelve digits."""
    assert CALCULATOR["convert"](value, from_unit, to_unit) == text


def test_units_of_different_kinds_are_refused() -> None:
    """The error lists the units that there are."""
    with pytest.raises(ToolError, match=r"can't convert km to kg; there are length: mm"):
        CALCULATOR["convert"](1, "km", "kg")


# The slowpoke


@pytest.mark.parametrize(("name", "result"), [("count_slowly", "Counted to 3."), ("grind", "Ground 3 rounds.")])
async def test_slow_tools_tell_how_far_they_are(name: str, result: str) -> None:
    """Each step is told, with its fraction."""
    said: list[float | None] = []
    ctx: Context[Any] = Context(
        user_id="alice",
        run_id="r",
        agent="slowpoke",
        tool_call_id="c",
        report=lambda message, fraction: said.append(fraction),
    )
    made = SLOWPOKE[name]
    outcome = await execute(made, made.check({"steps": 3, "pause": 0}), ctx, stop=Cancelled())
    assert (outcome.state, outcome.text) == (ToolCallState.SUCCEEDED, result)
    assert said == [1 / 3, 2 / 3, 1.0]


@pytest.mark.parametrize("name", ["count_slowly", "grind"])
async def test_slow_tools_stop_when_they_are_asked_to(name: str) -> None:
    """Within their grace they still say how far they came."""
    begun = asyncio.Event()
    ctx: Context[Any] = Context(
        user_id="alice",
        run_id="r",
        agent="slowpoke",
        tool_call_id="c",
        report=lambda message, fraction: begun.set(),
    )
    made, stop = SLOWPOKE[name], Cancelled()
    task = asyncio.create_task(execute(made, made.check({"steps": 300, "pause": 0.02}), ctx, stop=stop, grace=60))
    await begun.wait()
    stop.set()
    outcome = await task
    assert outcome.state is ToolCallState.SUCCEEDED
    assert outcome.text.startswith("Stopped by request: ")
