"""Bad input gets a clear answer with a stable code; it loses nothing, and nothing of it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from models.ids import Ids
from tests.support import documents
from tests.support.client import Client
from tests.support.messages_script import Script
from tests.support.world import World, helper, world

NO_RUN = Ids()("run")
TORN = "a\\ud83d\\u0000b\\ude00c"  # as JSON escapes: a lone high surrogate, NUL, a lone low surrogate
CLEANED = "a\ufffd\ufffdb\ufffdc"
BIG = 262_145


@pytest.fixture
async def w(tmp_path: Path) -> AsyncIterator[World]:
    """A world whose model always says yes."""
    async with world(tmp_path, helper=helper(), other=helper()) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        yield w


async def ended(client: Client, **given: Any) -> dict[str, Any]:
    """A run that was started and has ended."""
    return await client.settled((await client.start(**given))["id"])


# ---------------------------------------------------------------- what is refused as data

START = {"agent": "helper", "input": "Hi"}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "an empty input": ({**START, "input": ""}, "AGENT_INPUT_REQUIRED", "input"),
    "white space": ({**START, "input": " \n\t\u00a0\u2003"}, "AGENT_INPUT_REQUIRED", "input"),
    "a huge input": ({**START, "input": "x" * BIG}, "INPUT_TOO_LARGE", "input"),
    "an unknown agent": ({**START, "agent": "nobody"}, "AGENT_NOT_FOUND", "agent"),
    "an agent without a name": ({**START, "agent": ""}, "AGENT_NOT_FOUND", "agent"),
    "a path as agent": ({**START, "agent": "../helper"}, "AGENT_NOT_FOUND", "agent"),
    "an unknown run": ({**START, "runId": NO_RUN}, "RUN_NOT_FOUND", "runId"),
    "no run id": ({**START, "runId": ""}, "RUN_NOT_FOUND", "runId"),
    "an id of another kind": ({**START, "runId": Ids()("msg")}, "RUN_NOT_FOUND", "runId"),
    "a huge run id": ({**START, "runId": "run_" + "x" * 100_000}, "RUN_NOT_FOUND", "runId"),
    "metadata that is a list": ({**START, "metadata": [1]}, "INVALID_INPUT", "metadata"),
    "metadata that is text": ({**START, "metadata": "{}"}, "INVALID_INPUT", "metadata"),
    "metadata that is too big": ({**START, "metadata": {"a": "x" * 16_384}}, "INVALID_INPUT", "metadata"),
    "a title that is too long": ({**START, "title": "x" * 513}, "INVALID_INPUT", "title"),
    "an empty key": ({**START, "key": ""}, "INVALID_INPUT", "key"),
    "a key that is too long": ({**START, "key": "k" * 256}, "INVALID_INPUT", "key"),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_startrun_can_not_take_is_refused_with_its_code(w: World, what: str) -> None:
    """The code is stable, the field names the argument, and no run is there afterwards."""
    given, code, field = REFUSED[what]
    alice = w.client("alice")
    assert await alice.refusal(documents.START, **given) == (code, ["input", field])
    assert await w.run_ids() == []


STEERED = {
    "an empty input": ({"input": ""}, "AGENT_INPUT_REQUIRED", "input"),
    "a huge input": ({"input": "x" * BIG}, "INPUT_TOO_LARGE", "input"),
    "an unknown run": ({"input": "Hi", "runId": NO_RUN}, "RUN_NOT_FOUND", "runId"),
    "an empty key": ({"input": "Hi", "key": " "}, "INVALID_INPUT", "key"),
}
FORKED = {
    "seq 0": ({"seq": 0}, "INVALID_INPUT", "seq"),
    "a negative seq": ({"seq": -1}, "INVALID_INPUT", "seq"),
    "seq beyond the end": ({"seq": 3}, "INVALID_INPUT", "seq"),
    "the largest seq": ({"seq": 2**31 - 1}, "INVALID_INPUT", "seq"),
    "an empty input": ({"seq": 1, "input": " "}, "AGENT_INPUT_REQUIRED", "input"),
    "a huge input": ({"seq": 1, "input": "x" * BIG}, "INPUT_TOO_LARGE", "input"),
    "an unknown run": ({"seq": 1, "runId": NO_RUN}, "RUN_NOT_FOUND", "runId"),
}


@pytest.mark.parametrize(
    ("mutation", "cases"), [(documents.STEER, STEERED), (documents.FORK, FORKED)], ids=["steerRun", "forkRun"]
)
async def test_what_a_run_can_not_take_leaves_it_as_it_was(
    w: World, mutation: str, cases: dict[str, tuple[dict[str, Any], str, str]]
) -> None:
    """Each refusal has its code and field; the run has not changed, and no other is there."""
    alice = w.client("alice")
    before = await ended(alice)
    for what, (given, code, field) in cases.items():
        assert await alice.refusal(mutation, **{"runId": before["id"], **given}) == (code, ["input", field]), what
    assert await alice.run(before["id"]) == before
    assert await w.run_ids() == [before["id"]]


async def test_the_other_verbs_refuse_what_is_not_there(w: World) -> None:
    """Unknown runs are RUN_NOT_FOUND; an unknown input is simply not withdrawn; a reason has its limit."""
    alice = w.client("alice")
    run = await ended(alice)
    for mutation in (documents.CANCEL, documents.RETRY):
        assert await alice.refusal(mutation, runId=NO_RUN) == ("RUN_NOT_FOUND", ["input", "runId"])
    assert (await alice.refusal(documents.WITHDRAW, runId=NO_RUN, inputId="x"))[0] == "RUN_NOT_FOUND"
    for unknown in ("", "x", Ids()("inp"), "\u0000"):
        assert (await alice.done(documents.WITHDRAW, runId=run["id"], inputId=unknown))["withdrawn"] is False
    refused = await alice.refusal(documents.CANCEL, runId=run["id"], reason="x" * 1_001)
    assert refused == ("INVALID_INPUT", ["input", "reason"])
    assert await alice.run(run["id"]) == run


async def test_a_run_is_gone_on_with_by_its_own_agent_alone(w: World) -> None:
    """startRun with another agent's name is AGENT_MISMATCH, and the run stays as it was."""
    alice = w.client("alice")
    run = await ended(alice)
    refused = await alice.refusal(documents.START, agent="other", input="Hi", runId=run["id"])
    assert refused == ("AGENT_MISMATCH", ["input", "agent"])
    assert await alice.run(run["id"]) == run


