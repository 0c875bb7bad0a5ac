"""Agents as data: kinds are told, agents are created, changed, removed and run, by those who have no access to code."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from engine.context import Context
from engine.loading import Agents, LoadError
from engine.tool import tool
from models.ids import Ids
from tests.support import documents
from tests.support.client import Client
from tests.support.messages_script import Script
from tests.support.world import World, helper, world

NEW_ID = Ids()


class Desk(BaseModel):
    """What a desk is configured with."""

    company: str = Field(description="Whom it speaks for.")
    polite: bool = True


@tool
def whose(ctx: Context) -> str:
    """Say whose desk this is."""
    return f"the desk of {ctx.config.company}"


def desk(**values: Any) -> Any:
    """A kind with a field that must be given."""
    given = {"fields": Desk, "description": "Speaks for a company.", "tools": [whose]}
    given["configure"] = lambda config: {"system": f"You speak for {config.company}."}
    return helper(**{**given, **values})


async def created(client: Client, **given: Any) -> dict[str, Any]:
    """A new agent; an expert unless told otherwise."""
    agent: dict[str, Any] = (await client.done(documents.CREATE_AGENT, **{"kind": "expert", "name": "Ada", **given}))[
        "agent"
    ]
    return agent


async def refused(client: Client, document: str, **given: Any) -> tuple[str, list[str] | None, str]:
    """Code, field and message of the one reason why a mutation of agents is refused."""
    payload = await client.do(document, **given)
    assert not payload.get("agent")
    assert not payload.get("deletedId")
    (error,) = payload["errors"]
    return error["code"], error["field"], error["message"]


def system_of(w: World, request: int) -> str:
    """What the model was told about itself."""
    return "".join(block["text"] for block in w.model.requests[request].body["system"])


# ---------------------------------------------------------------- kinds


async def test_every_agent_of_the_folder_is_a_kind_beside_the_expert(tmp_path: Path) -> None:
    """With the fields that clients make a form of, and the same as JSON Schema."""
    async with world(tmp_path, helper=helper(description="Helps.", examples=["Help me."]), desk=desk()) as w:
        kinds = {kind["identifier"]: kind for kind in (await w.client("alice").ask(documents.KINDS))["agentKinds"]}
        assert list(kinds) == ["desk", "expert", "helper"]
        assert kinds["helper"]["fields"] == []
        assert (kinds["helper"]["description"], kinds["helper"]["available"]) == ("Helps.", True)
        assert (kinds["helper"]["examples"], kinds["desk"]["examples"]) == (["Help me."], [])
        assert kinds["desk"]["fields"] == [
            {
                "name": "company",
                "type": "string",
                "default": None,
                "description": "Whom it speaks for.",
                "required": True,
            },
            {"name": "polite", "type": "boolean", "default": True, "description": None, "required": False},
        ]
        assert kinds["desk"]["jsonSchema"]["required"] == ["company"]
        names = [field["name"] for field in kinds["expert"]["fields"]]
        assert names == ["system_prompt", "model", "temperature", "repetition_penalty", "max_tokens", "tool_choice"]


async def test_a_file_goes_before_the_built_in_kind_of_its_name(tmp_path: Path) -> None:
    """Whatever its fields are."""
    async with world(tmp_path, expert=desk()) as w:
        kinds = (await w.client("alice").ask(documents.KINDS))["agentKinds"]
        assert [(kind["identifier"], kind["description"]) for kind in kinds] == [("expert", "Speaks for a company.")]


async def test_a_kind_whose_file_does_not_load_is_listed_as_unavailable(tmp_path: Path) -> None:
    """Nothing of it is made of anything else, the built-in kind of its name included."""
    async with world(tmp_path) as w:
        errors = [LoadError(Path(f"agents/{name}.py"), 1, "SyntaxError", "Mend it.") for name in ("desk", "expert")]
        w.agents = Agents({"helper": helper()}, errors=errors)
        await w.restart()
        kinds = (await w.client("alice").ask(documents.KINDS))["agentKinds"]
        states = [(kind["identifier"], kind["available"]) for kind in kinds]
        assert states == [("desk", False), ("expert", False), ("helper", True)]


# ---------------------------------------------------------------- storing


async def test_an_agent_is_what_was_stored(tmp_path: Path) -> None:
    """In every field, by id, by handle, as a node and in the list; after a restart too."""
    given = {"name": "Ada", "handle": "ada", "description": "Counts.", "picture": "https://example.com/ada.png"}
    async with world(tmp_path) as w:
        alice = w.client("alice")
        agent = await created(alice, **given, config={"system_prompt": "You count."})
        assert {name: agent[name] for name in given} == given
        assert (agent["config"], agent["temporary"]) == ({"system_prompt": "You count."}, False)
        assert (agent["kind"]["identifier"], agent["kind"]["available"]) == ("expert", True)
        assert (agent["runs"]["totalCount"], agent["resources"]["totalCount"]) == (0, 0)
        await w.restart()
        assert (await alice.ask(documents.AGENT, id=agent["id"]))["agent"] == agent
        assert (await alice.ask(documents.AGENT, handle="ada"))["agent"] == agent
        node = documents.document("query ($id: ID!) { node(id: $id) { ...Stored } }")
        assert (await alice.ask(node, id=agent["id"]))["node"] == agent
        assert (await alice.ask(documents.AGENTS))["agents"]["nodes"] == [agent]


async def test_agents_are_listed_newest_first_and_by_pages(tmp_path: Path) -> None:
    """One's own alone."""
    async with world(tmp_path) as w:
        alice, bob = w.client("alice"), w.client("bob")
        ids = [(await created(alice, name=f"Ada {number}"))["id"] for number in range(3)]
        await created(bob)
        first = (await alice.ask(documents.AGENTS, first=2))["agents"]
        assert ([one["id"] for one in first["nodes"]], first["totalCount"]) == ([ids[2], ids[1]], 3)
        rest = (await alice.ask(documents.AGENTS, first=2, after=first["pageInfo"]["endCursor"]))["agents"]
        assert ([one["id"] for one in rest["nodes"]], rest["pageInfo"]["hasNextPage"]) == ([ids[0]], False)


