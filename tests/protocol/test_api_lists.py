"""Lists by pages: keyset cursors that stay right while rows are added, filters, counts, and anything by its id."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from models.ids import Ids
from tests.support import documents
from tests.support.client import Client
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.world import World, helper, world

INFO = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"


@pytest.fixture
async def w(tmp_path: Path) -> AsyncIterator[World]:
    """A world whose model always says yes, and whose tool is quick."""
    gate = Gate()
    gate.open.set()
    async with world(tmp_path, helper=helper(tools=[gate.tool]), other=helper()) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        yield w


async def page_of_runs(client: Client, **arguments: Any) -> dict[str, Any]:
    """A page of the viewer's runs."""
    query = (
        "query ($first: Int, $after: String, $last: Int, $before: String, $filter: RunFilter) "
        "{ runs(first: $first, after: $after, last: $last, before: $before, filter: $filter) "
        f"{{ edges {{ cursor node {{ id }} }} nodes {{ id }} {INFO} totalCount }} }}"
    )
    page: dict[str, Any] = (await client.ask(query, **arguments))["runs"]
    assert [edge["node"] for edge in page["edges"]] == page["nodes"]
    info = page["pageInfo"]
    ends = [edge["cursor"] for edge in page["edges"]]
    assert (info["startCursor"], info["endCursor"]) == ((ends[0], ends[-1]) if ends else (None, None))
    return page


def ids(page: dict[str, Any]) -> list[str]:
    """The ids of a page's items."""
    return [node["id"] for node in page["nodes"]]


async def some_runs(client: Client, count: int, **given: Any) -> list[str]:
    """The ids of so many runs that have ended, newest first."""
    made = [(await client.start("Hi", **given))["id"] for _ in range(count)]
    for run_id in made:
        await client.settled(run_id)
    return made[::-1]


async def test_runs_are_paged_both_ways_while_others_begin(w: World) -> None:
    """Each run comes once, newest first, whatever is added meanwhile; the newer ones are ahead of the first page."""
    alice = w.client("alice")
    runs = await some_runs(alice, 7)
    seen: list[str] = []
    cursor = None
    while True:
        page = await page_of_runs(alice, first=3, after=cursor)
        seen += ids(page)
        assert page["pageInfo"]["hasPreviousPage"] is (cursor is not None)
        if not page["pageInfo"]["hasNextPage"]:
            break
        cursor = page["pageInfo"]["endCursor"]
        await some_runs(alice, 1)
    assert seen == runs
    assert page["totalCount"] == 9
    first = await page_of_runs(alice, last=2)
    assert ids(first) == runs[-2:]
    back = await page_of_runs(alice, last=3, before=first["pageInfo"]["startCursor"])
    assert ids(back) == runs[2:5]
    assert back["pageInfo"]["hasPreviousPage"] is back["pageInfo"]["hasNextPage"] is True
    newer = await page_of_runs(alice, last=5, before=(await page_of_runs(alice, first=3))["edges"][2]["cursor"])
    assert len(ids(newer)) == 2
    assert newer["pageInfo"]["hasPreviousPage"] is False


async def test_between_two_cursors_stands_what_is_between_them(w: World) -> None:
    """`after` and `before` together cut a list on both sides."""
    alice = w.client("alice")
    runs = await some_runs(alice, 5)
    edges = (await page_of_runs(alice))["edges"]
    between = {"after": edges[0]["cursor"], "before": edges[4]["cursor"]}
    for sized in ({}, {"first": 3}, {"last": 3}):
        assert ids(await page_of_runs(alice, **between, **sized)) == runs[1:4]
    assert ids(await page_of_runs(alice, **between, first=1)) == runs[1:2]
    assert ids(await page_of_runs(alice, **between, last=1)) == runs[3:4]
    assert ids(await page_of_runs(alice, after=edges[4]["cursor"])) == []


async def test_what_is_in_a_run_is_paged_while_it_grows(w: World) -> None:
    """Messages, tool calls and model calls, oldest first, forwards and backwards."""
    w.play(*(Script().tool(f"tool_{n}") for n in range(6)), Script().text("Done."))
    alice = w.client("alice")
    run = await alice.settled((await alice.start("Work"))["id"])
    for name, count in (("messages", 14), ("toolCalls", 6), ("modelCalls", 7)):
        whole = [node["id"] for node in run[name]["nodes"]]
        assert len(whole) == run[name]["totalCount"] == count
        query = (
            "query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String) { run(id: $id) { "
            f"{name}(first: $first, after: $after, last: $last, before: $before) {{ nodes {{ id }} {INFO} }} }} }}"
        )
        forwards = await _all(alice, query, run["id"], name, "first", "after", "endCursor", "hasNextPage")
        assert [node for page in forwards for node in page] == whole
        backwards = await _all(alice, query, run["id"], name, "last", "before", "startCursor", "hasPreviousPage")
        assert [node for page in reversed(backwards) for node in page] == whole


