"""With the real engine: what a user does to its own runs works, and to another's is as if there were none."""

from __future__ import annotations

from typing import Any

import pytest

from engine.engine import Engine
from models.call import ToolCall
from models.message import Message
from models.model_call import ModelCall
from models.usage import Usage
from tests.support.api import ALICE, BOB, ROOT, ask, context_of, refusal_of
from tests.support.rows import a_call, a_message, a_model_call, a_run, new_id, store

START = """mutation ($input: StartRunInput!) { startRun(input: $input) {
  run { id status agent userId title metadata streamId messages { nodes { role text } } pendingInput { id text mode } }
  queued inputId errors { code message field }
} }"""
STEER = """mutation ($input: SteerRunInput!) { steerRun(input: $input) {
  run { pendingInput { id text mode } } queued inputId errors { code field }
} }"""


async def test_a_run_is_started_steered_and_stopped(served: Engine) -> None:
    """Each answer shows the run as it is after the verb."""
    context = context_of(served)
    given = {"agent": "helper", "input": "Hi", "metadata": {"ticket": 7}, "key": "k1"}
    started = (await ask(context, START, input=given))["startRun"]
    run = started["run"]
    assert (started["queued"], started["inputId"], started["errors"]) == (False, None, [])
    assert (run["status"], run["agent"], run["userId"], run["title"]) == ("RUNNING", "helper", "alice", "Hi")
    assert run["metadata"] == {"ticket": 7}
    assert run["messages"]["nodes"] == [{"role": "USER", "text": "Hi"}]
    again = (await ask(context, START, input=given))["startRun"]
    assert again["run"]["id"] == run["id"]

    steered = (await ask(context, STEER, input={"runId": run["id"], "input": "More"}))["steerRun"]
    waiting = {"id": steered["inputId"], "text": "More", "mode": "QUEUE"}
    assert (steered["queued"], steered["run"]["pendingInput"]) == (True, [waiting])
    continued = {"agent": "helper", "input": "And more", "runId": run["id"]}
    assert (await ask(context, START, input=continued))["startRun"]["queued"] is True

    withdraw = """mutation ($input: WithdrawInputInput!) { withdrawInput(input: $input) {
      withdrawn run { pendingInput { text } } errors { code } } }"""
    target = {"runId": run["id"], "inputId": steered["inputId"]}
    taken = (await ask(context, withdraw, input=target))["withdrawInput"]
    assert taken == {"withdrawn": True, "run": {"pendingInput": [{"text": "And more"}]}, "errors": []}
    assert (await ask(context, withdraw, input=target))["withdrawInput"]["withdrawn"] is False

    cancel = "mutation ($id: ID!) { cancelRun(input: {runId: $id}) { run { status cancelRequested } errors { code } } }"
    stopped = (await ask(context, cancel, id=run["id"]))["cancelRun"]
    assert stopped["errors"] == []
    assert stopped["run"]["status"] == "CANCELLED" or stopped["run"]["cancelRequested"] is True

    fork = "mutation ($id: ID!) { forkRun(input: {runId: $id, seq: 1}) { run { id status forkedFrom { seq } } } }"
    forked = (await ask(context, fork, id=run["id"]))["forkRun"]["run"]
    assert (forked["status"], forked["forkedFrom"]) == ("IDLE", {"seq": 1})
    assert forked["id"] != run["id"]


@pytest.mark.parametrize(
    ("given", "code", "field"),
    [
        ({"agent": "nobody", "input": "Hi"}, "AGENT_NOT_FOUND", "agent"),
        ({"agent": "odd", "input": "Hi"}, "MODEL_NOT_ALLOWED", "agent"),
        ({"agent": "helper", "input": " \n\t"}, "AGENT_INPUT_REQUIRED", "input"),
        ({"agent": "helper", "input": "x" * 300_000}, "INPUT_TOO_LARGE", "input"),
        ({"agent": "helper", "input": "Hi", "metadata": [1]}, "INVALID_INPUT", "metadata"),
        ({"agent": "helper", "input": "Hi", "metadata": {"a": "x" * 17_000}}, "INVALID_INPUT", "metadata"),
        ({"agent": "helper", "input": "Hi", "title": "x" * 513}, "INVALID_INPUT", "title"),
        ({"agent": "helper", "input": "Hi", "key": ""}, "INVALID_INPUT", "key"),
        ({"agent": "helper", "input": "Hi", "runId": "nonsense"}, "RUN_NOT_FOUND", "runId"),
    ],
)
async def test_bad_input_gets_a_clear_answer(served: Engine, given: dict[str, Any], code: str, field: str) -> None:
    """As data, with the argument at fault; nothing is started."""
    payload = (await ask(context_of(served), START, input=given))["startRun"]
    (error,) = payload["errors"]
    assert (error["code"], error["field"]) == (code, ["input", field])
    assert (payload["run"], payload["queued"], payload["inputId"]) == (None, False, None)
    assert (await ask(context_of(served), "{ runs { totalCount } }"))["runs"]["totalCount"] == 0