@pytest.mark.parametrize("size", [("x", 33), ("x" * 8_193, 4)], ids=["messages", "characters"])
async def test_a_full_queue_takes_no_more_and_loses_nothing(w: World, size: tuple[str, int]) -> None:
    """The 33rd message, or the 32,769th character, is AGENT_INPUT_QUEUE_FULL; what waited is answered."""
    text, count = size
    held = asyncio.Event()
    w.play(Script().hold(held).text("First."))
    alice = w.client("alice")
    run = await alice.start()
    for _ in range(count - 1):
        await alice.steer(run["id"], text)
    for mutation, more in ((documents.STEER, {}), (documents.START, {"agent": "helper"})):
        refused = await alice.refusal(mutation, runId=run["id"], input=text, **more)
        assert refused == ("AGENT_INPUT_QUEUE_FULL", ["input", "input"])
    held.set()
    end = await alice.settled(run["id"])
    assert end["messages"]["nodes"][2]["text"] == text * (count - 1)


async def test_the_largest_input_is_taken_whole(w: World) -> None:
    """At the limit an input is stored as it is, and its title is short."""
    alice = w.client("alice")
    said = "\U0001f600" * (BIG - 1)
    run = await ended(alice, text=said)
    assert run["messages"]["nodes"][0]["content"] == said
    assert len(run["title"]) <= 512


# ---------------------------------------------------------------- keys


