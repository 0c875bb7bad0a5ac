"""Whose is what: nobody reaches anything, and another's run looks exactly like a missing one on every path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from models.ids import Ids
from tests.support import documents
from tests.support.client import Client
from tests.support.clients import GraphQLFailed, connected
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.world import World, helper, world

RUN_FIELDS = "id status messages { totalCount } toolCalls { totalCount } modelCalls { totalCount }"
NEW_ID = Ids()
MISSING = {
    "run": NEW_ID("run"),
    "message": NEW_ID("msg"),
    "call": NEW_ID("call"),
    "model": NEW_ID("mdl"),
    "stream": NEW_ID("str"),
    "input": NEW_ID("inp"),
    "agent": NEW_ID("agt"),
    "resource": NEW_ID("res"),
    "schedule": NEW_ID("sch"),
    "webhook": NEW_ID("whk"),
    "offered": NEW_ID("rmt"),
    "chat": NEW_ID("cht"),
    "thread": NEW_ID("thr"),
    "said": NEW_ID("cms"),
    "lent": NEW_ID("trs"),
}


@dataclass
class Scene:
    """A run of Alice's that is at work, with the ids of all that belongs to it; and Bob, who has learnt them."""

    world: World
    alice: Client
    bob: Client
    ids: dict[str, str]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """Alice's run at work in a tool, with an input that waits."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().tool("work"), Script().text("Done."))
        alice, bob = w.client("alice"), w.client("bob")
        run = await alice.start("Work", title="Alice's own", metadata={"secret": "hers"})
        await gate.begun.wait()
        sent = await alice.steer(run["id"], "hers alone")
        whole = await alice.run(run["id"])
        agent = (await alice.done(documents.CREATE_AGENT, kind="helper", name="Alice's own"))["agent"]["id"]
        document = {"key": "k", "kind": "document", "value": {"title": "Hers", "text": "Hers alone."}}
        held = (await alice.done(documents.SET_RESOURCE, agentId=agent, **document))["agent"]["resources"]["nodes"]
        daily = {"agent": "helper", "input": "Hers alone", "cron": "@daily"}
        schedule = (await alice.done(documents.CREATE_SCHEDULE, **daily))["schedule"]["id"]
        webhook = (await alice.done(documents.CREATE_WEBHOOK, url="https://example.com/hers"))["webhook"]["id"]
        offered = [{"name": "read", "description": "Reads.", "inputSchema": {"type": "object"}}]
        what = {"name": "browser", "kind": "CLIENT", "tools": offered}
        remote = (await alice.done(documents.REGISTER_REMOTE, **what))["remote"]["id"]
        ids = {
            "run": run["id"],
            "message": whole["messages"]["nodes"][0]["id"],
            "call": whole["toolCalls"]["nodes"][0]["id"],
            "model": whole["modelCalls"]["nodes"][0]["id"],
            "stream": run["streamId"],
            "input": sent["inputId"],
            "agent": agent,
            "resource": held[0]["id"],
            "schedule": schedule,
            "webhook": webhook,
            "offered": remote,
            **await chat_ids(alice, remote),
        }
        yield Scene(w, alice, bob, ids)
        gate.open.set()
        await alice.settled(run["id"])


async def chat_ids(client: Client, remote: str) -> dict[str, str]:
    """The ids of a new chat of theirs, its thread, a message in it, and the loan of this remote to its agents."""
    made = await client.done(documents.CREATE_CHAT, title="Alice's own")
    thread_id = made["thread"]["id"]
    said = (await client.done(documents.POST_MESSAGE, threadId=thread_id, text="hers alone"))["message"]
    what = {"key": "k", "kind": "remote", "value": {"remoteId": remote}}
    thread = (await client.done(documents.SET_THREAD_RESOURCE, threadId=thread_id, **what))["thread"]
    lent = thread["resources"]["nodes"][0]["id"]
    return {"chat": made["chat"]["id"], "thread": thread_id, "said": said["id"], "lent": lent}


QUERIES = [
    f"query ($run: ID!) {{ run(id: $run) {{ {RUN_FIELDS} }} }}",
    "query ($run: ID!) { node(id: $run) { id } }",
    "query ($message: ID!) { node(id: $message) { id } }",
    "query ($call: ID!) { node(id: $call) { id } }",
    "query ($model: ID!) { node(id: $model) { id } }",
    "query ($stream: ID!, $input: ID!) { a: node(id: $stream) { id } b: node(id: $input) { id } }",
    "query ($run: ID!, $message: ID!, $call: ID!, $model: ID!) { nodes(ids: [$run, $message, $call, $model]) { id } }",
    "query ($agent: ID!, $resource: ID!) { a: node(id: $agent) { id } b: node(id: $resource) { id } }",
    "query ($agent: ID!) { agent(id: $agent) { id name config resources { totalCount } runs { totalCount } } }",
    "query ($schedule: ID!) { node(id: $schedule) { id ... on Schedule { input lastRun { id } } } }",
    "query ($webhook: ID!) { node(id: $webhook) { id ... on Webhook { url lastDelivery { runId } } } }",
    "query ($offered: ID!) { node(id: $offered) { id ... on Remote { name tools { name } } } }",
    "query ($chat: ID!) { chat(id: $chat) { id title members { userId } threads { totalCount } } }",
    "query ($chat: ID!, $thread: ID!) { a: node(id: $chat) { id } b: node(id: $thread) { id } }",
    "query ($said: ID!, $lent: ID!) { a: node(id: $said) { id } b: node(id: $lent) { id } }",
    "query ($run: ID!) { runs(filter: {parentId: $run}) { nodes { id } totalCount } }",
]
MUTATIONS = [
    (documents.START, {"agent": "helper", "input": "x", "runId": "run"}),
    (documents.START, {"agent": "another", "input": "x", "runId": "run"}),
    (documents.STEER, {"runId": "run", "input": "x"}),
    (documents.STEER, {"runId": "run", "input": "x", "mode": "INTERRUPT"}),
    (documents.WITHDRAW, {"runId": "run", "inputId": "input"}),
    (documents.CANCEL, {"runId": "run", "reason": "mine now"}),
    (documents.RETRY, {"runId": "run"}),
    (documents.FORK, {"runId": "run", "seq": 1}),
    (documents.FORK, {"runId": "run", "seq": 99, "input": "x"}),
    (documents.DECIDE, {"runId": "run", "decisions": [{"toolCallId": "call_1", "decision": "APPROVE"}]}),
    (documents.COMPLETE, {"runId": "run", "toolCallId": "call", "result": "x"}),
    (documents.CREATE_SCHEDULE, {"agent": "helper", "input": "x", "cron": "@daily", "runId": "run"}),
]
KEEPING: list[tuple[str, dict[str, Any], list[str]]] = [
    (documents.UPDATE_AGENT, {"id": "agent", "name": "Bob's now"}, ["id"]),
    (documents.DELETE_AGENT, {"id": "agent"}, ["id"]),
    (
        documents.SET_RESOURCE,
        {"agentId": "agent", "key": "k", "kind": "document", "value": {"title": "x", "text": "x"}},
        ["agentId"],
    ),
    (documents.DELETE_RESOURCE, {"agentId": "agent", "key": "k", "kind": "document"}, ["agentId"]),
    (documents.DELETE_SCHEDULE, {"id": "schedule"}, ["id"]),
    (documents.DELETE_WEBHOOK, {"id": "webhook"}, ["id"]),
]
LISTS = [documents.AGENTS, documents.SCHEDULES, documents.WEBHOOKS]
CHATTING: list[tuple[str, dict[str, Any], list[str]]] = [
    (documents.UPDATE_CHAT_MEMBERS, {"chatId": "chat", "addUsers": ["bob"]}, ["chatId"]),
    (documents.CREATE_THREAD, {"chatId": "chat"}, ["chatId"]),
    (documents.SET_THREAD_RESOURCE, {"threadId": "thread", "key": "k", "kind": "remote"}, ["threadId"]),
    (documents.POST_MESSAGE, {"threadId": "thread", "text": "x"}, ["threadId"]),
    (documents.CREATE_AGENT, {"kind": "helper", "name": "x", "mainChatId": "chat"}, ["mainChatId"]),
]
SUBSCRIPTIONS: list[tuple[str, dict[str, Any]]] = [
    (documents.WATCH_RUN, {"id": "run"}),
    (documents.WATCH_MESSAGES, {"runId": "run"}),
    (documents.WATCH_STREAM, {"streamId": "stream"}),
    (documents.WATCH_RUN_STREAM, {"runId": "run"}),
    (documents.WATCH_RUN_STREAM, {"runId": "run", "streamId": "stream", "after": 1}),
]


def of(ids: dict[str, str], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the names of ids replaced by ids."""
    return {name: ids.get(value, value) if isinstance(value, str) else value for name, value in given.items()}


