"""Each mutation hands its arguments to one verb of the engine, and the verb's answer or refusal to the client."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import NotFound, RunNotFound
from models.agent import StoredAgent
from models.chat import Chat
from models.chat_message import ChatMessage
from models.database import Database
from models.enums import RemoteKind, RunStatus, SteerMode
from models.schedule import Schedule
from models.thread import Thread
from models.webhook import Webhook
from tests.support.api import ask, codes_of, context_of
from tests.support.fake_engine import FakeAccepted, FakeEngine
from tests.support.rows import NOW, a_run, new_id, store

RUN = a_run(status=RunStatus.RUNNING)
ERRORS = "errors { code message field }"
OPERATIONS: dict[str, tuple[str, dict[str, Any], str, dict[str, Any], Any]] = {
    "startRun": (
        "queued inputId",
        {"agent": "helper", "input": "Hi"},
        "start",
        {
            "agent": "helper",
            "input": "Hi",
            "run_id": None,
            "title": None,
            "attachments": [],
            "metadata": None,
            "key": None,
            "budget": None,
            "overrides": None,
        },
        FakeAccepted(RUN),
    ),
    "steerRun": (
        "queued inputId",
        {"runId": RUN.id, "input": "Hi"},
        "steer",
        {"run_id": RUN.id, "input": "Hi", "mode": SteerMode.QUEUE, "attachments": [], "key": None},
        FakeAccepted(RUN, queued=True, input_id="inp_1"),
    ),
    "withdrawInput": (
        "withdrawn",
        {"runId": RUN.id, "inputId": "inp_1"},
        "withdraw",
        {"run_id": RUN.id, "input_id": "inp_1"},
        (RUN, True),
    ),
    "cancelRun": ("", {"runId": RUN.id}, "cancel", {"run_id": RUN.id, "reason": None}, RUN),
    "retryRun": ("", {"runId": RUN.id}, "retry", {"run_id": RUN.id, "key": None, "budget": None}, RUN),
    "promptAgent": (
        "",
        {"agent": "helper", "instruction": "Count.", "input": {"a": [1]}},
        "prompt",
        {
            "agent": "helper",
            "instruction": "Count.",
            "input": {"a": [1]},
            "options": None,
            "budget": None,
            "key": None,
        },
        RUN,
    ),
    "forkRun": (
        "",
        {"runId": RUN.id, "seq": 2},
        "fork",
        {"run_id": RUN.id, "seq": 2, "input": None, "key": None},
        RUN,
    ),
}


AGENT = StoredAgent(new_id("agt"), "alice", "Ada", "expert", {}, NOW, NOW)
_RESOURCE = {"agentId": AGENT.id, "key": "k", "kind": "document"}
_PLACE = {"agent_id": AGENT.id, "key": "k", "kind": "document"}
_BLANK = {
    "handle": None,
    "description": None,
    "picture": None,
    "config": None,
    "temporary": False,
    "shared_with": None,
    "key": None,
    "main_chat_id": None,
}
KEEPING: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "createAgent": ({"kind": "expert", "name": "Ada"}, "create", {"kind": "expert", "name": "Ada", **_BLANK}),
    "updateAgent": (
        {"id": AGENT.id, "handle": None, "config": {"a": 1}},
        "update",
        {"agent_id": AGENT.id, "changes": {"handle": None, "config": {"a": 1}}},
    ),
    "setResource": ({**_RESOURCE, "value": {"a": 1}}, "set_resource", {**_PLACE, "value": {"a": 1}}),
    "deleteResource": (_RESOURCE, "delete_resource", _PLACE),
}


@pytest.mark.parametrize("name", KEEPING)
async def test_a_mutation_of_agents_asks_the_engine_once_as_the_viewer(engine: FakeEngine, name: str) -> None:
    """What was left out of an update is not among its changes; a refusal is data."""
    given, verb, arguments = KEEPING[name]
    kind = name[0].upper() + name[1:]
    text = f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ agent {{ id }} {ERRORS} }} }}"
    engine.stored.answer = AGENT
    assert (await ask(context_of(engine), text, input=given))[name] == {"agent": {"id": AGENT.id}, "errors": []}
    assert engine.stored.asked == [(verb, "alice", arguments)]
    engine.stored.answer = NotFound("There is no such agent.", field=("id",))
    refused = (await ask(context_of(engine), text, input=given))[name]
    assert (refused["agent"], [error["code"] for error in refused["errors"]]) == (None, ["NOT_FOUND"])


CHAT = Chat(new_id("cht"), NOW)
THREAD = Thread(new_id("thr"), CHAT.id, NOW, NOW)
SAID = ChatMessage(new_id("cms"), THREAD.id, 1, "alice", None, "alice", NOW, "Hi")
_NOBODY = {"add_agents": (), "remove_agents": (), "add_users": (), "remove_users": ()}
_REMOTE = {"key": "k", "kind": "remote"}
CHATTING: dict[str, tuple[str, dict[str, Any], str, dict[str, Any], Any, dict[str, Any]]] = {
    "createChat": (
        "chat { id } thread { id }",
        {"agents": ["agt_1"]},
        "create",
        {"title": None, "temporary": False, "agents": ["agt_1"], "users": (), "key": None},
        (CHAT, THREAD),
        {"chat": {"id": CHAT.id}, "thread": {"id": THREAD.id}},
    ),
    "updateChatMembers": (
        "chat { id }",
        {"chatId": CHAT.id, "removeUsers": ["alice"]},
        "update_members",
        {"chat_id": CHAT.id, **_NOBODY, "remove_users": ["alice"]},
        None,
        {"chat": None},
    ),
    "createThread": (
        "thread { id }",
        {"chatId": CHAT.id, "title": "T", "key": "k"},
        "create_thread",
        {"chat_id": CHAT.id, "title": "T", "key": "k"},
        THREAD,
        {"thread": {"id": THREAD.id}},
    ),
    "setThreadResource": (
        "thread { id }",
        {"threadId": THREAD.id, **_REMOTE, "value": None},
        "set_resource",
        {"thread_id": THREAD.id, **_REMOTE, "value": None},
        THREAD,
        {"thread": {"id": THREAD.id}},
    ),
    "postMessage": (
        "message { id }",
        {"threadId": THREAD.id, "text": "Hi"},
        "post",
        {"thread_id": THREAD.id, "text": "Hi", "key": None},
        SAID,
        {"message": {"id": SAID.id}},
    ),
}


@pytest.mark.parametrize("name", CHATTING)
async def test_a_mutation_of_chats_asks_the_engine_once_as_the_viewer(engine: FakeEngine, name: str) -> None:
    """What was left out arrives as None or as nothing; a refusal is data."""
    fields, given, verb, arguments, answer, expected = CHATTING[name]
    kind = name[0].upper() + name[1:]
    text = f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ {fields} {ERRORS} }} }}"
    engine.chats.answer = answer
    assert (await ask(context_of(engine), text, input=given))[name] == {**expected, "errors": []}
    assert engine.chats.asked == [(verb, "alice", arguments)]
    engine.chats.answer = NotFound("There is no such chat.", field=("chat_id",))
    refused = (await ask(context_of(engine), text, input=given))[name]
    (error,) = refused.pop("errors")
    assert (error["code"], error["field"]) == ("NOT_FOUND", ["input", "chatId"])
    assert not any(refused.values())


async def test_an_agent_is_deleted_as_the_viewer(engine: FakeEngine) -> None:
    """The answer is its id."""
    engine.stored.answer = AGENT.id
    text = f"mutation ($input: DeleteAgentInput!) {{ deleteAgent(input: $input) {{ deletedId {ERRORS} }} }}"
    data = await ask(context_of(engine), text, input={"id": AGENT.id})
    assert data["deleteAgent"] == {"deletedId": AGENT.id, "errors": []}
    assert engine.stored.asked == [("delete", "alice", {"agent_id": AGENT.id})]


SCHEDULE = Schedule(new_id("sch"), "alice", "alice", [], "helper", "Hi", "0 9 * * *", "UTC", NOW, NOW, NOW)


async def test_a_schedule_is_created_and_deleted_as_the_viewer(engine: FakeEngine) -> None:
    """The time zone is UTC where none is given; a refusal is data."""
    given = {"agent": "helper", "input": "Hi", "cron": "0 9 * * *"}
    engine.schedules.answer = SCHEDULE
    text = (
        f"mutation ($input: CreateScheduleInput!) {{ createSchedule(input: $input) {{ schedule {{ id }} {ERRORS} }} }}"
    )
    data = await ask(context_of(engine), text, input=given)
    assert data["createSchedule"] == {"schedule": {"id": SCHEDULE.id}, "errors": []}
    blank = {"run_id": None, "user_id": None, "key": None}
    engine.schedules.answer = NotFound("There is no such schedule.", field=("id",))
    gone = f"mutation ($input: DeleteScheduleInput!) {{ deleteSchedule(input: $input) {{ deletedId {ERRORS} }} }}"
    refused = (await ask(context_of(engine), gone, input={"id": SCHEDULE.id}))["deleteSchedule"]
    assert (refused["deletedId"], [error["code"] for error in refused["errors"]]) == (None, ["NOT_FOUND"])
    assert engine.schedules.asked == [
        ("create", "alice", {**given, "time_zone": "UTC", **blank}),
        ("delete", "alice", {"schedule_id": SCHEDULE.id}),
    ]


WEBHOOK = Webhook(new_id("whk"), "alice", "https://example.com/hook", "whsec_MfKQ", NOW)


async def test_a_webhook_is_created_and_deleted_as_the_viewer(engine: FakeEngine) -> None:
    """Its secret is in the answer; a refusal is data, and has none."""
    engine.webhooks.answer = WEBHOOK
    fields = f"webhook {{ id }} secret {ERRORS}"
    text = f"mutation ($input: CreateWebhookInput!) {{ createWebhook(input: $input) {{ {fields} }} }}"
    data = await ask(context_of(engine), text, input={"url": WEBHOOK.url})
    assert data["createWebhook"] == {"webhook": {"id": WEBHOOK.id}, "secret": WEBHOOK.secret, "errors": []}
    engine.webhooks.answer = NotFound("There is no such webhook.", field=("id",))
    refused = (await ask(context_of(engine), text, input={"url": WEBHOOK.url}))["createWebhook"]
    assert (refused["webhook"], refused["secret"]) == (None, None)
    gone = f"mutation ($input: DeleteWebhookInput!) {{ deleteWebhook(input: $input) {{ deletedId {ERRORS} }} }}"
    refused = (await ask(context_of(engine), gone, input={"id": WEBHOOK.id}))["deleteWebhook"]
    assert (refused["deletedId"], [error["code"] for error in refused["errors"]]) == (None, ["NOT_FOUND"])
    created = ("create", "alice", {"url": WEBHOOK.url, "agent": None, "key": None})
    assert engine.webhooks.asked == [created, created, ("delete", "alice", {"webhook_id": WEBHOOK.id})]


READ = {"name": "read", "description": "Reads.", "inputSchema": {"type": "object"}}
OF_REMOTES: dict[str, tuple[dict[str, Any], str, dict[str, Any], str, Any]] = {
    "registerRemote": (
        {"name": "browser", "kind": "CLIENT", "tools": [READ]},
        "register",
        {
            "name": "browser",
            "kind": RemoteKind.CLIENT,
            "url": None,
            "tools": [("read", "Reads.", {"type": "object"})],
        },
        "remote { id kind }",
        None,
    ),
    "deleteRemote": ({"id": "rmt_1"}, "delete", {"remote_id": "rmt_1"}, "deletedId", None),
    "answerRemoteCall": (
        {"callId": "rcl_1", "result": {"a": 1}},
        "answer_call",
        {"call_id": "rcl_1", "result": {"a": 1}, "is_error": False},
        "accepted",
        False,
    ),
}


@pytest.mark.parametrize("name", OF_REMOTES)
async def test_a_mutation_of_remotes_asks_the_engine_once_as_the_viewer(engine: FakeEngine, name: str) -> None:
    """A refusal is data, and says that nothing was done."""
    given, verb, arguments, fields, nothing = OF_REMOTES[name]
    kind = name[0].upper() + name[1:]
    text = f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ {fields} {ERRORS} }} }}"
    engine.remotes.answer = NotFound("There is no such thing.", field=("call_id",))
    refused = (await ask(context_of(engine), text, input=given))[name]
    assert engine.remotes.asked == [(verb, "alice", arguments)]
    assert refused.pop("errors") == [
        {"code": "NOT_FOUND", "message": "There is no such thing.", "field": ["input", "callId"]}
    ]
    assert list(refused.values()) == [nothing]


def mutation(name: str) -> str:
    """A mutation with one variable, its input."""
    kind = name[0].upper() + name[1:] + "Input"
    fields = f"run {{ id status }} {OPERATIONS[name][0]} {ERRORS}"
    return f"mutation ($input: {kind}!) {{ {name}(input: $input) {{ {fields} }} }}"


@pytest.mark.parametrize("name", OPERATIONS)
async def test_a_mutation_asks_the_engine_once_as_the_viewer(engine: FakeEngine, name: str) -> None:
    """What was left out arrives as None, enums as their members."""
    _, given, verb, arguments, answer = OPERATIONS[name]
    engine.runs.answer = answer
    data = await ask(context_of(engine), mutation(name), input=given)
    assert engine.runs.asked == [(verb, "alice", arguments)]
    assert data[name]["run"] == {"id": RUN.id, "status": "RUNNING"}
    assert data[name]["errors"] == []


@pytest.mark.parametrize("name", OPERATIONS)
async def test_a_refusal_is_data(engine: FakeEngine, name: str) -> None:
    """The run is null, the code is stable, and the other fields say that nothing was done."""
    engine.runs.answer = RunNotFound(field=("runId",))
    payload = (await ask(context_of(engine), mutation(name), input=OPERATIONS[name][1]))[name]
    assert payload.pop("run") is None
    (error,) = payload.pop("errors")
    assert (error["code"], error["message"]) == ("RUN_NOT_FOUND", "There is no such run.")
    assert error["field"] == ["input", "runId"]
    assert not any(payload.values())


async def test_all_arguments_of_a_start_arrive(engine: FakeEngine) -> None:
    """Also metadata with nested values, and a variable inside a literal object."""
    engine.runs.answer = FakeAccepted(RUN, queued=True, input_id="inp_1")
    text = """mutation ($ticket: JSON, $id: ID) { startRun(input: {
      agent: "helper", input: "Hi", runId: $id, title: "T", key: "k", metadata: {ticket: $ticket, n: [1, 2.5, null]}
    }) { queued inputId errors { code } } }"""
    data = await ask(context_of(engine), text, ticket={"a": 1}, id=RUN.id)
    assert data["startRun"] == {"queued": True, "inputId": "inp_1", "errors": []}
    (_, _, arguments) = engine.runs.asked[0]
    assert arguments["metadata"] == {"ticket": {"a": 1}, "n": [1, 2.5, None]}
    assert (arguments["run_id"], arguments["title"], arguments["key"]) == (RUN.id, "T", "k")


@pytest.mark.parametrize(
    ("mode", "expected"), [("INTERRUPT", SteerMode.INTERRUPT), ("QUEUE", SteerMode.QUEUE), (None, SteerMode.QUEUE)]
)
async def test_the_mode_of_steering_is_queue_unless_told(
    engine: FakeEngine, mode: str | None, expected: SteerMode
) -> None:
    """Null means the default."""
    engine.runs.answer = FakeAccepted(RUN)
    await ask(context_of(engine), mutation("steerRun"), input={"runId": RUN.id, "input": "Hi", "mode": mode})
    assert engine.runs.asked[0][2]["mode"] is expected


async def test_the_run_in_a_payload_is_whole(engine: FakeEngine, database: Database) -> None:
    """Its lists and its usage can be asked for at once."""
    await store(database, RUN)
    engine.runs.answer = RUN
    text = """mutation ($input: CancelRunInput!) { cancelRun(input: $input) {
      run { usage { inputTokens } messages { totalCount } }
    } }"""
    data = await ask(context_of(engine), text, input={"runId": RUN.id})
    assert data["cancelRun"]["run"] == {"usage": {"inputTokens": 0}, "messages": {"totalCount": 0}}


@pytest.mark.parametrize("given", [{}, {"runId": RUN.id, "seq": "2"}, {"runId": RUN.id, "seq": 2**31}, {"x": 1}])
async def test_wrong_json_in_variables_never_reaches_the_engine(engine: FakeEngine, given: dict[str, Any]) -> None:
    """GraphQL itself refuses it."""
    assert await codes_of(context_of(engine), mutation("forkRun"), input=given)
    assert engine.runs.asked == []


async def test_a_defect_is_no_data(engine: FakeEngine) -> None:
    """Whatever is no refusal is a top-level error."""
    engine.runs.answer = object()
    assert await codes_of(context_of(engine), mutation("startRun"), input=OPERATIONS["startRun"][1]) == [None]