async def test_the_same_key_gives_the_same_answer_and_does_nothing_twice(w: World) -> None:
    """startRun, steerRun, retryRun and forkRun: one run, one input, one fork, however often they are sent."""
    held = asyncio.Event()
    alice = w.client("alice")
    runs = await asyncio.gather(*(alice.start("Hi", key="k") for _ in range(5)))
    assert len({run["id"] for run in runs}) == 1
    run = await alice.settled(runs[0]["id"])
    forks = [(await alice.done(documents.FORK, runId=run["id"], seq=1, key="k"))["run"]["id"] for _ in range(2)]
    assert forks[0] == forks[1] != run["id"]
    w.play(Script().hold(held).text("Two."))
    await alice.start("Go on", runId=run["id"])
    sent = [await alice.steer(run["id"], "again", key="k") for _ in range(3)]
    assert len({payload["inputId"] for payload in sent}) == 1
    assert len(sent[-1]["run"]["pendingInput"]) == 1
    held.set()
    await alice.settled(run["id"])
    w.play(Script.status(401), Script().text("Yes."))
    await alice.start("Fail", runId=run["id"])
    await alice.settled(run["id"])
    streams = {(await alice.done(documents.RETRY, runId=run["id"], key="k"))["run"]["streamId"] for _ in range(3)}
    assert len(streams) == 1
    assert (await alice.settled(run["id"]))["status"] == "COMPLETED"
    assert len(await w.run_ids()) == 2


CHANGED = [
    {"input": "Ho"},
    {"agent": "other"},
    {"title": "T"},
    {"metadata": {"a": 1}},
    {"runId": "the run"},
]


@pytest.mark.parametrize("change", CHANGED)
async def test_a_key_used_again_with_other_arguments_is_refused(w: World, change: dict[str, Any]) -> None:
    """KEY_REUSED, and nothing is begun."""
    alice = w.client("alice")
    run = await ended(alice, key="k")
    changed = {name: run["id"] if value == "the run" else value for name, value in change.items()}
    refused = await alice.refusal(documents.START, **{**START, "key": "k", **changed})
    assert refused == ("KEY_REUSED", ["input", "key"])
    assert await alice.run(run["id"]) == run
    assert await w.run_ids() == [run["id"]]


async def test_the_keys_of_other_verbs_keep_to_their_arguments_too(w: World) -> None:
    """steerRun, forkRun and retryRun refuse a key that stood for something else; each verb has keys of its own."""
    alice = w.client("alice")
    run, other = await ended(alice, key="k"), await ended(alice)
    again = await alice.done(documents.STEER, runId=run["id"], input="x", key="k")
    assert again["run"]["id"] == run["id"]
    await alice.settled(run["id"])
    await alice.done(documents.FORK, runId=run["id"], seq=1, key="k")
    w.play(Script.status(401), Script.status(401), Script().text("Yes."))
    for failing in (run, other):
        await alice.start("Fail", runId=failing["id"])
        await alice.settled(failing["id"])
    await alice.done(documents.RETRY, runId=run["id"], key="k")
    await alice.settled(run["id"])
    for mutation, changed in (
        (documents.STEER, {"runId": run["id"], "input": "y"}),
        (documents.STEER, {"runId": run["id"], "input": "x", "mode": "INTERRUPT"}),
        (documents.STEER, {"runId": other["id"], "input": "x"}),
        (documents.FORK, {"runId": run["id"], "seq": 2}),
        (documents.FORK, {"runId": run["id"], "seq": 1, "input": "x"}),
        (documents.RETRY, {"runId": other["id"]}),
    ):
        assert await alice.refusal(mutation, **changed, key="k") == ("KEY_REUSED", ["input", "key"])
    assert (await alice.run(other["id"]))["status"] == "FAILED"


async def test_null_is_as_if_it_were_not_given(w: World) -> None:
    """Optional arguments may be null; a run that is gone on with keeps its title and metadata."""
    alice = w.client("alice")
    none: dict[str, Any] = {"runId": None, "title": None, "metadata": None, "key": None}
    run = await alice.settled((await alice.start("Hi", **none))["id"])
    assert (run["title"], run["metadata"]) == ("Hi", {})
    await alice.start("Named", runId=run["id"], title="T", metadata={"a": 1})
    await alice.settled(run["id"])
    await alice.start("More", **{**none, "runId": run["id"]})
    await alice.settled(run["id"])
    await alice.steer(run["id"], "And more", mode=None, key=None)
    await alice.settled(run["id"])
    assert (await alice.done(documents.CANCEL, runId=run["id"], reason=None))["run"]["metadata"] == {"a": 1}
    forked = (await alice.done(documents.FORK, runId=run["id"], seq=1, input=None, key=None))["run"]
    assert (forked["status"], forked["title"], forked["metadata"]) == ("IDLE", "T", {"a": 1})