@pytest.mark.parametrize("query", QUERIES)
async def test_a_read_of_anothers_is_a_read_of_nothing(scene: Scene, query: str) -> None:
    """The whole answer is the one that ids which never were get, and Alice's own differs."""
    named = {name: value for name, value in scene.ids.items() if f"${name}" in query}
    missing = {name: MISSING[name] for name in named}
    answer = await scene.bob.answer(query, **named)
    assert answer == await scene.bob.answer(query, **missing)
    assert "errors" not in answer
    if "stream" not in named and "parentId" not in query:
        assert answer != await scene.alice.answer(query, **named)


@pytest.mark.parametrize(("mutation", "given"), MUTATIONS)
async def test_a_write_to_anothers_is_refused_as_a_write_to_nothing(
    scene: Scene, mutation: str, given: dict[str, Any]
) -> None:
    """RUN_NOT_FOUND, word for word as for a run that never was, and nothing changes."""
    rows = await scene.alice.run(scene.ids["run"])
    answer = await scene.bob.do(mutation, **of(scene.ids, given))
    assert answer == await scene.bob.do(mutation, **of(MISSING, given))
    assert [(error["code"], error["field"]) for error in answer["errors"]] == [("RUN_NOT_FOUND", ["input", "runId"])]
    assert await scene.alice.run(scene.ids["run"]) == rows
    assert await scene.world.run_ids() == [scene.ids["run"]]


