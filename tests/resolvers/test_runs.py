"""Runs are found, listed and shown to their owner."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from models.database import Database
from models.enums import ErrorCode, FinishReason, Role, RunStatus, SteerMode, ToolCallState
from models.events import Failure
from models.run import PendingInput
from models.usage import Usage
from tests.support.api import BOB, ROOT, ask, codes_of, context_of
from tests.support.fake_engine import FakeEngine
from tests.support.rows import NOW, a_call, a_message, a_model_call, a_run, new_id, store

AT = "2027-01-15T08:00:00.000Z"
LATER = "2027-01-15T08:01:00.000Z"


async def test_every_field_of_a_run_is_shown(engine: FakeEngine, database: Database) -> None:
    """What the row has, in the contract's words; what later parts bring is null or empty."""
    waiting = PendingInput("inp_1", "More", SteerMode.INTERRUPT, NOW, ordinal=1)
    run = a_run(
        status=RunStatus.FAILED,
        finish=FinishReason.ERROR,
        title="A title",
        stream_id="str_1",
        error=Failure(ErrorCode.PROVIDER_ERROR, "The provider failed."),
        pending=(waiting,),
        cancel_requested=True,
        steps=3,
        metadata={"a": [1]},
        started_at=NOW,
    )
    await store(database, run, a_model_call(run, 1, Usage(1, 2, 3, 4, Decimal("0.5"))))
    data = await ask(
        context_of(engine),
        """query ($id: ID!) { run(id: $id) {
          __typename id agent userId status finish title streamId error { code message }
          pendingInput { id text mode createdAt } pendingCalls { id } cancelRequested steps
          usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens cost } budget { cost } output metadata
          parent { id } children { nodes { id } } forkedFrom { id } createdAt startedAt updatedAt
        } }""",
        id=run.id,
    )
    assert data["run"] == {
        "__typename": "AgentRun",
        "id": run.id,
        "agent": "helper",
        "userId": "alice",
        "status": "FAILED",
        "finish": "ERROR",
        "title": "A title",
        "streamId": "str_1",
        "error": {"code": "PROVIDER_ERROR", "message": "The provider failed."},
        "pendingInput": [{"id": "inp_1", "text": "More", "mode": "INTERRUPT", "createdAt": AT}],
        "pendingCalls": [],
        "cancelRequested": True,
        "steps": 3,
        "usage": {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "cacheWriteTokens": 4, "cost": "0.5"},
        "budget": None,
        "output": None,
        "metadata": {"a": [1]},
        "parent": None,
        "children": {"nodes": []},
        "forkedFrom": None,
        "createdAt": AT,
        "startedAt": AT,
        "updatedAt": AT,
    }


async def test_a_run_that_called_no_model_cost_nothing(engine: FakeEngine, database: Database) -> None:
    """Nothing used costs 0, not an unknown price."""
    run = a_run(status=RunStatus.IDLE)
    await store(database, run)
    data = await ask(context_of(engine), "query ($id: ID!) { run(id: $id) { usage { cost } } }", id=run.id)
    assert data["run"]["usage"]["cost"] == "0"


async def test_the_transcript_the_calls_and_the_model_calls_are_shown(engine: FakeEngine, database: Database) -> None:
    """Blocks carry our own call ids, content stays as it was stored."""
    run = a_run()
    use = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}
    answer = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Adding."}, use]
    results = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3", "is_error": False}]
    call = a_call(run, 1, state=ToolCallState.SUCCEEDED, result="3", started_at=NOW, finished_at=NOW)
    model_call = a_model_call(run, 1, Usage(1, 2, 0, 0, None), stop_reason="tool_use", request_id="req_9")
    assistant = a_message(
        run, 2, answer, role=Role.ASSISTANT, step=1, model="model-a", stop_reason="tool_use", usage=Usage(1, 2)
    )
    await store(database, run, a_message(run, 1), assistant, a_message(run, 3, results, step=1), call, model_call)
    data = await ask(
        context_of(engine),
        """query ($id: ID!) { run(id: $id) {
          messages { nodes { seq role content text model stopReason usage { outputTokens cost } createdAt blocks {
            __typename ... on TextBlock { text } ... on ReasoningBlock { thoughts: text }
            ... on ToolUseBlock { toolCallId name input } ... on ToolResultBlock { toolCallId content isError }
          } } }
          toolCalls { nodes { id runId agent userId step name input state result isError startedAt finishedAt
            approvers expiresAt decidedBy decidedAt reason childRun { id } } }
          modelCalls { nodes { id runId step attempt model usage { cost } stopReason startedAt finishedAt requestId } }
        } }""",
        id=run.id,
    )
    first, second, third = data["run"]["messages"]["nodes"]
    assert (first["role"], first["content"], first["text"], first["model"]) == ("USER", "Hello", "Hello", None)
    assert first["blocks"] == [{"__typename": "TextBlock", "text": "Hello"}]
    assert second["content"] == answer
    assert (second["text"], second["stopReason"], second["usage"]["cost"]) == ("Adding.", "tool_use", None)
    assert second["blocks"] == [
        {"__typename": "ReasoningBlock", "thoughts": "Hm."},
        {"__typename": "TextBlock", "text": "Adding."},
        {"__typename": "ToolUseBlock", "toolCallId": call.id, "name": "add", "input": {"a": 1}},
    ]
    assert third["blocks"] == [
        {"__typename": "ToolResultBlock", "toolCallId": call.id, "content": "3", "isError": False}
    ]
    (shown,) = data["run"]["toolCalls"]["nodes"]
    assert (shown["id"], shown["state"], shown["result"], shown["startedAt"]) == (call.id, "SUCCEEDED", "3", AT)
    assert shown["childRun"] is shown["approvers"] is shown["expiresAt"] is None
    (asked,) = data["run"]["modelCalls"]["nodes"]
    assert (asked["id"], asked["requestId"], asked["usage"]["cost"]) == (model_call.id, "req_9", None)


