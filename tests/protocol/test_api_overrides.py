"""What a run has of its own: overrides, for those who may give them, and tools that are added while it works."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine.context import Context
from engine.tool import tool
from tests.protocol.test_api_agents import created, system_of
from tests.protocol.test_api_remotes import answer, listening, register
from tests.support import documents
from tests.support.client import Client
from tests.support.messages_script import Script
from tests.support.world import World, helper, world

SETTINGS = {"override_roles": frozenset({"staff"})}
CALC = {"name": "calc", "type": "calculator"}


def tools_of(w: World, request: int) -> list[str]:
    """The names of the tools that the model was told of."""
    return [one["name"] for one in w.model.requests[request].body.get("tools", [])]


def said(w: World, request: int) -> list[tuple[str, str]]:
    """What the model was told, as roles and texts."""
    return [
        (message["role"], "|".join(block.get("text", block["type"]) for block in message["content"]))
        for message in w.model.requests[request].messages
    ]


async def refusal(client: Client, overrides: dict[str, Any]) -> tuple[str, list[str] | None]:
    """Why startRun does not take these overrides."""
    return await client.refusal(documents.START, agent="helper", input="Hi", overrides=overrides)


@tool
def look() -> str:
    """Look."""
    return "seen"


async def test_overrides_stand_in_the_agents_place_for_one_run(tmp_path: Path) -> None:
    """System prompt, history and tools are the run's own; the next run has the agent's again."""
    async with world(tmp_path, settings=SETTINGS, helper=helper(tools=[look])) as w:
        w.play(Script().tool("calc", {"expression": "6*7"}), Script().text("42."), Script().text("Hello."))
        staff = w.client("alice", "staff")
        history = [
            {"role": "user", "content": "My name is Ann."},
            {"role": "assistant", "content": [{"type": "text", "text": "Hello Ann."}]},
        ]
        overrides = {"system": "You count.", "history": history, "tools": [CALC]}
        run = await staff.settled((await staff.start("6 times 7?", overrides=overrides))["id"])
        assert (run["status"], run["messages"]["totalCount"]) == ("COMPLETED", 6)
        assert [message["text"] for message in run["messages"]["nodes"]][:3] == [
            "My name is Ann.",
            "Hello Ann.",
            "6 times 7?",
        ]
        assert run["toolCalls"]["nodes"][0]["result"] == "42"
        assert (system_of(w, 0), tools_of(w, 0)) == ("You count.", ["calc"])
        assert said(w, 0) == [("user", "My name is Ann."), ("assistant", "Hello Ann."), ("user", "6 times 7?")]
        await staff.settled((await staff.start("Hi"))["id"])
        assert (system_of(w, 2), tools_of(w, 2)) == ("You help.", ["look"])


async def test_the_overrides_of_a_run_stay_with_its_later_turns_and_its_forks(tmp_path: Path) -> None:
    """And survive a restart of the server."""
    async with world(tmp_path, settings=SETTINGS) as w:
        w.play(*(Script().text(f"{turn}.") for turn in range(3)))
        staff = w.client("alice", "staff")
        run = await staff.settled((await staff.start("Hi", overrides={"system": "You count."}))["id"])
        await w.restart()
        await staff.steer(run["id"], "And?")
        await staff.settled(run["id"])
        forked = (await staff.done(documents.FORK, runId=run["id"], seq=2, input="Or?"))["run"]
        await staff.settled(forked["id"])
        assert [system_of(w, request) for request in range(3)] == ["You count."] * 3


async def test_overrides_are_for_those_whose_role_the_settings_name(tmp_path: Path) -> None:
    """Anyone else gets FORBIDDEN, and nothing is begun; without the setting, everyone does."""
    async with world(tmp_path, settings=SETTINGS) as w:
        for overrides in ({"system": "x"}, {}):
            assert await refusal(w.client("bob", "user"), overrides) == ("FORBIDDEN", ["input", "overrides"])
        assert await w.run_ids() == []
    other = tmp_path / "other"
    other.mkdir()
    async with world(other) as w:
        assert await refusal(w.client("alice", "staff"), {"system": "x"}) == ("FORBIDDEN", ["input", "overrides"])


@pytest.mark.parametrize(
    ("overrides", "code", "field"),
    [
        ({"system": "  "}, "INVALID_INPUT", "system"),
        ({"history": "said"}, "INVALID_INPUT", "history"),
        ({"history": [{"role": "assistant", "content": "Hi"}]}, "INVALID_INPUT", "history.0.role"),
        ({"history": [{"role": "system", "content": "Hi"}]}, "INVALID_INPUT", "history.0.role"),
        ({"history": [{"role": "user", "content": ""}]}, "INVALID_INPUT", "history.0.content"),
        ({"history": [{"role": "user", "content": [{"type": "image"}]}]}, "INVALID_INPUT", "history.0.content"),
        ({"history": [{"role": "user", "content": "Hi", "model": "x"}]}, "INVALID_INPUT", "history.0"),
        ({"history": [{"role": "user", "content": "x" * 1_100_000}]}, "INVALID_INPUT", "history"),
        ({"tools": [{"name": "a b", "type": "calculator"}]}, "INVALID_INPUT", "tools.0.name"),
        ({"tools": [CALC, CALC]}, "INVALID_INPUT", "tools.1.name"),
        ({"tools": [{"name": "a", "type": "nothing"}]}, "INVALID_CONFIG", "tools.0.type"),
        ({"tools": [{**CALC, "config": {"stray": 1}}]}, "INVALID_CONFIG", "tools.0.config.stray"),
        ({"remotes": ["rem_1"] * 21}, "INVALID_INPUT", "remotes"),
    ],
)
async def test_overrides_that_do_not_fit_are_refused_in_words(
    tmp_path: Path, overrides: dict[str, Any], code: str, field: str
) -> None:
    """The field at fault is named, and nothing is begun."""
    async with world(tmp_path, settings=SETTINGS) as w:
        place = ["input", "overrides", *field.split(".")]
        assert await refusal(w.client("alice", "staff"), overrides) == (code, place)
        assert await w.run_ids() == []


async def test_a_run_has_its_overrides_from_its_beginning_on(tmp_path: Path) -> None:
    """Given for a later turn they are refused, and the run is left as it is."""
    async with world(tmp_path, settings=SETTINGS) as w:
        w.play(Script().text("Hello."))
        staff = w.client("alice", "staff")
        run = await staff.settled((await staff.start("Hi"))["id"])
        later = {"agent": "helper", "input": "x", "runId": run["id"], "overrides": {"system": "y"}}
        assert await staff.refusal(documents.START, **later) == ("INVALID_INPUT", ["input", "overrides"])
        assert await staff.run(run["id"]) == run


async def test_a_key_stands_for_its_overrides_too(tmp_path: Path) -> None:
    """The same ones give the same run, others are KEY_REUSED."""
    async with world(tmp_path, settings=SETTINGS) as w:
        w.play(Script().text("Hello."))
        staff = w.client("alice", "staff")
        first = await staff.start("Hi", key="k", overrides={"system": "You count."})
        assert (await staff.start("Hi", key="k", overrides={"system": "You count."}))["id"] == first["id"]
        other = {"agent": "helper", "input": "Hi", "key": "k", "overrides": {"system": "Else."}}
        assert (await staff.refusal(documents.START, **other))[0] == "KEY_REUSED"
        await staff.settled(first["id"])


async def test_the_remotes_that_overrides_name_are_the_runs(tmp_path: Path) -> None:
    """An expert's too, beside its own tools; one that is somebody else's is NOT_FOUND, and nothing is begun."""
    async with world(tmp_path, settings=SETTINGS) as w:
        staff = w.client("alice", "staff")
        theirs = await register(w.client("bob"))
        why = await refusal(staff, {"remotes": [theirs["id"]]})
        assert why == ("NOT_FOUND", ["input", "overrides", "remotes", "0"])
        assert await w.run_ids() == []
        agent = await created(staff, handle="ada")
        value = {"agentId": agent["id"], "key": "calc", "kind": "tools", "value": {"type": "calculator"}}
        await staff.done(documents.SET_RESOURCE, **value)
        remote = await register(staff)
        calls = await listening(staff, remote)
        w.play(Script().tool("browser_read", {"tab": 1}), Script().text("Blue."))
        run = await staff.start("What is on the page?", agent="ada", overrides={"remotes": [remote["id"]]})
        await calls.until(lambda feed: feed.items)
        await answer(staff, calls.items[0], "It is blue.")
        done = await staff.settled(run["id"])
        assert [call["result"] for call in done["toolCalls"]["nodes"]] == ["It is blue."]
        assert tools_of(w, 0) == ["calc", "browser_read"]


# ---------------------------------------------------------------- adding tools


async def test_a_run_at_work_has_added_tools_from_its_next_request_on(tmp_path: Path) -> None:
    """Added while a tool works, they are there when its result is read; the agent itself has not changed."""
    began, release = asyncio.Event(), asyncio.Event()

    @tool
    async def wait(ctx: Context) -> str:
        """Wait."""
        began.set()
        await release.wait()
        return "done"

    async with world(tmp_path, settings=SETTINGS, helper=helper(tools=[wait])) as w:
        w.play(Script().tool("wait"), Script().tool("sums", {"expression": "2+2"}), Script().text("4."))
        staff = w.client("alice", "staff")
        run = await staff.start("2 and 2?")
        await began.wait()
        tools = [{"name": "sums", "type": "calculator"}]
        added = await staff.done(documents.ADD_RUN_TOOLS, runId=run["id"], tools=tools)
        assert added["run"]["status"] == "RUNNING"
        release.set()
        done = await staff.settled(run["id"])
        assert [call["result"] for call in done["toolCalls"]["nodes"]] == ["done", "4"]
        assert [tools_of(w, request) for request in range(3)] == [["wait"], ["wait", "sums"], ["wait", "sums"]]


async def test_tools_added_to_a_run_that_rests_are_there_in_its_next_turn(tmp_path: Path) -> None:
    """One that is added again under its name takes the place of the other; added twice alike, nothing changes."""
    async with world(tmp_path, settings=SETTINGS) as w:
        w.play(Script().text("1."), Script().text("2."))
        staff = w.client("alice", "staff")
        run = await staff.settled((await staff.start("Hi"))["id"])
        for kind in ("calculator", "clock", "clock"):
            await staff.done(documents.ADD_RUN_TOOLS, runId=run["id"], tools=[{"name": "t", "type": kind}])
        await staff.steer(run["id"], "And?")
        await staff.settled(run["id"])
        (told,) = w.model.requests[1].body["tools"]
        assert (told["name"], "time" in told["description"]) == ("t", True)


async def test_added_tools_that_do_not_fit_are_refused_in_words(tmp_path: Path) -> None:
    """Those of an unknown type, with the name of the agent's own, or for a run that is not theirs."""
    async with world(tmp_path, settings=SETTINGS, helper=helper(tools=[look])) as w:
        w.play(Script().text("Hello."))
        staff = w.client("alice", "staff")
        run = await staff.settled((await staff.start("Hi"))["id"])

        async def why(client: Client, run_id: str, **one: Any) -> tuple[str, list[str] | None]:
            return await client.refusal(documents.ADD_RUN_TOOLS, runId=run_id, tools=[one])

        assert await why(staff, run["id"], name="t", type="none") == ("INVALID_CONFIG", ["input", "tools", "0", "type"])
        taken = await why(staff, run["id"], name="look", type="clock")
        assert taken == ("INVALID_CONFIG", ["input", "tools", "0", "name"])
        other = w.client("bob", "staff")
        assert await why(other, run["id"], name="t", type="clock") == ("RUN_NOT_FOUND", ["input", "runId"])
        assert await why(w.client("alice"), run["id"], name="t", type="clock") == ("FORBIDDEN", ["input", "tools"])
        assert await staff.run(run["id"]) == run


