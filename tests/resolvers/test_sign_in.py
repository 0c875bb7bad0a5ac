"""Without a signed-in user everything but `viewer`, `__typename` and introspection is refused."""

from __future__ import annotations

import pytest

from tests.support.api import ask, codes_of, context_of, refusal_of, the_schema
from tests.support.fake_engine import FakeEngine

ARGUMENTS = {
    "node": '(id: "run_1")',
    "nodes": '(ids: ["run_1"])',
    "run": '(id: "run_1")',
    "startRun": '(input: {agent: "helper", input: "Hi"})',
    "steerRun": '(input: {runId: "run_1", input: "Hi"})',
    "withdrawInput": '(input: {runId: "run_1", inputId: "inp_1"})',
    "cancelRun": '(input: {runId: "run_1"})',
    "decideToolCalls": '(input: {runId: "run_1", decisions: []})',
    "completeToolCall": '(input: {runId: "run_1", toolCallId: "call_1"})',
    "retryRun": '(input: {runId: "run_1"})',
    "forkRun": '(input: {runId: "run_1", seq: 1})',
    "addRunTools": '(input: {runId: "run_1", tools: []})',
    "promptAgent": '(input: {agent: "helper", instruction: "Do it."})',
    "agent": '(id: "agt_1")',
    "createAgent": '(input: {kind: "expert", name: "Ada"})',
    "updateAgent": '(input: {id: "agt_1"})',
    "deleteAgent": '(input: {id: "agt_1"})',
    "setResource": '(input: {agentId: "agt_1", key: "k", kind: "document", value: {}})',
    "deleteResource": '(input: {agentId: "agt_1", key: "k", kind: "document"})',
    "createSchedule": '(input: {agent: "helper", input: "Hi", cron: "@daily"})',
    "deleteSchedule": '(input: {id: "sch_1"})',
    "createWebhook": '(input: {url: "https://example.com/hook"})',
    "deleteWebhook": '(input: {id: "whk_1"})',
    "registerRemote": '(input: {name: "browser", kind: CLIENT, tools: []})',
    "deleteRemote": '(input: {id: "rmt_1"})',
    "answerRemoteCall": '(input: {callId: "rcl_1"})',
    "remoteCalls": '(remoteId: "rmt_1")',
    "chat": '(id: "cht_1")',
    "createChat": "(input: {})",
    "updateChatMembers": '(input: {chatId: "cht_1"})',
    "createThread": '(input: {chatId: "cht_1"})',
    "setThreadResource": '(input: {threadId: "thr_1", key: "k", kind: "remote"})',
    "postMessage": '(input: {threadId: "thr_1", text: "Hi"})',
    "chatMessages": '(threadId: "thr_1")',
    "messages": '(runId: "run_1")',
    "stream": '(streamId: "str_1")',
    "runStream": '(runId: "run_1")',
}
SCHEMA = the_schema()._schema
assert SCHEMA.query_type
assert SCHEMA.mutation_type
assert SCHEMA.subscription_type


def operation(kind: str, name: str, subscription: bool = False) -> str:
    """An operation on one root field."""
    arguments = "" if (subscription and name == "runs") else ARGUMENTS.get(name, "")
    return f"{kind} {{ {name}{arguments} {{ __typename }} }}"


@pytest.mark.parametrize("name", [name for name in SCHEMA.query_type.fields if name != "viewer"])
async def test_nobody_reads(engine: FakeEngine, name: str) -> None:
    """Every field of Query but viewer asks for a user."""
    assert await codes_of(context_of(engine, None), operation("query", name)) == ["AGENT_REQUIRES_USER"]


@pytest.mark.parametrize("name", list(SCHEMA.mutation_type.fields))
async def test_nobody_writes(engine: FakeEngine, name: str) -> None:
    """Every field of Mutation asks for a user, and the engine is never asked."""
    assert await codes_of(context_of(engine, None), operation("mutation", name)) == ["AGENT_REQUIRES_USER"]
    assert engine.runs.asked == []


@pytest.mark.parametrize("name", list(SCHEMA.subscription_type.fields))
async def test_nobody_watches(engine: FakeEngine, name: str) -> None:
    """Every field of Subscription asks for a user, before it gives anything."""
    text = operation("subscription", name, subscription=True)
    assert await refusal_of(context_of(engine, None), text) == ["AGENT_REQUIRES_USER"]
    assert len(engine.bell) == 0


async def test_nobody_may_ask_who_is_signed_in(engine: FakeEngine) -> None:
    """`viewer` is null, and the schema can be explored."""
    data = await ask(context_of(engine, None), "{ viewer { id } __typename __schema { queryType { name } } }")
    assert data == {"viewer": None, "__typename": "Query", "__schema": {"queryType": {"name": "Query"}}}


async def test_what_is_open_answers_beside_what_is_refused(engine: FakeEngine) -> None:
    """A refused field does not take its neighbours with it where it may be null."""
    result = await the_schema().execute(
        '{ viewer { id } run(id: "run_1") { id } }', context_value=context_of(engine, None)
    )
    assert result.data == {"viewer": None, "run": None}
    assert [error.path for error in result.errors or ()] == [["run"]]