LIST = """query ($filter: RunFilter, $first: Int, $after: String, $last: Int, $before: String) {
  runs(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { id } } nodes { id }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount
  }
}"""


async def test_runs_are_listed_newest_first_by_pages(engine: FakeEngine, database: Database) -> None:
    """Walking forwards and backwards by cursors meets every run once."""
    runs = [a_run() for _ in range(5)]
    await store(database, *runs)
    newest_first = [run.id for run in reversed(runs)]
    context = context_of(engine)
    forwards: list[str] = []
    after = None
    while True:
        page = (await ask(context, LIST, first=2, after=after))["runs"]
        forwards += [node["id"] for node in page["nodes"]]
        assert page["totalCount"] == 5
        assert page["nodes"] == [edge["node"] for edge in page["edges"]]
        if not page["pageInfo"]["hasNextPage"]:
            break
        after = page["pageInfo"]["endCursor"]
    assert forwards == newest_first
    last = (await ask(context, LIST, last=2))["runs"]
    assert [node["id"] for node in last["nodes"]] == newest_first[-2:]
    before = (await ask(context, LIST, last=2, before=last["pageInfo"]["startCursor"]))["runs"]
    assert [node["id"] for node in before["nodes"]] == newest_first[1:3]
    assert before["pageInfo"]["hasPreviousPage"] is True


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (None, {"done", "failed"}),
        ({}, {"done", "failed"}),
        ({"status": ["FAILED", "RUNNING"]}, {"failed"}),
        ({"status": []}, set()),
        ({"status": None, "agent": None, "search": None, "metadata": None, "parentId": None}, {"done", "failed"}),
        ({"agent": "other"}, {"failed"}),
        ({"agent": "oth\x00er"}, set()),
        ({"search": " ALPHA "}, {"done"}),
        ({"metadata": {"ticket": 7}}, {"failed"}),
        ({"metadata": {"ticket": 7, "more": 1}}, set()),
        ({"parentId": "run_of_nobody\x00"}, set()),
        ({"finish": ["ERROR"]}, {"failed"}),
        ({"finish": ["STOP", "ERROR"], "status": ["COMPLETED"]}, {"done"}),
        ({"finish": []}, set()),
        ({"createdAfter": LATER}, {"failed"}),
        ({"createdBefore": LATER}, {"done"}),
        ({"createdAfter": AT, "createdBefore": LATER, "search": "alpha"}, {"done"}),
        ({"userId": "alice", "everyone": False}, {"done", "failed"}),
        ({"userId": "alice", "everyone": True}, {"done", "failed"}),
        ({"userId": None, "everyone": None, "finish": None, "createdAfter": None}, {"done", "failed"}),
    ],
)
async def test_runs_are_filtered(engine: FakeEngine, database: Database, wanted: Any, expected: set[str]) -> None:
    """Every condition that is given must hold; null and left out are the same."""
    runs = {
        "done": a_run(title="The Alpha case", finish=FinishReason.STOP),
        "failed": a_run(
            agent="other",
            status=RunStatus.FAILED,
            finish=FinishReason.ERROR,
            metadata={"ticket": 7, "b": None},
            created_at=NOW + 60_000,
        ),
    }
    await store(database, *runs.values(), a_run(user_id="bob", title="Alpha"))
    data = await ask(context_of(engine), LIST, filter=wanted)
    assert {node["id"] for node in data["runs"]["nodes"]} == {runs[name].id for name in expected}
    assert data["runs"]["totalCount"] == len(expected)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, {"root's"}),
        ({"everyone": True}, {"root's", "alice's", "bob's"}),
        ({"everyone": True, "search": "mine"}, {"alice's"}),
        ({"userId": "bob"}, {"bob's"}),
        ({"userId": "bob", "everyone": True}, {"bob's"}),
        ({"userId": "carol\x00"}, set()),
    ],
)
async def test_administrators_list_the_runs_of_whom_they_name(
    engine: FakeEngine, database: Database, wanted: Any, expected: set[str]
) -> None:
    """Their own where they name nobody; to all others another's list is FORBIDDEN, though it were empty."""
    runs = {f"{name}'s": a_run(user_id=name) for name in ("root", "bob")}
    runs["alice's"] = a_run(user_id="alice", title="Mine")
    await store(database, *runs.values())
    data = await ask(context_of(engine, ROOT), LIST, filter=wanted)
    assert {node["id"] for node in data["runs"]["nodes"]} == {runs[name].id for name in expected}
    assert data["runs"]["totalCount"] == len(expected)
    if wanted and wanted.get("userId") != "bob":
        assert await codes_of(context_of(engine, BOB), LIST, filter=wanted) == ["FORBIDDEN"]