@pytest.mark.parametrize(("mutation", "given", "field"), KEEPING)
async def test_a_change_of_anothers_agent_is_refused_as_a_change_of_nothing(
    scene: Scene, mutation: str, given: dict[str, Any], field: list[str]
) -> None:
    """NOT_FOUND, word for word as for an agent that never was, and nothing changes."""
    before = [await scene.alice.ask(listed) for listed in LISTS]
    answer = await scene.bob.do(mutation, **of(scene.ids, given))
    assert answer == await scene.bob.do(mutation, **of(MISSING, given))
    assert [(error["code"], error["field"]) for error in answer["errors"]] == [("NOT_FOUND", ["input", *field])]
    assert [await scene.alice.ask(listed) for listed in LISTS] == before
    for listed in LISTS:
        (mine,) = (await scene.bob.ask(listed)).values()
        assert mine["totalCount"] == 0


async def test_a_remote_of_anothers_is_removed_and_listened_for_as_none(scene: Scene) -> None:
    """NOT_FOUND both times, word for word as for one that never was; Alice's stays, and is in no list of Bob's."""
    theirs, missing = scene.ids["offered"], MISSING["offered"]
    refused = await scene.bob.do(documents.DELETE_REMOTE, id=theirs)
    assert refused == await scene.bob.do(documents.DELETE_REMOTE, id=missing)
    assert [(error["code"], error["field"]) for error in refused["errors"]] == [("NOT_FOUND", ["input", "id"])]
    for remote in (theirs, missing):
        for watch in (scene.bob.watch, scene.bob.watch_events):
            assert await (await watch(documents.WATCH_REMOTE_CALLS, id=remote)).failed() == ["NOT_FOUND"]
    assert (await scene.bob.ask(documents.REMOTES))["remotes"] == {"nodes": [], "totalCount": 0}
    (kept,) = (await scene.alice.ask(documents.REMOTES))["remotes"]["nodes"]
    assert (kept["id"], kept["connected"]) == (theirs, False)


