"""Every event of a stream over the wire, with every field, applied as a browser applies it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from graphql import GraphQLObjectType, build_schema

from steersman import Compaction, tool
from tests.support import documents
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.project import ROOT
from tests.support.world import helper, kinds, world

ENVELOPE = {"__typename", "streamId", "seq", "step", "attempt", "at"}
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"  # 8 UTF-16 code units, one picture


def test_the_documents_of_these_tests_select_every_field() -> None:
    """What is tested here is the whole of what the schema has."""
    schema = build_schema((ROOT / "schema" / "schema.graphql").read_text())
    text = " ".join(documents.FRAGMENTS.values())
    lists = {"messages", "toolCalls", "modelCalls"}
    for kind in schema.type_map.values():
        names = {"AgentRun", "AgentMessage", "ToolCall", "ModelCall", "Usage", "RunError", "PendingInput"}
        if isinstance(kind, GraphQLObjectType):
            is_event = any(interface.name == "StreamEvent" for interface in kind.interfaces)
            if is_event or kind.name in names or kind.name.endswith("Block"):
                missing = {field for field in kind.fields if field not in text.replace("{", " ").split()}
                assert missing <= lists, kind.name


async def test_every_event_comes_with_every_field(tmp_path: Path) -> None:
    """Deltas, tools with progress, queued and applied input, a restarted step, and the result."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(
            Script(input_tokens=100, cache_read_input_tokens=7)
            .thinking("Hm. ")
            .text("I work: ")
            .tool("work", {"place": "roof"})
            .stop("tool_use", output_tokens=5),
            Script().text("lost").fail(),
            Script().text("Done."),
        )
        alice = w.client("alice")
        run = await alice.start("Work")
        stream = await alice.watch_stream(run["streamId"])
        await stream.sees("ToolCallProgress")
        sent = await alice.steer(run["id"], "More")
        await stream.sees("InputQueued")
        gate.open.set()
        await stream.end()
        assert kinds(stream.items) == [
            "ReasoningDelta",
            "TextDelta",
            "StepFinished",
            "ToolCallStarted",
            "ToolCallProgress",
            "InputQueued",
            "ToolCallFinished",
            "InputApplied",
            "TextDelta",
            "StepRestarted",
            "TextDelta",
            "StepFinished",
            "RunResult",
        ]
        assert all(event["streamId"] == run["streamId"] and event["at"].endswith("Z") for event in stream.items)
        seqs = [event["seq"] for event in stream.items]
        assert seqs == sorted(set(seqs))
        assert [event["step"] for event in stream.items] == [1] * 8 + [2] * 5
        assert [event["attempt"] for event in stream.items] == [1] * 9 + [2] * 4
        told = [{name: value for name, value in event.items() if name not in ENVELOPE} for event in stream.items]
        (call,) = (await alice.run(run["id"]))["toolCalls"]["nodes"]
        usage = {"inputTokens": 100, "outputTokens": 5, "cacheReadTokens": 7, "cacheWriteTokens": 0}
        about = {"toolCallId": call["id"], "name": "work", "input": {"place": "roof"}}
        assert told[0] == {"block": 0, "offset": 0, "text": "Hm. "}
        assert told[1] == {"block": 1, "offset": 0, "text": "I work: "}
        assert re.fullmatch(r"0\.\d+", cost := told[2]["usage"]["cost"])
        assert told[2] == {"messageSeq": 2, "stopReason": "tool_use", "usage": {**usage, "cost": cost}}
        assert told[3] == about
        assert told[4] == {"toolCallId": call["id"], "message": "at the roof", "fraction": 0.5}
        assert told[5] == {"inputId": sent["inputId"], "queued": 1}
        assert told[6] == {**about, "result": "worked at the roof", "isError": False}
        assert told[7] == {"inputIds": [sent["inputId"]], "messageSeq": 3}
        assert told[9]["reason"]
        result = told[-1]
        assert result["usage"] == (await alice.run(run["id"]))["usage"]
        assert {name: result[name] for name in result if name not in ("usage", "model")} == {
            "runId": run["id"],
            "status": "COMPLETED",
            "finish": "STOP",
            "text": "Done.",
            "output": None,
            "steps": 2,
            "cancelled": False,
            "error": None,
        }
        assert result["model"] == "claude-sonnet-5-5"