@pytest.mark.parametrize(
    "variables",
    [
        {"first": 0},
        {"first": 101},
        {"last": -1},
        {"first": 1, "last": 1},
        {"after": "nonsense"},
        {"filter": {"metadata": [1]}},
        {"filter": {"metadata": "text"}},
    ],
)
async def test_a_list_that_can_t_be_is_bad_user_input(engine: FakeEngine, variables: dict[str, Any]) -> None:
    """The client reads which argument is wrong, as a top-level error."""
    assert await codes_of(context_of(engine), LIST, **variables) == ["BAD_USER_INPUT"]


async def test_another_list_s_cursor_is_refused(engine: FakeEngine, database: Database) -> None:
    """Positions of one list mean nothing in another, not even of the same kind."""
    one, other = a_run(), a_run()
    await store(database, one, other, a_message(one, 1), a_message(other, 1))
    context = context_of(engine)
    text = "query ($id: ID!, $after: String) { run(id: $id) { messages(after: $after) { pageInfo { endCursor } } } }"
    cursor = (await ask(context, text, id=one.id))["run"]["messages"]["pageInfo"]["endCursor"]
    assert await codes_of(context, text, id=one.id, after=cursor) == []
    assert await codes_of(context, text, id=other.id, after=cursor) == ["BAD_USER_INPUT"]
    assert await codes_of(context, LIST, after=cursor) == ["BAD_USER_INPUT"]


async def test_children_parent_and_origin_are_shown_where_they_are_the_viewer_s(
    engine: FakeEngine, database: Database
) -> None:
    """Links to someone else's runs lead nowhere."""
    parent, strangers = a_run(), a_run(user_id="bob")
    message, foreign = a_message(parent, 1), a_message(strangers, 1)
    child = a_run(parent_id=parent.id, forked_from=message.id)
    odd = a_run(parent_id=strangers.id, forked_from=foreign.id)
    await store(database, parent, strangers, message, foreign, child, odd)
    text = """query ($id: ID!) { run(id: $id) {
      parent { id } forkedFrom { id } children(first: 1) { nodes { id } totalCount }
    } }"""
    context = context_of(engine)
    shown = (await ask(context, text, id=child.id))["run"]
    assert shown["parent"] == {"id": parent.id}
    assert shown["forkedFrom"] == {"id": message.id}
    assert (await ask(context, text, id=odd.id))["run"] == {
        "parent": None,
        "forkedFrom": None,
        "children": {"nodes": [], "totalCount": 0},
    }
    assert (await ask(context, text, id=parent.id))["run"]["children"] == {
        "nodes": [{"id": child.id}],
        "totalCount": 1,
    }


@pytest.mark.parametrize("run_id", ["", "run_", "nonsense", "run_\x00", "run_'; drop table", "run_" + "0" * 10_000])
async def test_an_id_that_is_none_finds_nothing(engine: FakeEngine, run_id: str) -> None:
    """Odd text is no id; the database is not even asked."""
    assert await ask(context_of(engine), "query ($id: ID!) { run(id: $id) { id } }", id=run_id) == {"run": None}


async def test_a_foreign_run_looks_like_a_missing_one(engine: FakeEngine, database: Database) -> None:
    """The answers are the same to the letter."""
    run = a_run()
    await store(database, run)
    text = "query ($id: ID!) { run(id: $id) { id } runs { nodes { id } totalCount } }"
    foreign = await ask(context_of(engine, BOB), text, id=run.id)
    missing = await ask(context_of(engine, BOB), text, id=new_id("run"))
    assert foreign == missing == {"run": None, "runs": {"nodes": [], "totalCount": 0}}


async def test_two_root_fields_share_nothing_that_breaks(engine: FakeEngine, database: Database) -> None:
    """Fields of one operation run at once, each read in order."""
    one, other = a_run(), a_run()
    await store(database, one, other)
    fields = " ".join(f'f{number}: run(id: "{run.id}") {{ id }}' for number, run in enumerate([one, other] * 10))
    data = await ask(context_of(engine), f"{{ {fields} }}")
    assert [value["id"] for value in data.values()] == [one.id, other.id] * 10