@pytest.mark.parametrize(("mutation", "given", "field"), CHATTING)
async def test_a_change_of_a_chat_that_one_is_not_in_is_refused_as_a_change_of_nothing(
    scene: Scene, mutation: str, given: dict[str, Any], field: list[str]
) -> None:
    """NOT_FOUND, word for word as for a chat that never was, and nothing changes."""
    before = await scene.alice.ask(documents.CHATS)
    answer = await scene.bob.do(mutation, **of(scene.ids, given))
    assert answer == await scene.bob.do(mutation, **of(MISSING, given))
    assert [(error["code"], error["field"]) for error in answer["errors"]] == [("NOT_FOUND", ["input", *field])]
    assert await scene.alice.ask(documents.CHATS) == before
    assert (await scene.bob.ask(documents.CHATS))["chats"]["totalCount"] == 0


async def test_watching_a_chat_that_one_is_not_in_fails_as_watching_nothing(scene: Scene) -> None:
    """NOT_FOUND before anything comes, over the socket and over events alike."""
    for ids in (scene.ids, MISSING):
        for watch in (scene.bob.watch, scene.bob.watch_events):
            feed = await watch(documents.WATCH_CHAT_MESSAGES, threadId=ids["thread"])
            assert await feed.failed() == ["NOT_FOUND"]


async def test_an_agent_of_anothers_comes_into_no_chat(scene: Scene) -> None:
    """NOT_FOUND as for one that never was, by createChat and by updateChatMembers."""
    chat_id = (await scene.bob.done(documents.CREATE_CHAT))["chat"]["id"]
    for ids in (scene.ids, MISSING):
        made = await scene.bob.do(documents.CREATE_CHAT, agents=[ids["agent"]])
        assert [(one["code"], one["field"]) for one in made["errors"]] == [("NOT_FOUND", ["input", "agents", "0"])]
        come = await scene.bob.do(documents.UPDATE_CHAT_MEMBERS, chatId=chat_id, addAgents=[ids["agent"]])
        assert [(one["code"], one["field"]) for one in come["errors"]] == [("NOT_FOUND", ["input", "addAgents", "0"])]


@pytest.mark.parametrize(("subscription", "given"), SUBSCRIPTIONS)
async def test_watching_anothers_fails_as_watching_nothing(
    scene: Scene, subscription: str, given: dict[str, Any]
) -> None:
    """RUN_NOT_FOUND before anything comes, over the socket and over events alike."""
    for ids in (scene.ids, MISSING):
        for watch in (scene.bob.watch, scene.bob.watch_events):
            assert await (await watch(subscription, **of(ids, given))).failed() == ["RUN_NOT_FOUND"]


async def test_a_stream_of_another_run_is_not_this_runs(scene: Scene) -> None:
    """runStream takes streams of its own run alone, also where both runs are the viewer's."""
    scene.world.play(Script().text("Mine."))
    own = await scene.bob.settled((await scene.bob.start("Hi"))["id"])
    feed = await scene.bob.watch(documents.WATCH_RUN_STREAM, runId=own["id"], streamId=scene.ids["stream"])
    assert await feed.failed() == ["RUN_NOT_FOUND"]
    feed = await scene.alice.watch(documents.WATCH_RUN_STREAM, runId=scene.ids["run"], streamId=own["streamId"])
    assert await feed.failed() == ["RUN_NOT_FOUND"]


