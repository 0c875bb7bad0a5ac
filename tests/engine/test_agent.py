"""Agents: what an author may say, and what is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel

from engine.agent import MAX_MODELS, Agent
from engine.compaction import Compaction
from engine.providers.retrying import ATTEMPTS
from engine.tool import tool


class Answer(BaseModel):
    """What an agent answers."""

    summary: str


class Unfinished(BaseModel):
    """Names a type that is nowhere."""

    part: "Nowhere"  # type: ignore[name-defined]  # noqa: F821, UP037  # the mistake that is to be found


@tool
def look(word: str) -> str:
    """Look it up."""
    return word


def plain(word: str) -> str:
    """Say it."""
    return word


def build(**changes: Any) -> Agent:
    """One with these changes to what it needs at least."""
    return Agent(**{"system": "Be brief.", "model": "claude-sonnet-5-5", **changes})


def test_an_agent_needs_a_system_prompt_and_a_model_only() -> None:
    """Everything else has a default, as promised to authors."""
    agent = build()
    assert (agent.max_steps, agent.max_tokens, agent.timeout, agent.parallel_tools) == (64, 8_192, 600, 4)
    assert (agent.description, agent.auth, agent.on_crash, agent.name) == (None, "user", "resume", None)
    assert agent.tools == ()


def test_a_model_is_a_name_or_a_list_of_names() -> None:
    """Both give the models in the order in which to use them."""
    assert build().models == ("claude-sonnet-5-5",)
    assert build(model=["a", "b"]).models == ("a", "b")


@pytest.mark.parametrize(
    ("models", "words"), [([], "empty list"), (["a", "b", "a"], "twice"), (list("abcdef"), "6 models"), ([""], "empty")]
)
def test_a_list_that_can_not_be_gone_through_is_refused(models: list[str], words: str) -> None:
    """Each is asked in its turn, and a step has five attempts."""
    with pytest.raises(ValueError, match=words):
        build(model=models)
    assert MAX_MODELS == ATTEMPTS


def test_a_compaction_is_one() -> None:
    """A share alone says too little."""
    assert build().compaction == Compaction()
    with pytest.raises(TypeError, match="compaction is Compaction"):
        build(compaction=0.8)


def test_tools_are_found_by_name_and_plain_functions_become_tools() -> None:
    """The toolbox keeps the order, and can't be changed."""
    agent = build(tools=[look, plain])
    assert list(agent.toolbox) == ["look", "plain"]
    assert agent.toolbox["look"] is look
    assert agent.tools == tuple(agent.toolbox.values())
    with pytest.raises(TypeError):
        agent.toolbox["more"] = look  # type: ignore[index]  # what is tested


def test_an_agent_can_not_be_changed() -> None:
    """Once made, it is what it is; a copy may differ."""
    agent = build(tools=[look])
    with pytest.raises(dataclasses.FrozenInstanceError):
        agent.max_steps = 2  # type: ignore[misc]  # what is tested
    named = dataclasses.replace(agent, name="looker")
    assert (named.name, named.toolbox["look"]) == ("looker", look)


def test_the_warnings_of_all_tools_are_told_with_their_names() -> None:
    """What should be mended is gathered in one place."""
    assert build(tools=[look, plain]).warnings == [
        "tool look: argument 'word' has no description",
        "tool plain: argument 'word' has no description",
    ]


def test_two_tools_of_one_name_are_refused() -> None:
    """The provider would refuse them, at run time."""
    with pytest.raises(ValueError, match="two tools are named 'look'"):
        build(tools=[look, tool(name="look")(plain)])


def test_a_tool_that_the_provider_would_run_itself_is_refused() -> None:
    """Its work would be in no journal."""
    with pytest.raises(TypeError, match="provider runs itself are refused"):
        build(tools=[{"type": "web_search_20270101", "name": "web_search"}])


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"system": ""}, ValueError, "system is empty"),
        ({"system": None}, TypeError, "system is a text"),
        ({"model": " "}, ValueError, "model is empty"),
        ({"model": []}, ValueError, "name at least one"),
        ({"model": [1]}, TypeError, "model is a text"),
        ({"model": 7}, TypeError, "model is a model's name"),
        ({"tools": look}, TypeError, "tools is a list"),
        ({"tools": ["look"]}, TypeError, "a tool is a function"),
        ({"tools": [None]}, TypeError, "a tool is a function, not None"),
        ({"max_steps": 0}, ValueError, "max_steps is a whole number from 1"),
        ({"max_tokens": 1.5}, ValueError, "max_tokens is a whole number"),
        ({"parallel_tools": True}, ValueError, "parallel_tools is a whole number"),
        ({"timeout": 0}, ValueError, "timeout is a number of seconds above 0"),
        ({"timeout": float("inf")}, ValueError, "timeout"),
        ({"auth": ""}, ValueError, "auth is empty"),
        ({"description": 3}, TypeError, "description is a text"),
        ({"examples": "Hello"}, TypeError, "examples are texts"),
        ({"examples": ["Hello", " "]}, ValueError, "an example is empty"),
        ({"examples": ["Hello"] * 9}, ValueError, "8 at most"),
        ({"on_crash": "retry"}, ValueError, 'on_crash is "resume" or "fail"'),
        ({"name": "no name"}, ValueError, "1 to 64 letters"),
        ({"subagents": "helper"}, TypeError, "a list of agents' names"),
        ({"subagents": ["no name"]}, ValueError, "no agent's name"),
        ({"subagents": ["helper", "helper"]}, ValueError, "there twice"),
        ({"handoffs": []}, TypeError, "handoffs"),
        ({"output": dict}, TypeError, "output is a pydantic model"),
        ({"output": Answer(summary="")}, TypeError, "output is a pydantic model"),
        ({"output": Unfinished}, TypeError, "output: Unfinished has no JSON schema"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(changes: dict[str, Any], error: type[Exception], says: str) -> None:
    """The error names the argument and what it should be."""
    with pytest.raises(error, match=says):
        build(**changes)