async def _all(
    client: Client, query: str, run_id: str, name: str, size: str, place: str, cursor: str, more: str
) -> list[list[str]]:
    """The pages of a list in one direction; the run grows between the first and the second where it goes forwards."""
    pages: list[list[str]] = []
    at = None
    while True:
        page = (await client.ask(query, id=run_id, **{size: 4, place: at}))["run"][name]
        pages.append([node["id"] for node in page["nodes"]])
        if not page["pageInfo"][more]:
            return pages
        at = page["pageInfo"][cursor]


async def test_a_page_of_messages_stays_right_while_turns_are_added(w: World) -> None:
    """A cursor from before goes on exactly behind it, into what came since."""
    alice = w.client("alice")
    run = await alice.settled((await alice.start("One"))["id"])
    page = f"messages(first: 2, after: $c) {{ nodes {{ seq }} {INFO} }}"
    query = f"query ($id: ID!, $c: String) {{ run(id: $id) {{ {page} }} }}"
    first = (await alice.ask(query, id=run["id"]))["run"]["messages"]
    assert first["pageInfo"]["hasNextPage"] is False
    await alice.start("Two", runId=run["id"])
    await alice.settled(run["id"])
    second = (await alice.ask(query, id=run["id"], c=first["pageInfo"]["endCursor"]))["run"]["messages"]
    assert [node["seq"] for page in (first, second) for node in page["nodes"]] == [1, 2, 3, 4]


async def test_filters_find_what_they_say(w: World) -> None:
    """Status, agent, title and metadata, alone and together, with a count that agrees."""
    alice = w.client("alice")
    red = await some_runs(alice, 2, title="The RED one \u00c9", metadata={"team": "red", "n": 1})
    blue = await some_runs(alice, 1, agent="other", metadata={"team": "blue", "deep": {"a": [1]}})
    w.play(Script.status(401))
    (failed,) = await some_runs(alice, 1)
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({}, [failed, *blue, *red]),
        ({"status": ["FAILED"]}, [failed]),
        ({"status": ["COMPLETED", "FAILED"]}, [failed, *blue, *red]),
        ({"status": []}, []),
        ({"agent": "other"}, blue),
        ({"agent": "oth"}, []),
        ({"search": "red ONE \u00e9"}, red),
        ({"search": "%"}, []),
        ({"search": "_"}, []),
        ({"search": "  "}, [failed, *blue, *red]),
        ({"metadata": {"team": "red"}}, red),
        ({"metadata": {"team": "red", "n": 1}}, red),
        ({"metadata": {"team": "red", "n": 2}}, []),
        ({"metadata": {"deep": {"a": [1]}}}, blue),
        ({"metadata": {}}, [failed, *blue, *red]),
        ({"agent": "helper", "status": ["COMPLETED"], "search": "one"}, red),
        ({"agent": None, "status": None, "search": None, "metadata": None, "parentId": None}, [failed, *blue, *red]),
    ]
    for wanted, expected in cases:
        page = await page_of_runs(alice, filter=wanted)
        assert (ids(page), page["totalCount"]) == (expected, len(expected)), wanted
    half = await page_of_runs(alice, filter={"metadata": {"team": "red"}}, first=1)
    assert (ids(half), half["totalCount"], half["pageInfo"]["hasNextPage"]) == (red[:1], 2, True)
    assert await alice.codes("query ($f: RunFilter) { runs(filter: $f) { totalCount } }", f={"metadata": "x"}) == [
        "BAD_USER_INPUT"
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        {"first": 0},
        {"first": 101},
        {"first": -1},
        {"last": 0},
        {"last": 101},
        {"first": 1, "last": 1},
        {"after": "nonsense"},
        {"after": ""},
        {"before": "cnVucw"},
        {"after": "cnVuczox"},
        {"after": "\ud83d\0"},
        {"after": "cnVuczpydW5f" + "A" * 10_000},
    ],
)
async def test_a_size_out_of_range_or_a_cursor_that_is_none_is_bad_user_input(
    w: World, arguments: dict[str, Any]
) -> None:
    """On the list of runs and on a run's own lists; first and last go from 1 to 100."""
    alice = w.client("alice")
    (run_id,) = await some_runs(alice, 1)
    head = "query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String) "
    given = "first: $first, after: $after, last: $last, before: $before"
    for name in ("messages", "toolCalls", "modelCalls"):
        query = f"{head} {{ runs({given}) {{ totalCount }} run(id: $id) {{ {name}({given}) {{ totalCount }} }} }}"
        answer = await alice.answer(query, id=run_id, **arguments)
        assert {error["extensions"]["code"] for error in answer["errors"]} == {"BAD_USER_INPUT"}
    assert len(ids(await page_of_runs(alice, first=100))) == 1