async def test_a_refusal_is_not_kept_under_a_key(w: World) -> None:
    """The same key works once the reason is gone."""
    alice = w.client("alice")
    assert (await alice.refusal(documents.START, agent="nobody", input="Hi", key="k"))[0] == "AGENT_NOT_FOUND"
    run = await alice.start("Hi", key="k")
    assert run["status"] == "RUNNING"
    await alice.settled(run["id"])
    held = asyncio.Event()
    w.play(Script().hold(held).text("Late."))
    busy = await alice.start("Busy")
    assert (await alice.refusal(documents.RETRY, runId=busy["id"], key="k"))[0] == "RUN_BUSY"
    await alice.cancel(busy["id"])
    await alice.settled(busy["id"])
    assert (await alice.done(documents.RETRY, runId=busy["id"], key="k"))["run"]["status"] == "RUNNING"
    held.set()
    await alice.settled(busy["id"])


# ---------------------------------------------------------------- what databases and JSON can't hold


async def test_nul_and_lone_surrogates_are_replaced_on_every_path_in(w: World) -> None:
    """Input, title, metadata with its keys, key and reason are stored with U+FFFD, whichever transport brings them."""
    alice = w.client("alice")
    given = f'"agent": "helper", "input": "{TORN}", "title": "{TORN}", "metadata": {{"{TORN}": ["{TORN}"]}}'
    answer = await alice.answer_raw(documents.START, f'{{"input": {{{given}, "key": "{TORN}"}}}}')
    run = await alice.settled(answer["data"]["startRun"]["run"]["id"])
    assert (run["title"], run["metadata"]) == (CLEANED, {CLEANED: [CLEANED]})
    assert run["messages"]["nodes"][0]["content"] == CLEANED
    torn = "a\ud83d\0b\ude00c"
    again = await alice.start(torn, title=torn, metadata={torn: [torn]}, key=torn)
    assert again["id"] == run["id"]
    socket = await alice.socket()
    steered = await socket.execute(documents.STEER, {"input": {"runId": run["id"], "input": torn}})
    assert steered["steerRun"]["errors"] == []
    assert (await alice.settled(run["id"]))["messages"]["nodes"][2]["content"] == CLEANED
    cancelled = await alice.done(documents.CANCEL, runId=run["id"], reason=torn)
    assert cancelled["run"]["status"] == "CANCELLED"
    forked = await alice.done(documents.FORK, runId=run["id"], seq=1, input=torn)
    assert (await alice.settled(forked["run"]["id"]))["messages"]["nodes"][1]["content"] == CLEANED
    assert (await w.row(run["id"])).cancel_reason == CLEANED


async def test_ids_agents_and_filters_of_that_kind_find_nothing(w: World) -> None:
    """They are like any id that is not there."""
    torn = "run_\ud83d\0"
    alice = w.client("alice")
    await ended(alice)
    fields = "run(id: $id) { id } node(id: $id) { id } runs(filter: $f) { totalCount }"
    query = f"query ($id: ID!, $f: RunFilter) {{ {fields} }}"
    for wanted in ({"agent": torn}, {"parentId": torn}, {"search": torn}, {"metadata": {torn: torn}}):
        assert await alice.ask(query, id=torn, f=wanted) == {"run": None, "node": None, "runs": {"totalCount": 0}}
    assert (await alice.refusal(documents.START, agent=torn, input="x"))[0] == "AGENT_NOT_FOUND"
    assert (await alice.refusal(documents.CANCEL, runId=torn))[0] == "RUN_NOT_FOUND"
    for watch in (alice.watch, alice.watch_events):
        assert await (await watch(documents.WATCH_STREAM, streamId=torn)).failed() == ["RUN_NOT_FOUND"]