async def test_an_update_changes_what_it_names_and_null_clears(tmp_path: Path) -> None:
    """The configuration is replaced as a whole."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        config = {"system_prompt": "You count.", "max_tokens": 100}
        agent = await created(alice, handle="ada", description="Counts.", config=config)
        renamed = (await alice.done(documents.UPDATE_AGENT, id=agent["id"], name="Ada II"))["agent"]
        assert renamed == agent | {"name": "Ada II", "updatedAt": renamed["updatedAt"]}
        changes = {"handle": None, "description": None, "config": {"max_tokens": 200}}
        cleared = (await alice.done(documents.UPDATE_AGENT, id=agent["id"], **changes))["agent"]
        assert {name: cleared[name] for name in changes} == changes
        emptied = (await alice.done(documents.UPDATE_AGENT, id=agent["id"], config=None))["agent"]
        assert emptied["config"] == {}
        assert (await refused(alice, documents.UPDATE_AGENT, id=agent["id"], name=None))[:2] == (
            "INVALID_INPUT",
            ["input", "name"],
        )


async def test_a_handle_is_one_agent_s_alone(tmp_path: Path) -> None:
    """Whoever owns it; what code defines has its name before anybody."""
    async with world(tmp_path, helper=helper(), Desk=desk()) as w:
        alice, bob = w.client("alice"), w.client("bob")
        await created(alice, handle="ada")
        other = await created(bob, handle="bea")
        taken = ("HANDLE_TAKEN", ["input", "handle"])
        for handle in ("ada", "helper", "desk", "expert"):
            assert (await refused(bob, documents.CREATE_AGENT, kind="expert", name="x", handle=handle))[:2] == taken
        assert (await refused(bob, documents.UPDATE_AGENT, id=other["id"], handle="ada"))[:2] == taken
        kept = (await bob.done(documents.UPDATE_AGENT, id=other["id"], handle="bea"))["agent"]
        assert kept["handle"] == "bea"


async def test_of_many_who_want_a_handle_at_once_one_gets_it(tmp_path: Path) -> None:
    """The others read that it is taken."""
    async with world(tmp_path) as w:
        clients = [w.client(f"user-{number}") for number in range(6)]
        given = {"kind": "expert", "name": "Ada", "handle": "ada"}
        payloads = await asyncio.gather(*(client.do(documents.CREATE_AGENT, **given) for client in clients))
        codes = sorted(error["code"] for payload in payloads for error in payload["errors"])
        assert codes == ["HANDLE_TAKEN"] * 5


@pytest.mark.parametrize(
    ("given", "code", "field"),
    [
        ({"name": " "}, "INVALID_INPUT", ["name"]),
        ({"name": "x" * 256}, "INVALID_INPUT", ["name"]),
        ({"handle": "No Spaces"}, "INVALID_INPUT", ["handle"]),
        ({"handle": NEW_ID("agt")}, "INVALID_INPUT", ["handle"]),
        ({"picture": "javascript:alert(1)"}, "INVALID_INPUT", ["picture"]),
        ({"kind": "nobody"}, "KIND_UNAVAILABLE", ["kind"]),
        ({"config": ["x"]}, "INVALID_INPUT", ["config"]),
        ({"config": {"system_prompt": "x" * 70_000}}, "INVALID_INPUT", ["config"]),
        ({"config": {"max_tokens": 0}}, "INVALID_CONFIG", ["config", "max_tokens"]),
        ({"config": {"systemPrompt": "x"}}, "INVALID_CONFIG", ["config", "systemPrompt"]),
        ({"config": {"repetition_penalty": 1.1}}, "INVALID_CONFIG", ["config", "repetition_penalty"]),
        ({"config": {"model": "model-z"}}, "INVALID_CONFIG", ["config", "model"]),
        ({"kind": "desk"}, "INVALID_CONFIG", ["config", "company"]),
        ({"kind": "closed"}, "FORBIDDEN", ["kind"]),
        ({"key": " "}, "INVALID_INPUT", ["key"]),
    ],
)
async def test_what_can_t_be_stored_is_refused_with_its_place(
    tmp_path: Path, given: dict[str, Any], code: str, field: list[str]
) -> None:
    """Names within a configuration are the kind's own; nothing is stored."""
    settings = {"allowed_models": ["claude-sonnet-5-5"]}
    async with world(tmp_path, helper=helper(), desk=desk(), closed=helper(auth="staff"), settings=settings) as w:
        alice = w.client("alice")
        what = {"kind": "expert", "name": "Ada", **given}
        found, path, message = await refused(alice, documents.CREATE_AGENT, **what)
        assert (found, path) == (code, ["input", *field])
        assert message
        assert (await alice.ask(documents.AGENTS))["agents"]["totalCount"] == 0


