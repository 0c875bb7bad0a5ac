"""Subscriptions show the viewer's own runs live, and are refused before they begin for any other."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from decimal import Decimal
from typing import Any

import pytest

from models import events
from models.database import Database
from models.enums import FinishReason, Role, RunStatus
from models.run import agent_runs
from models.usage import Usage
from tests.support.api import ALICE, BOB, context_of, follow, refusal_of, take
from tests.support.fake_engine import FakeEngine
from tests.support.rows import NOW, a_call, a_message, a_run, a_stream, new_id, store

AT = "2027-01-15T08:00:00.000Z"
RUN = "subscription ($id: ID!) { run(id: $id) { id title usage { cost } } }"
MESSAGES = "subscription ($id: ID!, $after: Int) { messages(runId: $id, afterSeq: $after) { seq text } }"
STREAM = "subscription ($id: ID!, $after: Int) { stream(streamId: $id, after: $after) { __typename seq } }"
RUN_STREAM = """subscription ($id: ID!, $stream: ID, $after: Int) {
  runStream(runId: $id, streamId: $stream, after: $after) { __typename seq }
}"""


async def rename(engine: FakeEngine, run_id: str, title: str) -> None:
    """Change a run's row as a verb would: with a higher revision, and the bell after the commit."""
    change = agent_runs.update().where(agent_runs.c.id == run_id)
    await engine.database.write(lambda c: c.execute(change.values(title=title, revision=agent_runs.c.revision + 1)))
    engine.bell.ring(run_id, "alice")


async def test_a_run_is_shown_now_and_at_each_change(engine: FakeEngine, database: Database) -> None:
    """Nested fields are read after the event that shows them."""
    run = a_run(title="one")
    await store(database, run)
    async with aclosing(follow(context_of(engine), RUN, id=run.id)) as shown:
        assert (await anext(shown))["run"] == {"id": run.id, "title": "one", "usage": {"cost": "0"}}
        await rename(engine, run.id, "two")
        assert (await anext(shown))["run"]["title"] == "two"


async def test_changes_of_the_viewer_s_runs_alone_are_shown(engine: FakeEngine, database: Database) -> None:
    """With a filter a run is ADDED when it begins to match."""
    run, other = a_run(title="one"), a_run(user_id="bob", title="urgent")
    await store(database, run, other)
    text = 'subscription { runs(filter: {search: "urgent"}) { kind runId run { title } } }'
    async with aclosing(follow(context_of(engine), text)) as changes:
        first = asyncio.ensure_future(anext(changes))
        while len(engine.bell) == 0:
            await asyncio.sleep(0.001)
        await rename(engine, run.id, "urgent")
        assert (await first)["runs"]["runId"] == run.id
        await rename(engine, run.id, "calm")
        assert (await anext(changes))["runs"] == {"kind": "REMOVED", "runId": run.id, "run": None}
        await rename(engine, run.id, "urgent")
        assert (await anext(changes))["runs"] == {"kind": "ADDED", "runId": run.id, "run": {"title": "urgent"}}
        await rename(engine, run.id, "most urgent")
        assert (await anext(changes))["runs"] == {"kind": "CHANGED", "runId": run.id, "run": {"title": "most urgent"}}


async def test_a_bad_filter_of_changes_is_bad_user_input(engine: FakeEngine) -> None:
    """As in the query of the same name."""
    text = "subscription { runs(filter: {metadata: 1}) { kind } }"
    assert await refusal_of(context_of(engine), text) == ["BAD_USER_INPUT"]


async def test_messages_are_shown_from_a_seq_on(engine: FakeEngine, database: Database) -> None:
    """Stored ones first, then each as it is stored."""
    run = a_run()
    await store(database, run, *(a_message(run, seq, f"m{seq}") for seq in (1, 2, 3)))
    context = context_of(engine)
    assert await take(context, 3, MESSAGES, id=run.id, after=None) == [
        {"messages": {"seq": seq, "text": f"m{seq}"}} for seq in (1, 2, 3)
    ]
    async with aclosing(follow(context, MESSAGES, id=run.id, after=2)) as shown:
        assert (await anext(shown))["messages"]["seq"] == 3
        await store(database, a_message(run, 4, "m4"))
        engine.bell.ring(run.id, "alice")
        assert (await anext(shown))["messages"] == {"seq": 4, "text": "m4"}