async def test_a_long_conversation_goes_on_and_is_read_whole(tmp_path: Path) -> None:
    """ContextCompacted with its figures, live and replayed; every message is there."""
    agent = helper(compaction=Compaction(context_tokens=2_000), max_tokens=100)
    async with world(tmp_path, helper=agent) as w:
        w.play(Script(input_tokens=1_700).text("Much. " * 80), Script().text("SUMMARY"), Script().text("Here."))
        alice = w.client("alice")
        run = await alice.start("Tell me much")
        await alice.settled(run["id"])
        again = await alice.start("And now?", runId=run["id"])
        stream = await alice.watch_stream(again["streamId"])
        await stream.end()
        (event,) = stream.of("ContextCompacted")
        assert event["tokensBefore"] > 1_600 > event["tokensAfter"] > 0
        assert (event["step"], event["attempt"]) == (2, 1)
        whole = await alice.run(run["id"])
        texts = [message["text"] for message in whole["messages"]["nodes"]]
        assert texts == ["Tell me much", "Much. " * 80, "And now?", "Here."]
        assert [call["model"] for call in whole["modelCalls"]["nodes"]][1] == "claude-haiku-5-5"
        replayed = await alice.watch_stream(again["streamId"])
        await replayed.end()
        assert replayed.of("ContextCompacted") == [event]


@pytest.mark.parametrize("chunk", [1, 3, None])
async def test_characters_that_are_split_between_reads_arrive_whole(tmp_path: Path, chunk: int | None) -> None:
    """However the provider's bytes are cut, the page and the transcript show the same text."""
    said = ["a\u00e9", f"{FAMILY}b", "\u65e5\u672c", "\U0001f389"]
    async with world(tmp_path) as w:
        script = Script().text(*said)
        w.play(script if chunk is None else script.in_chunks(chunk))
        alice = w.client("alice")
        run = await alice.start("Hi")
        stream = await alice.watch_stream(run["streamId"])
        await stream.end()
        assert (stream.text, stream.page.problems) == ("".join(said), [])
        assert stream.items[-1]["text"] == "".join(said)
        assert (await alice.run(run["id"]))["messages"]["nodes"][-1]["text"] == "".join(said)


async def test_an_emoji_whose_halves_come_in_two_deltas_is_one_character(tmp_path: Path) -> None:
    """Surrogates that a server tears apart are put together again, live, stored and replayed."""
    async with world(tmp_path) as w:
        w.play(Script().text("so \ud83d", "\ude00 nice", "\ud83d"))
        alice = w.client("alice")
        run = await alice.start("Hi")
        stream = await alice.watch_stream(run["streamId"])
        await stream.end()
        text = "so \U0001f600 nice\ufffd"
        assert (stream.text, stream.page.problems) == (text, [])
        assert (await alice.run(run["id"]))["messages"]["nodes"][-1]["text"] == text
        assert stream.items[-1]["text"] == text


async def test_offsets_count_as_a_browser_counts(tmp_path: Path) -> None:
    """A delta behind an emoji begins two units later, and behind a family eight."""
    held = [asyncio.Event() for _ in range(3)]
    async with world(tmp_path) as w:
        script = Script()
        script = script.half_text("\U0001f600")
        for event, piece in zip(held, (FAMILY, "\u00e9", "z"), strict=True):
            script.hold(event)
            script = script._grow(0, [{"type": "text_delta", "text": piece}])
        w.play(script._close(0))
        alice = w.client("alice")
        stream = await alice.watch_stream((await alice.start("Hi"))["streamId"])
        for number, event in enumerate(held, 1):
            await stream.sees("TextDelta", number)
            event.set()
        await stream.end()
        assert [delta["offset"] for delta in stream.of("TextDelta")] == [0, 2, 10, 11]
        assert stream.text == f"\U0001f600{FAMILY}\u00e9z"