async def test_the_same_key_gives_the_same_agent(tmp_path: Path) -> None:
    """As it is now; with other arguments it is KEY_REUSED, and once the agent is gone nothing is made anew."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        agent = await created(alice, key="k")
        await alice.done(documents.UPDATE_AGENT, id=agent["id"], description="Changed.")
        again = await created(alice, key="k")
        assert (again["id"], again["description"]) == (agent["id"], "Changed.")
        other = {"kind": "expert", "name": "Bea", "key": "k"}
        assert (await refused(alice, documents.CREATE_AGENT, **other))[0] == "KEY_REUSED"
        await alice.done(documents.DELETE_AGENT, id=agent["id"])
        assert (await refused(alice, documents.CREATE_AGENT, **{**other, "name": "Ada"}))[0] == "NOT_FOUND"
        assert (await alice.ask(documents.AGENTS))["agents"]["totalCount"] == 0


async def test_a_removed_agent_is_gone_and_its_handle_is_free(tmp_path: Path) -> None:
    """Its resources go with it; removing it again is NOT_FOUND."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        agent = await created(alice, handle="ada")
        document = {"agentId": agent["id"], "key": "a", "kind": "document", "value": {"title": "A", "text": "B"}}
        await alice.done(documents.SET_RESOURCE, **document)
        assert (await alice.done(documents.DELETE_AGENT, id=agent["id"]))["deletedId"] == agent["id"]
        assert (await alice.ask(documents.AGENT, id=agent["id"]))["agent"] is None
        assert (await refused(alice, documents.DELETE_AGENT, id=agent["id"]))[:2] == ("NOT_FOUND", ["input", "id"])
        await created(alice, handle="ada")


# ---------------------------------------------------------------- running