def all_events(stream_id: str, run_id: str, call_id: str) -> list[events.StreamEvent]:
    """One event of each kind, in an order that could be."""
    usage = Usage(1, 2, 3, 4, Decimal("0.1"))
    made: list[events.StreamEvent] = []

    def add(kind: type[events.StreamEvent], **values: Any) -> None:
        made.append(kind(stream_id=stream_id, seq=len(made) + 1, step=1, attempt=1, at=NOW, **values))

    add(events.StepRestarted, reason="the provider failed")
    add(events.ModelFellBack, from_="model-a", to="model-b", reason="the provider failed")
    add(events.ContextCompacted, tokens_before=900, tokens_after=90)
    add(events.ReasoningDelta, block=0, offset=0, text="Hm.")
    add(events.TextDelta, block=1, offset=0, text="Hi 🎈")
    add(events.StepFinished, message_seq=2, stop_reason="tool_use", usage=usage)
    add(events.ToolCallStarted, tool_call_id=call_id, name="add", input={"a": 1})
    add(events.ToolCallProgress, tool_call_id=call_id, message="half", fraction=0.5)
    add(events.ToolCallFinished, tool_call_id=call_id, name="add", input={"a": 1}, result="3", is_error=False)
    add(events.InputQueued, input_id="inp_1", queued=1)
    add(events.InputApplied, input_ids=["inp_1"], message_seq=3)
    add(
        events.RunResult,
        run_id=run_id,
        status=RunStatus.COMPLETED,
        finish=FinishReason.STOP,
        text="Hi 🎈",
        output=None,
        model="model-a",
        steps=1,
        usage=usage,
        cancelled=False,
        error=None,
    )
    return made


EVERY_FIELD = """subscription ($id: ID!) { stream(streamId: $id) {
  __typename streamId seq step attempt at
  ... on TextDelta { block offset text } ... on ReasoningDelta { block offset text }
  ... on ToolCallStarted { toolCallId name input } ... on ToolCallProgress { toolCallId message fraction }
  ... on ToolCallFinished { toolCallId name input result isError } ... on InputQueued { inputId queued }
  ... on InputApplied { inputIds messageSeq } ... on StepRestarted { reason }
  ... on ModelFellBack { from to reason } ... on ContextCompacted { tokensBefore tokensAfter }
  ... on StepFinished { messageSeq stopReason usage { inputTokens cost } }
  ... on RunResult { runId status finish answer: text output model steps total: usage { outputTokens } cancelled
    error { code } }
} }"""


async def test_every_kind_of_event_is_shown_with_every_field(engine: FakeEngine, database: Database) -> None:
    """Live, straight from the engine's own events."""
    run = a_run(status=RunStatus.RUNNING)
    stream, call = a_stream(run, ended=False), a_call(run, 1)
    await store(database, run, stream, call)
    made = all_events(stream.id, run.id, call.id)
    async with aclosing(follow(context_of(engine), EVERY_FIELD, id=stream.id)) as shown:
        first = asyncio.ensure_future(anext(shown))
        while engine.streams.followers(stream.id) == 0:
            await asyncio.sleep(0.001)
        engine.streams.publish(made)
        found = [(await first)["stream"], *[data["stream"] async for data in shown]]
    assert [event["__typename"] for event in found] == [type(event).__name__ for event in made]
    assert [event["seq"] for event in found] == list(range(1, 13))
    assert {event["at"] for event in found} == {AT}
    assert {event["streamId"] for event in found} == {stream.id}
    by_name = {event["__typename"]: event for event in found}
    assert by_name["TextDelta"]["text"] == "Hi 🎈"
    assert by_name["ToolCallProgress"]["fraction"] == 0.5
    assert by_name["ToolCallFinished"]["result"] == "3"
    change = {name: by_name["ModelFellBack"][name] for name in ("from", "to", "reason")}
    assert change == {"from": "model-a", "to": "model-b", "reason": "the provider failed"}
    less = by_name["ContextCompacted"]
    assert (less["tokensBefore"], less["tokensAfter"]) == (900, 90)
    assert by_name["InputApplied"]["inputIds"] == ["inp_1"]
    assert by_name["StepFinished"]["usage"] == {"inputTokens": 1, "cost": "0.1"}
    result = by_name["RunResult"]
    assert (result["status"], result["finish"], result["answer"]) == ("COMPLETED", "STOP", "Hi 🎈")
    assert result["error"] is None