async def test_a_client_that_reconnects_in_the_middle_of_a_step_lacks_nothing(tmp_path: Path) -> None:
    """It goes on behind the last number that it saw; seeing events twice changes nothing."""
    held = asyncio.Event()
    async with world(tmp_path) as w:
        w.play(Script().half_text("One ", "\U0001f600 ").hold(held).event(_more("two ")).event(_more("three.")))
        alice = w.client("alice")
        run = await alice.start("Count")
        first = await alice.watch_stream(run["streamId"])
        await first.shows("One \U0001f600 ")
        await alice.disconnect()
        held.set()
        rest = await alice.stream(run["streamId"], first.items[-1]["seq"])
        page = first.page
        for event in rest:
            page.show(event)
        assert (page.text, page.problems) == ("One \U0001f600 two three.", [])
        for event in [*rest, *await alice.stream(run["streamId"])]:
            if event["__typename"] == "TextDelta":
                page.apply(event)
        assert (page.text, page.problems) == ("One \U0001f600 two three.", [])


def _more(text: str) -> dict[str, Any]:
    """One more delta of the first block."""
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


async def test_a_thousand_deltas_at_once_keep_their_order(tmp_path: Path) -> None:
    """Numbers rise, offsets leave no gap, and not a letter is lost, for one who watches and one who comes late."""
    said = [f"{number} " for number in range(1_000)]
    async with world(tmp_path) as w:
        w.play(Script().text(*said))
        alice = w.client("alice")
        run = await alice.start("Count")
        live = await alice.watch_stream(run["streamId"])
        await live.end()
        assert (live.text, live.page.problems) == ("".join(said), [])
        late = await alice.stream(run["streamId"])
        assert kinds(late) == ["TextDelta", "StepFinished", "RunResult"]
        assert late[0]["text"] == "".join(said)


async def test_a_fast_short_answer_is_never_overtaken_by_its_end(tmp_path: Path) -> None:
    """Fifty answers of three deltas each: all text comes, before the step's end, whoever wins which race."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("a", "b", "c"))
        alice = w.client("alice")
        for _ in range(50):
            run = await alice.start("Quick")
            events = await alice.stream(run["streamId"])
            assert kinds(events)[-2:] == ["StepFinished", "RunResult"]
            assert set(kinds(events)[:-2]) == {"TextDelta"}
            assert "".join(event["text"] for event in events if event["__typename"] == "TextDelta") == "abc"


async def test_who_attaches_after_the_end_still_reads_the_result(tmp_path: Path) -> None:
    """`stream` completes after RunResult whenever it was begun; `runStream` gives it and waits for more."""
    async with world(tmp_path) as w:
        w.play(Script().text("Over."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        for after in (0, 1):
            assert (await alice.stream(run["streamId"], after))[-1]["text"] == "Over."
        feed = await alice.watch(documents.WATCH_RUN_STREAM, runId=run["id"])
        await feed.sees("RunResult")
        assert not feed.completed


async def test_plain_and_structured_results_come_as_they_are(tmp_path: Path) -> None:
    """A tool's string stays a string, anything else is JSON text, and a failure is an error without its cause."""

    @tool
    def fact() -> dict[str, Any]:
        """A fact."""
        return {"emoji": "\U0001f600", "n": 1}

    @tool
    def broken() -> str:
        """Fails."""
        raise ValueError("postgresql://user:secret@host")

    async with world(tmp_path, helper=helper(tools=[fact, broken])) as w:
        w.play(Script().tool("fact").tool("broken").tool("nothing"), Script().text("I see."))
        alice = w.client("alice")
        run = await alice.start("Facts")
        events = await alice.stream(run["streamId"])
        results = {e["name"]: (e["result"], e["isError"]) for e in events if e["__typename"] == "ToolCallFinished"}
        assert results["fact"] == ('{"emoji":"\U0001f600","n":1}', False)
        assert results["broken"] == ("tool failed (ValueError)", True)
        assert results["nothing"][1] is True
        assert "secret" not in str(await alice.run(run["id"]))