async def test_a_stored_agent_runs_by_id_and_by_handle_as_it_is_configured(tmp_path: Path) -> None:
    """The run says its handle, and is among the agent's runs; `runs` finds it by the handle."""
    async with world(tmp_path) as w:
        w.play(Script().text("One."), Script().text("Two."))
        alice = w.client("alice")
        config = {"system_prompt": "You count.", "model": "model-a", "max_tokens": 77}
        agent = await created(alice, handle="ada", config=config)
        runs = [await alice.settled((await alice.start("Hi", agent=word))["id"]) for word in (agent["id"], "ada")]
        assert [(run["status"], run["agent"]) for run in runs] == [("COMPLETED", "ada")] * 2
        body = w.model.requests[0].body
        assert (body["model"], body["max_tokens"]) == ("model-a", 77)
        assert system_of(w, 0) == "You count."
        read = (await alice.ask(documents.AGENT, id=agent["id"]))["agent"]
        assert [run["id"] for run in read["runs"]["nodes"]] == [runs[1]["id"], runs[0]["id"]]
        found = await alice.ask('{ runs(filter: {agent: "ada"}) { totalCount } }')
        assert found["runs"]["totalCount"] == 2


async def test_an_agent_without_a_handle_is_called_by_its_name(tmp_path: Path) -> None:
    """The run is gone on with by the id, by what it says, or without naming the agent."""
    async with world(tmp_path) as w:
        w.play(*(Script().text(f"{turn}.") for turn in range(4)))
        alice = w.client("alice")
        agent = await created(alice, name="Ada Lovelace")
        run = await alice.settled((await alice.start("Hi", agent=agent["id"]))["id"])
        assert run["agent"] == "Ada Lovelace"
        for word in (agent["id"], "Ada Lovelace"):
            await alice.start("And?", agent=word, runId=run["id"])
            await alice.settled(run["id"])
        await alice.steer(run["id"], "And?")
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"
        other = {"agent": "helper", "input": "x", "runId": run["id"]}
        assert await alice.refusal(documents.START, **other) == ("AGENT_MISMATCH", ["input", "agent"])


async def test_the_tools_of_a_kind_see_the_configuration(tmp_path: Path) -> None:
    """As an instance of its fields."""
    async with world(tmp_path, desk=desk()) as w:
        w.play(Script().tool("whose"), Script().text("Done."))
        alice = w.client("alice")
        agent = await created(alice, kind="desk", config={"company": "Ink & Co"})
        run = await alice.settled((await alice.start("Whose?", agent=agent["id"]))["id"])
        assert run["toolCalls"]["nodes"][0]["result"] == "the desk of Ink & Co"
        assert system_of(w, 0) == "You speak for Ink & Co."


async def test_a_kind_is_run_by_its_name_with_its_defaults(tmp_path: Path) -> None:
    """Where a field has none, it takes a stored agent."""
    async with world(tmp_path, desk=desk()) as w:
        w.play(Script().text("Hello."))
        alice = w.client("alice")
        assert (await alice.settled((await alice.start("Hi", agent="expert"))["id"]))["status"] == "COMPLETED"
        refusal = await alice.refusal(documents.START, agent="desk", input="Hi")
        assert refusal == ("INVALID_CONFIG", ["input", "agent"])