async def finished_stream(database: Database) -> tuple[str, str]:
    """A run of alice and its one stream, ended, as rows."""
    run = a_run()
    stream = a_stream(run)
    call = a_call(run, 1)
    made = [event for event in all_events(stream.id, run.id, call.id) if event.lasting]
    messages = [a_message(run, 2, [{"type": "text", "text": "Hi 🎈"}], role=Role.ASSISTANT, step=1)]
    await store(database, run, stream, call, *messages, *made)
    return run.id, stream.id


async def test_a_stream_that_has_ended_is_replayed_and_completes(engine: FakeEngine, database: Database) -> None:
    """From any number on, with RunResult last."""
    run_id, stream_id = await finished_stream(database)
    context = context_of(engine)
    whole = [data["stream"] async for data in follow(context, STREAM, id=stream_id, after=None)]
    assert whole[-1] == {"__typename": "RunResult", "seq": 12}
    rest = [data["stream"] async for data in follow(context, STREAM, id=stream_id, after=11)]
    assert rest == [{"__typename": "RunResult", "seq": 12}]
    seen = await take(context, 1, RUN_STREAM, id=run_id, stream=stream_id, after=11)
    assert seen == [{"runStream": {"__typename": "RunResult", "seq": 12}}]


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        (MESSAGES, {"after": -1}),
        (STREAM, {"after": -1}),
        (RUN_STREAM, {"after": -1}),
        (RUN_STREAM, {"after": 1}),
        (RUN_STREAM, {"after": 1, "stream": None}),
    ],
)
async def test_a_number_that_can_t_be_is_bad_user_input(engine: FakeEngine, text: str, variables: Any) -> None:
    """Numbers are not negative, and `after` of runStream needs the stream that it counts in."""
    assert await refusal_of(context_of(engine), text, id=new_id("run"), **variables) == ["BAD_USER_INPUT"]


@pytest.mark.parametrize("text", [RUN, MESSAGES, STREAM, RUN_STREAM])
@pytest.mark.parametrize("viewer", [ALICE, BOB])
async def test_missing_and_foreign_are_refused_alike(
    engine: FakeEngine, database: Database, text: str, viewer: Any
) -> None:
    """RUN_NOT_FOUND, before anything is watched, for odd ids too."""
    run_id, stream_id = await finished_stream(database)
    foreign = stream_id if text is STREAM else run_id
    for wanted in [new_id("run"), new_id("str"), "nonsense", "", "run_\x00", *([foreign] if viewer is BOB else [])]:
        assert await refusal_of(context_of(engine, viewer), text, id=wanted) == ["RUN_NOT_FOUND"]
    assert len(engine.bell) == 0


async def test_a_stream_of_another_run_is_refused(engine: FakeEngine, database: Database) -> None:
    """The generation to begin with must be one of the run's own."""
    run_id, _ = await finished_stream(database)
    _, other = await finished_stream(database)
    assert await refusal_of(context_of(engine), RUN_STREAM, id=run_id, stream=other) == ["RUN_NOT_FOUND"]
    assert await refusal_of(context_of(engine), RUN_STREAM, id=run_id, stream=new_id("str")) == ["RUN_NOT_FOUND"]


@pytest.mark.parametrize("text", [RUN, MESSAGES, RUN_STREAM, "subscription { runs { kind } }"])
async def test_who_leaves_leaves_nothing_behind(engine: FakeEngine, database: Database, text: str) -> None:
    """A client that goes while it waits is forgotten at once."""
    run_id, _ = await finished_stream(database)
    variables = {"id": run_id} if "$id" in text else {}
    before = len(asyncio.all_tasks())
    shown = follow(context_of(engine), text, **variables)

    async def read_on() -> None:
        async with aclosing(shown):
            async for _ in shown:
                pass

    reader = asyncio.ensure_future(read_on())
    while len(engine.bell) == 0:
        await asyncio.sleep(0.001)
    reader.cancel()
    await asyncio.gather(reader, return_exceptions=True)
    assert len(engine.bell) == 0
    assert len(asyncio.all_tasks()) == before