# ---------------------------------------------------------------- asking once


async def test_a_prompt_is_a_run_of_an_instruction_with_its_input_as_json(tmp_path: Path) -> None:
    """Its stream is the answer; it is among the runs, titled by the instruction."""
    async with world(tmp_path) as w:
        w.play(Script().text("Two orders."))
        alice = w.client("alice")
        agent = await created(alice, handle="ada")
        given = {"orders": [{"id": 7, "city": "Köln"}, {"id": 8}]}
        prompt = {"agent": "ada", "instruction": "Count the orders.", "input": given}
        run = (await alice.done(documents.PROMPT, **prompt))["run"]
        done = await alice.settled(run["id"])
        assert (done["status"], done["title"], done["agent"]) == ("COMPLETED", "Count the orders.", "ada")
        ((_, text),) = said(w, 0)
        assert text.startswith("Count the orders.\n\n<input>\n{")
        assert '"city": "Köln"' in text
        history = (await alice.ask(documents.AGENT, id=agent["id"]))["agent"]["runs"]
        assert [one["id"] for one in history["nodes"]] == [run["id"]]


async def test_options_of_a_prompt_stand_in_the_place_of_the_configuration_for_once(tmp_path: Path) -> None:
    """Checked against the kind's fields; the agent itself stays as it is."""
    async with world(tmp_path) as w:
        w.play(Script().text("Short."), Script().text("Long."))
        alice = w.client("alice")
        await created(alice, handle="ada", config={"system_prompt": "You count.", "model": "model-a"})
        options = {"max_tokens": 50, "model": "model-b"}
        for given in (options, None):
            prompt = {"agent": "ada", "instruction": "Be short.", "options": given}
            await alice.settled((await alice.done(documents.PROMPT, **prompt))["run"]["id"])
        bodies = [request.body for request in w.model.requests]
        assert [(body["model"], body["max_tokens"] == 50) for body in bodies] == [("model-b", True), ("model-a", False)]
        assert [system_of(w, request) for request in range(2)] == ["You count."] * 2