async def test_an_update_reaches_the_next_turn_of_a_run(tmp_path: Path) -> None:
    """The turn under way goes on as it began, the next one follows the change."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().hold(held).text("One."), Script().text("Two."))
        alice = w.client("alice")
        agent = await created(alice, config={"system_prompt": "First."})
        run = await alice.start("Hi", agent=agent["id"])
        await w.until(lambda: len(w.model.requests) == 1)
        await alice.done(documents.UPDATE_AGENT, id=agent["id"], config={"system_prompt": "Second."})
        held.set()
        await alice.settled(run["id"])
        await alice.start("And?", agent=agent["id"], runId=run["id"])
        await alice.settled(run["id"])
        assert [system_of(w, 0), system_of(w, 1)] == ["First.", "Second."]


async def test_a_change_reaches_a_turn_that_begins_in_the_same_loop(tmp_path: Path) -> None:
    """Here by an input that came behind a cancel; the new turn has the new configuration, time limit and all."""
    begun, release = asyncio.Event(), asyncio.Event()

    @tool
    async def dig() -> str:
        """Dig in, whatever is asked of it."""
        begun.set()
        await release.wait()
        return "dug in"

    def configure(config: Desk) -> dict[str, Any]:
        return {"system": f"You speak for {config.company}.", "timeout": 600 if config.polite else 300}

    async with world(tmp_path, desk=desk(tools=[dig], configure=configure)) as w:
        w.play(Script().tool("dig"), Script().text("Two."))
        alice = w.client("alice")
        agent = await created(alice, kind="desk", config={"company": "Ink & Co"})
        run = await alice.start("Hi", agent=agent["id"])
        await begun.wait()
        config = {"company": "Pen & Co", "polite": False}
        await alice.done(documents.UPDATE_AGENT, id=agent["id"], config=config)
        await alice.cancel(run["id"])
        assert (await alice.steer(run["id"], "And?"))["queued"] is True
        release.set()
        done = await alice.settled(run["id"])
        assert (done["status"], done["messages"]["nodes"][-1]["text"]) == ("COMPLETED", "Two.")
        assert [system_of(w, 0), system_of(w, 1)] == ["You speak for Ink & Co.", "You speak for Pen & Co."]


async def test_the_run_of_an_agent_that_is_removed_at_work_is_not_taken_up_again(tmp_path: Path) -> None:
    """After a restart there is no agent to go on with, and the run says so."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().hold(held).text("Never."))
        alice = w.client("alice")
        agent = await created(alice)
        run = await alice.start("Hi", agent=agent["id"])
        await w.until(lambda: len(w.model.requests) == 1)
        await alice.done(documents.DELETE_AGENT, id=agent["id"])
        await w.restart()
        done = await alice.settled(run["id"])
        assert (done["status"], done["error"]["code"]) == ("FAILED", "AGENT_NOT_FOUND")
        held.set()


async def test_names_that_databases_can_t_hold_are_names_of_nothing(tmp_path: Path) -> None:
    """A NUL in a name, a handle or a key is no defect."""
    odd = "a\x00b"
    async with world(tmp_path) as w:
        alice = w.client("alice")
        agent = await created(alice, name=odd, config={"system_prompt": odd})
        assert (agent["name"], agent["config"]) == ("a\ufffdb", {"system_prompt": "a\ufffdb"})
        assert (await alice.refusal(documents.START, agent=odd, input="Hi"))[0] == "AGENT_NOT_FOUND"
        assert (await alice.ask(documents.AGENT, handle=odd))["agent"] is None
        gone = {"agentId": agent["id"], "kind": odd, "key": odd}
        assert (await refused(alice, documents.DELETE_RESOURCE, **gone))[0] == "NOT_FOUND"
        assert (await refused(alice, documents.CREATE_AGENT, kind=odd, name="Ada"))[0] == "KIND_UNAVAILABLE"


async def test_a_change_reaches_a_run_that_waited(tmp_path: Path) -> None:
    """What is generated after an approval follows the agent as it is then."""
    asked = tool(name="whose", approval=True)(whose.function)
    async with world(tmp_path, desk=desk(tools=[asked])) as w:
        w.play(Script().tool("whose"), Script().text("Done."))
        alice = w.client("alice")
        agent = await created(alice, kind="desk", config={"company": "Ink & Co"})
        run = await alice.start("Whose?", agent=agent["id"])
        feed = await alice.watch_run(run["id"])
        await feed.until(lambda feed: feed.items and feed.items[-1]["status"] == "WAITING")
        await alice.done(documents.UPDATE_AGENT, id=agent["id"], config={"company": "Pen & Co"})
        (call,) = feed.items[-1]["pendingCalls"]
        await alice.done(
            documents.DECIDE, runId=run["id"], decisions=[{"toolCallId": call["id"], "decision": "APPROVE"}]
        )
        done = await alice.settled(run["id"])
        assert done["toolCalls"]["nodes"][0]["result"] == "the desk of Pen & Co"
        assert [system_of(w, 0), system_of(w, 1)] == ["You speak for Ink & Co.", "You speak for Pen & Co."]