async def test_a_cursor_of_one_list_is_none_of_another(w: World) -> None:
    """Cursors of messages and tool calls, of one run and another, are told apart."""
    alice = w.client("alice")
    one, two = await some_runs(alice, 2)
    query = "query ($id: ID!, $c: String) { run(id: $id) { messages(after: $c) { edges { cursor } } } }"
    cursor = (await alice.ask(query, id=one))["run"]["messages"]["edges"][0]["cursor"]
    assert await alice.codes(query, id=two, c=cursor) == ["BAD_USER_INPUT"]
    calls = "query ($id: ID!, $c: String) { run(id: $id) { toolCalls(after: $c) { totalCount } } }"
    assert await alice.codes(calls, id=one, c=cursor) == ["BAD_USER_INPUT"]


async def test_anything_is_found_by_its_id(w: World) -> None:
    """node and nodes give runs, messages, tool calls and model calls whole, in order, null for what is not there."""
    w.play(Script().tool("work"), Script().text("Done."))
    alice = w.client("alice")
    run = await alice.settled((await alice.start("Work"))["id"])
    made = {
        "Whole": run,
        "Message": run["messages"]["nodes"][1],
        "Call": run["toolCalls"]["nodes"][0],
        "ModelAnswer": run["modelCalls"]["nodes"][1],
    }
    named = [{"__typename": one["__typename"], "id": one["id"]} for one in made.values()]
    wanted = [*(one["id"] for one in named), "nonsense", Ids()("run"), run["streamId"], run["id"]]
    query = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }"
    assert (await alice.ask(query, ids=wanted))["nodes"] == [*named, None, None, None, named[0]]
    for fragment, one in made.items():
        query = documents.document(f"query ($id: ID!) {{ node(id: $id) {{ id ...{fragment} }} }}")
        assert (await alice.ask(query, id=one["id"]))["node"] == one
    assert await alice.codes("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=["x"] * 101) == ["BAD_USER_INPUT"]


async def test_two_fields_of_one_document_do_not_disturb_each_other(w: World) -> None:
    """The same run twice, deep, beside the list it is in, from many requests at once."""
    w.play(Script().tool("work").tool("work"), Script().text("Done."))
    alice = w.client("alice")
    run = await alice.settled((await alice.start("Work"))["id"])
    spread = "id messages { nodes { ...Message } totalCount } toolCalls { nodes { ...Call } totalCount }"
    query = documents.document(
        f"query ($id: ID!) {{ a: run(id: $id) {{ {spread} }} b: run(id: $id) {{ {spread} }} "
        f"runs {{ nodes {{ {spread} }} totalCount }} c: node(id: $id) {{ ... on AgentRun {{ {spread} }} }} }}"
    )
    for answer in await asyncio.gather(*(alice.ask(query, id=run["id"]) for _ in range(10))):
        assert answer["a"] == answer["b"] == answer["c"] == answer["runs"]["nodes"][0]
        assert answer["a"]["messages"] == run["messages"]
        assert answer["a"]["toolCalls"] == run["toolCalls"]


async def test_models_are_listed_with_what_is_known_of_them(w: World) -> None:
    """Those that agents name and those with a price, whether allowed, with exact prices."""
    query = "{ models { id allowed contextTokens maxOutputTokens inputPrice outputPrice } }"
    models = (await w.client("alice").ask(query))["models"]
    assert "claude-sonnet-5-5" in [model["id"] for model in models]
    assert all(model["allowed"] for model in models)
    assert [model["id"] for model in models] == sorted(model["id"] for model in models)


async def test_a_model_that_is_not_allowed_is_refused(tmp_path: Path) -> None:
    """MODEL_NOT_ALLOWED, by name, before anything is stored."""
    async with world(tmp_path, settings={"allowed_models": frozenset({"another-model"})}) as w:
        alice = w.client("alice")
        refused = await alice.refusal(documents.START, agent="helper", input="Hi")
        assert refused == ("MODEL_NOT_ALLOWED", ["input", "agent"])
        models = {model["id"]: model["allowed"] for model in (await alice.ask("{ models { id allowed } }"))["models"]}
        assert models["another-model"] is True
        assert models["claude-sonnet-5-5"] is False
        assert await w.run_ids() == []