async def test_a_key_used_again_for_something_else_is_refused(served: Engine) -> None:
    """KEY_REUSED names the key."""
    context = context_of(served)
    await ask(context, START, input={"agent": "helper", "input": "Hi", "key": "k1"})
    payload = (await ask(context, START, input={"agent": "helper", "input": "Bye", "key": "k1"}))["startRun"]
    assert [(error["code"], error["field"]) for error in payload["errors"]] == [("KEY_REUSED", ["input", "key"])]


ERRORS = "errors { code field message }"
QUERIES = [
    "query ($id: ID!) { run(id: $id) { id } }",
    "query ($id: ID!) { node(id: $id) { id } }",
    "query ($id: ID!) { nodes(ids: [$id]) { id } }",
    "query ($id: ID!) { runs(filter: {parentId: $id}) { totalCount nodes { id } } }",
    *(
        f"mutation ($id: ID!) {{ {name}(input: {{runId: $id{more}}}) {{ run {{ id }} {ERRORS} }} }}"
        for name, more in [
            ("startRun", ', agent: "helper", input: "Hi"'),
            ("steerRun", ', input: "Hi"'),
            ("withdrawInput", ', inputId: "inp_1"'),
            ("cancelRun", ""),
            ("retryRun", ""),
            ("forkRun", ", seq: 1"),
        ]
    ),
]
SUBSCRIPTIONS = [
    "subscription ($id: ID!) { run(id: $id) { id } }",
    "subscription ($id: ID!) { messages(runId: $id) { id } }",
    "subscription ($id: ID!) { stream(streamId: $id) { seq } }",
    "subscription ($id: ID!) { runStream(runId: $id) { seq } }",
]


async def a_run_of(served: Engine, user: Any) -> tuple[str, str]:
    """A run that the user started, and its stream."""
    run = (await ask(context_of(served, user), START, input={"agent": "helper", "input": "Hi"}))["startRun"]["run"]
    return run["id"], run["streamId"]


@pytest.mark.parametrize("text", QUERIES)
async def test_another_user_s_run_is_answered_like_a_missing_one(served: Engine, text: str) -> None:
    """To the letter, on every query and mutation that takes a run's id; and nothing happens to the run."""
    run_id, _ = await a_run_of(served, ALICE)
    fields = "status cancelRequested updatedAt messages { totalCount } pendingInput { id }"
    shown = f"query ($id: ID!) {{ run(id: $id) {{ {fields} }} }}"
    before = await ask(context_of(served), shown, id=run_id)
    foreign = await ask(context_of(served, BOB), text, id=run_id)
    missing = await ask(context_of(served, BOB), text, id=new_id("run"))
    assert foreign == missing
    assert await ask(context_of(served), shown, id=run_id) == before


@pytest.mark.parametrize("text", QUERIES)
async def test_an_administrator_reads_and_cancels_anothers_run_and_does_nothing_else_to_it(
    served: Engine, text: str
) -> None:
    """What only its owner may do is FORBIDDEN rather than not found: it is there to be seen."""
    run_id, _ = await a_run_of(served, ALICE)
    if text.startswith("query"):
        own, theirs = [await ask(context_of(served, user), text, id=run_id) for user in (ALICE, ROOT)]
        assert theirs == own
        return
    (payload,) = (await ask(context_of(served, ROOT), text, id=run_id)).values()
    if "cancelRun" in text:
        assert payload == {"run": {"id": run_id}, "errors": []}
        return
    (error,) = payload["errors"]
    assert (payload["run"], error["code"], error["field"]) == (None, "FORBIDDEN", ["input", "runId"])
    missing = (await ask(context_of(served, ROOT), text, id=new_id("run"))).values()
    assert [[one["code"] for one in each["errors"]] for each in missing] == [["RUN_NOT_FOUND"]]


@pytest.mark.parametrize("text", SUBSCRIPTIONS)
async def test_another_user_s_run_can_t_be_watched(served: Engine, text: str) -> None:
    """RUN_NOT_FOUND, as for a run or stream that is missing."""
    run_id, stream_id = await a_run_of(served, ALICE)
    wanted = stream_id if "streamId" in text else run_id
    assert await refusal_of(context_of(served, BOB), text, id=wanted) == ["RUN_NOT_FOUND"]


async def test_parts_of_another_user_s_run_are_not_found(served: Engine) -> None:
    """Messages, tool calls and model calls, by their own ids."""
    run = a_run()
    parts: list[Message | ToolCall | ModelCall] = [a_message(run, 1), a_call(run, 1), a_model_call(run, 1, Usage())]
    await store(served.database, run, *parts)
    text = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    ids = [part.id for part in parts]
    assert await ask(context_of(served, BOB), text, ids=ids) == {"nodes": [None, None, None]}
    for user in (ALICE, ROOT):
        assert await ask(context_of(served, user), text, ids=ids) == {"nodes": [{"id": part_id} for part_id in ids]}