async def test_the_run_of_a_removed_agent_stays_and_can_t_be_gone_on_with(tmp_path: Path) -> None:
    """Its transcript is read as before."""
    async with world(tmp_path) as w:
        w.play(Script().text("One."))
        alice = w.client("alice")
        agent = await created(alice, handle="ada")
        run = await alice.settled((await alice.start("Hi", agent="ada"))["id"])
        await alice.done(documents.DELETE_AGENT, id=agent["id"])
        assert await alice.run(run["id"]) == run
        code, _ = await alice.refusal(documents.STEER, runId=run["id"], input="And?")
        assert code == "AGENT_NOT_FOUND"
        assert (await alice.refusal(documents.START, agent="ada", input="Hi"))[0] == "AGENT_NOT_FOUND"


async def test_agents_of_a_kind_that_is_gone_can_be_read_and_renamed_and_not_be_run(tmp_path: Path) -> None:
    """The kind says so; when its code is back, they run again."""
    async with world(tmp_path, desk=desk()) as w:
        w.play(Script().text("Back."))
        alice = w.client("alice")
        agent = await created(alice, kind="desk", handle="ada", config={"company": "Ink & Co"})
        there, w.agents = w.agents, Agents({})
        await w.restart()
        read = (await alice.ask(documents.AGENT, handle="ada"))["agent"]
        gone = {
            "identifier": "desk",
            "available": False,
            "description": "",
            "examples": [],
            "fields": [],
            "jsonSchema": {},
        }
        assert (read["kind"], read["config"]) == (gone, {"company": "Ink & Co"})
        refusal = await alice.refusal(documents.START, agent="ada", input="Hi")
        assert refusal == ("KIND_UNAVAILABLE", ["input", "agent"])
        await alice.done(documents.UPDATE_AGENT, id=agent["id"], name="Ada II")
        config = {"id": agent["id"], "config": {"company": "x"}}
        assert (await refused(alice, documents.UPDATE_AGENT, **config))[:2] == ("KIND_UNAVAILABLE", ["input", "config"])
        w.agents = there
        await w.restart()
        assert (await alice.settled((await alice.start("Hi", agent="ada"))["id"]))["status"] == "COMPLETED"


@pytest.mark.sqlite("on a cluster the run is left for a minute to those who know its kind")
async def test_a_run_under_way_whose_kind_is_gone_fails_with_the_reason(tmp_path: Path) -> None:
    """After a restart without its code."""
    held = asyncio.Event()
    async with world(tmp_path, desk=desk()) as w:
        w.play(Script().hold(held).text("Never."))
        alice = w.client("alice")
        agent = await created(alice, kind="desk", config={"company": "Ink & Co"})
        run = await alice.start("Hi", agent=agent["id"])
        await w.until(lambda: len(w.model.requests) == 1)
        w.agents = Agents({})
        await w.restart()
        done = await alice.settled(run["id"])
        assert (done["status"], done["error"]["code"]) == ("FAILED", "KIND_UNAVAILABLE")
        held.set()