async def test_lists_and_changes_hold_ones_own_alone(scene: Scene) -> None:
    """Bob's list of runs is empty whatever he filters by, and nothing of Alice's is told to him."""
    listed = "query ($f: RunFilter) { runs(filter: $f) { nodes { id } totalCount } }"
    for wanted in ({}, {"search": "Alice"}, {"metadata": {"secret": "hers"}}, {"status": ["RUNNING"]}):
        assert (await scene.bob.ask(listed, f=wanted))["runs"] == {"nodes": [], "totalCount": 0}
        assert (await scene.alice.ask(listed, f=wanted))["runs"]["totalCount"] == 1
    changes = await scene.bob.watch(documents.WATCH_RUNS)
    await (await scene.bob.socket()).execute("{ viewer { id } }")
    await scene.alice.steer(scene.ids["run"], "more")
    scene.world.play(Script().text("Mine."))
    own = await scene.bob.settled((await scene.bob.start("Hi"))["id"])
    assert {item["runId"] for item in changes.items} <= {own["id"]}


async def test_figures_are_of_ones_own_runs_alone(scene: Scene) -> None:
    """Bob has begun nothing, whatever Alice has; all of them are for administrators."""
    asked = (
        "query ($all: Boolean!) { statistics(everyone: $all) { total { turns calls } agents { name } users { name } } }"
    )
    nothing: dict[str, Any] = {"total": {"turns": 0, "calls": 0}, "agents": [], "users": None}
    assert (await scene.bob.ask(asked, all=False))["statistics"] == nothing
    assert (await scene.alice.ask(asked, all=False))["statistics"]["total"]["turns"] == 1
    assert await scene.bob.codes(asked, all=True) == ["FORBIDDEN"]


async def test_cursors_of_anothers_lists_open_nothing(scene: Scene) -> None:
    """A cursor of Alice's gives Bob a place in his own list, or is refused; never a look at hers."""
    lists = "messages(first: 1) { edges { cursor } } toolCalls(first: 1) { edges { cursor } }"
    scene.world.play(Script().text("Mine."))
    own = await scene.bob.settled((await scene.bob.start("Hi"))["id"])
    hers = await scene.alice.ask(f"{{ runs {{ edges {{ cursor node {{ {lists} }} }} }} }}")
    (edge,) = hers["runs"]["edges"]
    for way in ("after", "before"):
        mine = await scene.bob.ask(f"query ($c: String) {{ runs({way}: $c) {{ nodes {{ id }} }} }}", c=edge["cursor"])
        assert {node["id"] for node in mine["runs"]["nodes"]} <= {own["id"]}
        for name in ("messages", "toolCalls"):
            cursor = edge["node"][name]["edges"][0]["cursor"]
            query = f"query ($id: ID!, $c: String) {{ run(id: $id) {{ {name}({way}: $c) {{ nodes {{ id }} }} }} }}"
            assert await scene.bob.codes(query, id=own["id"], c=cursor) == ["BAD_USER_INPUT"]


async def test_a_key_of_anothers_is_a_new_key(scene: Scene) -> None:
    """Keys belong to the user: Bob's key of the same name begins a run of his own."""
    scene.world.play(Script().text("Bob's."), Script().text("Alice's."))
    first = await scene.bob.start("Hi", key="shared")
    await scene.bob.settled(first["id"])
    second = await scene.alice.start("Hi", key="shared")
    await scene.alice.settled(second["id"])
    assert first["id"] != second["id"]
    assert second["userId"] == "alice"


# ---------------------------------------------------------------- administrators


OF_RUNS = [query for query in QUERIES if any(f"${name}" in query for name in ("run", "message", "call", "model"))]


@pytest.mark.parametrize("query", OF_RUNS)
async def test_an_administrator_reads_what_the_owner_reads(scene: Scene, query: str) -> None:
    """A run and all of its parts, to the letter; of agents, chats and all else he is as much a stranger as Bob."""
    root = scene.world.client("root", "admin")
    named = {name: value for name, value in scene.ids.items() if f"${name}" in query}
    answer = await root.answer(query, **named)
    assert "errors" not in answer
    assert answer == await scene.alice.answer(query, **named)