async def test_text_of_that_kind_in_a_document_is_taken_too(w: World) -> None:
    """Also where it is written in the query itself, as GraphQL or as JSON escapes."""
    alice = w.client("alice")
    for said in ("\\u{0}x", "x\0"):
        start = f'startRun(input: {{agent: "helper", input: "{said}"}})'
        answer = await alice.answer(f"mutation {{ {start} {{ run {{ id }} }} }}")
        run = await alice.settled(answer["data"]["startRun"]["run"]["id"])
        assert "\0" not in run["messages"]["nodes"][0]["content"]
        assert "\ufffd" in run["messages"]["nodes"][0]["content"]


async def test_the_models_words_of_that_kind_are_cleaned_too(w: World) -> None:
    """NUL in a delta and in a tool's arguments reach neither database nor client."""
    w.play(Script().text("a\0b", "\udc00").tool("no\0ne", '{"x": "\\u0000"}'))
    alice = w.client("alice")
    run = await ended(alice)
    assert run["messages"]["nodes"][1]["text"] == "a\ufffdb\ufffd"
    assert "\0" not in str(run)


# ---------------------------------------------------------------- requests that are wrong as such

WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "a number for text": (documents.START, {"input": {"agent": "helper", "input": 5}}),
    "null for text": (documents.START, {"input": {"agent": "helper", "input": None}}),
    "a field that is not there": (documents.START, {"input": {**START, "nonsense": 1}}),
    "a missing field": (documents.START, {"input": {"agent": "helper"}}),
    "no input at all": (documents.START, {}),
    "text for a number": (documents.FORK, {"input": {"runId": "x", "seq": "1"}}),
    "a number with a fraction": (documents.FORK, {"input": {"runId": "x", "seq": 1.5}}),
    "a number beyond 32 bits": (documents.FORK, {"input": {"runId": "x", "seq": 2**31}}),
    "a mode that is none": (documents.STEER, {"input": {"runId": "x", "input": "y", "mode": "SHOUT"}}),
    "a list for an id": (documents.RUN, {"id": ["x"]}),
}


@pytest.mark.parametrize("what", WRONG)
async def test_variables_of_the_wrong_type_are_bad_user_input(w: World, what: str) -> None:
    """BAD_USER_INPUT in words, over POST and over the socket, and nothing is done."""
    document, variables = WRONG[what]
    alice = w.client("alice")
    assert await alice.codes(document, **variables) == ["BAD_USER_INPUT"]
    assert await (await alice.watch(document, **variables)).failed() == ["BAD_USER_INPUT"]
    assert await w.run_ids() == []


@pytest.mark.parametrize("after", [-1, -(2**31)])
async def test_a_negative_place_in_a_stream_is_bad_user_input(w: World, after: int) -> None:
    """`after` and `afterSeq` count from 0."""
    alice = w.client("alice")
    run = await ended(alice)
    for document, name, given in (
        (documents.WATCH_STREAM, "after", {"streamId": run["streamId"]}),
        (documents.WATCH_RUN_STREAM, "after", {"runId": run["id"], "streamId": run["streamId"]}),
        (documents.WATCH_MESSAGES, "afterSeq", {"runId": run["id"]}),
    ):
        assert await (await alice.watch(document, **given, **{name: after})).failed() == ["BAD_USER_INPUT"]


async def test_a_place_needs_its_stream(w: World) -> None:
    """runStream's `after` without `streamId` is BAD_USER_INPUT; null is as if it were not given."""
    alice = w.client("alice")
    run = await ended(alice)
    feed = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"], after=1)
    assert await feed.failed() == ["BAD_USER_INPUT"]
    feed = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"], streamId=None, after=None)
    await feed.sees("RunResult")


async def test_a_body_that_is_too_big_is_refused_in_words(w: World) -> None:
    """The transport's own limit: 413 over HTTP, close code 1009 over a socket; the server goes on."""
    alice = w.client("alice")
    huge = "x" * (33 * 1024 * 1024)
    response = await alice.post({"query": documents.START, "variables": {"input": {**START, "input": huge}}})
    assert response.status_code == 413
    (error,) = response.json()["errors"]
    assert (error["extensions"]["code"], error["message"]) == ("BAD_USER_INPUT", "The body is over 32 MiB.")
    assert (await ended(alice))["status"] == "COMPLETED"