async def test_a_run_goes_on_after_a_restart_with_its_agent(tmp_path: Path) -> None:
    """Whoever takes it up reads the row."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().hold(held).text("Never."), Script().text("Done."))
        alice = w.client("alice")
        agent = await created(alice, config={"system_prompt": "You count."})
        run = await alice.start("Hi", agent=agent["id"])
        await w.until(lambda: len(w.model.requests) == 1)
        await w.restart()
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"
        assert system_of(w, 1) == "You count."
        held.set()


async def test_a_configuration_that_fits_no_more_is_told_when_the_agent_is_run(tmp_path: Path) -> None:
    """Its kind has another field by now; the agent can be read, and mended."""
    async with world(tmp_path, desk=desk()) as w:
        alice = w.client("alice")
        agent = await created(alice, kind="desk", config={"company": "Ink & Co"})

        class Other(BaseModel):
            street: str

        w.agents = Agents({"desk": desk(fields=Other, configure=None)})
        await w.restart()
        refusal = await alice.refusal(documents.START, agent=agent["id"], input="Hi")
        assert refusal == ("INVALID_CONFIG", ["input", "agent"])
        assert (await alice.ask(documents.AGENT, id=agent["id"]))["agent"]["config"] == {"company": "Ink & Co"}
        mended = {"id": agent["id"], "config": {"street": "Inkwell Lane"}}
        assert (await alice.done(documents.UPDATE_AGENT, **mended))["agent"]["config"] == mended["config"]


async def test_a_parameter_that_the_provider_does_not_take_is_told_before_a_run_of_code_begins(tmp_path: Path) -> None:
    """Its author reads why."""
    async with world(tmp_path, helper=helper(repetition_penalty=1.1)) as w:
        payload = await w.client("alice").do(documents.START, agent="helper", input="Hi")
        (error,) = payload["errors"]
        assert error["code"] == "INVALID_CONFIG"
        assert "The Messages API knows no repetition penalty." in error["message"]
        assert await w.run_ids() == []


async def test_tool_choice_is_for_the_beginning_of_a_turn(tmp_path: Path) -> None:
    """A model that had to call a tool at every step would never answer."""
    async with world(tmp_path, desk=desk(tool_choice="any")) as w:
        w.play(Script().tool("whose"), Script().text("Done."), Script().tool("whose"), Script().text("Done."))
        alice = w.client("alice")
        agent = await created(alice, kind="desk", config={"company": "Ink & Co"})
        run = await alice.settled((await alice.start("Whose?", agent=agent["id"]))["id"])
        await alice.start("Again", agent=agent["id"], runId=run["id"])
        assert (await alice.settled(run["id"]))["status"] == "COMPLETED"
        choices = [request.body.get("tool_choice") for request in w.model.requests]
        assert choices == [{"type": "any"}, None, {"type": "any"}, None]


async def test_an_agent_of_code_hands_tasks_to_a_stored_one(tmp_path: Path) -> None:
    """By its handle; the run below belongs to the stored agent."""

    @tool
    async def ask_ada(ctx: Context) -> str:
        """Ask Ada."""
        return (await ctx.run_agent("ada", "How many?")).text

    async with world(tmp_path, helper=helper(tools=[ask_ada])) as w:
        w.play(Script().tool("ask_ada"), Script().text("Seven."), Script().text("Ada says seven."))
        alice = w.client("alice")
        agent = await created(alice, handle="ada", config={"system_prompt": "You count."})
        run = await alice.settled((await alice.start("How many?"))["id"])
        assert run["toolCalls"]["nodes"][0]["result"] == "Seven."
        read = (await alice.ask(documents.AGENT, id=agent["id"]))["agent"]
        assert [one["id"] for one in read["runs"]["nodes"]] == [one["id"] for one in run["children"]["nodes"]]


async def test_a_fork_belongs_to_the_same_agent(tmp_path: Path) -> None:
    """And runs as it does."""
    async with world(tmp_path) as w:
        w.play(Script().text("One."), Script().text("Two."))
        alice = w.client("alice")
        agent = await created(alice, config={"system_prompt": "You count."})
        run = await alice.settled((await alice.start("Hi", agent=agent["id"]))["id"])
        fork = (await alice.done(documents.FORK, runId=run["id"], seq=2, input="And?"))["run"]
        assert (await alice.settled(fork["id"]))["status"] == "COMPLETED"
        assert system_of(w, 1) == "You count."
        assert (await alice.ask(documents.AGENT, id=agent["id"]))["agent"]["runs"]["totalCount"] == 2


async def test_nobody_else_runs_an_agent(tmp_path: Path) -> None:
    """By its handle or its id it looks missing."""
    async with world(tmp_path) as w:
        agent = await created(w.client("alice"), handle="ada")
        bob = w.client("bob")
        for word in ("ada", agent["id"], NEW_ID("agt")):
            assert await bob.refusal(documents.START, agent=word, input="Hi") == (
                "AGENT_NOT_FOUND",
                ["input", "agent"],
            )


async def test_agent_takes_an_id_or_a_handle(tmp_path: Path) -> None:
    """Neither and both are no question; an id is no handle."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        agent = await created(alice)
        assert await alice.codes(documents.AGENT) == ["BAD_USER_INPUT"]
        assert await alice.codes(documents.AGENT, id=agent["id"], handle="ada") == ["BAD_USER_INPUT"]
        assert (await alice.ask(documents.AGENT, handle=agent["id"]))["agent"] is None
        assert (await alice.ask(documents.AGENT, id="agt_nonsense"))["agent"] is None