@pytest.mark.parametrize("query", [query for query in QUERIES if query not in OF_RUNS])
async def test_an_administrator_reads_nothing_else_of_anothers(scene: Scene, query: str) -> None:
    """Word for word what Bob is answered."""
    named = {name: value for name, value in scene.ids.items() if f"${name}" in query}
    root = scene.world.client("root", "admin")
    assert await root.answer(query, **named) == await scene.bob.answer(query, **named)


@pytest.mark.parametrize(("mutation", "given"), [each for each in MUTATIONS if each[0] != documents.CANCEL])
async def test_an_administrator_does_nothing_in_anothers_name(
    scene: Scene, mutation: str, given: dict[str, Any]
) -> None:
    """FORBIDDEN, as the run is there to be seen; a missing one is still RUN_NOT_FOUND, and nothing changes."""
    root = scene.world.client("root", "admin")
    before = await scene.alice.run(scene.ids["run"])
    assert await root.refusal(mutation, **of(scene.ids, given)) == ("FORBIDDEN", ["input", "runId"])
    assert await root.refusal(mutation, **of(MISSING, given)) == ("RUN_NOT_FOUND", ["input", "runId"])
    assert await scene.alice.run(scene.ids["run"]) == before
    assert await scene.world.run_ids() == [scene.ids["run"]]


@pytest.mark.parametrize(("mutation", "given", "field"), [*KEEPING, *CHATTING])
async def test_an_administrator_changes_nothing_else_of_anothers(
    scene: Scene, mutation: str, given: dict[str, Any], field: list[str]
) -> None:
    """NOT_FOUND, as for everybody."""
    root = scene.world.client("root", "admin")
    assert await root.refusal(mutation, **of(scene.ids, given)) == ("NOT_FOUND", ["input", *field])


async def test_an_administrator_watches_and_stops_anothers_run(scene: Scene) -> None:
    """Every subscription of it shows how it ends; the owner's own does too."""
    root, run_id = scene.world.client("root", "admin"), scene.ids["run"]
    feeds = [await root.watch(watched, **of(scene.ids, given)) for watched, given in SUBSCRIPTIONS[:4]]
    owner = await scene.alice.watch_run(run_id)
    assert (await root.cancel(run_id))["id"] == run_id
    await owner.until(lambda feed: feed.items and feed.items[-1]["status"] == "CANCELLED")
    await feeds[0].until(lambda feed: feed.items and feed.items[-1]["status"] == "CANCELLED")
    await feeds[1].until(lambda feed: feed.items)
    for feed in feeds[2:]:
        await feed.sees("RunResult")
    assert await root.refusal(documents.CANCEL, runId=MISSING["run"]) == ("RUN_NOT_FOUND", ["input", "runId"])


async def test_an_administrator_lists_and_is_told_of_everybodys_runs(scene: Scene) -> None:
    """Where the filter says so; without it his own, and to Bob it is FORBIDDEN, in a list and live."""
    root, listed = (
        scene.world.client("root", "admin"),
        "query ($f: RunFilter) { runs(filter: $f) { nodes { userId } } }",
    )
    everyone, hers = {"everyone": True, "status": ["RUNNING"]}, {"userId": "alice"}
    assert (await root.ask(listed, f=everyone))["runs"]["nodes"] == [{"userId": "alice"}]
    assert (await root.ask(listed, f=hers))["runs"]["nodes"] == [{"userId": "alice"}]
    assert (await root.ask(listed))["runs"]["nodes"] == []
    feeds = [await root.watch(documents.WATCH_RUNS, filter=wanted) for wanted in (everyone, hers)]
    own = await root.watch(documents.WATCH_RUNS)
    await (await root.socket()).execute("{ viewer { id } }")
    await scene.alice.steer(scene.ids["run"], "more")
    for feed in feeds:
        await feed.until(lambda feed: feed.items)
        assert {(item["kind"], item["runId"]) for item in feed.items} == {("CHANGED", scene.ids["run"])}
    assert own.items == []
    for wanted in (everyone, hers):
        assert await scene.bob.codes(listed, f=wanted) == ["FORBIDDEN"]
        for watch in (scene.bob.watch, scene.bob.watch_events):
            assert await (await watch(documents.WATCH_RUNS, filter=wanted)).failed() == ["FORBIDDEN"]


