"""Tool types: their configurations are checked when they are written, and what they make is a tool like any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from engine.agent import Agent
from engine.bad_arguments import BadArguments
from engine.bad_config import BadConfig
from engine.builtin.registry import BUILTIN
from engine.builtin.tool_type import ToolSetting
from engine.cancelled import Cancelled
from engine.context import Context
from engine.executing import execute
from engine.tool import Tool
from engine.tool_error import ToolError
from models.clock import ManualClock
from models.enums import RunStatus, ToolCallState
from models.page import Window
from models.run import RunQuery, find_runs
from tests.support.messages_script import Script
from tests.support.project import ROOT
from tests.support.stage import Stage, helper

SETTING = ToolSetting(clock=ManualClock(1_800_000_000_000))


def made(identifier: str, config: Any = None, name: str = "it") -> Tool[..., Any]:
    """A tool of this type."""
    return BUILTIN[identifier].tool(name, config, SETTING)


def test_there_are_five_types() -> None:
    """Each under its own identifier, with words for people."""
    assert set(BUILTIN) == {"calculator", "clock", "fetch", "knowledge", "agent"}
    for identifier, one in BUILTIN.items():
        assert one.identifier == identifier
        assert one.description.endswith(".")


@pytest.mark.parametrize("identifier", sorted(BUILTIN))
def test_every_type_makes_a_tool_without_a_complaint_under_any_name(identifier: str) -> None:
    """As often as there are names; a model is told what each argument is."""
    known = BUILTIN[identifier]
    tools = [known.tool(name, known.example, SETTING) for name in ("one", "other-name")]
    assert [tool.name for tool in tools] == ["one", "other-name"]
    assert [tool.warnings for tool in tools] == [(), ()]
    assert Agent(system="Help.", model="m", tools=tools).warnings == []
    json.dumps([known.input_schema, known.config_schema])
    assert known.input_schema["type"] == known.config_schema["type"] == "object"
    with pytest.raises(ValueError, match="a name is 1 to 64 letters"):
        known.tool("no name", known.example, SETTING)


@pytest.mark.parametrize("identifier", ["clock", "fetch", "knowledge", "agent"])
def test_a_configuration_may_say_what_the_tool_is_for(identifier: str) -> None:
    """Several tools of one type are told apart by more than their names."""
    example = BUILTIN[identifier].example
    assert made(identifier, {**example, "description": "Our own words."}).description == "Our own words."
    assert made(identifier, example).description != ""


@pytest.mark.parametrize(
    ("identifier", "config", "field", "says"),
    [
        ("calculator", {"a": 1}, ("a",), "calculator has no options"),
        ("calculator", [1], (), "one JSON object"),
        ("clock", {"zone": "Europe/Viena"}, ("zone",), "perhaps Europe/Vienna"),
        ("clock", {"zone": 1}, ("zone",), "valid string"),
        ("fetch", None, ("allow",), "allow: is missing"),
        ("fetch", {"allow": []}, ("allow",), "at least 1"),
        ("fetch", {"allow": ["x.org", "https://a.org"]}, ("allow", "1"), "without https"),
        ("fetch", {"allow": ["*"], "private": True}, ("private",), "there is no such option; the options are: desc"),
        ("fetch", {"allow": ["*"], "max_chars": 10}, ("max_chars",), "greater than or equal to 1000"),
        ("knowledge", {"documents": []}, ("documents",), "at least 1"),
        ("agent", {}, ("agent",), "agent: is missing"),
        ("agent", {"agent": "no name"}, ("agent",), "match pattern"),
        ("agent", {"agent": "x\n"}, ("agent",), "match pattern"),
        ("agent", {"agent": "a", "description": ""}, ("description",), "at least 1 character"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(
    identifier: str, config: Any, field: tuple[str, ...], says: str
) -> None:
    """The error names the field, and says what is wrong with it."""
    with pytest.raises(BadConfig) as info:
        made(identifier, config)
    assert info.value.place == field
    assert says in str(info.value)


async def outcome_of(tool: Tool[..., Any], **arguments: Any) -> tuple[ToolCallState, str]:
    """What came of a call, as a run makes it."""
    ctx: Context[Any] = Context(user_id="ann", run_id="r", agent="a", tool_call_id="c")
    outcome = await execute(tool, tool.check(arguments), ctx, stop=Cancelled())
    return outcome.state, outcome.text


async def test_the_calculator_answers_or_says_why_not() -> None:
    """The model reads digits, or a sentence."""
    tool = made("calculator")
    assert await outcome_of(tool, expression="0.1 + 0.2") == (ToolCallState.SUCCEEDED, "0.3")
    assert await outcome_of(tool, expression="1/0") == (ToolCallState.FAILED, "'1/0': it divides by zero.")


@pytest.mark.parametrize(
    ("config", "arguments", "time"),
    [
        ({}, {}, {"time": "2027-01-15T08:00:00+00:00", "weekday": "Friday", "zone": "UTC"}),
        ({"zone": "Asia/Tokyo"}, {}, {"time": "2027-01-15T17:00:00+09:00", "weekday": "Friday", "zone": "Asia/Tokyo"}),
        (
            {"zone": "Asia/Tokyo"},
            {"zone": "America/Los_Angeles"},
            {"time": "2027-01-15T00:00:00-08:00", "weekday": "Friday", "zone": "America/Los_Angeles"},
        ),
    ],
)
def test_the_clock_tells_the_time_anywhere(config: Any, arguments: Any, time: dict[str, str]) -> None:
    """In the configured zone unless the model names one."""
    tool = made("clock", config)
    assert tool.function(**tool.check(arguments)) == time


@pytest.mark.parametrize(
    "zone", ["Europe/Viena", "", "../../etc/passwd", "/etc/passwd", "Europe", "x" * 10_000, "\x00", ".", "é"]
)
def test_a_zone_that_is_none_is_told_to_the_model(zone: str) -> None:
    """With what was perhaps meant."""
    tool = made("clock")
    with pytest.raises(ToolError, match=r"there is no time zone .{2,70}: (perhaps|names look like)"):
        tool.function(**tool.check({"zone": zone}))


def test_time_zones_are_known_on_a_system_without_any() -> None:
    """As in the smallest images."""
    asks = "from engine.builtin.clock import zone_of; print(zone_of('Europe/Vienna'))"
    bare = {**os.environ, "PYTHONTZPATH": ""}
    done = subprocess.run([sys.executable, "-c", asks], check=True, cwd=ROOT, env=bare, capture_output=True, text=True)
    assert done.stdout == "Europe/Vienna\n"


def test_what_a_model_asks_is_checked_as_ever() -> None:
    """Arguments that do not fit never reach a tool."""
    with pytest.raises(BadArguments, match="limit"):
        made("knowledge").check({"query": "x", "limit": 21})
    with pytest.raises(BadArguments, match="url: is missing"):
        made("fetch", {"allow": ["*"]}).check({})


def test_a_tool_that_hands_on_stays_with_its_agent() -> None:
    """Also where the agent is copied, as it is when it is given its name."""
    tool = made("agent", {"agent": "researcher"}, "ask_library")
    assert (tool.name, tool.agent, tool.timeout) == ("ask_library", "researcher", 0)
    assert "researcher" in tool.description
    agent = replace(Agent(system="Help.", model="m", tools=[tool], subagents=["desk"]), name="lead")
    assert {name: one.agent for name, one in agent.toolbox.items()} == {"ask_library": "researcher", "desk": "desk"}


async def test_another_agent_answers_under_the_tools_own_name(stage: Stage) -> None:
    """In a run of its own, as a sub-agent does that is named in code."""
    lead = helper(system="You lead.", tools=[made("agent", {"agent": "expert"}, "ask")])
    node = await stage.open(agents={"lead": lead, "expert": helper(system="You know.")})
    stage.play(Script().tool("ask", {"task": "Where is A-1?"}), Script().text("On its way."), Script().text("Soon."))
    run = await node.settled(await node.start("Where is A-1?", agent="lead"))
    assert run.status is RunStatus.COMPLETED
    (child,) = (await stage.database.read(find_runs, RunQuery(parent_id=run.id), Window(size=2))).rows
    assert child.agent == "expert"