@pytest.mark.parametrize(
    ("given", "code", "field"),
    [
        ({"instruction": " "}, "AGENT_INPUT_REQUIRED", ["instruction"]),
        ({"options": {"max_tokens": -1}}, "INVALID_CONFIG", ["options", "max_tokens"]),
        ({"options": {"stray": 1}}, "INVALID_CONFIG", ["options", "stray"]),
        ({"options": [1]}, "INVALID_INPUT", ["options"]),
        ({"agent": "nobody"}, "AGENT_NOT_FOUND", ["agent"]),
        ({"agent": "helper", "options": {"system": "x"}}, "INVALID_CONFIG", ["options", "system"]),
        ({"input": {"text": "x" * 300_000}}, "INPUT_TOO_LARGE", ["input"]),
    ],
)
async def test_a_prompt_that_does_not_fit_is_refused_in_words(
    tmp_path: Path, given: dict[str, Any], code: str, field: list[str]
) -> None:
    """The field at fault is named, and nothing is begun."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        await created(alice, handle="ada")
        prompt = {"agent": "ada", "instruction": "Do it.", **given}
        assert await alice.refusal(documents.PROMPT, **prompt) == (code, ["input", *field])
        assert await w.run_ids() == []


async def test_a_key_makes_a_prompt_once(tmp_path: Path) -> None:
    """It is promptAgent's own: startRun may use the same one."""
    async with world(tmp_path) as w:
        w.play(Script().text("Once."), Script().text("Other."))
        alice = w.client("alice")
        prompt = {"agent": "helper", "instruction": "Do it.", "input": [1, 2], "key": "k"}
        first, second = [(await alice.done(documents.PROMPT, **prompt))["run"]["id"] for _ in range(2)]
        assert first == second
        other = await alice.start("Do it.", key="k")
        assert other["id"] != first
        assert (await alice.refusal(documents.PROMPT, **{**prompt, "input": [1]}))[0] == "KEY_REUSED"
        for run_id in (first, other["id"]):
            await alice.settled(run_id)