# ---------------------------------------------------------------- nobody, and wrong tokens


OPERATIONS = [
    "{ statistics { total { turns } } }",
    'query { node(id: "run_x") { id } }',
    "query { nodes(ids: []) { id } }",
    'query { run(id: "run_x") { id } }',
    "query { runs { totalCount } }",
    "query { models { id } }",
    "query { approvals { totalCount } }",
    "query { agentKinds { identifier } }",
    "query { toolTypes { identifier } }",
    'query { agent(handle: "ada") { id } }',
    "query { agents { totalCount } }",
    'mutation { createAgent(input: {kind: "expert", name: "Ada"}) { agent { id } } }',
    'mutation { updateAgent(input: {id: "agt_x"}) { agent { id } } }',
    'mutation { promptAgent(input: {agent: "helper", instruction: "x"}) { run { id } } }',
    'mutation { addRunTools(input: {runId: "run_x", tools: []}) { run { id } } }',
    'mutation { deleteAgent(input: {id: "agt_x"}) { deletedId } }',
    'mutation { setResource(input: {agentId: "agt_x", key: "k", kind: "tools", value: {}}) { agent { id } } }',
    'mutation { deleteResource(input: {agentId: "agt_x", key: "k", kind: "tools"}) { agent { id } } }',
    "query { schedules { totalCount } }",
    'mutation { createSchedule(input: {agent: "helper", input: "x", cron: "@daily"}) { schedule { id } } }',
    'mutation { deleteSchedule(input: {id: "sch_x"}) { deletedId } }',
    "query { webhooks { totalCount } }",
    'mutation { createWebhook(input: {url: "https://example.com"}) { secret } }',
    'mutation { deleteWebhook(input: {id: "whk_x"}) { deletedId } }',
    "query { remotes { totalCount } }",
    'mutation { registerRemote(input: {name: "x", kind: CLIENT, tools: []}) { remote { id } } }',
    'mutation { deleteRemote(input: {id: "rmt_x"}) { deletedId } }',
    'mutation { answerRemoteCall(input: {callId: "rcl_x"}) { accepted } }',
    'query { chat(id: "cht_x") { id } }',
    "query { chats { totalCount } }",
    "mutation { createChat(input: {}) { chat { id } } }",
    'mutation { updateChatMembers(input: {chatId: "cht_x"}) { chat { id } } }',
    'mutation { createThread(input: {chatId: "cht_x"}) { thread { id } } }',
    'mutation { setThreadResource(input: {threadId: "thr_x", key: "k", kind: "remote"}) { thread { id } } }',
    'mutation { postMessage(input: {threadId: "thr_x", text: "Hi"}) { message { id } } }',
    'mutation { decideToolCalls(input: {runId: "run_x", decisions: []}) { run { id } } }',
    'mutation { completeToolCall(input: {runId: "run_x", toolCallId: "call_x"}) { run { id } } }',
    'mutation { startRun(input: {agent: "helper", input: "x"}) { queued } }',
    'mutation { steerRun(input: {runId: "run_x", input: "x"}) { queued } }',
    'mutation { withdrawInput(input: {runId: "run_x", inputId: "x"}) { withdrawn } }',
    'mutation { cancelRun(input: {runId: "run_x"}) { run { id } } }',
    'mutation { retryRun(input: {runId: "run_x"}) { run { id } } }',
    'mutation { forkRun(input: {runId: "run_x", seq: 1}) { run { id } } }',
]
WATCHES = [
    "subscription { approvals { id } }",
    'subscription { run(id: "run_x") { id } }',
    "subscription { runs { kind } }",
    'subscription { messages(runId: "run_x") { id } }',
    'subscription { stream(streamId: "str_x") { seq } }',
    'subscription { runStream(runId: "run_x") { seq } }',
    'subscription { remoteCalls(remoteId: "rmt_x") { id } }',
    'subscription { chatMessages(threadId: "thr_x") { id } }',
]


async def test_nobody_is_told_to_sign_in_by_every_operation(tmp_path: Path) -> None:
    """AGENT_REQUIRES_USER everywhere but for `viewer`, which is null, and the schema itself; nothing is stored."""
    async with world(tmp_path) as w:
        nobody = w.client(None)
        for operation in OPERATIONS:
            assert await nobody.codes(operation) == ["AGENT_REQUIRES_USER"], operation
        for subscription in WATCHES:
            for watch in (nobody.watch, nobody.watch_events):
                assert await (await watch(subscription)).failed() == ["AGENT_REQUIRES_USER"], subscription
        answer = await nobody.ask("{ viewer { id } __typename __schema { queryType { name } } }")
        assert answer["viewer"] is None
        root = "query ($kind: String!) { __type(name: $kind) { fields { name } } }"
        covered = " ".join([*OPERATIONS, *WATCHES])
        for kind in ("Query", "Mutation", "Subscription"):
            fields = {field["name"] for field in (await nobody.ask(root, kind=kind))["__type"]["fields"]}
            assert {name for name in fields if f"{{ {name}" not in covered} <= {"viewer"}
        assert await w.run_ids() == []


@pytest.mark.parametrize("fault", ["expired", "another secret", "nonsense"])
async def test_a_wrong_token_is_refused_and_never_taken_for_nobody(tmp_path: Path, fault: str) -> None:
    """401 on HTTP, for events too, and close code 4403 on a socket, by payload and by header."""
    async with world(tmp_path) as w:
        good = w.token("alice")
        token = {
            "expired": w.token("alice", seconds=-5),
            "another secret": good[:-4] + ("AAAA" if not good.endswith("AAAA") else "BBBB"),
            "nonsense": "nonsense",
        }[fault]
        client = w.client(None)
        headers = {"Authorization": f"Bearer {token}"}
        for accept in ("application/json", "text/event-stream"):
            response = await client.post({"query": "{ viewer { id } }"}, **headers, Accept=accept)
            assert response.status_code == 401
            assert response.json()["errors"][0]["extensions"]["code"] == "AGENT_REQUIRES_USER"
        for payload, sent in (({"authorization": f"Bearer {token}"}, None), (None, headers)):
            with pytest.raises(ConnectionClosed) as closed:
                async with connected(w.server.socket, payload=payload, headers=sent):
                    pass
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4403


async def test_a_socket_ends_with_its_token_and_the_run_goes_on(tmp_path: Path) -> None:
    """When the token expires the socket closes with 4403; a new one picks up where the client was."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().half_text("Half").hold(held))
        alice = w.client("alice")
        run = await alice.start("Hi")

        async def watch() -> None:
            async with connected(w.server.socket, w.token("alice", seconds=2)) as socket:
                async for _ in await socket.subscribe(documents.WATCH_STREAM, {"streamId": run["streamId"]}):
                    pass

        with pytest.raises(ConnectionClosed) as closed:
            await watch()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4403
        held.set()
        assert (await alice.stream(run["streamId"]))[-1]["status"] == "COMPLETED"


async def test_roles_decide_who_may_start_an_agent(tmp_path: Path) -> None:
    """An agent that takes a role is FORBIDDEN to those without it, to continue as well as to start."""
    async with world(tmp_path, boss=helper(auth="admin")) as w:
        w.model.answer(lambda request: Script().text("Yes, boss."))
        plain, admin = w.client("alice"), w.client("alice", "admin")
        assert await plain.refusal(documents.START, agent="boss", input="Hi") == ("FORBIDDEN", ["input", "agent"])
        run = await admin.settled((await admin.start("Hi", agent="boss"))["id"])
        assert (await plain.refusal(documents.STEER, runId=run["id"], input="Hi"))[0] == "FORBIDDEN"
        assert (await plain.ask("{ viewer { roles } }"))["viewer"] == {"roles": []}
        with pytest.raises(GraphQLFailed):
            await w.client(None).ask("{ runs { totalCount } }")
